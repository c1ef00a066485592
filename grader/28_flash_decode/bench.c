// bench.c: how fast lesson 28, decoding, is. Memory is the bound: each key and its value are read
// once for all heads of a group, 4 d bytes.
#include "bench/bench.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "flash_decode.h"

// n. All sequences are of the same length. A page of all the keys of a sequence: a cache without
// pages, (B, H_k, N, d); else the pages lie in a random order.
enum { BATCHES, H_Q, H_K, N_Q, LENGTH, D, PAGE };

#define LONG "B = 4; 32/8 heads; N = 65536; d = 128"
#define SHORT "B = 16; 32/8 heads; N = 4096; d = 64"

static const struct bench_size sizes[] = {
    {LONG, {4, 32, 8, 1, 65536, 128, 65536}},
    {LONG "; pages of 64", {4, 32, 8, 1, 65536, 128, 64}},
    {SHORT, {16, 32, 8, 1, 4096, 64, 4096}},
    {SHORT "; pages of 64", {16, 32, 8, 1, 4096, 64, 64}},
    {LONG "; pages of 16", {4, 32, 8, 1, 65536, 128, 16}},
    {SHORT "; pages of 16", {16, 32, 8, 1, 4096, 64, 16}},
    {0},
};

static int64_t pages_of(const int64_t* n) {
    return n[LENGTH] / n[PAGE];  // of a sequence, whole ones
}

static int64_t of_cache(const int64_t* n) {
    return n[BATCHES] * n[LENGTH] * n[H_K] * n[D];  // elements of K
}

static int64_t of_queries(const int64_t* n) {
    return n[BATCHES] * n[N_Q] * n[H_Q] * n[D];
}

static double bytes(const int64_t* n) {
    return 4.0 * (double)of_cache(n) + 4.0 * (double)of_queries(n);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    const int64_t pages = n[BATCHES] * pages_of(n), tickets = n[BATCHES] * n[H_Q];
    int* numbers = calloc((size_t)(pages + n[BATCHES] + tickets), sizeof *numbers);
    if (!numbers) abort();
    int *table = numbers, *lengths = table + pages, *zeros = lengths + n[BATCHES];
    for (int64_t i = 0; i < pages; i++) table[i] = (int)i;
    for (int64_t i = pages - 1; i > 0 && n[PAGE] < n[LENGTH]; i--) {
        int64_t other = bench_pick(run, i + 1);
        int page = table[i];
        table[i] = table[other], table[other] = page;
    }
    for (int64_t b = 0; b < n[BATCHES]; b++) lengths[b] = (int)n[LENGTH];
    bench_input(run, "Q", BF16, of_queries(n));
    bench_input(run, "K_pages", BF16, of_cache(n));
    bench_input(run, "V_pages", BF16, of_cache(n));
    bench_input_given(run, "page_table", I32, table, pages);
    bench_input_given(run, "lengths", I32, lengths, n[BATCHES]);
    bench_input_given(run, "tickets", I32, zeros, tickets);
    bench_output(run, "O", BF16, of_queries(n));
    bench_output(run, "LSE", F32, n[BATCHES] * n[H_Q] * n[N_Q]);
    bench_workspace(run, "workspace",
                    (int64_t)flash_decode_workspace_bytes((int)n[BATCHES], (int)n[N_Q], (int)n[H_Q],
                                                          (int)n[H_K], (int)n[D]));
    free(numbers);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(flash_decode)*)launcher)(
        bench_gpu(run, "O"), bench_gpu(run, "LSE"), bench_gpu(run, "Q"), bench_gpu(run, "K_pages"),
        bench_gpu(run, "V_pages"), bench_gpu(run, "page_table"), bench_gpu(run, "lengths"),
        (int)n[PAGE], (int)pages_of(n), (int)n[BATCHES], (int)n[N_Q], (int)n[H_Q], (int)n[H_K],
        (int)n[D], 1.0f / sqrtf((float)n[D]), bench_gpu(run, "tickets"),
        bench_gpu(run, "workspace"));
}

// The rows of one key head of one sequence, in the order of its keys.
static void read_cache(struct bench_run* run, const int64_t* n, const char* name, int64_t b,
                       int64_t head, double* to) {
    double* table = malloc((size_t)pages_of(n) * sizeof *table);
    if (!table) abort();
    bench_read(run, "page_table", b * pages_of(n), 1, 1, pages_of(n), table);
    for (int64_t i = 0; i < pages_of(n); i++)
        bench_read(run, name, ((int64_t)table[i] * n[H_K] + head) * n[PAGE] * n[D], n[D], n[PAGE],
                   n[D], to + i * n[PAGE] * n[D]);
    free(table);
}

// O and LSE of one query.
//     S_j = scale Q K_j    P = softmax(S)    O = sum_j P_j V_j    LSE = ln sum_j exp(S_j)
// O is rounded to bf16, 2^-9 of it; so are the weights, whose errors cancel in part: 2^-7 of the
// row's largest element is allowed, and 1e-3 of LSE, a number near ln N.
static double error_of(struct bench_run* run, const int64_t* n, int64_t b, int64_t h, int64_t i) {
    const int64_t d = n[D], keys = n[LENGTH] - n[N_Q] + 1 + i, head = h / (n[H_Q] / n[H_K]);
    double* K = malloc((size_t)(n[LENGTH] * d) * sizeof *K);
    double* V = malloc((size_t)(n[LENGTH] * d) * sizeof *V);
    double* S = malloc((size_t)n[LENGTH] * sizeof *S);
    double Q[128], O[128] = {0}, got[128], LSE, m = -INFINITY, l = 0, largest = 0;
    if (!K || !V || !S) abort();
    read_cache(run, n, "K_pages", b, head, K);
    read_cache(run, n, "V_pages", b, head, V);
    bench_read(run, "Q", ((b * n[N_Q] + i) * n[H_Q] + h) * d, d, 1, d, Q);
    bench_read(run, "O", ((b * n[N_Q] + i) * n[H_Q] + h) * d, d, 1, d, got);
    bench_read(run, "LSE", (b * n[H_Q] + h) * n[N_Q] + i, 1, 1, 1, &LSE);
    for (int64_t j = 0; j < keys; j++) {
        S[j] = 0;
        for (int64_t x = 0; x < d; x++) S[j] += Q[x] * K[j * d + x];
        S[j] /= sqrt((double)d);
        m = fmax(m, S[j]);
    }
    for (int64_t j = 0; j < keys; j++) {
        double p = exp(S[j] - m);
        l += p;
        for (int64_t x = 0; x < d; x++) O[x] += p * V[j * d + x];
    }
    for (int64_t x = 0; x < d; x++) largest = fmax(largest, fabs(O[x] / l));
    double worst = fabs(LSE - (m + log(l))) / 1e-3;
    for (int64_t x = 0; x < d; x++)
        worst = bench_worse(worst, fabs(got[x] - O[x] / l) / (largest / 128));
    free(K), free(V), free(S);
    return worst;
}

static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 4 };
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        bool is_last = sample == 0;
        int64_t b = is_last ? n[BATCHES] - 1 : bench_pick(run, n[BATCHES]);
        int64_t h = is_last ? n[H_Q] - 1 : bench_pick(run, n[H_Q]);
        int64_t i = is_last ? n[N_Q] - 1 : bench_pick(run, n[N_Q]);
        worst = bench_worse(worst, error_of(run, n, b, h, i));
    }
    return worst;
}

// Two right results are rounded to bf16 each: as in lesson 14.
const struct bench bench = {"flash_decode", sizes, bytes, 0, BF16, prepare, call, error, 1e-2};
