// call.c: how lesson 03's launcher is called.
#include "run/run.h"
#include "reduction.h"

static int call_with(int64_t cols) {
    return reduction(run_gpu("sum"), run_gpu("max"), run_floats("x"), run_int("rows"), cols,
                     run_int("stride_row"));
}

int call(void) {
    return run_widths(call_with);
}
