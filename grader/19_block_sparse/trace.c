// trace.c: what `make trace LESSON=19` runs.
#include "trace/trace.h"

// The queries of the third row of blocks see nothing.
static const uint8_t mask[TRACE_TILES * TRACE_TILES] = {
    1, 0, 0, 1,  //
    0, 1, 1, 0,  //
    0, 0, 0, 0,  //
    1, 0, 1, 1,  //
};

const struct trace_case trace_cases[] = {
    {.name = "block-sparse", .N_q = 16, .N_k = 16, .mask = mask, .bf16 = 1}};
const int trace_case_count = 1;
