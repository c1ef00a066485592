// call.c: hands a case of lesson 07 to the launcher. A matrix may begin `first` elements into its
// array.
#include "run/run.h"
#include "tensor_core_matmul.h"

static bf16* matrix(const char* name, const char* first) {
    bf16* array_gpu = run_gpu(name);
    return array_gpu == NULL ? NULL : array_gpu + run_int(first);
}

int call(void) {
    return tensor_core_matmul(matrix("C", "first_C"), matrix("A", "first_A"),
                              matrix("B", "first_B"), (int)run_int("M"), (int)run_int("N"),
                              (int)run_int("K"));
}
