// trace.c: what `make trace LESSON=13` runs.
#include "trace/trace.h"

const struct trace_case trace_cases[] = {
    {.name = "causal", .N_q = 12, .N_k = 16, .causal = 1},
    {.name = "ragged", .N_q = 14, .N_k = 13},
    // the first three queries see no key
    {.name = "causal and ragged", .N_q = 16, .N_k = 13, .causal = 1},
};
const int trace_case_count = 3;
