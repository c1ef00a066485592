// call.c: how lesson 09's launcher is called.
#include "run/run.h"
#include "softmax.h"

static int call_with(int64_t cols) {
    return softmax(run_floats("y"), run_floats("x"), run_int("rows"), cols, run_int("stride_y"),
                   run_int("stride_x"));
}

int call(void) {
    return run_widths(call_with);
}
