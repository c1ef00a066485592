// bench.c: how fast lesson 24, the matrix product of Hopper GPUs, is.
#include "hopper_matmul.h"
#include "matmul/bench.h"

// n = {M, N, K, transpose_A, transpose_B}. Where K is 4104 or 3000, rows begin at multiples of 16
// bytes and of no more. The last ones have fewer tiles than there are multiprocessors.
static const struct bench_size sizes[] = {
    {"8192 x 8192 x 8192", {8192, 8192, 8192}},
    {"8192 x 8192 x 8192; B is (N; K)", {8192, 8192, 8192, 0, 1}},
    {"4096 x 4096 x 4096", {4096, 4096, 4096}},
    {"4096 x 4096 x 4096; B is (N; K)", {4096, 4096, 4096, 0, 1}},
    {"16384 x 4096 x 4096", {16384, 4096, 4096}},
    {"16384 x 4096 x 4096; B is (N; K)", {16384, 4096, 4096, 0, 1}},
    {"4321 x 4096 x 4104", {4321, 4096, 4104}},
    {"8192 x 8192 x 8192; A is (K; M)", {8192, 8192, 8192, 1, 0}},
    {"4321 x 4096 x 4104; B is (N; K)", {4321, 4096, 4104, 0, 1}},
    {"3000 x 3000 x 3000", {3000, 3000, 3000}},
    {"2048 x 2048 x 2048", {2048, 2048, 2048}},
    {"1024 x 1024 x 1024", {1024, 1024, 1024}},
    {"256 x 4096 x 4096", {256, 4096, 4096}},
    {"512 x 512 x 32768", {512, 512, 32768}},
    {0},
};

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(hopper_matmul)*)launcher)(
        bench_gpu(run, "C"), bench_gpu(run, "A"), bench_gpu(run, "B"), (int)n[0], (int)n[1],
        (int)n[2], n[1], n[3] ? n[0] : n[2], n[4] ? n[2] : n[1], (int)n[3], (int)n[4]);
}

const struct bench bench = {
    .launcher = "hopper_matmul",
    .sizes = sizes,
    .bytes = matmul_bytes_bf16,
    .flops = matmul_flops,
    .precision = BF16,
    .prepare = matmul_prepare_bf16,
    .call = call,
    .error = matmul_error_bf16,
    .spread = 0.008,  // sums that differ in a last bit may be rounded to neighbours: 2^-7
};
