// The sum and the maximum of every row of x, by warp shuffles.
//
// One block per row. Each thread adds up its own elements; what the threads have is then merged in
// a tree, over the lanes of each warp by shuffles, over the warps through shared memory.
//
//     row     x[0] .. x[255] | x[256] .. x[511] | ...    thread t takes x[t], x[t + 256], ...
//     block   256 partial results, one a thread
//     warps     8 partial results      after 5 rounds of shuffles
//     row       1 result               after shared memory, 1 barrier and warp 0's 5 rounds
//
// The versions on the way: steps/1_serial.cu, one thread per row; steps/2_shared_tree.cu, a tree in
// shared memory, 9 barriers; steps/3_warp_tree.cu, 1 barrier, and shared memory inside the warps.

#include "reduction.h"

#include <math.h>

#define WARP_SIZE 32                 // lanes of a warp
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 256                  // threads of a block
#define WARPS (THREADS / WARP_SIZE)  // warps of a block

static_assert(WARPS <= WARP_SIZE, "one warp must be able to hold the results of all warps");

// What is known of a row after some of its elements.
struct partial {
    float sum;
    float max;
};

// ---- device helpers ----------------------------------------------------------------------------

// The elements of a and the elements of b together.
inline __device__ struct partial merge(struct partial a, struct partial b) {
    struct partial both = {a.sum + b.sum, fmaxf(a.max, b.max)};
    return both;
}

// What a thread knows that has seen no element: merged with anything, it changes nothing.
inline __device__ struct partial nothing(void) {
    struct partial p = {0.0f, 0.0f};
    // your code goes here (about 1 line): 0 is right for the sum; what is it for the maximum?
    return p;
}

// The partial result of the elements of one row that belong to this thread.
inline __device__ struct partial reduce_columns(const float* x_row,  // (cols)
                                                int64_t cols) {
    struct partial p = nothing();
    // your code goes here (about 4 lines): every THREADS-th element, from threadIdx.x on
    return p;
}

// The merged partial results of the 32 lanes of a warp, in every lane. All lanes must call it.
inline __device__ struct partial reduce_lanes(struct partial p) {
    // your code goes here (about 6 lines): five rounds: merge with the lane 16, 8, 4, 2, then 1 away
    return p;
}

// The merged partial results of all threads of the block, in thread 0. All threads must call it.
inline __device__ struct partial reduce_block(struct partial p,
                                              struct partial* p_warp) {  // shared, (WARPS)
    p = reduce_lanes(p);
    // your code goes here (about 5 lines): leave each warp's result in p_warp; warp 0 merges them
    return p;
}

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void reduction_kernel(float* __restrict__ sum,      // (rows)
                                 float* __restrict__ max,      // (rows)
                                 const float* __restrict__ x,  // (rows, cols), stride_row apart
                                 int64_t cols, int64_t stride_row) {
    __shared__ struct partial p_warp[WARPS];
    int64_t row = blockIdx.x;  // [0, rows)

    struct partial p = reduce_columns(x + row * stride_row, cols);
    p = reduce_block(p, p_warp);
    // your code goes here (about 4 lines): one thread has the row's result: it stores sum and max
}

// ---- launcher ----------------------------------------------------------------------------------

int reduction(float* sum_gpu, float* max_gpu, const float* x_gpu, int64_t rows, int64_t cols,
              int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (sum_gpu == NULL || max_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;  // a grid has at most 2^31 - 1 blocks

    reduction_kernel<<<(unsigned)rows, THREADS>>>(sum_gpu, max_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
