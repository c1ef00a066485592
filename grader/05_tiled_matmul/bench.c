// bench.c: how fast lesson 05, tiled matmul, is, against fp32 without tensor cores.
#include "matmul/bench.h"

const struct bench bench = MATMUL_BENCH_F32("tiled_matmul", matmul_sizes, matmul_call);
