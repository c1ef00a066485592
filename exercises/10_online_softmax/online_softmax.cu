// The softmax state (m, l) of every row of x in one pass: each element is read once.
//
// One block per row. Each thread folds its elements into a state of its own, TILE at a time; then
// the states are merged, over the lanes of each warp by shuffles, over the warps by shared memory.
//
//     row     x[0] .. x[127] | x[128] .. x[255] | ...    thread t folds x[t], x[t + 128], ...
//     block   128 states, one a thread
//     warps     4 states      after 5 rounds of shuffles
//     row       1 state       after shared memory, 1 barrier and warp 0's 5 rounds
//
// Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; the tile is
// FlashAttention's (Dao et al. 2022, algorithm 1).

#include "online_softmax.h"

#include <math.h>

#define WARP_SIZE 32                 // lanes of a warp
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 128                  // threads of a block
#define WARPS (THREADS / WARP_SIZE)  // warps of a block
#define TILE 16                      // elements a thread loads before it folds them

static_assert(WARPS <= WARP_SIZE, "one warp must be able to hold the states of all warps");

// What is known of a row after some of its elements: m, their maximum, and l = sum exp(x - m).
// The state of no elements is (-INFINITY, 0).
struct state {
    float m;
    float l;
};

// ---- device helpers ----------------------------------------------------------------------------

// The state s after TILE more elements. Elements of -INFINITY add nothing.
inline __device__ struct state fold(struct state s, const float x_tile[TILE]) {
    // your code goes here (about 7 lines): bring s up to date; if all is -INFINITY so far, leave it
    return s;
}

// The state of the elements of a and the elements of b together. Either may be empty, or both.
inline __device__ struct state merge(struct state a, struct state b) {
    struct state both = {-INFINITY, 0.0f};
    // your code goes here (about 3 lines): fill in both; two empty states make an empty one
    return both;
}

// The merged state of the 32 lanes of a warp, in every lane. All lanes must call it.
inline __device__ struct state merge_lanes(struct state s) {
    // your code goes here (about 6 lines): five rounds: merge with the lane 16, 8, 4, 2, then 1 away
    return s;
}

// The merged state of all threads of the block, in thread 0. All threads must call it.
inline __device__ struct state merge_block(struct state s,
                                           struct state* s_warp) {  // shared, (WARPS)
    s = merge_lanes(s);
    // your code goes here (about 8 lines): leave each warp's state in s_warp; warp 0 merges them
    return s;
}

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void online_softmax_kernel(float* m,        // (rows)
                                      float* l,        // (rows)
                                      const float* x,  // (rows, cols), rows stride_row apart
                                      int64_t cols, int64_t stride_row) {
    __shared__ struct state s_warp[WARPS];
    int64_t row = blockIdx.x;  // [0, rows)
    const float* x_row = x + row * stride_row;

    struct state s = {-INFINITY, 0.0f};
    for (int64_t first = threadIdx.x; first < cols; first += THREADS * TILE) {
        // x_tile[i] = x[row][first + i * THREADS]: neighbouring threads read neighbouring elements,
        // and no load waits for another. Past the end of the row stands -inf, which adds nothing.
        float x_tile[TILE];
        for (int i = 0; i < TILE; i++) {
            int64_t j = first + i * THREADS;
            x_tile[i] = j < cols ? x_row[j] : -INFINITY;
        }
        s = fold(s, x_tile);
    }

    s = merge_block(s, s_warp);
    if (threadIdx.x == 0) {
        m[row] = s.m;
        l[row] = s.l;
    }
}

// ---- launcher ----------------------------------------------------------------------------------

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;  // a grid has at most 2^31 - 1 blocks

    online_softmax_kernel<<<(unsigned)rows, THREADS>>>(m_gpu, l_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
