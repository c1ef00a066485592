// bench.c: how fast lesson 04, matmul_coalesced, is, against fp32 without tensor cores.
#include "matmul/bench.h"

const struct bench bench = MATMUL_BENCH_F32("matmul_coalesced", matmul_sizes, matmul_call);
