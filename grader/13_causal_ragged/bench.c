// bench.c: how fast lesson 13, attention with a causal mask and any length, is.
#include "attention/bench.h"

// n = {H, N, d, causal}; one batch, arrays of (N, H, d)
static const struct bench_size sizes[] = {
    {"32 heads; N = 4096; d = 128", {32, 4096, 128, 0}},
    {"32 heads; N = 4096; d = 128; causal", {32, 4096, 128, 1}},
    {"32 heads; N = 4321; d = 128; causal", {32, 4321, 128, 1}},
    {"32 heads; N = 4096; d = 64; causal", {32, 4096, 64, 1}},
    {0},
};

// Products and sums in fp32, results rounded to fp16: 2^-11 of the element, and as much again for
// exp and the order of the sums.
struct attention_shape attention_shape(const int64_t* n) {
    return (struct attention_shape){.dtype = F16,
                                    .B = 1,
                                    .H = n[0],
                                    .H_k = n[0],
                                    .N_q = n[1],
                                    .N_k = n[1],
                                    .d = n[2],
                                    .causal = n[3],
                                    .rounding = 0x1p-10};
}

const struct bench bench = {
    .launcher = "causal_ragged",
    .sizes = sizes,
    .bytes = attention_bytes,
    .flops = attention_flops,
    .precision = BF16,
    .prepare = attention_prepare,
    .call = attention_call_forward,
    .error = attention_error,
    .spread = 1e-3,
};
