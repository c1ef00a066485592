// call.c: the launcher of lesson 14, called with the arguments of the case.
#include "run/run.h"

#include "flash_tensor_core.h"

int call(void) {
    struct strides o = {run_int("stride_ob"), run_int("stride_on"), run_int("stride_oh")};
    struct strides q = {run_int("stride_qb"), run_int("stride_qn"), run_int("stride_qh")};
    struct strides k = {run_int("stride_kb"), run_int("stride_kn"), run_int("stride_kh")};
    struct strides v = {run_int("stride_vb"), run_int("stride_vn"), run_int("stride_vh")};
    return flash_tensor_core(run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
                             (int)run_int("B"), (int)run_int("N_q"), (int)run_int("N_k"),
                             (int)run_int("H"), (int)run_int("d"), o, q, k, v,
                             (float)run_real("scale"), (int)run_int("causal"));
}
