// call.c: hands a case of lesson 05 to the launcher.
#include "run/run.h"
#include "tiled_matmul.h"

int call(void) {
    return tiled_matmul(run_gpu("C"), run_gpu("A"), run_gpu("B"), (int)run_int("M"),
                        (int)run_int("N"), (int)run_int("K"));
}
