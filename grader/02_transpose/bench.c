// bench.c: how fast lesson 02, transpose, is. Memory is the bound: one read, one write.
#include "bench/bench.h"
#include "transpose.h"

// n = {rows, cols}
static const struct bench_size sizes[] = {
    {"8192 x 4096", {8192, 4096}},
    {"8765 x 4321", {8765, 4321}},
    {"4096 x 50257", {4096, 50257}},
    {0},
};

static double bytes(const int64_t* n) {
    return 2.0 * 4 * (double)(n[0] * n[1]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "out", F32, n[0] * n[1]);
    bench_input(run, "in", F32, n[0] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(float*, const float*, int, int))launcher)(
        bench_gpu(run, "out"), bench_gpu(run, "in"), (int)n[0], (int)n[1]);
}

// Some elements, exactly.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 64 };
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t row = bench_pick(run, n[0]), col = bench_pick(run, n[1]);
        double want, got;
        bench_read(run, "in", row * n[1] + col, 1, 1, 1, &want);
        bench_read(run, "out", col * n[0] + row, 1, 1, 1, &got);
        if (want != got) return 2;
    }
    return 0;
}

const struct bench bench = {"transpose", sizes, bytes, 0, F32, prepare, call, error, 0};
