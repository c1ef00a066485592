// call.c: the launchers of lesson 19, called with the arguments of the case.
#include "run/run.h"

#include "block_sparse.h"

int call(void) {
    int B = (int)run_int("B"), N_q = (int)run_int("N_q"), N_k = (int)run_int("N_k");
    int H = (int)run_int("H"), d = (int)run_int("d");
    float scale = (float)run_real("scale");
    if (run_int("backward"))
        return block_sparse_backward(
            run_gpu("dQ"), run_gpu("dK"), run_gpu("dV"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
            run_gpu("O"), run_gpu("LSE"), run_gpu("dO"), run_gpu("mask"), B, N_q, N_k, H, d,
            run_strides("dq"), run_strides("dk"), run_strides("dv"), run_strides("q"),
            run_strides("k"), run_strides("v"), run_strides("o"), run_strides("do"), scale,
            run_gpu("workspace"));
    return block_sparse_forward(run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K"),
                                run_gpu("V"), run_gpu("mask"), B, N_q, N_k, H, d, run_strides("o"),
                                run_strides("q"), run_strides("k"), run_strides("v"), scale,
                                run_gpu("workspace"));
}
