// recorded.h: what limits the six kernels of lesson 23, and by what factor their cure made them
// faster on an H200. `sh grader/23_profiling/record/record.sh table` writes it.
{LIMITER_UNCOALESCED, 4.5}, {LIMITER_BANK_CONFLICTS, 4.5}, {LIMITER_REDUNDANT_READS, 3.0},
    {LIMITER_REGISTERS, 4.0}, {LIMITER_TAIL, 1.78}, {LIMITER_IN_FLIGHT, 4.0},
