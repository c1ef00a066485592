// call.c: how lesson 10's launcher is called.
#include "run/run.h"
#include "online_softmax.h"

static int call_with(int64_t cols) {
    return online_softmax(run_gpu("m"), run_gpu("l"), run_floats("x"), run_int("rows"), cols,
                          run_int("stride_row"));
}

int call(void) {
    return run_widths(call_with);
}
