// call.c: the launcher of lesson 12, called with the arguments of the case.
#include "run/run.h"

#include "flash_forward.h"

int call(void) {
    return flash_forward(run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
                         (int)run_int("B"), (int)run_int("N_q"), (int)run_int("N_k"),
                         (int)run_int("d"), run_int("stride_ob"), run_int("stride_on"),
                         run_int("stride_lb"), run_int("stride_qb"), run_int("stride_qn"),
                         run_int("stride_kb"), run_int("stride_kn"), run_int("stride_vb"),
                         run_int("stride_vn"), (float)run_real("scale"));
}
