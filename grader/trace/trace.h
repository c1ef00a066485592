// trace.h: what `make trace` puts between a kernel and its JSON.
//
// The kernel that is traced is the file as it stands, plus the lines of grader/NN_name/trace.patch.
// The added lines make its tiles small enough to read, and call trace_step() once a tile. Nothing
// of the kernel is left out or written twice: the record holds the kernel's own variables.
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

#include "course.h"

COURSE_BEGIN_C

enum {
    TRACE_BLOCK = 4,                      // BLOCK_Q and BLOCK_K of a traced kernel; and its d
    TRACE_TILES = 4,                      // tiles of queries, and of keys, that fit into the record
    TRACE_N = TRACE_BLOCK * TRACE_TILES,  // the largest N_q and N_k
};

// What thread (j, i) holds after a tile; what the other pass has is 0. The forward has a block for
// each tile of queries, the backward one for each tile of keys.
struct trace_element {
    int visited;  // 0: no block computed this tile
    float S;      // S[i][j]
    // forward
    float m, l, alpha;
    float O;  // O[i][j], not divided by l yet
    // backward
    float P, dP, dS;  // [i][j]
    float dQ;         // what the block adds to the sum of dQ[i][j]
    float dK, dV;     // so far, of key i, column j; dK without its factor scale
};

// [tile of queries][tile of keys][i][j]
typedef struct trace_element trace_record[TRACE_TILES][TRACE_TILES][TRACE_BLOCK][TRACE_BLOCK];

// Moves the record since the last call into *record. Returns 0, or -1 if the device refuses.
int trace_take(trace_record* record);

// One call of the launcher, as grader/NN_name/trace.c defines it. B = H = 1, d = TRACE_BLOCK,
// scale = 1/2.
struct trace_case {
    const char* name;
    int N_q, N_k;  // 1 to TRACE_N
    int causal;
    // (TRACE_TILES, TRACE_TILES), 0: the block is left out; NULL: there is no mask
    const uint8_t* mask;
    int bf16;      // 1: Q, K, V and O are bf16, not fp16
    int backward;  // 1: the launcher gets O, LSE and dO, and computes dQ, dK and dV
};
extern const struct trace_case trace_cases[];
extern const int trace_case_count;

COURSE_END_C

#ifdef __cplusplus

#include <assert.h>

#undef BLOCK_Q
#undef BLOCK_K
#define BLOCK_Q TRACE_BLOCK
#define BLOCK_K TRACE_BLOCK

// The rewriter puts the variables of a .cu where those of the device lie. It does not see headers.
#ifndef CUDEV_DEVICE_ZERO
#define CUDEV_DEVICE_ZERO
#endif
__device__ CUDEV_DEVICE_ZERO trace_record trace_recorded;

// This thread's element of a tile of queries and one of keys.
__device__ inline struct trace_element* trace_here(int64_t first_row, int64_t first_key) {
    const bool tiles_of_queries_begin_at_multiples_of_BLOCK_Q = first_row % TRACE_BLOCK == 0;
    const bool tiles_of_keys_begin_at_multiples_of_BLOCK_K = first_key % TRACE_BLOCK == 0;
    assert(tiles_of_queries_begin_at_multiples_of_BLOCK_Q);
    assert(tiles_of_keys_begin_at_multiples_of_BLOCK_K);
    assert(first_row < TRACE_N && first_key < TRACE_N);
    return &trace_recorded[first_row / TRACE_BLOCK][first_key / TRACE_BLOCK][threadIdx.y]
                          [threadIdx.x];
}

// Called by every thread of the block at the end of a tile whose first key is first_key.
__device__ inline void trace_step(int64_t first_key, float S, float m, float l, float alpha,
                                  float O) {
    struct trace_element* here = trace_here((int64_t)blockIdx.x * TRACE_BLOCK, first_key);
    *here = {1, S, m, l, alpha, O};
}

// The same in the backward, where the first query is first_row.
__device__ inline void trace_backward_step(int64_t first_row, float S, float P, float dP, float dS,
                                           float dK, float dV) {
    struct trace_element* here = trace_here(first_row, (int64_t)blockIdx.x * TRACE_BLOCK);
    *here = {1, S, 0, 0, 0, 0, P, dP, dS, here->dQ, dK, dV};
}

// atomicAdd() of a tile, which records what is added: no variable of the kernel holds it at the
// tile's end. A thread adds one number a tile, since d is TRACE_BLOCK.
__device__ inline float trace_add(int64_t first_row, float* sum, float share) {
    trace_here(first_row, (int64_t)blockIdx.x * TRACE_BLOCK)->dQ = share;
    return atomicAdd(sum, share);
}

extern "C" int trace_take(trace_record* record) {
    if (cudaMemcpyFromSymbol(record, trace_recorded, sizeof *record) != cudaSuccess) return -1;
    static const trace_record nothing = {};
    return cudaMemcpyToSymbol(trace_recorded, nothing, sizeof nothing) == cudaSuccess ? 0 : -1;
}

#endif
#endif
