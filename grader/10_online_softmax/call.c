// call.c: how lesson 10's launcher is called.
#include "run/run.h"
#include "online_softmax.h"

// The rows may begin `first` elements into their array.
static float* rows(const char* name, const char* first) {
    float* array_gpu = run_gpu(name);
    return array_gpu == NULL ? NULL : array_gpu + run_int(first);
}

// Rows of `cols` numbers, then of `step` fewer, and so on, down to `narrower` fewer.
int call(void) {
    const int64_t widest = run_int("cols"), narrowest = widest - run_int("narrower");
    int status = COURSE_OK;
    for (int64_t cols = widest; cols >= narrowest && status == COURSE_OK; cols -= run_int("step"))
        status = online_softmax(run_gpu("m"), run_gpu("l"), rows("x", "first_x"), run_int("rows"),
                                cols, run_int("stride_row"));
    return status;
}
