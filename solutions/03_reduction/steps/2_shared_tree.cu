// Step 2: one block per row, and a tree in shared memory.
//
// What was wrong with 1_serial.cu: few threads, and each read alone. Here a block shares the row:
// the 32 loads of a warp are 128 bytes in one piece, and log2(256) = 8 rounds of the tree replace a
// chain of 256. But each round ends in a barrier at which all 8 warps wait, although from the
// second round on half of them, then three quarters, have nothing to do; and every number goes to
// shared memory and back. Next: inside a warp no barrier is needed, 3_warp_tree.cu.

#include "reduction.h"

#include <math.h>

#define THREADS 256  // threads of a block, a power of 2

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void shared_tree_kernel(float* __restrict__ sum,      // (rows)
                                   float* __restrict__ max,      // (rows)
                                   const float* __restrict__ x,  // (rows, cols), stride_row apart
                                   int64_t cols, int64_t stride_row) {
    __shared__ float sum_thread[THREADS], max_thread[THREADS];
    int64_t row = blockIdx.x;  // [0, rows)
    const float* x_row = x + row * stride_row;

    // every thread's own part of the row                                  (README eq. 3)
    float sum_t = 0.0f;
    float max_t = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        sum_t += x_row[j];
        max_t = fmaxf(max_t, x_row[j]);
    }
    sum_thread[threadIdx.x] = sum_t;
    max_thread[threadIdx.x] = max_t;
    __syncthreads();  // all threads have written their part before others read it

    // sum[t] += sum[t + distance],  0 <= t < distance                     (README eq. 4)
    for (int distance = THREADS / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance) {
            sum_thread[threadIdx.x] += sum_thread[threadIdx.x + distance];
            max_thread[threadIdx.x] =
                fmaxf(max_thread[threadIdx.x], max_thread[threadIdx.x + distance]);
        }
        __syncthreads();  // this round's sums are written before the next round reads them
    }

    if (threadIdx.x == 0) {
        sum[row] = sum_thread[0];
        max[row] = max_thread[0];
    }
}

// ---- launcher ----------------------------------------------------------------------------------

int reduction(float* sum_gpu, float* max_gpu, const float* x_gpu, int64_t rows, int64_t cols,
              int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (sum_gpu == NULL || max_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;  // a grid has at most 2^31 - 1 blocks

    shared_tree_kernel<<<(unsigned)rows, THREADS>>>(sum_gpu, max_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
