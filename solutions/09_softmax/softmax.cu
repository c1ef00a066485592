// The softmax of every row of x: each element is read once and written once.
//
// The three equations are three walks along the row. Only the first one here goes to memory: a team
// of threads takes its row into registers, and makes the other two there.
//
//     cols        team             numbers a thread has in registers    the rest of the row
//     .. 513      a warp           17                                   none; 16 such rows a block
//     .. 1025     a warp           33                                   none; 16 such rows a block
//     .. 4577     512 threads       9                                   none
//     .. 10721    512 threads      21                                   none
//     .. 21985    512 threads      43                                   none
//     .. 51169    1024 threads     50                                   none
//     .. 80062    512 threads      43                                   in shared memory (227 KB)
//     more        512 threads      43                                   is read again
//
// Up to 51169 columns registers are enough. But 512 threads with a rest in shared memory are faster
// than 1024 with none, and take such rows, too, where two of their blocks fit on a multiprocessor:
// up to 50878 columns on an H100.
//
// The versions on the way: steps/1_thread_per_row.cu; steps/2_warp_per_row.cu, 32 lanes side by
// side; steps/3_block_per_row.cu, more threads; these read the row three times. steps/4_shared.cu
// reads it once.

#include "softmax.h"

#include <math.h>

#include "ptx.h"

#define WARP_SIZE 32                 // lanes of a warp
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 512                  // threads of a block
#define WARPS (THREADS / WARP_SIZE)  // warps of a block
#define MOST_THREADS 1024            // threads of a block where 512 have too few registers
#define WIDE_VALUES 43               // numbers a thread has in registers of a row with a rest
#define LINE 32                      // floats of a cache line, 128 bytes
#define LOG2_E 1.44269504f

// ---- device helpers: a team --------------------------------------------------------------------
//
// A team of TEAM threads has a row: a warp, or the whole block.

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

// The maximum of v over a team, in every thread of it. All threads of the team must call it. v_warp
// is used once in a kernel.
template <int TEAM>
inline __device__ float max_of_team(float v, float* v_warp) {  // shared, (TEAM / WARP_SIZE)
    v = max_of_lanes(v);
    if (TEAM == WARP_SIZE) return v;
    // BEGIN SOLUTION (about 5 lines): each warp has its maximum: exchange them by v_warp
    int warp = threadIdx.x / WARP_SIZE;  // [0, TEAM / WARP_SIZE)
    int lane = threadIdx.x % WARP_SIZE;  // [0, WARP_SIZE)
    if (lane == 0) v_warp[warp] = v;
    __syncthreads();  // every warp has written v_warp before any warp reads it
    v = max_of_lanes(lane < TEAM / WARP_SIZE ? v_warp[lane] : -INFINITY);
    // END SOLUTION
    return v;
}

// The sum, likewise.
template <int TEAM>
inline __device__ float sum_of_team(float v, float* v_warp) {  // shared, (TEAM / WARP_SIZE)
    v = sum_of_lanes(v);
    if (TEAM == WARP_SIZE) return v;
    // BEGIN SOLUTION (about 5 lines): the same with sums
    int warp = threadIdx.x / WARP_SIZE;  // [0, TEAM / WARP_SIZE)
    int lane = threadIdx.x % WARP_SIZE;  // [0, WARP_SIZE)
    if (lane == 0) v_warp[warp] = v;
    __syncthreads();  // every warp has written v_warp before any warp reads it
    v = sum_of_lanes(lane < TEAM / WARP_SIZE ? v_warp[lane] : 0.0f);
    // END SOLUTION
    return v;
}

// ---- device helpers: a thread's share of a row, in registers -----------------------------------
//
// A thread's share is the columns begin, begin + TEAM, begin + 2 TEAM, ... that there are; VALUES
// of them at most lie in an array e. begin may be below 0: then e[0] belongs to no column. Below 0
// j is large as an unsigned: (unsigned)j < (unsigned)cols asks for both ends in one comparison.

// exp(x - m). The difference first: of x log2(e) and m log2(e), both rounded, it would be inexact.
inline __device__ float exp_difference(float x, float m) {
    return exp2_approx((x - m) * LOG2_E);
}

// The first column of this thread. A row may begin anywhere; with this shift the lanes of a warp
// store a whole line: where lane 0 stores is a multiple of 128 bytes.
template <int TEAM> inline __device__ int first_column(const float* y_row) {
    int shift = (int)((size_t)y_row / sizeof(float) % LINE);  // [0, LINE)
    return (int)(threadIdx.x % TEAM) - shift;
}

// Reads the share into e. A place that belongs to no column becomes -INFINITY: it adds nothing.
template <int TEAM, int VALUES>
inline __device__ void read_share(float e[VALUES],     //
                                  const float* x_row,  // (cols)
                                  int cols, int begin) {
    // BEGIN SOLUTION (about 5 lines): e[i] is column begin + i * TEAM, if there is one
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        int j = begin + i * TEAM;
        e[i] = (unsigned)j < (unsigned)cols ? x_row[j] : -INFINITY;
    }
    // END SOLUTION
}

