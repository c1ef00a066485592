// A fixed number of blocks, each with its part of the rows, one behind the other: the last rows are
// of another block than if the blocks took turns.
#include "reduction.h"

#include <math.h>

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu
#define THREADS 256
#define BLOCKS 4224
#define WARPS (THREADS / WARP_SIZE)

static_assert(WARPS <= WARP_SIZE, "one warp must be able to hold the results of all warps");

struct partial {
    float sum;
    float max;
};

inline __device__ struct partial merge(struct partial a, struct partial b) {
    struct partial both = {a.sum + b.sum, fmaxf(a.max, b.max)};
    return both;
}

inline __device__ struct partial nothing(void) {
    struct partial p = {0.0f, 0.0f};
    p.max = -INFINITY;
    return p;
}

inline __device__ struct partial reduce_columns(const float* x_row, int64_t cols) {
    struct partial p = nothing();
#pragma unroll 8
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        float x_j = x_row[j];
        p.sum += x_j;
        p.max = fmaxf(p.max, x_j);
    }
    return p;
}

inline __device__ struct partial reduce_lanes(struct partial p) {
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        struct partial other;
        other.sum = __shfl_xor_sync(ALL_LANES, p.sum, distance);
        other.max = __shfl_xor_sync(ALL_LANES, p.max, distance);
        p = merge(p, other);
    }
    return p;
}

inline __device__ struct partial reduce_block(struct partial p, struct partial* p_warp) {
    p = reduce_lanes(p);
    int warp = threadIdx.x / WARP_SIZE;
    int lane = threadIdx.x % WARP_SIZE;
    if (lane == 0) p_warp[warp] = p;
    __syncthreads();
    if (warp == 0) p = reduce_lanes(lane < WARPS ? p_warp[lane] : nothing());
    return p;
}

__global__ void reduction_kernel(float* __restrict__ sum, float* __restrict__ max,
                                 const float* __restrict__ x, int64_t rows, int64_t cols,
                                 int64_t stride_row) {
    __shared__ struct partial p_warp[WARPS];

    const int64_t each = CEIL_DIV(rows, gridDim.x), first = blockIdx.x * each;
    for (int64_t row = first; row < rows && row < first + each; row++) {
        struct partial p = reduce_columns(x + row * stride_row, cols);
        p = reduce_block(p, p_warp);
        __syncthreads();  // warp 0 has read p_warp before the next row's results are written
        if (threadIdx.x == 0) {
            sum[row] = p.sum;
            max[row] = p.max;
        }
    }
}

int reduction(float* sum_gpu, float* max_gpu, const float* x_gpu, int64_t rows, int64_t cols,
              int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (sum_gpu == NULL || max_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    unsigned blocks = rows < BLOCKS ? (unsigned)rows : BLOCKS;
    reduction_kernel<<<blocks, THREADS>>>(sum_gpu, max_gpu, x_gpu, rows, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
