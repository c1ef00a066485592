// bench.c: how fast lesson 00, new_lesson, is. Memory is the bound: x is read once, y written once.
// TEMPLATE: write the bench of your kernel, then delete this line; the tests wait for that.
#include <math.h>

#include "bench/bench.h"
#include "new_lesson.h"

// n = {elements}
static const struct bench_size sizes[] = {{"2^24", {1 << 24}}, {"10^8", {100000000}}, {0}};

static double bytes(const int64_t* n) {
    return 8.0 * (double)n[0];
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "y", F32, n[0]);
    bench_input(run, "x", F32, n[0]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(float*, const float*, int, float))launcher)(
        bench_gpu(run, "y"), bench_gpu(run, "x"), (int)n[0], 3.0f);
}

// One rounding: half an ulp of each element.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 100 };
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t i = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        double x, y;
        bench_read(run, "x", i, 1, 1, 1, &x);
        bench_read(run, "y", i, 1, 1, 1, &y);
        double e = fabs(y - 3 * x) / (0x1p-24 * fabs(3 * x) + 0x1p-149);
        worst = bench_worse(worst, e);
    }
    return worst;
}

const struct bench bench = {"new_lesson", sizes, bytes, 0, F32, prepare, call, error, 0};
