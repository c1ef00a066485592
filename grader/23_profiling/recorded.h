// recorded.h: what limits the six kernels of lesson 23, and how many times faster the cure made
// them on an NVIDIA H200. record/record.sh makes it of the recorded tables.
#ifndef RECORDED_H
#define RECORDED_H

#include "profiling.h"

static const struct recorded {
    enum profiling_limiter limiter;
    double speed_up;
} recorded[PROFILING_KERNELS] = {
    [PROFILING_SCORES] = {LIMITER_UNCOALESCED, 3.80},
    [PROFILING_DECAY] = {LIMITER_BANK_CONFLICTS, 3.57},
    [PROFILING_FILTER] = {LIMITER_REDUNDANT_READS, 2.31},
    [PROFILING_GAPS] = {LIMITER_REGISTERS, 3.31},
    [PROFILING_FORCES] = {LIMITER_TAIL, 1.61},
    [PROFILING_NORM] = {LIMITER_IN_FLIGHT, 3.39},
};

#endif
