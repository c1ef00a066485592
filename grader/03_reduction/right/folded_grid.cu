// A block for each row. Where they are more than 65535, the blocks are folded into several rows of
// the grid, of which the last is filled up with blocks that have nothing to do.
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
    p.max = -INFINITY;
    return p;
}

// The partial result of the elements of one row that belong to this thread.
inline __device__ struct partial reduce_columns(const float* x_row,  // (cols)
                                                int64_t cols) {
    struct partial p = nothing();
    // p = merge of x[t], x[t + THREADS], x[t + 2 THREADS], ...            (README eq. 3)
    // Neighbouring threads read neighbouring elements; unrolled, 8 loads are on their way at once.
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        float x_j = x_row[j];  // read once, used twice
        p.sum += x_j;
        p.max = fmaxf(p.max, x_j);
    }
    return p;
}

// The merged partial results of the 32 lanes of a warp, in every lane. All lanes must call it.
inline __device__ struct partial reduce_lanes(struct partial p) {
    // p[lane] = merge of p[lane] and p[lane ^ distance]                   (README eq. 4)
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        struct partial other;
        other.sum = __shfl_xor_sync(ALL_LANES, p.sum, distance);
        other.max = __shfl_xor_sync(ALL_LANES, p.max, distance);
        p = merge(p, other);
    }
    return p;
}

// The merged partial results of all threads of the block, in thread 0. All threads must call it.
inline __device__ struct partial reduce_block(struct partial p,
                                              struct partial* p_warp) {  // shared, (WARPS)
    p = reduce_lanes(p);
    int warp = threadIdx.x / WARP_SIZE;  // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;  // [0, WARP_SIZE)
    if (lane == 0) p_warp[warp] = p;
    __syncthreads();  // every warp has written p_warp before warp 0 reads it
    if (warp == 0) p = reduce_lanes(lane < WARPS ? p_warp[lane] : nothing());
    return p;
}

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void reduction_kernel(float* __restrict__ sum,      // (rows)
                                 float* __restrict__ max,      // (rows)
                                 const float* __restrict__ x,  // (rows, cols), stride_row apart
                                 int64_t rows, int64_t cols, int64_t stride_row) {
    __shared__ struct partial p_warp[WARPS];
    int64_t row = (int64_t)blockIdx.y * gridDim.x + blockIdx.x;  // [0, rows rounded up)
    if (row >= rows) return;

    struct partial p = reduce_columns(x + row * stride_row, cols);
    p = reduce_block(p, p_warp);
    if (threadIdx.x == 0) {
        sum[row] = p.sum;
        max[row] = p.max;
    }
}

// ---- launcher ----------------------------------------------------------------------------------

int reduction(float* sum_gpu, float* max_gpu, const float* x_gpu, int64_t rows, int64_t cols,
              int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (sum_gpu == NULL || max_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    const int64_t across = rows < 65535 ? rows : 65535;
    dim3 grid((unsigned)across, (unsigned)CEIL_DIV(rows, across));
    reduction_kernel<<<grid, THREADS>>>(sum_gpu, max_gpu, x_gpu, rows, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