// The maximum of the share.
template <int VALUES> inline __device__ float max_of_share(const float e[VALUES]) {
    float m = -INFINITY;
    // BEGIN SOLUTION (about 2 lines): over e
#pragma unroll
    for (int i = 0; i < VALUES; i++) m = fmaxf(m, e[i]);
    // END SOLUTION
    return m;
}

// The sum of exp(x - m) over the share. The exponentials take the place of the scores.
template <int VALUES> inline __device__ float exp_of_share(float e[VALUES], float m) {
    float l = 0.0f;
    // BEGIN SOLUTION (about 5 lines): each e[i] becomes its exponential; add them up
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        e[i] = exp_difference(e[i], m);
        l += e[i];
    }
    // END SOLUTION
    return l;
}

// Writes the share of y: the exponentials times factor.
template <int TEAM, int VALUES>
inline __device__ void write_share(float* y_row,  // (cols)
                                   const float e[VALUES], int cols, int begin, float factor) {
    // BEGIN SOLUTION (about 5 lines): where there is a column
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        int j = begin + i * TEAM;
        if ((unsigned)j < (unsigned)cols) y_row[j] = e[i] * factor;
    }
    // END SOLUTION
}

// ---- GPU kernels -------------------------------------------------------------------------------

// A row for each team. A multiprocessor has 65536 registers: three blocks of 512 threads leave a
// thread 42 of them, two 64, and so does one of 1024. More than three have no room on the cards
// that hold 1536 threads.
template <int TEAM, int VALUES>
__global__ void __launch_bounds__(TEAM == MOST_THREADS ? MOST_THREADS : THREADS,
                                  TEAM == MOST_THREADS ? 1
                                  : VALUES < 22        ? 3
                                                       : 2)
    softmax_kernel(float* __restrict__ y,        // (rows, cols), rows stride_y apart
                   const float* __restrict__ x,  // (rows, cols), rows stride_x apart
                   int64_t rows, int cols, int64_t stride_y, int64_t stride_x) {
    __shared__ float m_warp[TEAM / WARP_SIZE], l_warp[TEAM / WARP_SIZE];
    int64_t row = (int64_t)blockIdx.x * (blockDim.x / TEAM) + threadIdx.x / TEAM;  // [0, rows)
    if (row >= rows) return;  // whole warps; a team that is a block always has a row
    const float* x_row = x + row * stride_x;
    float* y_row = y + row * stride_y;
    int begin = first_column<TEAM>(y_row);

    float e[VALUES];
    read_share<TEAM, VALUES>(e, x_row, cols, begin);

    // m = max_j x_j                                                       (README eq. 1)
    float m = max_of_team<TEAM>(max_of_share<VALUES>(e), m_warp);
    // BEGIN SOLUTION (about 1 line): what if the whole row is -INFINITY?
    if (m == -INFINITY) m = 0.0f;  // (-inf) - (-inf) is NaN; exp((-inf) - 0) is 0
    // END SOLUTION

    // l = sum_j exp(x_j - m)                                              (README eq. 2)
    float l = sum_of_team<TEAM>(exp_of_share<VALUES>(e, m), l_warp);

    // y_j = exp(x_j - m) / l                                              (README eq. 3)
    float factor = 1.0f / l;  // one division for the whole row
    // BEGIN SOLUTION (about 1 line): what if there was nothing to add up?
    if (l == 0.0f) factor = 0.0f;  // 0 * (1 / 0) is NaN
    // END SOLUTION
    write_share<TEAM, VALUES>(y_row, e, cols, begin, factor);
}

// ---- the last gap: rows wider than the registers -----------------------------------------------

// Sends for `count` floats that begin anywhere, 16 bytes at a time: such copies pass the L1 cache
// by, which has little room here (README, What the hardware does). Returns where they arrive.
inline __device__ const float* send_for(float* x_smem,      // shared, (count + 3), 16-byte aligned
                                        const float* from,  // (count)
                                        int count) {
    int skip = (int)((size_t)from / sizeof(float) % 4);  // floats between 16 bytes and `from`
    float* to = x_smem + skip;
    for (int j = 4 * (int)threadIdx.x - skip; j < count; j += 4 * THREADS) {
        if (0 <= j && j + 4 <= count) {
            cp_async16(&to[j], &from[j]);
        } else {
            for (int i = j; i < j + 4; i++)
                if (0 <= i && i < count) cp_async4(&to[i], &from[i]);
        }
    }
    return to;
}

