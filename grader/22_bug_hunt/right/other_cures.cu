// bug_hunt.cu: ten kernels of earlier lessons, each with one bug that a first test may not show.
//
// Mend each in at most five lines of its section, and name its bug here. The contract is
// bug_hunt.h. A kernel's section begins at the line "// ---- number name:" and ends at the next.
//
//     make grade LESSON=22         make profile LESSON=22
#include "bug_hunt.h"
#include "ptx.h"

enum {
    WARP = 32,
    THREADS = 128,  // of a block, but for transpose
    WARPS = THREADS / WARP,
    TILE = BUG_HUNT_TILE,
    D = BUG_HUNT_D,
};
#define ALL_LANES 0xffffffffu

// What each kernel's bug is: a name of `enum bug` in bug_hunt.h.
enum {
    bug_of_warp_sums = BUG_MISSING_SYNCWARP,
    bug_of_transpose = BUG_WAIT_AFTER_BARRIER,
    bug_of_scale_rows = BUG_INDEX_OF_32_BITS,
    bug_of_divide_by_count = BUG_MEMORY_NOT_CLEARED,
    bug_of_reverse_rows = BUG_LIMIT_OF_ONE_CARD,
    bug_of_attend = BUG_WRONG_STRIDE,
    bug_of_group_sums = BUG_ARRAY_IN_LOCAL_MEMORY,
    bug_of_chunk_sums = BUG_PARTIAL_WARP,
    bug_of_masked_softmax = BUG_FINITE_MASK,
    bug_of_logsumexp = BUG_SUM_STARTS_AT_1,
};

// Sum and maximum over the lanes of a warp, for every lane (lesson 03). All 32 lanes call.
inline __device__ float warp_sum(float v) {
    for (int half = WARP / 2; half > 0; half /= 2) v += __shfl_xor_sync(ALL_LANES, v, half);
    return v;
}

inline __device__ float warp_max(float v) {
    for (int half = WARP / 2; half > 0; half /= 2)
        v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, half));
    return v;
}

// ---- 1 warp_sums: the sum of each row, by a tree in shared memory (lesson 03)

// A warp for each row; blockDim.x = THREADS. No barrier of the block: warps are on their own.
__global__ void warp_sums_kernel(float* __restrict__ y,        // (rows)  out
                                 const float* __restrict__ x,  // (rows, cols)
                                 int rows, int cols) {
    __shared__ float part[WARPS][WARP];
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int row = blockIdx.x * WARPS + warp;
    if (row >= rows) return;  // whole warps leave

    float sum = 0.0f;
    for (int j = lane; j < cols; j += WARP) sum += x[(size_t)row * cols + j];

    float* mine = part[warp];
    // mine[0] = sum of all: 16 sums of two, then 8, 4, 2, 1
    mine[lane] = warp_sum(sum);  // by shuffles: nothing is shared but registers
    if (lane == 0) y[row] = mine[0];
}

