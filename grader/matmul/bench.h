// bench.h: what the benches of C = A B share, packed, in fp32 or bf16; for the fields of struct
// bench. n = {M, N, K}, and where that exists whether A is stored transposed, whether B is.
#ifndef MATMUL_BENCH_H
#define MATMUL_BENCH_H

#include "bench/bench.h"

double matmul_flops(const int64_t* n);

double matmul_bytes_f32(const int64_t* n);
double matmul_bytes_bf16(const int64_t* n);

// Declares C, A and B.
void matmul_prepare_f32(struct bench_run* run, const int64_t* n);
void matmul_prepare_bf16(struct bench_run* run, const int64_t* n);

// Launchers that take C, A, B, M, N, K.
int matmul_call(bench_launcher launcher, struct bench_run* run, const int64_t* n);

// The largest error of single elements in a few places, in parts of the allowed error. The allowed
// error is far above the errors that are seen, and far below one lost product.
double matmul_error_f32(struct bench_run* run, const int64_t* n);
double matmul_error_bf16(struct bench_run* run, const int64_t* n);

// Sizes for kernels that reach a part of what a card can do, aligned and not.
extern const struct bench_size matmul_sizes[];

// A whole struct bench of a launcher in fp32, packed.
#define MATMUL_BENCH_F32(its_name, its_sizes, its_call)                                           \
    {                                                                                             \
        .launcher = its_name, .sizes = its_sizes, .bytes = matmul_bytes_f32,                      \
        .flops = matmul_flops, .precision = F32, .prepare = matmul_prepare_f32, .call = its_call, \
        .error = matmul_error_f32, .spread = 1e-5,                                                \
    }

#endif
