// bench.c: how fast lesson 27, attention in eight bits and the step to them, is.
#include <math.h>
#include <stdlib.h>

#include "attention/bench.h"
#include "base/dtype.h"
#include "low_precision.h"

// n. The last number says which launcher a size is of (bench.h). HOW, of the step: a bit for what
// its flag asks for.
enum { B, N, D, CAUSAL, HEADS, PER_BLOCK, HOW, QUANTISES };
enum { ROTATED = 1, TRANSPOSED = 2 };

static const struct bench_size sizes[] = {
    {"B = 1; N = 4096; d = 128", {1, 4096, 128, 0, 32}},
    {"B = 1; N = 4096; d = 128; causal", {1, 4096, 128, 1, 32}},
    {"B = 1; N = 4321; d = 128", {1, 4321, 128, 0, 32}},
    {"B = 1; N = 16384; d = 128", {1, 16384, 128, 0, 32}},
    {"B = 1; N = 16384; d = 128; causal", {1, 16384, 128, 1, 32}},
    {"B = 1; N = 16384; d = 128; scales of blocks", {1, 16384, 128, 0, 32, 1}},
    {"B = 1; N = 16384; d = 64", {1, 16384, 64, 0, 32}},
    {"B = 1; N = 16384; d = 64; causal", {1, 16384, 64, 1, 32}},
    {"B = 16; N = 1024; d = 128; causal", {16, 1024, 128, 1, 32}},
    {"B = 16; N = 1024; d = 64; causal", {16, 1024, 64, 1, 32}},
    {"N = 16384; d = 128; to eight bits; a scale for each block", {1, 16384, 128, 0, 32, 1, 0, 1}},
    {"N = 16384; d = 128; to eight bits; one scale", {1, 16384, 128, 0, 32, 0, 0, 1}},
    {"N = 16384; d = 128; to eight bits; transposed", {1, 16384, 128, 0, 32, 1, TRANSPOSED, 1}},
    {"N = 16384; d = 128; to eight bits; rotated", {1, 16384, 128, 0, 32, 1, ROTATED, 1}},
    {0},
};

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_bf16(n);
    s.H = s.H_k = n[HEADS];
    return s;
}

static int64_t elements(const int64_t* n) {
    return n[B] * n[HEADS] * n[N] * n[D];
}
static int64_t scales(const int64_t* n) {
    return n[PER_BLOCK] ? n[B] * n[HEADS] * CEIL_DIV(n[N], SCALE_BLOCK) : 1;
}

static double flops(const int64_t* n) {
    return n[QUANTISES] ? 0 : attention_flops(n);
}

// Q, K, V a byte each and O two; or X two and a byte each.
static double bytes(const int64_t* n) {
    return (n[QUANTISES] ? 3.0 : 5.0) * (double)elements(n);
}

// A byte as a number, and normal numbers as bytes with the scale 1 / 64: an array of random ones.
static double value(int byte) {
    const int e = byte >> 3 & 15, f = byte & 7;
    const double size = e ? ldexp(8 + f, e - 10) : ldexp(f, -9);
    return byte & 0x80 ? -size : size;
}

static unsigned char byte_of(double x) {
    int best = 0;
    for (int byte = 1; byte < 0x7f; byte++)
        if (fabs(value(byte) - fabs(x)) < fabs(value(best) - fabs(x))) best = byte;
    return (unsigned char)(best | (x < 0 ? 0x80 : 0));
}

static void give_bytes(struct bench_run* run, const char* name, int64_t count, uint64_t random) {
    enum { NORMAL = 4096 };
    unsigned char normal[NORMAL], *all = malloc((size_t)count);
    if (!all) abort();
    for (int i = 0; i < NORMAL; i++) {
        const double u = (i + 0.5) / NORMAL, t = 6.2831853071795865 * (i * 2531 % NORMAL) / NORMAL;
        normal[i] = byte_of(64 * sqrt(-2 * log(u)) * cos(t));
    }
    for (int64_t e = 0; e < count; e++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        all[e] = normal[random >> 40 & (NORMAL - 1)];
    }
    bench_input_given(run, name, U8, all, count);
    free(all);
}

