// call.c: how lesson 00's launcher is called.
#include "run/run.h"
#include "new_lesson.h"

int call(void) {
    return new_lesson(run_gpu("y"), run_gpu("x"), (int)run_int("n"), (float)run_real("factor"));
}
