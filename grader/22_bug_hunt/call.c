// call.c: the launchers of lesson 22. `kernel` says which one; `rows` and `cols` are its two sizes,
// of one size `cols`.
#include "bug_hunt.h"
#include "run/run.h"

int call(void) {
    const int rows = (int)run_int("rows"), cols = (int)run_int("cols");
    switch ((enum bug_hunt_kernel)run_int("kernel")) {
    case BUG_HUNT_WARP_SUMS:
        return bug_hunt_warp_sums(run_gpu("y"), run_gpu("x"), rows, cols);
    case BUG_HUNT_TRANSPOSE:
        return bug_hunt_transpose(run_gpu("y"), run_gpu("x"), rows, cols);
    case BUG_HUNT_SCALE_ROWS:
        return bug_hunt_scale_rows(run_gpu("y"), run_gpu("x"), (float)run_real("factor"), rows,
                                   cols, run_int("stride_y"), run_int("stride_x"));
    case BUG_HUNT_DIVIDE_BY_COUNT:
        return bug_hunt_divide_by_count(run_gpu("y"), run_gpu("x"), run_gpu("label"), cols,
                                        run_gpu("count"));
    case BUG_HUNT_REVERSE_ROWS:
        return bug_hunt_reverse_rows(run_gpu("x"), rows, cols);
    case BUG_HUNT_ATTEND:
        return bug_hunt_attend(run_gpu("O"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
                               (float)run_real("scale"), rows, cols, run_int("stride_k"),
                               run_int("stride_v"));
    case BUG_HUNT_GROUP_SUMS:
        return bug_hunt_group_sums(run_gpu("y"), run_gpu("x"), run_gpu("group"), rows, cols);
    case BUG_HUNT_CHUNK_SUMS:
        return bug_hunt_chunk_sums(run_gpu("y"), run_gpu("x"), cols);
    case BUG_HUNT_MASKED_SOFTMAX:
        return bug_hunt_masked_softmax(run_gpu("y"), run_gpu("x"), run_gpu("seen"), rows, cols);
    case BUG_HUNT_LOGSUMEXP:
        return bug_hunt_logsumexp(run_gpu("LSE"), run_gpu("x"), rows, cols);
    }
    return -1;
}
