// 1_read_only.cu: the three kernels as they are given, and all six answers right.
//
// Whoever reads the tables and cures nothing has this file. Next: profiling.cu.
#include "profiling.h"

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu              // mask of a warp function that every lane calls
#define THREADS 256                        // of a block of scores and filter
#define WARPS 4                            // of a block of decay
#define ROWS_OF_BLOCK (WARPS * WARP_SIZE)  // of decay: one for each thread
#define STEPS 32                           // of a tile of decay
#define TAPS PROFILING_TAPS

// ---- answers

static const struct profiling_answer answered[PROFILING_KERNELS] = {
    {LIMITER_UNCOALESCED, 3.7f},      // scores
    {LIMITER_BANK_CONFLICTS, 3.7f},   // decay
    {LIMITER_REDUNDANT_READS, 2.6f},  // filter
    {LIMITER_REGISTERS, 4.0f},        // gaps
    {LIMITER_TAIL, 1.78f},            // forces
    {LIMITER_IN_FLIGHT, 4.0f},        // norm
};

// ---- scores

#define KEYS THREADS  // of a block: one for each thread

__global__ void scores_kernel(float* __restrict__ S,        // (N)     out
                              const float* __restrict__ q,  // (d)
                              const float* __restrict__ K,  // (N, d)
                              int N, int d) {
    // S[j] = sum_x q[x] * K[j][x]          (README eq. 1)
    int j = blockIdx.x * KEYS + threadIdx.x;  // [0, N rounded up to KEYS)
    if (j >= N) return;                       // no barrier follows: leaving early is fine
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += q[x] * K[(size_t)j * d + x];
    S[j] = sum;
}

// ---- decay

#define TILE_ROW STEPS  // floats from one row of a tile to the next

// Each warp has 32 rows, a lane for each. It takes them through a tile in shared memory, STEPS
// steps at a time: so global memory is read and written along the rows.
__global__ void decay_kernel(float* __restrict__ h,        // (rows, T)  out
                             const float* __restrict__ x,  // (rows, T)
                             int rows, int T, float decay) {
    __shared__ float tiles[WARPS][WARP_SIZE][TILE_ROW];
    int warp = threadIdx.x / WARP_SIZE;  // [0, WARPS)
    int lane = threadIdx.x % WARP_SIZE;  // [0, WARP_SIZE)
    float(*tile)[TILE_ROW] = tiles[warp];
    int first = blockIdx.x * ROWS_OF_BLOCK + warp * WARP_SIZE;  // the warp's first row
    float last = 0.0f;                                          // h[first + lane][t - 1]
    for (int t0 = 0; t0 < T; t0 += STEPS) {
        int t = t0 + lane;
        for (int r = 0; r < WARP_SIZE; r++)
            tile[r][lane] = first + r < rows && t < T ? x[(size_t)(first + r) * T + t] : 0.0f;
        __syncwarp();  // the tile is filled before a lane walks along its row
        // h[r][t] = decay * h[r][t - 1] + x[r][t]          (README eq. 2)
        for (int k = 0; k < STEPS; k++) {
            last = decay * last + tile[lane][k];
            tile[lane][k] = last;
        }
        __syncwarp();  // every row is walked before the tile is stored
        for (int r = 0; r < WARP_SIZE; r++)
            if (first + r < rows && t < T) h[(size_t)(first + r) * T + t] = tile[r][lane];
        // the lane itself fills next what it has just stored: no barrier
    }
}

// ---- filter

#define SEGMENT 1  // steps of a thread

__global__ void filter_kernel(float* __restrict__ y,        // (T, C)  out
                              const float* __restrict__ x,  // (T, C)
                              const float* __restrict__ w,  // (TAPS, C)
                              int T, int C) {
    int t0 = blockIdx.x * SEGMENT;               // the thread's first step
    int c = blockIdx.y * THREADS + threadIdx.x;  // [0, C rounded up to THREADS)
    if (c >= C) return;                          // no barrier follows: leaving early is fine
    // y[t][c] = sum_k w[k][c] * x[t - k][c]          (README eq. 3)
    float sum = 0.0f;
    if (t0 >= TAPS) {
        for (int k = 0; k < TAPS; k++) sum += w[(size_t)k * C + c] * x[(size_t)(t0 - k) * C + c];
    } else {  // the first steps have fewer before them
        for (int k = 0; k <= t0; k++) sum += w[(size_t)k * C + c] * x[(size_t)(t0 - k) * C + c];
    }
    y[(size_t)t0 * C + c] = sum;
}

// ---- launchers

// What the three contracts have in common: COURSE_OK if there is something to launch, else *status
// is what to return.
static bool nothing_to_do(int* status, int a, int b, bool no_output, bool no_input) {
    *status = COURSE_BAD_ARGUMENT;
    if (a < 0 || b < 0) return true;
    *status = COURSE_UNSUPPORTED;
    if (a > PROFILING_MAX_SIZE || b > PROFILING_MAX_SIZE) return true;
    *status = COURSE_OK;
    if (a == 0 || b == 0) return true;
    *status = COURSE_BAD_ARGUMENT;
    return no_output || no_input;
}

int profiling_scores(float* S_gpu,        // (N)     out
                     const float* q_gpu,  // (d)
                     const float* K_gpu,  // (N, d)
                     int N, int d) {
    int status;
    if (d == 0) return COURSE_BAD_ARGUMENT;
    if (nothing_to_do(&status, N, d, !S_gpu, !q_gpu || !K_gpu)) return status;
    scores_kernel<<<CEIL_DIV(N, KEYS), THREADS>>>(S_gpu, q_gpu, K_gpu, N, d);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

int profiling_decay(float* h_gpu,        // (rows, T)  out
                    const float* x_gpu,  // (rows, T)
                    int rows, int T, float decay) {
    int status;
    if (nothing_to_do(&status, rows, T, !h_gpu, !x_gpu)) return status;
    int blocks = CEIL_DIV(rows, ROWS_OF_BLOCK);
    decay_kernel<<<blocks, ROWS_OF_BLOCK>>>(h_gpu, x_gpu, rows, T, decay);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

int profiling_filter(float* y_gpu,        // (T, C)                out
                     const float* x_gpu,  // (T, C)
                     const float* w_gpu,  // (PROFILING_TAPS, C)
                     int T, int C) {
    int status;
    if (nothing_to_do(&status, T, C, !y_gpu, !x_gpu || !w_gpu)) return status;
    dim3 blocks(CEIL_DIV(T, SEGMENT), CEIL_DIV(C, THREADS));
    filter_kernel<<<blocks, THREADS>>>(y_gpu, x_gpu, w_gpu, T, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

void profiling_answers(struct profiling_answer answers[PROFILING_KERNELS]) {
    for (int k = 0; k < PROFILING_KERNELS; k++) answers[k] = answered[k];
}
