// bench.c: how fast lesson 16, the backward pass in two kernels, is.
#include "attention/bench.h"
#include "flash_backward_split.h"

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_bf16(n);
    s.backward = true;
    s.workspace_bytes =
        (int64_t)flash_backward_split_workspace_bytes((int)s.B, (int)s.N_q, (int)s.H);
    return s;
}

const struct bench bench = {
    ATTENTION_BENCH,
    .launcher = "flash_backward_split",
    .sizes = attention_sizes_of_batches,
    .call = attention_call_backward,
    .spread = 1e-2,
};
