// bench.c: how fast lesson 14, attention on tensor cores, is.
#include "attention/bench.h"

struct attention_shape attention_shape(const int64_t* n) {
    return attention_of_bf16(n);
}

const struct bench bench = {
    ATTENTION_BENCH,
    .launcher = "flash_tensor_core",
    .sizes = attention_sizes_of_batches,
    .call = attention_call_forward,
    .spread = 1e-2,
};
