// bench.c: how fast lesson 07, the matrix product on tensor cores, is.
#include "matmul/bench.h"

// n = {M, N, K}; in the last one, rows begin anywhere.
static const struct bench_size sizes[] = {
    {"2048 x 2048 x 2048", {2048, 2048, 2048}},
    {"4096 x 4096 x 4096", {4096, 4096, 4096}},
    {"8192 x 8192 x 8192", {8192, 8192, 8192}},
    {"4100 x 4008 x 4104", {4100, 4008, 4104}},
    {"8192 x 4096 x 4096", {8192, 4096, 4096}},
    {"2049 x 2047 x 2051", {2049, 2047, 2051}},
    {0},
};

const struct bench bench = {
    .launcher = "tensor_core_matmul",
    .sizes = sizes,
    .bytes = matmul_bytes_bf16,
    .flops = matmul_flops,
    .precision = BF16,
    .prepare = matmul_prepare_bf16,
    .call = matmul_call,
    .error = matmul_error_bf16,
    .spread = 0.008,  // sums that differ in a last bit may be rounded to neighbours: 2^-7
};
