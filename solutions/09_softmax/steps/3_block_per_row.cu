// Step 3: one block per row, three walks.
//
// What was wrong with 2_warp_per_row.cu: 32 threads for a row of 4096, and so few of its loads
// under way. Now there are 256, whose results meet in shared memory. A short row is in the L1 cache
// when it is read again. A long one is not, and gains nothing: the README's table has it slower
// than step 2. Next: a place for the row on the chip that does not depend on a cache, 4_shared.cu.

#include "softmax.h"

#include <math.h>

#define WARP_SIZE 32                 // lanes of a warp
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 256                  // threads of a block
#define WARPS (THREADS / WARP_SIZE)  // warps of a block

static_assert(WARPS <= WARP_SIZE, "one warp must be able to hold the results of all warps");

// ---- device helpers ----------------------------------------------------------------------------

// The maximum of v over the lanes of a warp, in every lane. All lanes must call it.
inline __device__ float max_of_lanes(float v) {
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2)
        v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, distance));
    return v;
}

// The sum, likewise.
inline __device__ float sum_of_lanes(float v) {
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, distance);
    return v;
}

// The maximum of v over the block, in every thread. All threads must call it.
inline __device__ float max_of_block(float v, float* v_warp) {  // shared, (WARPS)
    int lane = threadIdx.x % WARP_SIZE;                         // [0, WARP_SIZE)
    v = max_of_lanes(v);
    if (lane == 0) v_warp[threadIdx.x / WARP_SIZE] = v;
    __syncthreads();  // every warp has written v_warp before any warp reads it
    return max_of_lanes(lane < WARPS ? v_warp[lane] : -INFINITY);
}

// The sum, likewise.
inline __device__ float sum_of_block(float v, float* v_warp) {  // shared, (WARPS)
    int lane = threadIdx.x % WARP_SIZE;                         // [0, WARP_SIZE)
    v = sum_of_lanes(v);
    if (lane == 0) v_warp[threadIdx.x / WARP_SIZE] = v;
    __syncthreads();  // every warp has written v_warp before any warp reads it
    return sum_of_lanes(lane < WARPS ? v_warp[lane] : 0.0f);
}

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void block_per_row_kernel(float* __restrict__ y,        // (rows, cols), stride_y apart
                                     const float* __restrict__ x,  // (rows, cols), stride_x apart
                                     int64_t cols, int64_t stride_y, int64_t stride_x) {
    __shared__ float m_warp[WARPS], l_warp[WARPS];
    int64_t row = blockIdx.x;  // [0, rows)
    const float* x_row = x + row * stride_x;
    float* y_row = y + row * stride_y;

    // m = max_j x_j                                                       (README eq. 1)
    float m = -INFINITY;
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) m = fmaxf(m, x_row[j]);
    m = max_of_block(m, m_warp);
    if (m == -INFINITY) m = 0.0f;  // (-inf) - (-inf) is NaN; exp((-inf) - 0) is 0

    // l = sum_j exp(x_j - m)                                              (README eq. 2)
    float l = 0.0f;
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) l += expf(x_row[j] - m);
    l = sum_of_block(l, l_warp);

    // y_j = exp(x_j - m) / l                                              (README eq. 3)
    float factor = l > 0.0f ? 1.0f / l : 0.0f;  // 0 * (1 / 0) is NaN
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) y_row[j] = expf(x_row[j] - m) * factor;
}

// ---- launcher ----------------------------------------------------------------------------------

int softmax(float* y_gpu, const float* x_gpu, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    block_per_row_kernel<<<(unsigned)rows, THREADS>>>(y_gpu, x_gpu, cols, stride_y, stride_x);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
