// swizzled_tiles.cu: keys go through a padded tile, a thread walks along each; the tile of decay is
// swizzled, not padded; filter keeps a ring of steps in registers.
#include "profiling.h"

#define WARP_SIZE 32
#define THREADS 256                        // of a block of filter
#define KEYS 32                            // of a block of scores: one for each of its threads
#define WARPS 2                            // of a block of decay
#define ROWS_OF_BLOCK (WARPS * WARP_SIZE)  // of decay: one for each thread
#define STEPS 32                           // of a tile of decay
#define TAPS PROFILING_TAPS
#define SEGMENT 256  // steps of a thread of filter

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

// A warp has 32 keys; it takes 32 columns of them through shared memory.
__global__ void scores_kernel(float* __restrict__ S,        // (N)     out
                              const float* __restrict__ q,  // (d)
                              const float* __restrict__ K,  // (N, d)
                              int N, int d) {
    __shared__ float tile[KEYS][WARP_SIZE + 1];
    __shared__ float part[WARP_SIZE];  // of q
    int lane = threadIdx.x, first = blockIdx.x * KEYS;
    float sum = 0.0f;
    for (int x0 = 0; x0 < d; x0 += WARP_SIZE) {
        int columns = d - x0 < WARP_SIZE ? d - x0 : WARP_SIZE;
        for (int r = 0; r < KEYS; r++)
            if (lane < columns && first + r < N)
                tile[r][lane] = K[(size_t)(first + r) * d + x0 + lane];
        if (lane < columns) part[lane] = q[x0 + lane];
        __syncwarp();  // tile and part are filled before a lane walks along its row
        if (first + lane < N)
            for (int k = 0; k < columns; k++) sum += part[k] * tile[lane][k];
        __syncwarp();  // every row is walked before the tile is filled again
    }
    if (first + lane < N) S[first + lane] = sum;
}

// ---- decay

__global__ void decay_kernel(float* __restrict__ h,        // (rows, T)  out
                             const float* __restrict__ x,  // (rows, T)
                             int rows, int T, float decay) {
    __shared__ float tiles[WARPS][WARP_SIZE][STEPS];  // step k of row r at [r][k ^ r]
    int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    float(*tile)[STEPS] = tiles[warp];
    int first = blockIdx.x * ROWS_OF_BLOCK + warp * WARP_SIZE;
    float last = 0.0f;
    for (int t0 = 0; t0 < T; t0 += STEPS) {
        int t = t0 + lane;
        for (int r = 0; r < WARP_SIZE; r++)
            tile[r][lane ^ r] = first + r < rows && t < T ? x[(size_t)(first + r) * T + t] : 0.0f;
        __syncwarp();  // the tile is filled before a lane walks along its row
        for (int k = 0; k < STEPS; k++) {
            last = decay * last + tile[lane][k ^ lane];
            tile[lane][k ^ lane] = last;
        }
        __syncwarp();  // every row is walked before the tile is stored
        for (int r = 0; r < WARP_SIZE; r++)
            if (first + r < rows && t < T) h[(size_t)(first + r) * T + t] = tile[r][lane ^ r];
        __syncwarp();  // the tile is stored before it is filled again
    }
}

// ---- filter

__global__ void filter_kernel(float* __restrict__ y,        // (T, C)  out
                              const float* __restrict__ x,  // (T, C)
                              const float* __restrict__ w,  // (TAPS, C)
                              int T, int C) {
    int t0 = blockIdx.x * SEGMENT;
    int c = blockIdx.y * THREADS + threadIdx.x;
    if (c >= C) return;              // no barrier follows: leaving early is fine
    float weight[TAPS], ring[TAPS];  // ring: the newest step first
    for (int k = 0; k < TAPS; k++) {
        weight[k] = w[(size_t)k * C + c];
        ring[k] = t0 - 1 - k >= 0 ? x[(size_t)(t0 - 1 - k) * C + c] : 0.0f;
    }
    for (int t = t0; t < t0 + SEGMENT && t < T; t++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = TAPS - 1; k > 0; k--) ring[k] = ring[k - 1];
        ring[0] = x[(size_t)t * C + c];
#pragma unroll
        for (int k = 0; k < TAPS; k++) sum += weight[k] * ring[k];
        y[(size_t)t * C + c] = sum;
    }
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
    scores_kernel<<<CEIL_DIV(N, KEYS), KEYS>>>(S_gpu, q_gpu, K_gpu, N, d);
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
