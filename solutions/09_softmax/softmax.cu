// The softmax of every row of x: each element is read once and written once.
//
// The three equations are three walks along the row. Only the first one here goes to memory: a team
// of threads takes its row onto the chip, and makes the other two there.
//
//     cols        team      numbers a thread has in registers    the rest of the row
//     .. 513      a warp    17                                   none; 16 such rows a block
//     .. 1025     a warp    33                                   none; 16 such rows a block
//     .. 4577     a block    9                                   none
//     .. 10721    a block   21                                   none
//     .. 21985    a block   43                                   none
//     .. 80000    a block   43                                   in shared memory
//     more        a block   43                                   is read again
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
#define LINE 32                      // floats of a cache line, 128 bytes
#define LOG2_E 1.44269504f

static_assert(WARPS <= WARP_SIZE, "one warp must be able to hold the results of all warps");

// Where the columns are that registers have no room for.
enum rest {
    NONE,  // there are none
    KEPT,  // in shared memory
    LEFT,  // where they were: they are read again
};

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

// The maximum of v over a team, which is a warp or the block, in every thread of it. All must call
// it.
template <int TEAM>
inline __device__ float max_of_team(float v, float* v_warp) {  // shared, (WARPS)
    int warp = threadIdx.x / WARP_SIZE;                        // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;                        // [0, WARP_SIZE)
    v = max_of_lanes(v);
    if (TEAM == WARP_SIZE) return v;
    if (lane == 0) v_warp[warp] = v;
    __syncthreads();  // every warp has written v_warp before any warp reads it
    return max_of_lanes(lane < WARPS ? v_warp[lane] : -INFINITY);
}

// The sum, likewise.
template <int TEAM>
inline __device__ float sum_of_team(float v, float* v_warp) {  // shared, (WARPS)
    int warp = threadIdx.x / WARP_SIZE;                        // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;                        // [0, WARP_SIZE)
    v = sum_of_lanes(v);
    if (TEAM == WARP_SIZE) return v;
    if (lane == 0) v_warp[warp] = v;
    __syncthreads();  // every warp has written v_warp before any warp reads it
    return sum_of_lanes(lane < WARPS ? v_warp[lane] : 0.0f);
}

// exp(x - m). The difference first: of x log2(e) and m log2(e), both rounded, it would be inexact.
inline __device__ float exp_difference(float x, float m) {
    return exp2_approx((x - m) * LOG2_E);
}

// What a thread of a team of TEAM has of a row: the columns begin, begin + TEAM, ... that there
// are. The first VALUES of them lie in registers, in an array e.
struct share {
    int cols;   // of the row
    int begin;  // may be below 0: then the first column that there is is begin + TEAM
    int first;  // columns from here on are the rest, which rest[j - first] has, first <= j < cols
    const float* rest;  // a thread uses what belongs to its share alone: no barrier
};

// Reads the share: its first columns into e, where a column that there is not becomes -INFINITY,
// which adds nothing; the rest, if it is KEPT, into x_smem.
template <int TEAM, int VALUES, enum rest REST>
inline __device__ void read_share(float e[VALUES],     //
                                  float* x_smem,       // shared, (cols - first)
                                  const float* x_row,  // (cols)
                                  struct share s) {
    // BEGIN SOLUTION (about 8 lines): if KEPT, send for the rest with cp_async4(); then fill e
#pragma unroll 4
    for (int j = s.first + threadIdx.x; REST == KEPT && j < s.cols; j += TEAM)
        cp_async4(&x_smem[j - s.first], &x_row[j]);
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        int j = s.begin + i * TEAM;
        e[i] = 0 <= j && j < s.cols ? x_row[j] : -INFINITY;
    }
    // END SOLUTION
}

// The maximum of the share.
template <int TEAM, int VALUES, enum rest REST>
inline __device__ float max_of_share(const float e[VALUES], struct share s) {
    float m = -INFINITY;
    // BEGIN SOLUTION (about 4 lines): of e; then of the rest, which has to have arrived
#pragma unroll
    for (int i = 0; i < VALUES; i++) m = fmaxf(m, e[i]);
    if (REST == KEPT) cp_async_wait_all();
#pragma unroll 4
    for (int j = s.first + threadIdx.x; REST != NONE && j < s.cols; j += TEAM)
        m = fmaxf(m, s.rest[j - s.first]);
    // END SOLUTION
    return m;
}

// The sum of exp(x - m) over the share. In e the exponentials take the place of the scores.
template <int TEAM, int VALUES, enum rest REST>
inline __device__ float exp_of_share(float e[VALUES], struct share s, float m) {
    float l = 0.0f;
    // BEGIN SOLUTION (about 6 lines): of e, then of the rest
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        e[i] = exp_difference(e[i], m);
        l += e[i];
    }
#pragma unroll 4
    for (int j = s.first + threadIdx.x; REST != NONE && j < s.cols; j += TEAM)
        l += exp_difference(s.rest[j - s.first], m);
    // END SOLUTION
    return l;
}

