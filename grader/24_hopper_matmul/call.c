// call.c: hands a case of lesson 24 to the launcher. A matrix may be some columns of a wider array:
// it begins `first` elements into it.
#include "hopper_matmul.h"
#include "run/run.h"

int call(void) {
    return hopper_matmul(run_bf16("C"), run_bf16("A"), run_bf16("B"), (int)run_int("M"),
                         (int)run_int("N"), (int)run_int("K"), run_int("stride_C"),
                         run_int("stride_A"), run_int("stride_B"), (int)run_int("transpose_A"),
                         (int)run_int("transpose_B"));
}
