// call.c: hands a case of lesson 07 to the launcher.
#include "run/run.h"
#include "tensor_core_matmul.h"

int call(void) {
    return tensor_core_matmul(run_gpu("C"), run_gpu("A"), run_gpu("B"), (int)run_int("M"),
                              (int)run_int("N"), (int)run_int("K"));
}
