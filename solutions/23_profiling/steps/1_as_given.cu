#include "profiling.h"

#define WARP_SIZE 32
#define THREADS 256
#define WARPS 4
#define STEPS 32
#define TAPS PROFILING_TAPS

__global__ void scores_kernel(float* __restrict__ S,        // (N)     out
                              const float* __restrict__ q,  // (d)
                              const float* __restrict__ K,  // (N, d)
                              int N, int d) {
    int j = blockIdx.x * THREADS + threadIdx.x;
    if (j >= N) return;
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += q[x] * K[(size_t)j * d + x];
    S[j] = sum;
}

__global__ void decay_kernel(float* __restrict__ h,        // (rows, T)  out
                             const float* __restrict__ x,  // (rows, T)
                             int rows, int T, float decay) {
    __shared__ float tiles[WARPS][WARP_SIZE][STEPS];
    int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    float(*tile)[STEPS] = tiles[warp];
    size_t row0 = ((size_t)blockIdx.x * WARPS + warp) * WARP_SIZE;
    float last = 0.0f;
    for (int t0 = 0; t0 < T; t0 += STEPS) {
        int t = t0 + lane;
        for (int r = 0; r < WARP_SIZE; r++)
            tile[r][lane] = row0 + r < rows && t < T ? x[(row0 + r) * T + t] : 0.0f;
        __syncwarp();
        for (int k = 0; k < STEPS; k++) {
            last = decay * last + tile[lane][k];
            tile[lane][k] = last;
        }
        __syncwarp();
        for (int r = 0; r < WARP_SIZE; r++)
            if (row0 + r < rows && t < T) h[(row0 + r) * T + t] = tile[r][lane];
        __syncwarp();
    }
}

__global__ void filter_kernel(float* __restrict__ y,        // (T, C)  out
                              const float* __restrict__ x,  // (T, C)
                              const float* __restrict__ w,  // (TAPS, C)
                              int T, int C) {
    int t = blockIdx.x;
    int c = blockIdx.y * THREADS + threadIdx.x;
    if (c >= C) return;
    float sum = 0.0f;
    for (int k = 0; k < TAPS; k++)
        if (t >= k) sum += w[k * C + c] * x[(size_t)(t - k) * C + c];
    y[(size_t)t * C + c] = sum;
}

int profiling_scores(float* S, const float* q, const float* K, int N, int d) {
    scores_kernel<<<CEIL_DIV(N, THREADS), THREADS>>>(S, q, K, N, d);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
int profiling_decay(float* h, const float* x, int rows, int T, float decay) {
    decay_kernel<<<CEIL_DIV(rows, WARPS * WARP_SIZE), WARPS * WARP_SIZE>>>(h, x, rows, T, decay);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
int profiling_filter(float* y, const float* x, const float* w, int T, int C) {
    filter_kernel<<<dim3(T, CEIL_DIV(C, THREADS)), THREADS>>>(y, x, w, T, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
