// bench.c: how fast lesson 04, matmul_coalesced, is, against fp32 without tensor cores.
#include "matmul/bench.h"

// n = {M, N, K}
static const struct bench_size sizes[] = {
    {"2048 x 2048 x 2048", {2048, 2048, 2048}},
    {"4096 x 4096 x 4096", {4096, 4096, 4096}},
    {"4321 x 4001 x 4097", {4321, 4001, 4097}},
    {0},
};

const struct bench bench = {
    .launcher = "matmul_coalesced",
    .sizes = sizes,
    .bytes = matmul_bytes_f32,
    .flops = matmul_flops,
    .precision = F32,
    .prepare = matmul_prepare_f32,
    .call = matmul_call,
    .error = matmul_error_f32,
    .spread = 1e-5,
};
