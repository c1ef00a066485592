// lanes_in_groups.cu: 8 lanes have a key; a warp has a row of decay and adds up along it by
// shuffles; a block takes the steps of filter through shared memory.
#include "profiling.h"

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu        // mask of a warp function that every lane calls
#define THREADS 256                  // of a block
#define KEYS 32                      // of a block: one for 8 lanes
#define LANES (THREADS / KEYS)       // of a key
#define WARPS (THREADS / WARP_SIZE)  // of a block
#define TAPS PROFILING_TAPS
#define CHANNELS 32                      // of a block of filter
#define LANE_STEPS (THREADS / CHANNELS)  // steps of filter that the block takes at once
#define SEGMENT 128                      // steps of filter of a block: 2^22 are 32768 segments

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

__global__ void scores_kernel(float* __restrict__ S,        // (N)     out
                              const float* __restrict__ q,  // (d)
                              const float* __restrict__ K,  // (N, d)
                              int N, int d) {
    int lane = threadIdx.x % LANES;
    int j = blockIdx.x * KEYS + threadIdx.x / LANES;
    float sum = 0.0f;
    if (j < N)
        for (int x = lane; x < d; x += LANES) sum += q[x] * K[(size_t)j * d + x];
    for (int distance = LANES / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, distance);
    if (lane == 0 && j < N) S[j] = sum;
}

// ---- decay

// A warp has a row, a lane a step: h of 32 steps at once, as a scan.
__global__ void decay_kernel(float* __restrict__ h,        // (rows, T)  out
                             const float* __restrict__ x,  // (rows, T)
                             int rows, int T, float decay) {
    int lane = threadIdx.x % WARP_SIZE;
    int row = blockIdx.x * WARPS + threadIdx.x / WARP_SIZE;
    if (row >= rows) return;  // whole warps leave; no barrier follows
    float carry = 0.0f;       // h of the step before the 32
    float to_lane = decay;    // decay to the power lane + 1
    for (int k = 0; k < lane; k++) to_lane *= decay;
    for (int t0 = 0; t0 < T; t0 += WARP_SIZE) {
        int t = t0 + lane;
        float sum = t < T ? x[(size_t)row * T + t] : 0.0f;
        float power = decay;
        for (int distance = 1; distance < WARP_SIZE; distance *= 2) {
            float other = __shfl_up_sync(ALL_LANES, sum, distance);
            if (lane >= distance) sum += power * other;
            power *= power;
        }
        sum += to_lane * carry;
        if (t < T) h[(size_t)row * T + t] = sum;
        carry = __shfl_sync(ALL_LANES, sum, WARP_SIZE - 1);
    }
}

// ---- filter

__global__ void filter_kernel(float* __restrict__ y,        // (T, C)  out
                              const float* __restrict__ x,  // (T, C)
                              const float* __restrict__ w,  // (TAPS, C)
                              int T, int C) {
    __shared__ float steps[TAPS + SEGMENT][CHANNELS];  // from TAPS steps before the segment on
    __shared__ float weights[TAPS][CHANNELS];
    int lane = threadIdx.x % CHANNELS, group = threadIdx.x / CHANNELS;
    int c = blockIdx.x * CHANNELS + lane, t0 = blockIdx.y * SEGMENT;
    for (int i = group; i < TAPS + SEGMENT; i += LANE_STEPS) {
        int t = t0 - TAPS + i;
        steps[i][lane] = c < C && t >= 0 && t < T ? x[(size_t)t * C + c] : 0.0f;
    }
    for (int k = group; k < TAPS; k += LANE_STEPS)
        weights[k][lane] = c < C ? w[(size_t)k * C + c] : 0.0f;
    __syncthreads();  // steps and weights are filled before they are read
    for (int i = group; i < SEGMENT; i += LANE_STEPS) {
        float sum = 0.0f;
        for (int k = 0; k < TAPS; k++) sum += weights[k][lane] * steps[TAPS + i - k][lane];
        if (c < C && t0 + i < T) y[(size_t)(t0 + i) * C + c] = sum;
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
    scores_kernel<<<CEIL_DIV(N, KEYS), THREADS>>>(S_gpu, q_gpu, K_gpu, N, d);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

int profiling_decay(float* h_gpu,        // (rows, T)  out
                    const float* x_gpu,  // (rows, T)
                    int rows, int T, float decay) {
    int status;
    if (nothing_to_do(&status, rows, T, !h_gpu, !x_gpu)) return status;
    int blocks = CEIL_DIV(rows, WARPS);
    decay_kernel<<<blocks, THREADS>>>(h_gpu, x_gpu, rows, T, decay);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

int profiling_filter(float* y_gpu,        // (T, C)                out
                     const float* x_gpu,  // (T, C)
                     const float* w_gpu,  // (PROFILING_TAPS, C)
                     int T, int C) {
    int status;
    if (nothing_to_do(&status, T, C, !y_gpu, !x_gpu || !w_gpu)) return status;
    dim3 blocks(CEIL_DIV(C, CHANNELS), CEIL_DIV(T, SEGMENT));
    filter_kernel<<<blocks, THREADS>>>(y_gpu, x_gpu, w_gpu, T, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

void profiling_answers(struct profiling_answer answers[PROFILING_KERNELS]) {
    for (int k = 0; k < PROFILING_KERNELS; k++) answers[k] = answered[k];
}
