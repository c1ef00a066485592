// call.c: hands a case of lesson 24 to the launcher. A matrix may be some columns of a wider array:
// it begins `first` elements into it.
#include "hopper_matmul.h"
#include "run/run.h"

static bf16* matrix(const char* name, const char* first) {
    bf16* array_gpu = run_gpu(name);
    return array_gpu == NULL ? NULL : array_gpu + run_int(first);
}

int call(void) {
    return hopper_matmul(matrix("C", "first_C"), matrix("A", "first_A"), matrix("B", "first_B"),
                         (int)run_int("M"), (int)run_int("N"), (int)run_int("K"),
                         run_int("stride_C"), run_int("stride_A"), run_int("stride_B"),
                         (int)run_int("transpose_A"), (int)run_int("transpose_B"));
}
