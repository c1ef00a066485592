// bench.c: how fast lesson 06, register tiling, is, against fp32 without tensor cores.
#include "matmul/bench.h"
#include "register_tiling.h"

// n = {M, N, K}, packed; in the last one, rows begin anywhere.
static const struct bench_size sizes[] = {
    {"4096 x 4096 x 4096", {4096, 4096, 4096}},
    {"8192 x 8192 x 8192", {8192, 8192, 8192}},
    {"4100 x 4008 x 4104", {4100, 4008, 4104}},
    {"4321 x 4001 x 4097", {4321, 4001, 4097}},
    {0},
};

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(register_tiling)*)launcher)(bench_gpu(run, "C"), bench_gpu(run, "A"),
                                                    bench_gpu(run, "B"), (int)n[0], (int)n[1],
                                                    (int)n[2], n[1], n[2], n[1]);
}

const struct bench bench = MATMUL_BENCH_F32("register_tiling", sizes, call);
