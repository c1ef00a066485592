// call.c: the launcher of lesson 28, called with the arguments of the case.
#include "flash_decode.h"
#include "run/run.h"

int call(void) {
    return flash_decode(run_gpu("O"), run_gpu("LSE"), run_gpu("Q"), run_gpu("K_pages"),
                        run_gpu("V_pages"), run_gpu("page_table"), run_gpu("lengths"),
                        (int)run_int("page_size"), (int)run_int("max_pages"), (int)run_int("B"),
                        (int)run_int("N_q"), (int)run_int("H"), (int)run_int("H_k"),
                        (int)run_int("d"), (float)run_real("scale"), run_gpu("tickets"),
                        run_gpu("workspace"));
}
