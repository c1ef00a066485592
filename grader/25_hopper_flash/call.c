// call.c: the launcher of lesson 25, called with the arguments of the case.
#include "hopper_flash.h"
#include "run/run.h"

int call(void) {
    return hopper_flash(
        run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K"), run_gpu("V"), (int)run_int("B"),
        (int)run_int("N_q"), (int)run_int("N_k"), (int)run_int("H"), (int)run_int("H_k"),
        (int)run_int("d"), run_strides("o"), run_strides("q"), run_strides("k"), run_strides("v"),
        (float)run_real("scale"), (int)run_int("causal"), (int)run_int("window"),
        (int)run_int("documents"), run_gpu("cu_seqlens"), run_gpu("lists"), run_gpu("tickets"));
}
