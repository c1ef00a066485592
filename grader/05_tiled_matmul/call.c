// call.c: hands a case of lesson 05 to the launcher. A matrix may begin `first` elements into its
// array.
#include "run/run.h"
#include "tiled_matmul.h"

int call(void) {
    return tiled_matmul(run_floats("C"), run_floats("A"), run_floats("B"), (int)run_int("M"),
                        (int)run_int("N"), (int)run_int("K"));
}
