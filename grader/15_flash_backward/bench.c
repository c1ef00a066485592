// bench.c: how fast lesson 15, the backward pass with atomics, is.
#include "attention/bench.h"
#include "flash_backward.h"

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_fp16(n[0], n[1], n[2]);
    s.backward = true;
    s.causal = n[3];
    s.workspace_bytes = (int64_t)flash_backward_workspace_bytes(1, (int)s.N_q, (int)s.H, (int)s.d);
    return s;
}

const struct bench bench = {
    ATTENTION_BENCH,
    .launcher = "flash_backward",
    .sizes = attention_sizes_of_heads,
    .call = attention_call_backward,
    .spread = 1e-3,
};
