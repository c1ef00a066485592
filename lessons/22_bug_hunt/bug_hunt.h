// bug_hunt.h: ten small kernels of earlier lessons, each with one bug, and what each has to do.
//
// bug_hunt.cu has a section for each kernel, between lines "// ---- 3 scale_rows: ..." that stay as
// they are. In a section at most BUG_HUNT_LINES lines may differ from the given file; what is
// outside of the sections stays. Lines are counted as the lesson's README.md says.
//
// What holds for all ten. Arrays are in device memory, belong to the caller, do not overlap, and
// begin at multiples of 16 bytes; the last axis is contiguous. All sizes are at least 1 and fit; no
// argument is checked. Elements between the rows of an output (stride > cols) are not touched.
// Nothing is allocated. The kernels run in the default stream; no launcher waits. Every card from
// sm_80 on runs them. A launcher returns COURSE_OK, or COURSE_CUDA_ERROR if CUDA refused a call.
//
// A kernel costs no more than what its comment in the file describes: as many launches, barriers,
// bytes and requests, and as much shared memory.
#ifndef BUG_HUNT_H
#define BUG_HUNT_H

#include "course.h"

COURSE_BEGIN_C

enum {
    BUG_HUNT_LINES = 5,         // of a section that may differ
    BUG_HUNT_MAX_COLS = 24576,  // of a row that reverse_rows keeps: 96 KB
    BUG_HUNT_TILE = 32,         // rows and columns of transpose are multiples of it
    BUG_HUNT_D = 32,            // numbers in a row of attend
    BUG_HUNT_GROUPS = 8,        // of columns, of group_sums
};

// The kernels, by the numbers of their sections.
enum bug_hunt_kernel {
    BUG_HUNT_WARP_SUMS = 1,
    BUG_HUNT_TRANSPOSE,
    BUG_HUNT_SCALE_ROWS,
    BUG_HUNT_DIVIDE_BY_COUNT,
    BUG_HUNT_REVERSE_ROWS,
    BUG_HUNT_ATTEND,
    BUG_HUNT_GROUP_SUMS,
    BUG_HUNT_CHUNK_SUMS,
    BUG_HUNT_MASKED_SOFTMAX,
    BUG_HUNT_LOGSUMEXP,
};

// What may be wrong with a kernel. Ten of these are; in bug_hunt.cu you say which is whose.
enum bug {
    BUG_NOT_NAMED,
    BUG_MISSING_SYNCTHREADS,    // warps of a block use shared memory, and no barrier orders them
    BUG_MISSING_SYNCWARP,       // the same with the lanes of one warp
    BUG_BARRIER_NOT_REACHED,    // some threads of a block do not come to a barrier
    BUG_WAIT_AFTER_BARRIER,     // each thread waits for its own copies, and only after the barrier
    BUG_TOO_FEW_STAGES,         // a buffer is filled again while others read it
    BUG_OUT_OF_BOUNDS,          // the last block, or the last tile, reaches beyond the array
    BUG_INDEX_OF_32_BITS,       // an index is beyond 2^31 and wraps
    BUG_MEMORY_NOT_CLEARED,     // memory is taken to be zero, and nobody has made it so
    BUG_LIMIT_OF_ONE_CARD,      // a number that one card allows, and others do not
    BUG_WRONG_STRIDE,           // the rows of one array are found with another's stride
    BUG_UNCOALESCED,            // neighbouring lanes use memory far apart
    BUG_BANK_CONFLICTS,         // lanes queue at a bank of shared memory
    BUG_ARRAY_IN_LOCAL_MEMORY,  // an array of a thread is indexed at run time: no registers
    BUG_PARTIAL_WARP,           // a warp function names lanes that have left
    BUG_FINITE_MASK,            // a hidden score is a large negative number, not -infinity
    BUG_MAX_STARTS_AT_0,        // a maximum does not begin at -infinity
    BUG_SUM_STARTS_AT_1,        // a sum does not begin at 0
    BUG_NOT_RESCALED,           // a sum is not moved to the new maximum
    BUG_LOW_PRECISION,          // a sum is kept in too few bits
};

// 1. y[i] = sum_j x[i][j]
int bug_hunt_warp_sums(float* y_gpu,        // (rows)        out
                       const float* x_gpu,  // (rows, cols)
                       int rows, int cols);

// 2. y[j][i] = x[i][j]. rows and cols are multiples of BUG_HUNT_TILE.
int bug_hunt_transpose(float* y_gpu,        // (cols, rows)  out
                       const float* x_gpu,  // (rows, cols)
                       int rows, int cols);

// 3. y[i][j] = factor * x[i][j]. From one row to the next it is stride_y, stride_x elements, at
// least cols and of any size.
int bug_hunt_scale_rows(float* y_gpu,        // (rows, cols)  out
                        const float* x_gpu,  // (rows, cols)
                        float factor, int rows, int cols, int64_t stride_y, int64_t stride_x);

// 4. y[i] = x[i] / count, where count is the number of labels that are not negative, at least one.
int bug_hunt_divide_by_count(float* y_gpu,          // (n)           out
                             const float* x_gpu,    // (n)
                             const int* label_gpu,  // (n)
                             int n,
                             int* count_gpu);  // (1)           workspace: holds anything

// 5. x[i][j] = what x[i][cols - 1 - j] was; cols <= BUG_HUNT_MAX_COLS.
int bug_hunt_reverse_rows(float* x_gpu,  // (rows, cols)  in and out
                          int rows, int cols);

// 6. O = softmax(scale Q K^T) V, in rows of BUG_HUNT_D. Rows of K and V are stride_k and stride_v
// elements apart.
int bug_hunt_attend(float* O_gpu,        // (N_q, D)      out
                    const float* Q_gpu,  // (N_q, D)
                    const float* K_gpu,  // (N_k, D)
                    const float* V_gpu,  // (N_k, D)
                    float scale, int N_q, int N_k, int64_t stride_k, int64_t stride_v);

// 7. y[i][g] = the sum of the x[i][j] with group[j] = g; 0 <= group[j] < BUG_HUNT_GROUPS.
int bug_hunt_group_sums(float* y_gpu,          // (rows, BUG_HUNT_GROUPS)  out
                        const float* x_gpu,    // (rows, cols)
                        const int* group_gpu,  // (cols)
                        int rows, int cols);

// 8. y[b] = the sum of the 32 neighbours x[32 b], x[32 b + 1], ..., of fewer at the end.
int bug_hunt_chunk_sums(float* y_gpu,        // (n / 32, rounded up)  out
                        const float* x_gpu,  // (n)
                        int n);

// 9. y[i][j] = softmax of the first seen[i] numbers of row i; 0 for all others. 0 <= seen[i] <=
// cols. Any finite scores.
int bug_hunt_masked_softmax(float* y_gpu,         // (rows, cols)  out
                            const float* x_gpu,   // (rows, cols)
                            const int* seen_gpu,  // (rows)
                            int rows, int cols);

// 10. LSE[i] = ln sum_j exp(x[i][j])
int bug_hunt_logsumexp(float* LSE_gpu,      // (rows)        out
                       const float* x_gpu,  // (rows, cols)
                       int rows, int cols);

COURSE_END_C

#endif
