// recorded.h: what limits the six kernels of lesson 23, and how many times faster the cure made them
// on an NVIDIA H200. record/record.sh makes it of the recorded tables.
{LIMITER_UNCOALESCED, 3.76},  // scores
{LIMITER_BANK_CONFLICTS, 3.38},  // decay
{LIMITER_REDUNDANT_READS, 1.63},  // filter
{LIMITER_REGISTERS, 2.79},  // gaps
{LIMITER_TAIL, 1.61},  // forces
{LIMITER_IN_FLIGHT, 3.46},  // norm
