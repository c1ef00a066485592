// call.c: how lesson 11's launcher is called.
#include "run/run.h"

#include "cross_entropy.h"

int call(void) {
    const int64_t widest = run_int("V"), narrowest = widest - run_int("narrower");
    bf16* logits = run_gpu("logits");
    int status = COURSE_OK;
    // The rows may begin `first` elements into their array. Rows of V logits, then of `step` fewer,
    // and so on, down to `narrower` fewer.
    if (logits) logits += run_int("first");
    for (int64_t V = widest; V >= narrowest && status == COURSE_OK; V -= run_int("step"))
        status = cross_entropy(run_gpu("loss"), run_gpu("LSE"), logits, run_gpu("labels"),
                               run_int("rows"), V, run_int("stride"), run_int("ignore_index"),
                               (float)run_real("smoothing"), run_gpu("workspace"));
    return status;
}
