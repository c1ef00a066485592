// call.c: how lesson 23's functions are called. `function` says which one: a kernel of
// profiling_kernel, or PROFILING_KERNELS for the answers.
#include "profiling.h"
#include "run/run.h"

// What the file says is two arrays of numbers; nobody but the grader knows what they should be.
// What is said behind them goes behind the two arrays as well, where the grader finds it.
static int answers(void) {
    enum { MORE = PROFILING_KERNELS + 1 };
    static const struct profiling_answer nobodys = {(enum profiling_limiter)77, -77.0f};
    struct profiling_answer said[MORE] = {{LIMITER_NONE, 0.0f}};
    int32_t* limiter = run_cpu("limiter");
    float* speed_up = run_cpu("speed_up");
    said[PROFILING_KERNELS] = nobodys;
    profiling_answers(said);
    const struct profiling_answer behind = said[PROFILING_KERNELS];
    const int kept = behind.limiter == nobodys.limiter && behind.speed_up == nobodys.speed_up;
    for (int k = 0; k < MORE - kept; k++) {
        limiter[k] = (int32_t)said[k].limiter;
        speed_up[k] = said[k].speed_up;
    }
    return COURSE_OK;
}

int call(void) {
    switch (run_int("function")) {
    case PROFILING_SCORES:
        return profiling_scores(run_gpu("S"), run_gpu("q"), run_gpu("K"), (int)run_int("N"),
                                (int)run_int("d"));
    case PROFILING_DECAY:
        return profiling_decay(run_gpu("h"), run_gpu("x"), (int)run_int("rows"), (int)run_int("T"),
                               (float)run_real("decay"));
    case PROFILING_FILTER:
        return profiling_filter(run_gpu("y"), run_gpu("x"), run_gpu("w"), (int)run_int("T"),
                                (int)run_int("C"));
    default:
        return answers();
    }
}
