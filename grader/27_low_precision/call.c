// call.c: the launchers of lesson 27, called with the arguments of the case.
#include "low_precision.h"
#include "run/run.h"

static int quantise(const char* to, const char* scales, const char* X, int64_t N, int64_t H,
                    int64_t rotated, int64_t transposed) {
    const int64_t d = run_int("d");
    const struct strides packed = {.b = N * H * d, .n = H * d, .h = d};
    return low_precision_quantise(run_gpu(to), run_gpu(scales), run_gpu(X), (int)run_int("B"),
                                  (int)N, (int)H, (int)d, packed, (int)run_int("per_block"),
                                  (int)rotated, (int)transposed);
}

static int attention(void) {
    return low_precision(run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K"), run_gpu("Vt"),
                         run_gpu("Q_scales"), run_gpu("K_scales"), run_gpu("V_scales"),
                         (int)run_int("B"), (int)run_int("N_q"), (int)run_int("N_k"),
                         (int)run_int("H"), (int)run_int("H_k"), (int)run_int("d"),
                         run_strides("o"), (float)run_real("scale"), (int)run_int("causal"),
                         (int)run_int("per_block"), run_gpu("tickets"));
}

// "call": 0 attention, 1 the step to eight bits, 2 all of it: see low.h.
int call(void) {
    const int64_t what = run_int("call");
    if (what == 1)
        return low_precision_quantise(
            run_gpu("to"), run_gpu("scales"), run_gpu("X"), (int)run_int("B"), (int)run_int("N"),
            (int)run_int("H"), (int)run_int("d"), run_strides("x"), (int)run_int("per_block"),
            (int)run_int("rotated"), (int)run_int("transposed"));
    if (what == 2) {
        const int64_t N_q = run_int("N_q"), N_k = run_int("N_k"), H_k = run_int("H_k");
        int status = quantise("Q", "Q_scales", "X_q", N_q, run_int("H"), run_int("rotated"), 0);
        if (!status) status = quantise("K", "K_scales", "X_k", N_k, H_k, run_int("rotated"), 0);
        if (!status) status = quantise("Vt", "V_scales", "X_v", N_k, H_k, 0, 1);
        if (status) return status;
    }
    return attention();
}