extern "C" int bug_hunt_warp_sums(float* y_gpu, const float* x_gpu, int rows, int cols) {
    warp_sums_kernel<<<CEIL_DIV(rows, WARPS), THREADS>>>(y_gpu, x_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 2 transpose: a tile at a time, by copies that do not wait (lessons 02 and 07)

enum { TRANSPOSERS = 256 };  // threads of a block, 8 warps

// One tile for each block; one barrier. blockDim.x = TRANSPOSERS.
__global__ void transpose_kernel(float* __restrict__ y,        // (cols, rows)  out
                                 const float* __restrict__ x,  // (rows, cols)
                                 int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];                 // a column lies in 32 banks
    int row = blockIdx.y * TILE, col = blockIdx.x * TILE;  // where the tile begins
    int warp = threadIdx.x / TILE, lane = threadIdx.x % TILE;

    // tile[i][j] = x[row + i][col + j]
    for (int i = warp; i < TILE; i += TRANSPOSERS / TILE)
        cp_async4(&tile[i][lane], &x[(size_t)(row + i) * cols + col + lane]);
    cp_async_commit();
    cp_async_wait_all();
    __syncthreads();

    // y[col + j][row + i] = tile[i][j]
    for (int j = warp; j < TILE; j += TRANSPOSERS / TILE)
        y[(size_t)(col + j) * rows + row + lane] = tile[lane][j];
}

extern "C" int bug_hunt_transpose(float* y_gpu, const float* x_gpu, int rows, int cols) {
    dim3 grid(cols / TILE, rows / TILE);
    transpose_kernel<<<grid, TRANSPOSERS>>>(y_gpu, x_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 3 scale_rows: rows with strides (lesson 13)

// One block for each row; blockDim.x = THREADS.
__global__ void scale_rows_kernel(float* __restrict__ y,        // (rows, cols)  out
                                  const float* __restrict__ x,  // (rows, cols)
                                  float factor, int cols, int64_t stride_y, int64_t stride_x) {
    size_t to = blockIdx.x * stride_y, from = blockIdx.x * stride_x;  // where the row begins
    // y[row][j] = factor * x[row][j]
    for (int j = threadIdx.x; j < cols; j += THREADS) y[to + j] = factor * x[from + j];
}

extern "C" int bug_hunt_scale_rows(float* y_gpu, const float* x_gpu, float factor, int rows,
                                   int cols, int64_t stride_y, int64_t stride_x) {
    scale_rows_kernel<<<rows, THREADS>>>(y_gpu, x_gpu, factor, cols, stride_y, stride_x);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 4 divide_by_count: by how many rows count (lesson 11)

// count += how many labels are not negative. One atomic for each warp; blockDim.x = THREADS.
__global__ void count_kernel(int* __restrict__ count,        // (1)  in and out
                             const int* __restrict__ label,  // (n)
                             int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned counts = __ballot_sync(ALL_LANES, i < n && label[i] >= 0);
    if (threadIdx.x % WARP == 0) atomicAdd(count, __popc(counts));
}

__global__ void clear_kernel(int* count) {
    *count = 0;
}

// y[i] = x[i] / count. One thread for each element.
__global__ void divide_kernel(float* __restrict__ y,          // (n)  out
                              const float* __restrict__ x,    // (n)
                              const int* __restrict__ count,  // (1)
                              int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) y[i] = x[i] / *count;
}

extern "C" int bug_hunt_divide_by_count(float* y_gpu, const float* x_gpu, const int* label_gpu,
                                        int n, int* count_gpu) {
    int blocks = CEIL_DIV(n, THREADS);
    clear_kernel<<<1, 1>>>(count_gpu);
    count_kernel<<<blocks, THREADS>>>(count_gpu, label_gpu, n);
    COURSE_TRY(cudaGetLastError());
    divide_kernel<<<blocks, THREADS>>>(y_gpu, x_gpu, count_gpu, n);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 5 reverse_rows: in place, through a row in shared memory (lesson 09)

// One block for each row; one barrier. blockDim.x = THREADS; cols floats of shared memory.
__global__ void reverse_rows_kernel(float* __restrict__ x,  // (rows, cols)  in and out
                                    int cols) {
    extern __shared__ float row[];  // (cols)
    float* x_row = x + (size_t)blockIdx.x * cols;
    for (int j = threadIdx.x; j < cols; j += THREADS) row[j] = x_row[j];
    __syncthreads();  // the whole row is read before any of it is overwritten
    for (int j = threadIdx.x; j < cols; j += THREADS) x_row[j] = row[cols - 1 - j];
}

extern "C" int bug_hunt_reverse_rows(float* x_gpu, int rows, int cols) {
    size_t bytes = cols * sizeof *x_gpu;
    COURSE_TRY(cudaFuncSetAttribute(reverse_rows_kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    reverse_rows_kernel<<<rows, THREADS, bytes>>>(x_gpu, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 6 attend: attention, a warp for each query (lessons 10 and 12)

// A lane for each of the D numbers of a row; blockDim.x = THREADS.
__global__ void attend_kernel(float* __restrict__ O,        // (N_q, D)  out
                              const float* __restrict__ Q,  // (N_q, D)
                              const float* __restrict__ K,  // (N_k, D)
                              const float* __restrict__ V,  // (N_k, D)
                              float scale, int N_q, int N_k, int64_t stride_k, int64_t stride_v) {
    int lane = threadIdx.x % WARP;
    int i = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (i >= N_q) return;  // whole warps leave

    float q = scale * Q[(size_t)i * D + lane];
    float m = -INFINITY, l = 0.0f, o = 0.0f;
    for (int j = 0; j < N_k; j++) {
        // s = scale sum_x Q[i][x] K[j][x]
        float s = warp_sum(q * K[j * stride_k + lane]);
        float m_new = fmaxf(m, s);
        float alpha = expf(m - m_new), p = expf(s - m_new);
        l = alpha * l + p;
        // o = alpha o + p V[j][x]
        const float* V_j = V + j * stride_v;
        o = alpha * o + p * V_j[lane];
        m = m_new;
    }
    O[(size_t)i * D + lane] = o / l;
}

extern "C" int bug_hunt_attend(float* O_gpu, const float* Q_gpu, const float* K_gpu,
                               const float* V_gpu, float scale, int N_q, int N_k, int64_t stride_k,
                               int64_t stride_v) {
    attend_kernel<<<CEIL_DIV(N_q, WARPS), THREADS>>>(O_gpu, Q_gpu, K_gpu, V_gpu, scale, N_q, N_k,
                                                     stride_k, stride_v);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 7 group_sums: the sums of eight groups of columns, in registers (lessons 03 and 06)

enum { GROUPS = BUG_HUNT_GROUPS };

// A warp for each row; blockDim.x = THREADS. Nothing is kept but the sums, in registers.
__global__ void group_sums_kernel(float* __restrict__ y,          // (rows, GROUPS)  out
                                  const float* __restrict__ x,    // (rows, cols)
                                  const int* __restrict__ group,  // (cols)
                                  int rows, int cols) {
    int lane = threadIdx.x % WARP;
    int row = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (row >= rows) return;  // whole warps leave

    float sum[GROUPS] = {0.0f};
    for (int j = lane; j < cols; j += WARP) {
        int g = group[j];  // [0, GROUPS)
        float v = x[(size_t)row * cols + j];
#pragma unroll
        for (int r = 0; r < GROUPS; ++r)
            if (g == r) sum[r] += v;
    }
#pragma unroll
    for (int k = 0; k < GROUPS; k++) {
        float all = warp_sum(sum[k]);
        if (lane == 0) y[(size_t)row * GROUPS + k] = all;
    }
}

extern "C" int bug_hunt_group_sums(float* y_gpu, const float* x_gpu, const int* group_gpu, int rows,
                                   int cols) {
    group_sums_kernel<<<CEIL_DIV(rows, WARPS), THREADS>>>(y_gpu, x_gpu, group_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 8 chunk_sums: the sum of each 32 neighbours, by shuffles (lesson 03)

// One thread for each element; blockDim.x = THREADS.
__global__ void chunk_sums_kernel(float* __restrict__ y,        // (n / 32, rounded up)  out
                                  const float* __restrict__ x,  // (n)
                                  int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    float own = 0.0f;
    if (i < n) own = x[i];
    float sum = warp_sum(own);
    if (i < n && i % WARP == 0) y[i / WARP] = sum;
}

extern "C" int bug_hunt_chunk_sums(float* y_gpu, const float* x_gpu, int n) {
    chunk_sums_kernel<<<CEIL_DIV(n, THREADS), THREADS>>>(y_gpu, x_gpu, n);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 9 masked_softmax: softmax of the columns that a row sees (lessons 09 and 13)

#include <float.h>

// A score, or what hides it.
inline __device__ float score(const float* x_row, int j, int seen) {
    return j < seen ? x_row[j] : -INFINITY;
}

// A warp for each row; blockDim.x = THREADS.
__global__ void masked_softmax_kernel(float* __restrict__ y,         // (rows, cols)  out
                                      const float* __restrict__ x,   // (rows, cols)
                                      const int* __restrict__ seen,  // (rows)
                                      int rows, int cols) {
    int lane = threadIdx.x % WARP;
    int row = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (row >= rows) return;  // whole warps leave
    const float* x_row = x + (size_t)row * cols;
    const int n = seen[row];

    float m = -INFINITY, l = 0.0f;
    for (int j = lane; j < cols; j += WARP) m = fmaxf(m, score(x_row, j, n));
    m = fmaxf(warp_max(m), -FLT_MAX);  // finite: exp(-inf - m) is 0
    // l = sum_j exp(x[j] - m);  y[j] = exp(x[j] - m) / l
    for (int j = lane; j < cols; j += WARP) l += expf(score(x_row, j, n) - m);
    l = warp_sum(l);
    for (int j = lane; j < cols; j += WARP)
        y[(size_t)row * cols + j] = l > 0.0f ? expf(score(x_row, j, n) - m) / l : 0.0f;
}

extern "C" int bug_hunt_masked_softmax(float* y_gpu, const float* x_gpu, const int* seen_gpu,
                                       int rows, int cols) {
    masked_softmax_kernel<<<CEIL_DIV(rows, WARPS), THREADS>>>(y_gpu, x_gpu, seen_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- 10 logsumexp: what softmax leaves behind (lessons 09 and 12)

// A warp for each row; blockDim.x = THREADS.
__global__ void logsumexp_kernel(float* __restrict__ LSE,      // (rows)  out
                                 const float* __restrict__ x,  // (rows, cols)
                                 int rows, int cols) {
    int lane = threadIdx.x % WARP;
    int row = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (row >= rows) return;  // whole warps leave
    const float* x_row = x + (size_t)row * cols;

    float m = -INFINITY;
    for (int j = lane; j < cols; j += WARP) m = fmaxf(m, x_row[j]);
    m = warp_max(m);
    // l = sum_j exp(x[j] - m)
    float l = 0.0f;
    for (int j = lane; j < cols; j += WARP) l += expf(x_row[j] - m);
    l = warp_sum(l);
    if (lane == 0) LSE[row] = m + logf(l);
}

extern "C" int bug_hunt_logsumexp(float* LSE_gpu, const float* x_gpu, int rows, int cols) {
    logsumexp_kernel<<<CEIL_DIV(rows, WARPS), THREADS>>>(LSE_gpu, x_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
