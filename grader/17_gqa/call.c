// call.c: the launchers of lesson 17, called with the arguments of the case; `backward` says which
// one.
#include "run/run.h"

#include "gqa.h"

int call(void) {
    int B = (int)run_int("B"), N_q = (int)run_int("N_q"), N_k = (int)run_int("N_k");
    int H_q = (int)run_int("H"), H_k = (int)run_int("H_k"), d = (int)run_int("d");
    float scale = (float)run_real("scale");
    int causal = (int)run_int("causal");
    if (!run_int("backward"))
        return gqa_forward(run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
                           B, N_q, N_k, H_q, H_k, d, run_strides("o"), run_strides("q"),
                           run_strides("k"), run_strides("v"), scale, causal);
    return gqa_backward(run_gpu("dQ"), run_gpu("dK"), run_gpu("dV"), run_gpu("Q"), run_gpu("K"),
                        run_gpu("V"), run_gpu("O"), run_gpu("LSE"), run_gpu("dO"), B, N_q, N_k, H_q,
                        H_k, d, run_strides("dq"), run_strides("dk"), run_strides("dv"),
                        run_strides("q"), run_strides("k"), run_strides("v"), run_strides("o"),
                        run_strides("do"), scale, causal, run_gpu("workspace"));
}
