// call.c: how lesson 03's launcher is called.
#include "run/run.h"
#include "reduction.h"

int call(void) {
    return reduction(run_gpu("sum"), run_gpu("max"), run_gpu("x"), run_int("rows"), run_int("cols"),
                     run_int("stride_row"));
}
