// call.c: the launcher of lesson 15, called with the arguments of the case.
#include "run/run.h"

#include <stdio.h>

#include "flash_backward.h"

// The strides of an array, which the case passes as three numbers: "stride_dq.b", ".n" and ".h".
static struct strides strides(const char* array) {
    const char axes[] = "bnh";
    int64_t step[3];
    for (int a = 0; a < 3; a++) {
        char name[24];
        snprintf(name, sizeof name, "stride_%s.%c", array, axes[a]);
        step[a] = run_int(name);
    }
    return (struct strides){.b = step[0], .n = step[1], .h = step[2]};
}

int call(void) {
    return flash_backward(
        run_gpu("dQ"), run_gpu("dK"), run_gpu("dV"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
        run_gpu("O"), run_gpu("LSE"), run_gpu("dO"), (int)run_int("B"), (int)run_int("N_q"),
        (int)run_int("N_k"), (int)run_int("H"), (int)run_int("d"), strides("dq"), strides("dk"),
        strides("dv"), strides("q"), strides("k"), strides("v"), strides("o"), strides("do"),
        (float)run_real("scale"), (int)run_int("causal"), run_gpu("workspace"));
}
