#include "profiling.h"

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu
#define THREADS 256
#define KEYS (THREADS / WARP_SIZE)
#define WARPS 4
#define STEPS 32
#define TAPS PROFILING_TAPS
#define SEGMENT 128

__global__ void scores_kernel(float* __restrict__ S,        // (N)     out
                              const float* __restrict__ q,  // (d)
                              const float* __restrict__ K,  // (N, d)
                              int N, int d) {
    int lane = threadIdx.x % WARP_SIZE;
    int j = blockIdx.x * KEYS + threadIdx.x / WARP_SIZE;
    if (j >= N) return;
    float sum = 0.0f;
    for (int x = lane; x < d; x += WARP_SIZE) sum += q[x] * K[(size_t)j * d + x];
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, distance);
    if (lane == 0) S[j] = sum;
}

__global__ void decay_kernel(float* __restrict__ h,        // (rows, T)  out
                             const float* __restrict__ x,  // (rows, T)
                             int rows, int T, float decay) {
    __shared__ float tiles[WARPS][WARP_SIZE][STEPS + 1];
    int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    float(*tile)[STEPS + 1] = tiles[warp];
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
    int t0 = blockIdx.x * SEGMENT;
    int c = blockIdx.y * THREADS + threadIdx.x;
    if (c >= C) return;
    float weight[TAPS], now[TAPS], before[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        int t = t0 - TAPS + k;
        weight[k] = w[k * C + c];
        before[k] = t >= 0 ? x[(size_t)t * C + c] : 0.0f;
    }
    for (int t = t0; t < t0 + SEGMENT && t < T; t += TAPS) {
#pragma unroll
        for (int i = 0; i < TAPS; i++) now[i] = t + i < T ? x[(size_t)(t + i) * C + c] : 0.0f;
#pragma unroll
        for (int i = 0; i < TAPS; i++) {
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < TAPS; k++)
                sum += weight[k] * (i >= k ? now[i - k] : before[TAPS + i - k]);
            if (t + i < T) y[(size_t)(t + i) * C + c] = sum;
        }
#pragma unroll
        for (int i = 0; i < TAPS; i++) before[i] = now[i];
    }
}

int profiling_scores(float* S, const float* q, const float* K, int N, int d) {
    scores_kernel<<<CEIL_DIV(N, KEYS), THREADS>>>(S, q, K, N, d);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
int profiling_decay(float* h, const float* x, int rows, int T, float decay) {
    decay_kernel<<<CEIL_DIV(rows, WARPS * WARP_SIZE), WARPS * WARP_SIZE>>>(h, x, rows, T, decay);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
int profiling_filter(float* y, const float* x, const float* w, int T, int C) {
    dim3 blocks(CEIL_DIV(T, SEGMENT), CEIL_DIV(C, THREADS));
    filter_kernel<<<blocks, THREADS>>>(y, x, w, T, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
