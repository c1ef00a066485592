// call.c: the launcher of lesson 20, called with the arguments of the case.
#include "run/run.h"

#include "pooled_scores.h"

int call(void) {
    return pooled_scores(run_gpu("O"), run_gpu("LSE"), run_gpu("R"), run_gpu("Q"), run_gpu("K"),
                         run_gpu("V"), (int)run_int("B"), (int)run_int("N_q"), (int)run_int("N_k"),
                         (int)run_int("H"), (int)run_int("d"), (int)run_int("pool"),
                         run_strides("o"), run_strides("q"), run_strides("k"), run_strides("v"),
                         (float)run_real("scale"), (int)run_int("causal"));
}
