// call.c: hands a case of lesson 07 to the launcher. A matrix may begin `first` elements into its
// array.
#include "run/run.h"
#include "tensor_core_matmul.h"

int call(void) {
    return tensor_core_matmul(run_bf16("C"), run_bf16("A"), run_bf16("B"), (int)run_int("M"),
                              (int)run_int("N"), (int)run_int("K"));
}
