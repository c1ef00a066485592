// bench.c: how fast lesson 14, attention on tensor cores, is.
#include "attention/bench.h"

enum { HEADS = 32 };

// n = {B, N, d, causal}; arrays of (B, N, HEADS, d). In all but the first four B N is 16384.
static const struct bench_size sizes[] = {
    {"B = 1; N = 4096; d = 128", {1, 4096, 128, 0}},
    {"B = 1; N = 4096; d = 128; causal", {1, 4096, 128, 1}},
    {"B = 1; N = 4321; d = 128", {1, 4321, 128, 0}},
    {"B = 1; N = 4321; d = 128; causal", {1, 4321, 128, 1}},
    {"B = 16; N = 1024; d = 64", {16, 1024, 64, 0}},
    {"B = 8; N = 2048; d = 64", {8, 2048, 64, 0}},
    {"B = 4; N = 4096; d = 64", {4, 4096, 64, 0}},
    {"B = 2; N = 8192; d = 64", {2, 8192, 64, 0}},
    {"B = 1; N = 16384; d = 64", {1, 16384, 64, 0}},
    {"B = 16; N = 1024; d = 64; causal", {16, 1024, 64, 1}},
    {"B = 8; N = 2048; d = 64; causal", {8, 2048, 64, 1}},
    {"B = 4; N = 4096; d = 64; causal", {4, 4096, 64, 1}},
    {"B = 2; N = 8192; d = 64; causal", {2, 8192, 64, 1}},
    {"B = 1; N = 16384; d = 64; causal", {1, 16384, 64, 1}},
    {"B = 16; N = 1024; d = 128", {16, 1024, 128, 0}},
    {"B = 8; N = 2048; d = 128", {8, 2048, 128, 0}},
    {"B = 4; N = 4096; d = 128", {4, 4096, 128, 0}},
    {"B = 2; N = 8192; d = 128", {2, 8192, 128, 0}},
    {"B = 1; N = 16384; d = 128", {1, 16384, 128, 0}},
    {"B = 16; N = 1024; d = 128; causal", {16, 1024, 128, 1}},
    {"B = 8; N = 2048; d = 128; causal", {8, 2048, 128, 1}},
    {"B = 4; N = 4096; d = 128; causal", {4, 4096, 128, 1}},
    {"B = 2; N = 8192; d = 128; causal", {2, 8192, 128, 1}},
    {"B = 1; N = 16384; d = 128; causal", {1, 16384, 128, 1}},
    {0},
};

// O is rounded to bf16: 2^-9 of the element; and so is P, whose errors cancel only in part. In all
// 2^-7 of the row's largest element.
struct attention_shape attention_shape(const int64_t* n) {
    return (struct attention_shape){.dtype = BF16,
                                    .B = n[0],
                                    .H = HEADS,
                                    .H_k = HEADS,
                                    .N_q = n[1],
                                    .N_k = n[1],
                                    .d = n[2],
                                    .causal = n[3],
                                    .rounding = 0x1p-7};
}

const struct bench bench = {
    .launcher = "flash_tensor_core",
    .sizes = sizes,
    .bytes = attention_bytes,
    .flops = attention_flops,
    .precision = BF16,
    .prepare = attention_prepare,
    .call = attention_call_forward,
    .error = attention_error,
    .spread = 1e-2,
};
