// call.c: hands a case of lesson 06 to the launcher. A matrix may be some columns of a wider array:
// it begins `first` elements into it.
#include "register_tiling.h"
#include "run/run.h"

int call(void) {
    return register_tiling(run_floats("C"), run_floats("A"), run_floats("B"), (int)run_int("M"),
                           (int)run_int("N"), (int)run_int("K"), run_int("stride_C"),
                           run_int("stride_A"), run_int("stride_B"));
}