static void give_scales(struct bench_run* run, const char* name, const int64_t* n) {
    const int64_t count = scales(n);
    float* all = malloc((size_t)count * sizeof *all);
    if (!all) abort();
    for (int64_t e = 0; e < count; e++) all[e] = (float)(1 + e % 3 / 4.0) / 64;
    bench_input_given(run, name, F32, all, count);
    free(all);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    static const int zeros[2];
    const int64_t padded = n[B] * n[HEADS] * n[D] * PADDED(n[N]);
    if (n[QUANTISES]) {
        bench_input(run, "X", BF16, elements(n));
        bench_output(run, "to", U8, n[HOW] & TRANSPOSED ? padded : elements(n));
        bench_output(run, "scales", F32, scales(n));
        return;
    }
    give_bytes(run, "Q", elements(n), 1);
    give_bytes(run, "K", elements(n), 2);
    give_bytes(run, "Vt", padded, 3);
    give_scales(run, "Q_scales", n);
    give_scales(run, "K_scales", n);
    give_scales(run, "V_scales", n);
    bench_input_given(run, "tickets", I32, zeros, 2);
    bench_output(run, "O", BF16, elements(n));
    bench_output(run, "LSE", F32, n[B] * n[HEADS] * n[N]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides packed = attention_strides_q(&s);
    if (n[QUANTISES])
        return ((__typeof__(low_precision_quantise)*)launcher)(
            bench_gpu(run, "to"), bench_gpu(run, "scales"), bench_gpu(run, "X"), (int)n[B],
            (int)n[N], (int)n[HEADS], (int)n[D], packed, (int)n[PER_BLOCK], (n[HOW] & ROTATED) != 0,
            (n[HOW] & TRANSPOSED) != 0);
    return ((__typeof__(low_precision)*)launcher)(
        bench_gpu(run, "O"), bench_gpu(run, "LSE"), bench_gpu(run, "Q"), bench_gpu(run, "K"),
        bench_gpu(run, "Vt"), bench_gpu(run, "Q_scales"), bench_gpu(run, "K_scales"),
        bench_gpu(run, "V_scales"), (int)n[B], (int)n[N], (int)n[N], (int)n[HEADS], (int)n[HEADS],
        (int)n[D], packed, attention_scale(&s), (int)n[CAUSAL], (int)n[PER_BLOCK],
        bench_gpu(run, "tickets"));
}

// ---- a sample of the outputs -------------------------------------------------------------------

static double scale_at(struct bench_run* run, const char* name, const int64_t* n, int64_t head,
                       int64_t row) {
    double scale;
    const int64_t at = head * CEIL_DIV(n[N], SCALE_BLOCK) + row / SCALE_BLOCK;
    bench_read(run, name, n[PER_BLOCK] ? at : 0, 0, 1, 1, &scale);
    return scale;
}

// O and LSE of a query: P may be off by 2^-4 of itself, and what wgmma cuts off, 2^-13 of the sum
// in each of its steps, comes to 2^-5 where there are many.
static double error_of_query(struct bench_run* run, const int64_t* n, int64_t head, int64_t i) {
    const int64_t d = n[D], seen = n[CAUSAL] ? i + 1 : n[N], padded = PADDED(n[N]);
    const int64_t b = head / n[HEADS], h = head % n[HEADS];
    double q[128], o[128], LSE, worst = 0;
    double* K = malloc((size_t)(n[N] * d) * sizeof *K);
    double* V = malloc((size_t)(padded * d) * sizeof *V);
    double* S = malloc((size_t)n[N] * sizeof *S);
    if (!K || !V || !S) abort();
    bench_read(run, "Q", (head * n[N] + i) * d, 0, 1, d, q);
    bench_read(run, "K", head * n[N] * d, d, n[N], d, K);
    bench_read(run, "Vt", head * padded * d, padded, d, padded, V);
    bench_read(run, "O", (b * n[N] + i) * n[HEADS] * d + h * d, 0, 1, d, o);
    bench_read(run, "LSE", head * n[N] + i, 0, 1, 1, &LSE);
    const double of_q = scale_at(run, "Q_scales", n, head, i) / sqrt((double)d);
    double m = -INFINITY, l = 0, k = 0;
    for (int64_t j = 0; j < seen; j++) {
        if (j % SCALE_BLOCK == 0) k = of_q * scale_at(run, "K_scales", n, head, j);
        S[j] = 0;
        for (int64_t x = 0; x < d; x++) S[j] += value((int)q[x]) * value((int)K[j * d + x]);
        S[j] *= k;
        m = fmax(m, S[j]);
    }
    for (int64_t j = 0; j < seen; j++) l += exp(S[j] - m);
    worst = fabs(LSE - m - log(l)) / 1e-2;
    for (int64_t x = 0; x < d; x++) {
        double sum = 0, size = 0, v = 0;
        for (int64_t j = 0; j < seen; j++) {
            if (j % SCALE_BLOCK == 0) v = scale_at(run, "V_scales", n, head, j);
            // Of 16 keys, number 2 t + r + 8 u has byte 4 t + r + 2 u.
            const int64_t byte = j / 16 * 16 + j % 8 / 2 * 4 + j % 2 + j % 16 / 8 * 2;
            const double one = exp(S[j] - m) * v * value((int)V[x * padded + byte]);
            sum += one, size += fabs(one);
        }
        const double allowed = (0x1p-4 + 0x1p-5) * size / l + 0x1p-8 * fabs(sum / l);
        worst = bench_worse(worst, fabs(o[x] - sum / l) / allowed);
    }
    free(K), free(V), free(S);
    return worst;
}

// Bytes of a row that is not rotated: X is the scale times its byte, but for half a step.
static double error_of_row(struct bench_run* run, const int64_t* n, int64_t head, int64_t i) {
    const int64_t d = n[D], padded = PADDED(n[N]), b = head / n[HEADS], h = head % n[HEADS];
    double X[128], to[128], worst = 0;
    if (n[HOW] & ROTATED) return 0;  // compared with other versions alone
    bench_read(run, "X", ((b * n[N] + i) * n[HEADS] + h) * d, 0, 1, d, X);
    if (n[HOW] & TRANSPOSED)
        bench_read(run, "to",
                   head * d * padded + i / 16 * 16 + i % 8 / 2 * 4 + i % 2 + i % 16 / 8 * 2, padded,
                   d, 1, to);
    else
        bench_read(run, "to", (head * n[N] + i) * d, 0, 1, d, to);
    const double scale = scale_at(run, "scales", n, head, i);
    for (int64_t x = 0; x < d; x++) {
        const double off = fabs(X[x] - scale * value((int)to[x]));
        worst = bench_worse(worst, off / (0x1.01p-4 * fabs(X[x]) + 0x1.01p-10 * scale));
    }
    return worst;
}

static double error(struct bench_run* run, const int64_t* n) {
    double worst = 0;
    for (int sample = 0; sample < 3; sample++) {
        const int64_t head = bench_pick(run, n[B] * n[HEADS]);
        const int64_t i = sample ? bench_pick(run, n[N]) : n[N] - 1;
        worst = bench_worse(worst, n[QUANTISES] ? error_of_row(run, n, head, i)
                                                : error_of_query(run, n, head, i));
    }
    return worst;
}

const struct bench bench = {
    .launcher = "low_precision low_precision_quantise",
    .sizes = sizes,
    .bytes = bytes,
    .flops = flops,
    .precision = BF16,
    .prepare = prepare,
    .call = call,
    .error = error,
    // Two ways to round P differ by 2^-4 of it, in a mean of many.
    .spread = 5e-2,
};
