// call.c: hands a case of lesson 01 to the launcher. Its arrays are host memory.
#include "run/run.h"
#include "vector_add.h"

int call(void) {
    return vector_add(run_cpu("c"), run_cpu("a"), run_cpu("b"), run_int("n"));
}
