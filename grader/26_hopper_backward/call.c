// call.c: the launcher of lesson 26, called with the arguments of the case.
#include "hopper_backward.h"
#include "run/run.h"

int call(void) {
    return hopper_backward(
        run_gpu("dQ"), run_gpu("dK"), run_gpu("dV"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
        run_gpu("O"), run_gpu("LSE"), run_gpu("dO"), (int)run_int("B"), (int)run_int("N_q"),
        (int)run_int("N_k"), (int)run_int("H"), (int)run_int("H_k"), (int)run_int("d"),
        run_strides("dq"), run_strides("dk"), run_strides("dv"), run_strides("q"), run_strides("k"),
        run_strides("v"), run_strides("o"), run_strides("do"), (float)run_real("scale"),
        (int)run_int("causal"), (int)run_int("window"), (int)run_int("documents"),
        run_gpu("cu_seqlens"), (int)run_int("deterministic"), run_gpu("workspace"));
}
