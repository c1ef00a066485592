// call.c: the launchers of lesson 08, called with the arguments of the case; `backward` says which
// one. An array may begin `first` elements into its memory.
#include "run/run.h"

#include "fused_linear.h"

int call(void) {
    int M = (int)run_int("M"), N = (int)run_int("N"), f = (int)run_int("f");
    float p = (float)run_real("p");
    uint64_t seed = (uint64_t)run_int("seed"), offset = (uint64_t)run_int("offset");
    bf16* Z = run_bf16("Z");
    if (run_int("backward"))
        return fused_linear_backward(run_bf16("dZ"), run_bf16("dY"), Z, M, N, f, p, seed, offset);
    return fused_linear(run_bf16("Y"), Z, run_bf16("X"), run_bf16("W"), run_bf16("bias"), M, N,
                        (int)run_int("K"), f, p, seed, offset);
}
