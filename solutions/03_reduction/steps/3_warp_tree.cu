// Step 3: trees inside the warps first, ordered by __syncwarp(); one barrier for the whole block.
//
// What was wrong with 2_shared_tree.cu: 9 barriers, of which the last 5 rounds order nothing but
// lanes of one warp. Each warp now merges its own 32 parts and waits for nobody else; its lanes
// wait for each other with __syncwarp(). That the lanes of a warp execute together is no promise:
// since Volta each has its own program counter, so without __syncwarp() a lane may read what its
// neighbour has not written yet. `volatile` only makes the compiler go to memory; it orders
// nothing. Left to improve: two trips to shared memory per round, for numbers that sit in registers
// of the same warp. Next: shuffles, ../reduction.cu.

#include "reduction.h"

#include <math.h>

#define WARP_SIZE 32                 // lanes of a warp
#define THREADS 256                  // threads of a block
#define WARPS (THREADS / WARP_SIZE)  // warps of a block

// ---- device helpers ----------------------------------------------------------------------------

// Merges n = 2^k elements of sums and of maxima, both in shared memory, into element 0. All lanes
// of one warp must call it; lane t works on element t.
inline __device__ void merge_in_warp(float* sums, float* maxima, int n) {
    int lane = threadIdx.x % WARP_SIZE;
    // sums[t] += sums[t + distance],  0 <= t < distance                   (README eq. 4)
    for (int distance = n / 2; distance > 0; distance /= 2) {
        if (lane < distance) {
            sums[lane] += sums[lane + distance];
            maxima[lane] = fmaxf(maxima[lane], maxima[lane + distance]);
        }
        __syncwarp();  // this round's sums are written before other lanes read them
    }
}

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void warp_tree_kernel(float* __restrict__ sum,      // (rows)
                                 float* __restrict__ max,      // (rows)
                                 const float* __restrict__ x,  // (rows, cols), stride_row apart
                                 int64_t cols, int64_t stride_row) {
    __shared__ float sum_thread[WARPS][WARP_SIZE], max_thread[WARPS][WARP_SIZE];
    __shared__ float sum_warp[WARPS], max_warp[WARPS];
    int warp = threadIdx.x / WARP_SIZE;  // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;  // [0, WARP_SIZE)
    int64_t row = blockIdx.x;            // [0, rows)
    const float* x_row = x + row * stride_row;

    // every thread's own part of the row                                  (README eq. 3)
    float sum_t = 0.0f;
    float max_t = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        sum_t += x_row[j];
        max_t = fmaxf(max_t, x_row[j]);
    }
    sum_thread[warp][lane] = sum_t;
    max_thread[warp][lane] = max_t;
    __syncwarp();  // all lanes have written their part before other lanes read it
    merge_in_warp(sum_thread[warp], max_thread[warp], WARP_SIZE);

    if (lane == 0) {
        sum_warp[warp] = sum_thread[warp][0];
        max_warp[warp] = max_thread[warp][0];
    }
    __syncthreads();  // every warp has written its result before warp 0 reads them
    if (warp == 0) merge_in_warp(sum_warp, max_warp, WARPS);
    if (threadIdx.x == 0) {
        sum[row] = sum_warp[0];
        max[row] = max_warp[0];
    }
}

// ---- launcher ----------------------------------------------------------------------------------

int reduction(float* sum_gpu, float* max_gpu, const float* x_gpu, int64_t rows, int64_t cols,
              int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (sum_gpu == NULL || max_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;  // a grid has at most 2^31 - 1 blocks

    warp_tree_kernel<<<(unsigned)rows, THREADS>>>(sum_gpu, max_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
