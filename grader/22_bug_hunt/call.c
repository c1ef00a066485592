// call.c: the launchers of lesson 22. `kernel` says which one (kernels.h has the same enum); `rows`
// and `cols` are its two sizes, of one size `cols`.
#include "bug_hunt.h"
#include "run/run.h"

enum kernel {
    WARP_SUMS = 1,
    TRANSPOSE,
    SCALE_ROWS,
    DIVIDE_BY_COUNT,
    REVERSE_ROWS,
    ATTEND,
    GROUP_SUMS,
    CHUNK_SUMS,
    MASKED_SOFTMAX,
    LOGSUMEXP,
};

int call(void) {
    const int rows = (int)run_int("rows"), cols = (int)run_int("cols");
    switch ((enum kernel)run_int("kernel")) {
    case WARP_SUMS:
        return bug_hunt_warp_sums(run_gpu("y"), run_gpu("x"), rows, cols);
    case TRANSPOSE:
        return bug_hunt_transpose(run_gpu("y"), run_gpu("x"), rows, cols);
    case SCALE_ROWS:
        return bug_hunt_scale_rows(run_gpu("y"), run_gpu("x"), (float)run_real("factor"), rows,
                                   cols, run_int("stride_y"), run_int("stride_x"));
    case DIVIDE_BY_COUNT:
        return bug_hunt_divide_by_count(run_gpu("y"), run_gpu("x"), run_gpu("label"), cols,
                                        run_gpu("count"));
    case REVERSE_ROWS:
        return bug_hunt_reverse_rows(run_gpu("x"), rows, cols);
    case ATTEND:
        return bug_hunt_attend(run_gpu("O"), run_gpu("Q"), run_gpu("K"), run_gpu("V"),
                               (float)run_real("scale"), rows, cols, run_int("stride_k"),
                               run_int("stride_v"));
    case GROUP_SUMS:
        return bug_hunt_group_sums(run_gpu("y"), run_gpu("x"), run_gpu("group"), rows, cols);
    case CHUNK_SUMS:
        return bug_hunt_chunk_sums(run_gpu("y"), run_gpu("x"), cols);
    case MASKED_SOFTMAX:
        return bug_hunt_masked_softmax(run_gpu("y"), run_gpu("x"), run_gpu("seen"), rows, cols);
    case LOGSUMEXP:
        return bug_hunt_logsumexp(run_gpu("LSE"), run_gpu("x"), rows, cols);
    }
    return -1;
}
