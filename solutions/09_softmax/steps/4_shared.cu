// Step 4: one block per row, and the row in shared memory: read once.
//
// What was wrong with 3_block_per_row.cu: it asked memory for the row three times and hoped for the
// caches. Here the row comes into shared memory and stays there for the second and the third walk;
// a row that does not fit is read again. Where the L1 cache did the same, with 4096 columns, that
// only adds the way through shared memory. What is left: a row of 50257 takes 201 KB of the 227, so
// one block is all that a multiprocessor holds, and while that computes nothing is loaded;
// registers have room for as much again. And of a row that does not begin at a line, every warp
// stores pieces of two lines. Next: ../softmax.cu.

#include "softmax.h"

#include <math.h>

#define WARP_SIZE 32                 // lanes of a warp
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 512                  // threads of a block
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

__global__ void shared_kernel(float* __restrict__ y,        // (rows, cols), stride_y apart
                              const float* __restrict__ x,  // (rows, cols), stride_x apart
                              int64_t cols, int64_t stride_y, int64_t stride_x, bool kept) {
    extern __shared__ float x_smem[];  // (cols) if kept
    __shared__ float m_warp[WARPS], l_warp[WARPS];
    int64_t row = blockIdx.x;  // [0, rows)
    const float* x_row = x + row * stride_x;
    float* y_row = y + row * stride_y;

    // Each thread copies the columns that it looks at itself: no barrier.
#pragma unroll 8
    for (int64_t j = threadIdx.x; kept && j < cols; j += THREADS) x_smem[j] = x_row[j];
    const float* on_chip = kept ? x_smem : x_row;

    // m = max_j x_j                                                       (README eq. 1)
    float m = -INFINITY;
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) m = fmaxf(m, on_chip[j]);
    m = max_of_block(m, m_warp);
    if (m == -INFINITY) m = 0.0f;  // (-inf) - (-inf) is NaN; exp((-inf) - 0) is 0

    // l = sum_j exp(x_j - m)                                              (README eq. 2)
    float l = 0.0f;
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) l += expf(on_chip[j] - m);
    l = sum_of_block(l, l_warp);

    // y_j = exp(x_j - m) / l                                              (README eq. 3)
    float factor = l > 0.0f ? 1.0f / l : 0.0f;  // 0 * (1 / 0) is NaN
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) y_row[j] = expf(on_chip[j] - m) * factor;
}

// ---- launcher ----------------------------------------------------------------------------------

int softmax(float* y_gpu, const float* x_gpu, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    int device, most;  // bytes of shared memory that a block may have, m_warp and l_warp included
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const int64_t room = most / (int64_t)sizeof(float) - 2 * WARPS;
    bool kept = cols <= room;
    size_t shared_bytes = kept ? (size_t)cols * sizeof(float) : 0;
    COURSE_TRY(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)shared_bytes));
    shared_kernel<<<(unsigned)rows, THREADS, shared_bytes>>>(y_gpu, x_gpu, cols, stride_y, stride_x,
                                                             kept);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
