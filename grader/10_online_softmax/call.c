// call.c: how lesson 10's launcher is called.
#include "run/run.h"
#include "online_softmax.h"

int call(void) {
    return online_softmax(run_gpu("m"), run_gpu("l"), run_gpu("x"), run_int("rows"),
                          run_int("cols"), run_int("stride_row"));
}
