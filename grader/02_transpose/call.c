// call.c: hands a case of lesson 02 to the launcher.
#include "run/run.h"
#include "transpose.h"

int call(void) {
    return transpose(run_gpu("out"), run_gpu("in"), (int)run_int("rows"), (int)run_int("cols"));
}
