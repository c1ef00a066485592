// Step 2: one warp per row, three walks.
//
// What was wrong with 1_thread_per_row.cu: a warp's 32 loads hit 32 rows. Here the lanes of a warp
// read 128 bytes in one piece, and what they have found is brought together by shuffles (lesson
// 03). No barrier, no shared memory. Left to improve: the row is still read three times, and a long
// row keeps a single warp busy for long. Next: more threads for a row.

#include "softmax.h"

#include <math.h>

#define WARP_SIZE 32           // lanes of a warp
#define ALL_LANES 0xffffffffu  // mask of a warp function that every lane calls
#define ROWS 8                 // rows, and warps, of a block

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

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void warp_per_row_kernel(float* __restrict__ y,        // (rows, cols), stride_y apart
                                    const float* __restrict__ x,  // (rows, cols), stride_x apart
                                    int64_t rows, int64_t cols, int64_t stride_y,
                                    int64_t stride_x) {
    int lane = threadIdx.x % WARP_SIZE;                                  // [0, WARP_SIZE)
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x / WARP_SIZE;  // [0, rows)
    if (row >= rows) return;  // whole warps leave, and there is no block barrier below
    const float* x_row = x + row * stride_x;
    float* y_row = y + row * stride_y;

    // m = max_j x_j                                                       (README eq. 1)
    float m = -INFINITY;
    for (int64_t j = lane; j < cols; j += WARP_SIZE) m = fmaxf(m, x_row[j]);
    m = max_of_lanes(m);
    if (m == -INFINITY) m = 0.0f;  // (-inf) - (-inf) is NaN; exp((-inf) - 0) is 0

    // l = sum_j exp(x_j - m)                                              (README eq. 2)
    float l = 0.0f;
    for (int64_t j = lane; j < cols; j += WARP_SIZE) l += expf(x_row[j] - m);
    l = sum_of_lanes(l);

    // y_j = exp(x_j - m) / l                                              (README eq. 3)
    float factor = l > 0.0f ? 1.0f / l : 0.0f;  // 0 * (1 / 0) is NaN
    for (int64_t j = lane; j < cols; j += WARP_SIZE) y_row[j] = expf(x_row[j] - m) * factor;
}

// ---- launcher ----------------------------------------------------------------------------------

int softmax(float* y_gpu, const float* x_gpu, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    unsigned blocks = (unsigned)CEIL_DIV(rows, ROWS);
    warp_per_row_kernel<<<blocks, ROWS * WARP_SIZE>>>(y_gpu, x_gpu, rows, cols, stride_y, stride_x);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
