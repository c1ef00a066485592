// profiling.h: the contract of lesson 23.
//
// Six slow kernels. Three of them stand in the file, right and slow, and are to be cured. The other
// three are only read: grader/23_profiling/record/before.cu. Of all six the file says what limits
// them as they are given, and how many times faster the cure makes them.
#ifndef PROFILING_H
#define PROFILING_H

#include "course.h"

// Weights that the filter has for each channel.
#define PROFILING_TAPS 16

// No size may be larger: a grid has at most 65535 rows of blocks.
enum { PROFILING_MAX_SIZE = 1 << 22 };

// The six kernels, in the order of the tables.
enum profiling_kernel {
    PROFILING_SCORES,
    PROFILING_DECAY,
    PROFILING_FILTER,
    PROFILING_GAPS,    // read only
    PROFILING_FORCES,  // read only
    PROFILING_NORM,    // read only
    PROFILING_KERNELS,
};

// What a kernel waits for. There are more of them than kernels.
enum profiling_limiter {
    LIMITER_NONE,             // no answer yet
    LIMITER_DRAM,             // device memory gives all it has, and every byte is needed
    LIMITER_ISSUE,            // every multiprocessor issues all it can, all the time
    LIMITER_UNCOALESCED,      // requests to global memory fall apart into many sectors
    LIMITER_BANK_CONFLICTS,   // lanes queue at the banks of shared memory
    LIMITER_REDUNDANT_READS,  // the same bytes are read again and again, from L2
    LIMITER_REGISTERS,        // registers leave room for too few warps
    LIMITER_SHARED_MEMORY,    // shared memory leaves room for too few warps
    LIMITER_TAIL,             // most multiprocessors are idle while the last blocks run
    LIMITER_IN_FLIGHT,        // there is room for all warps, and they ask for too few bytes at once
    LIMITER_BARRIERS,         // warps wait for each other at __syncthreads()
    LIMITER_DIVERGENCE,       // most lanes of a warp are switched off
    LIMITER_ATOMICS,          // atomic operations queue at one address
};

struct profiling_answer {
    enum profiling_limiter limiter;  // of the kernel as it is given
    float speed_up;                  // its time by the time of the cured one: 2 is twice as fast
};

// What a cure may not cost, of the kernels that are cured. `Once` are the requests that move each
// element of the matrix once, with 32 lanes each: its elements by 32.
//
//                                       scores          decay          filter
//     requests that load                2.1 of once     1.05 of once   2 of once
//     requests that store               N               1.05 of once   1.05 of once
//     requests to shared memory         4 of once       5 of once      36 of once
//     blocks, at least                  N / 1024        rows / 1024    T / 1024
//     blocks, at most                   N               rows           T, for 32 channels and more
//
// Arrays of a thread are in registers: filter has no loop that is kept from being unrolled
// (#pragma unroll 1, #pragma nounroll, or fewer rounds than it has), and indexes none of them by
// the variable of a loop to T, unless that has a #pragma unroll.

COURSE_BEGIN_C

// All three launchers: the arrays are device memory owned by the caller, row-major and packed: a
// row begins where the previous row ends, aligned to 4 bytes (one float) and no more. Outputs
// overlap no input; what they held before does not matter. Nothing is allocated, kernels run on the
// default stream, and an output is complete when the stream has been waited for. A NaN of K or x
// shows in the outputs whose sums it is in, and nowhere else. q, w and decay are finite.
//
// Each returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  a size is negative, or d is 0
//   COURSE_UNSUPPORTED   a size is above PROFILING_MAX_SIZE
//   COURSE_OK            the output has no elements: nothing is touched, pointers may be NULL
//   COURSE_BAD_ARGUMENT  a pointer is NULL
//   COURSE_CUDA_ERROR    the launch failed
//   COURSE_OK            the launch is on its way

// The scores of one query.                 (README eq. 1)
// S[j] = sum_x q[x] * K[j][x]
int profiling_scores(float* S,        // (N)     out
                     const float* q,  // (d)
                     const float* K,  // (N, d)
                     int N,           // keys, >= 0
                     int d);          // >= 1

// Sums along rows that forget.             (README eq. 2)
// h[r][t] = decay * h[r][t - 1] + x[r][t],  h[r][-1] = 0
int profiling_decay(float* h,        // (rows, T)  out
                    const float* x,  // (rows, T)
                    int rows,        // >= 0
                    int T,           // steps, >= 0
                    float decay);    // from -1 to 1

// A causal filter of each channel.         (README eq. 3)
// y[t][c] = sum_k w[k][c] * x[t - k][c],  0 <= k < PROFILING_TAPS, k <= t
int profiling_filter(float* y,        // (T, C)                out
                     const float* x,  // (T, C)
                     const float* w,  // (PROFILING_TAPS, C)
                     int T,           // steps, >= 0
                     int C);          // channels, >= 0

// The six answers. Computes on the host; touches nothing else.
void profiling_answers(struct profiling_answer answers[PROFILING_KERNELS]);

COURSE_END_C

#endif