// Writes the share of y: exp(x - m) * factor. e holds the exponentials.
template <int TEAM, int VALUES, enum rest REST>
inline __device__ void write_share(float* y_row,  // (cols)
                                   const float e[VALUES], struct share s, float m, float factor) {
    // BEGIN SOLUTION (about 7 lines): the columns of e that there are, then the rest
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        int j = s.begin + i * TEAM;
        if (0 <= j && j < s.cols) y_row[j] = e[i] * factor;
    }
#pragma unroll 4
    for (int j = s.first + threadIdx.x; REST != NONE && j < s.cols; j += TEAM)
        y_row[j] = exp_difference(s.rest[j - s.first], m) * factor;
    // END SOLUTION
}

// ---- GPU kernel --------------------------------------------------------------------------------

// A row for each team of TEAM threads, which is a warp or the block. A multiprocessor has 65536
// registers: four blocks leave a thread 32 of them, three 42, two 64.
template <int TEAM, int VALUES, enum rest REST>
__global__ void __launch_bounds__(THREADS, VALUES < 10   ? 4
                                           : VALUES < 22 ? 3
                                                         : 2)
    softmax_kernel(float* __restrict__ y,        // (rows, cols), rows stride_y apart
                   const float* __restrict__ x,  // (rows, cols), rows stride_x apart
                   int64_t rows, int cols, int64_t stride_y, int64_t stride_x) {
    extern __shared__ float x_smem[];  // (cols - first), if KEPT
    __shared__ float m_warp[WARPS], l_warp[WARPS];
    int64_t row = (int64_t)blockIdx.x * (THREADS / TEAM) + threadIdx.x / TEAM;  // [0, rows)
    if (row >= rows) return;  // whole warps; a team that is a block always has a row
    const float* x_row = x + row * stride_x;
    float* y_row = y + row * stride_y;

    // A row may begin anywhere. With this shift the lanes of a warp store a whole line: where lane
    // 0 stores is a multiple of 128 bytes.
    int shift = (int)((size_t)y_row / sizeof(float) % LINE);  // [0, LINE)
    struct share s;
    s.cols = cols;
    s.begin = (int)(threadIdx.x % TEAM) - shift;
    s.first = TEAM * VALUES - shift;
    s.rest = REST == KEPT ? x_smem : x_row + s.first;

    float e[VALUES];
    read_share<TEAM, VALUES, REST>(e, x_smem, x_row, s);

    // m = max_j x_j                                                       (README eq. 1)
    float m = max_of_team<TEAM>(max_of_share<TEAM, VALUES, REST>(e, s), m_warp);
    // BEGIN SOLUTION (about 1 line): what if the whole row is -INFINITY?
    if (m == -INFINITY) m = 0.0f;  // (-inf) - (-inf) is NaN; exp((-inf) - 0) is 0
    // END SOLUTION

    // l = sum_j exp(x_j - m)                                              (README eq. 2)
    float l = sum_of_team<TEAM>(exp_of_share<TEAM, VALUES, REST>(e, s, m), l_warp);

    // y_j = exp(x_j - m) / l                                              (README eq. 3)
    float factor = 1.0f / l;  // one division for the whole row
    // BEGIN SOLUTION (about 1 line): what if there was nothing to add up?
    if (l == 0.0f) factor = 0.0f;  // 0 * (1 / 0) is NaN
    // END SOLUTION
    write_share<TEAM, VALUES, REST>(y_row, e, s, m, factor);
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
    row_kernel kernel = places <= WARP_SIZE * 17   ? softmax_kernel<WARP_SIZE, 17, NONE>
                        : places <= WARP_SIZE * 33 ? softmax_kernel<WARP_SIZE, 33, NONE>
                        : places <= THREADS * 9    ? softmax_kernel<THREADS, 9, NONE>
                        : places <= THREADS * 21   ? softmax_kernel<THREADS, 21, NONE>
                        : places <= THREADS * 43   ? softmax_kernel<THREADS, 43, NONE>
                                                   : softmax_kernel<THREADS, 43, LEFT>;

    // What shared memory does a wider row take, and may a block have as much, next to m_warp and
    // l_warp?
    size_t rest_bytes = 0;
    if (places > THREADS * 43) {
        int most;
        COURSE_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
        rest_bytes = (size_t)(places - THREADS * 43) * sizeof(float);
        if (rest_bytes + 2 * WARPS * sizeof(float) <= (size_t)most) {
            kernel = softmax_kernel<THREADS, 43, KEPT>;
            COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)rest_bytes));
        } else {
            rest_bytes = 0;
        }
    }

    unsigned blocks = (unsigned)CEIL_DIV(rows, rows_per_block);
    kernel<<<blocks, THREADS, rest_bytes>>>(y_gpu, x_gpu, rows, (int)cols, stride_y, stride_x);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
