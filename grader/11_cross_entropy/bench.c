// bench.c: how fast lesson 11, cross-entropy, is. Memory is the bound: each logit is read once, and
// its gradient written once, 2 bytes each.
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>

#include "cross_entropy.h"
#include "rows/row.h"

enum { IGNORE_INDEX = -100 };  // every row counts: a label is a token

// n = {rows, V}: the vocabularies of GPT-2 and of Llama 3
static const struct bench_size sizes[] = {
    {"8192 x 50257", {8192, 50257}},
    {"8192 x 128256", {8192, 128256}},
    {0},
};

// Beside the logits each row has a label, which is read, and an LSE, which is written.
static double bytes(const int64_t* n) {
    return (double)n[0] * (4.0 * (double)n[1] + 8 + 4);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    int64_t* labels = malloc((size_t)n[0] * sizeof *labels);
    if (!labels) abort();
    for (int64_t row = 0; row < n[0]; row++) labels[row] = bench_pick(run, n[1]);
    bench_input_given(run, "labels", I64, labels, n[0]);
    free(labels);
    bench_output(run, "loss", F32, 1);
    bench_output(run, "LSE", F32, n[0]);
    bench_in_place(run, "logits", BF16, n[0] * n[1]);
    // At its label a gradient is near -1/N, elsewhere V times smaller. Errors before the one
    // rounding to bf16 are far below its ulp: two right results are equal or neighbours.
    bench_each(run, "logits", 0x1p-7);
    bench_workspace(run, "workspace", (int64_t)cross_entropy_workspace_bytes(n[0]));
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(cross_entropy)*)launcher)(bench_gpu(run, "loss"), bench_gpu(run, "LSE"),
                                                  bench_gpu(run, "logits"),
                                                  bench_gpu(run, "labels"), n[0], n[1], n[1],
                                                  IGNORE_INDEX, 0.0f, bench_gpu(run, "workspace"));
}

// An error of l by 256 roundings is one of LSE: a thread adds up some hundred positive terms one by
// one, with an exp of 2 ulp. Then ln l and m + ln l are rounded.
static double of_LSE(double LSE) {
    return (256 + 4 * fabs(LSE)) * 0x1p-24;
}

// LSE of a row, and its gradients: each is rounded once to bf16, after an error of softmax of twice
// that of l.
static double of_row(struct bench_run* run, const int64_t* n, int64_t row, double* x, double* g) {
    const double N = (double)n[0];
    double label, LSE;
    bench_read_original(run, "logits", row * n[1], n[1], 1, n[1], x);
    bench_read(run, "logits", row * n[1], n[1], 1, n[1], g);
    bench_read(run, "labels", row, 1, 1, 1, &label);
    bench_read(run, "LSE", row, 1, 1, 1, &LSE);
    double m = row_max(x, n[1]), l = row_sum_exp(x, n[1], m), want = m + log(l);
    double worst = fabs(LSE - want) / of_LSE(want);
    for (int64_t j = 0; j < n[1]; j++) {
        double p = exp(x[j] - m) / l / N, t = j == (int64_t)label ? 1 / N : 0;
        double before = p * 512 * 0x1p-24 + t * 0x1p-20;
        double allowed = before + 0.5 * dtype_ulp(BF16, fabs(p - t) + before);
        worst = bench_worse(worst, fabs(g[j] - (p - t)) / allowed);
    }
    return worst;
}

// The mean of LSE - x_label, of the LSE that is there: of_row() and the comparison look at these.
static double of_loss(struct bench_run* run, const int64_t* n) {
    double sum = 0, loss, label, LSE, x;
    for (int64_t row = 0; row < n[0]; row++) {
        bench_read(run, "labels", row, 1, 1, 1, &label);
        bench_read(run, "LSE", row, 1, 1, 1, &LSE);
        bench_read_original(run, "logits", row * n[1] + (int64_t)label, 1, 1, 1, &x);
        sum += LSE - x;
    }
    double want = sum / (double)n[0];
    bench_read(run, "loss", 0, 1, 1, 1, &loss);
    return fabs(loss - want) / of_LSE(want);
}

static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 16 };
    double *x = malloc((size_t)n[1] * sizeof *x), *g = malloc((size_t)n[1] * sizeof *g);
    double worst = x && g ? of_loss(run, n) : NAN;
    for (int sample = 0; x && g && sample < SAMPLES; sample++) {
        int64_t row = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        worst = bench_worse(worst, of_row(run, n, row, x, g));
    }
    free(x), free(g);
    return worst;
}

// Loss and LSE are between 10 and 13: as much as of_LSE() allows of each of two.
const struct bench bench = {"cross_entropy", sizes, bytes, 0, F32, prepare, call, error, 3e-6};
