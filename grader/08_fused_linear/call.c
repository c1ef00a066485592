// call.c: the launchers of lesson 08, called with the arguments of the case; `backward` says which
// one. An array may begin `first` elements into its memory.
#include "run/run.h"

#include "fused_linear.h"

static bf16* array(const char* name, const char* first) {
    bf16* elements = run_gpu(name);
    return elements == NULL ? NULL : elements + run_int(first);
}

int call(void) {
    int M = (int)run_int("M"), N = (int)run_int("N"), f = (int)run_int("f");
    float p = (float)run_real("p");
    uint64_t seed = (uint64_t)run_int("seed"), offset = (uint64_t)run_int("offset");
    bf16* Z = array("Z", "first_Z");
    if (run_int("backward"))
        return fused_linear_backward(array("dZ", "first_dZ"), array("dY", "first_dY"), Z, M, N, f,
                                     p, seed, offset);
    return fused_linear(array("Y", "first_Y"), Z, array("X", "first_X"), array("W", "first_W"),
                        array("bias", "first_bias"), M, N, (int)run_int("K"), f, p, seed, offset);
}
