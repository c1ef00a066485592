// cause: bad_address
// Blocks share long rows, and their parts have room for 64 rows: nobody asks how many there are.

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

// ---- several blocks for a row: parts of few long rows

enum { MOST_PARTS = 64, MOST_ROWS = 64, LONG = 65536 };

__device__ struct partial part_of[MOST_ROWS][MOST_PARTS];
__device__ unsigned tickets[MOST_ROWS];  // blocks of a row that have stored their part

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void reduction_kernel(float* __restrict__ sum,      // (rows)
                                 float* __restrict__ max,      // (rows)
                                 const float* __restrict__ x,  // (rows, cols), stride_row apart
                                 int64_t cols, int64_t stride_row, unsigned parts) {
    __shared__ struct partial p_warp[WARPS];
    __shared__ bool last;
    int64_t row = blockIdx.x / parts;  // [0, rows)
    int part = blockIdx.x % parts;
    int64_t share = CEIL_DIV(cols, parts), from = part * share;
    int64_t count = cols - from < share ? cols - from : share;

    struct partial p = reduce_columns(x + row * stride_row + from, count);
    p = reduce_block(p, p_warp);
    if (parts > 1) {
        if (threadIdx.x == 0) {
            part_of[row][part] = p;
            __threadfence();  // the part is written -> seen by whoever gets a later ticket
            last = atomicInc(&tickets[row], parts - 1) == parts - 1;
        }
        __syncthreads();  // last is written -> read; p_warp has been read
        if (!last) return;
        __threadfence();
        p = threadIdx.x < parts ? part_of[row][threadIdx.x] : nothing();
        p = reduce_block(p, p_warp);
    }
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
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;  // a grid has at most 2^31 - 1 blocks

    unsigned parts = 1;
    if (cols >= LONG)
        parts =
            cols / (LONG / 2) < MOST_PARTS ? (unsigned)(cols / (LONG / 2)) : (unsigned)MOST_PARTS;
    reduction_kernel<<<(unsigned)rows * parts, THREADS>>>(sum_gpu, max_gpu, x_gpu, cols, stride_row,
                                                          parts);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