// Each walk begins in registers, as above, and goes on along the rest, the columns from `first` on.
// The rest is KEPT in x_smem, or read again, three times in all.
template <bool KEPT>
inline __device__ void make_wide_row(float* y_row,        // (cols)
                                     const float* x_row,  // (cols)
                                     int cols, int begin, int first,
                                     float* x_smem,  // shared, (cols - first + 3) if KEPT
                                     float* m_warp, float* l_warp) {  // shared, (WARPS)
    // BEGIN SOLUTION (about 20 lines): rest[j - first] is column j: send_for() it, then as above
    const float* rest = x_row + first;
    if (KEPT) rest = send_for(x_smem, x_row + first, cols - first);
    float e[WIDE_VALUES];
    read_share<THREADS, WIDE_VALUES>(e, x_row, cols, begin);
    if (KEPT) cp_async_wait_all();
    __syncthreads();  // what every thread has sent for is there before any thread reads it

    float m = max_of_share<WIDE_VALUES>(e);
#pragma unroll 4
    for (int j = first + threadIdx.x; j < cols; j += THREADS) m = fmaxf(m, rest[j - first]);
    m = max_of_team<THREADS>(m, m_warp);
    if (m == -INFINITY) m = 0.0f;

    float l = exp_of_share<WIDE_VALUES>(e, m);
#pragma unroll 4
    for (int j = first + threadIdx.x; j < cols; j += THREADS)
        l += exp_difference(rest[j - first], m);
    l = sum_of_team<THREADS>(l, l_warp);

    float factor = l == 0.0f ? 0.0f : 1.0f / l;
    write_share<THREADS, WIDE_VALUES>(y_row, e, cols, begin, factor);
#pragma unroll 4
    for (int j = first + threadIdx.x; j < cols; j += THREADS)
        y_row[j] = exp_difference(rest[j - first], m) * factor;
    // END SOLUTION
}

// A row for each block.
template <bool KEPT>
__global__ void __launch_bounds__(THREADS, 2)
    wide_kernel(float* __restrict__ y,        // (rows, cols), rows stride_y apart
                const float* __restrict__ x,  // (rows, cols), rows stride_x apart
                int64_t rows, int cols, int64_t stride_y, int64_t stride_x) {
    extern __shared__ __align__(16) float x_smem[];  // (cols - first + 3), if KEPT
    __shared__ float m_warp[WARPS], l_warp[WARPS];
    int64_t row = blockIdx.x;  // [0, rows)
    const float* x_row = x + row * stride_x;
    float* y_row = y + row * stride_y;
    int begin = first_column<THREADS>(y_row);
    int first = begin - (int)threadIdx.x + THREADS * WIDE_VALUES;
    make_wide_row<KEPT>(y_row, x_row, cols, begin, first, x_smem, m_warp, l_warp);
}

// ---- launcher ----------------------------------------------------------------------------------

typedef void (*row_kernel)(float*, const float*, int64_t, int, int64_t, int64_t);

int softmax(float* y_gpu, const float* x_gpu, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    int64_t places = cols + LINE - 1;  // that a row takes, wherever it begins
    int64_t rows_per_block = places <= WARP_SIZE * 33 ? WARPS : 1;
    int threads = places <= THREADS * 43 ? THREADS : MOST_THREADS;
    row_kernel kernel = places <= WARP_SIZE * 17   ? softmax_kernel<WARP_SIZE, 17>
                        : places <= WARP_SIZE * 33 ? softmax_kernel<WARP_SIZE, 33>
                        : places <= THREADS * 9    ? softmax_kernel<THREADS, 9>
                        : places <= THREADS * 21   ? softmax_kernel<THREADS, 21>
                        : places <= THREADS * 43   ? softmax_kernel<THREADS, 43>
                                                   : softmax_kernel<MOST_THREADS, 50>;

    // A rest that is kept takes shared memory, next to m_warp and l_warp: of_block is what a block
    // may have, of_all what the blocks of a multiprocessor share. CUDA takes 1 KB more for each.
    size_t rest_bytes = 0;
    if (places > THREADS * 43) {
        int device, of_block, of_all;
        COURSE_TRY(cudaGetDevice(&device));
        COURSE_TRY(
            cudaDeviceGetAttribute(&of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
        COURSE_TRY(
            cudaDeviceGetAttribute(&of_all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
        const size_t warps_bytes = 2 * WARPS * sizeof(float);
        const size_t bytes = (size_t)(places - THREADS * WIDE_VALUES + 3) * sizeof(float);
        bool wide = places > MOST_THREADS * 50;
        // BEGIN SOLUTION (about 1 line): where of_all has room for two blocks, wide is faster
        if (2 * (bytes + warps_bytes + 1024) <= (size_t)of_all) wide = true;
        // END SOLUTION
        if (wide) {
            threads = THREADS;
            kernel = wide_kernel<false>;
        }
        if (wide && bytes + warps_bytes <= (size_t)of_block) {
            kernel = wide_kernel<true>;
            rest_bytes = bytes;
            COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)rest_bytes));
        }
    }

    unsigned blocks = (unsigned)CEIL_DIV(rows, rows_per_block);
    kernel<<<blocks, threads, rest_bytes>>>(y_gpu, x_gpu, rows, (int)cols, stride_y, stride_x);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
