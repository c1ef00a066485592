// trace.c: what `make trace LESSON=15` runs.
#include "trace/trace.h"

const struct trace_case trace_cases[] = {
    {.name = "full", .N_q = 16, .N_k = 16, .backward = 1},
    {.name = "causal", .N_q = 12, .N_k = 16, .causal = 1, .backward = 1},
    // the first two queries see no key; the last tiles are ragged
    {.name = "causal and ragged", .N_q = 15, .N_k = 13, .causal = 1, .backward = 1},
};
const int trace_case_count = 3;
