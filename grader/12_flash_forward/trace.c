// trace.c: what `make trace LESSON=12` runs.
#include "trace/trace.h"

const struct trace_case trace_cases[] = {{.name = "full", .N_q = 16, .N_k = 16}};
const int trace_case_count = 1;
