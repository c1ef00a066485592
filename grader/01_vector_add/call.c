// call.c: hands a case of lesson 01 to the launcher. Its arrays are host memory.
#include "run/run.h"
#include "vector_add.h"

int call(void) {
    const float *a = run_cpu("a"), *b = run_cpu("b");
    return vector_add(run_cpu("c"), a, b, run_int("n"));
}
