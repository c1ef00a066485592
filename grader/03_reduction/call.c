// call.c: how lesson 03's launcher is called.
#include "run/run.h"
#include "reduction.h"

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
        status = reduction(run_gpu("sum"), run_gpu("max"), rows("x", "first_x"), run_int("rows"),
                           cols, run_int("stride_row"));
    return status;
}
