// bench.h: what the benches of the attention lessons share: the arrays, the work, and the check of
// a sample against fp64. For `make bench`; nothing here decides a grade.
//
// A lesson's bench.c says in attention_shape() what one of its sizes means, and puts the functions
// below into its `bench`. In a backward pass O and LSE are random, like everything else: the
// equations are the same, and P need not sum to 1.
#ifndef ATTENTION_BENCH_H
#define ATTENTION_BENCH_H

#include <stdbool.h>

#include "bench/bench.h"
#include "course.h"

// One call of a launcher. Arrays are packed: Q, O and their gradients (B, N_q, H, d), K, V and
// theirs (B, N_k, H_k, d), LSE (B, H, N_q). Query i sees the keys up to i + N_k - N_q if there is a
// causal mask.
struct attention_shape {
    enum dtype dtype;  // of all arrays but LSE
    bool backward;     // Q, K, V, O, LSE, dO in, dQ, dK, dV out; else Q, K, V in, O, LSE out
    int64_t B, H, H_k, N_q, N_k, d;
    bool causal;
    // A mask of blocks of 128 x 128 scores: true if score (i, j) of head b * H + h counts. NULL:
    // all scores count.
    bool (*is_active)(const int64_t* n, int64_t head, int64_t i, int64_t j);
    const int64_t* n;  // for is_active()
    int64_t workspace_bytes;
    double rounding;  // what an element may be off by, in parts of the largest of its row
};

// The shape for a size with these numbers; a lesson's bench.c defines this function.
struct attention_shape attention_shape(const int64_t* n);

// One batch of H heads, N_q = N_k = N, in fp16 and without a mask: a lesson changes what is
// different. Products and sums are in fp32, results are rounded to fp16, 2^-11 of the element; as
// much again is allowed for exp and the order of the sums.
struct attention_shape attention_of_fp16(int64_t H, int64_t N, int64_t d);

// Sizes of one batch, n = {H, N, d, causal}.
extern const struct bench_size attention_sizes_of_heads[];

// Sizes for tensor cores, n = {B, N, d, causal}, and their shape: 32 heads in bf16. In all but the
// first four B N is 16384. O or the gradients are rounded to bf16, 2^-9 of the element; and so are
// P and dS, whose errors cancel only in part. In all 2^-7 of the row's largest element is allowed.
extern const struct bench_size attention_sizes_of_batches[];
struct attention_shape attention_of_bf16(const int64_t* n);

// Documents as texts are: most are short, and one is long. Where each begins in one batch of 16384
// positions, and the end of the last; and where that of position i begins.
enum { ATTENTION_DOCUMENTS = 12 };
extern const int attention_documents[ATTENTION_DOCUMENTS + 1];
int64_t attention_document_begin(int64_t i);

// A mask of blocks of 128 x 128 scores: those on the diagonal, and `density` in a thousand of the
// other blocks, different ones for each head.
bool attention_block_is_active(int64_t density, int64_t head, int64_t i, int64_t j);

// For struct bench. As is usual, two products are counted forward and five backward, even if a
// kernel makes seven; and half of the scores with a causal mask and N_q = N_k.
double attention_bytes(const int64_t* n);
double attention_flops(const int64_t* n);
void attention_prepare(struct bench_run* run, const int64_t* n);

// The worst error of four samples, the longest row among them: of O and LSE of a query, or of dQ of
// a query and dK and dV of a key. LSE, a number near ln(N_k), may be off by 1e-3.
double attention_error(struct bench_run* run, const int64_t* n);

// The fields of struct bench that a lesson without arrays of its own has.
#define ATTENTION_BENCH                                                    \
    .bytes = attention_bytes, .flops = attention_flops, .precision = BF16, \
    .prepare = attention_prepare, .error = attention_error

// Call a launcher with the parameters of lessons 13 and 14, and of lessons 15 and 16.
int attention_call_forward(bench_launcher launcher, struct bench_run* run, const int64_t* n);
int attention_call_backward(bench_launcher launcher, struct bench_run* run, const int64_t* n);

// The strides of Q, O and their gradients; of K, V and theirs.
struct strides attention_strides_q(const struct attention_shape* s);
struct strides attention_strides_k(const struct attention_shape* s);

// 1 / sqrt(d)
float attention_scale(const struct attention_shape* s);

#endif
