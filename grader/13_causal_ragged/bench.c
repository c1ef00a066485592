// bench.c: how fast lesson 13, attention with a causal mask and any length, is.
#include "attention/bench.h"

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_fp16(n[0], n[1], n[2]);
    s.causal = n[3];
    return s;
}

const struct bench bench = {
    ATTENTION_BENCH,
    .launcher = "causal_ragged",
    .sizes = attention_sizes_of_heads,
    .call = attention_call_forward,
    .spread = 1e-3,
};
