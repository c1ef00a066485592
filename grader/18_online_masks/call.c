// call.c: the launchers of lesson 18, called with the arguments of the case.
#include "run/run.h"

#include "online_masks.h"

int call(void) {
    int B = (int)run_int("B"), N_q = (int)run_int("N_q"), N_k = (int)run_int("N_k");
    int H = (int)run_int("H"), d = (int)run_int("d");
    float scale = (float)run_real("scale");
    struct online_mask mask = {
        .causal = (int)run_int("mask.causal"),
        .window = (int)run_int("mask.window"),
        .sinks = (int)run_int("mask.sinks"),
        .prefix = (int)run_int("mask.prefix"),
        .documents = (int)run_int("mask.documents"),
        .cu_seqlens_gpu = run_gpu("cu_seqlens"),
        .softcap = (float)run_real("mask.softcap"),
    };
    if (!run_int("backward"))
        return online_masks_forward(
            run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K"), run_gpu("V"), B, N_q, N_k, H,
            d, run_strides("o"), run_strides("q"), run_strides("k"), run_strides("v"), scale, mask);
    return online_masks_backward(
        run_gpu("dQ"), run_gpu("dK"), run_gpu("dV"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
        run_gpu("O"), run_gpu("LSE"), run_gpu("dO"), B, N_q, N_k, H, d, run_strides("dq"),
        run_strides("dk"), run_strides("dv"), run_strides("q"), run_strides("k"), run_strides("v"),
        run_strides("o"), run_strides("do"), scale, mask, run_gpu("workspace"));
}
