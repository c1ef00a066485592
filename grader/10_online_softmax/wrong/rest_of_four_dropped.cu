// cause: inner_tail, uncoalesced
// Four elements at a time, and nothing takes the up to three that are left over at the end of the row.

#include "online_softmax.h"

#include <math.h>

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu
#define THREADS 128
#define WARPS (THREADS / WARP_SIZE)

struct state {
    float m;
    float l;
};

inline __device__ struct state fold(struct state s, float x_j) {
    float m_new = fmaxf(s.m, x_j);
    if (m_new == -INFINITY) return s;
    s.l = s.l * expf(s.m - m_new) + expf(x_j - m_new);
    s.m = m_new;
    return s;
}

inline __device__ struct state merge(struct state a, struct state b) {
    struct state both = {-INFINITY, 0.0f};
    both.m = fmaxf(a.m, b.m);
    if (both.m == -INFINITY) return both;
    both.l = a.l * expf(a.m - both.m) + b.l * expf(b.m - both.m);
    return both;
}

inline __device__ struct state merge_lanes(struct state s) {
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        struct state other;
        other.m = __shfl_xor_sync(ALL_LANES, s.m, distance);
        other.l = __shfl_xor_sync(ALL_LANES, s.l, distance);
        s = merge(s, other);
    }
    return s;
}

inline __device__ struct state merge_block(struct state s, struct state* s_warp) {
    s = merge_lanes(s);
    int warp = threadIdx.x / WARP_SIZE;
    int lane = threadIdx.x % WARP_SIZE;
    if (lane == 0) s_warp[warp] = s;
    __syncthreads();
    if (warp == 0) {
        struct state empty = {-INFINITY, 0.0f};
        s = merge_lanes(lane < WARPS ? s_warp[lane] : empty);
    }
    return s;
}

__global__ void online_softmax_kernel(float* m, float* l, const float* x, int64_t cols,
                                      int64_t stride_row) {
    __shared__ struct state s_warp[WARPS];
    int64_t row = blockIdx.x;
    const float* x_row = x + row * stride_row;

    struct state s = {-INFINITY, 0.0f};
    for (int64_t j = 4 * threadIdx.x; j + 3 < cols; j += 4 * THREADS) {
        for (int i = 0; i < 4; i++) s = fold(s, x_row[j + i]);
    }

    s = merge_block(s, s_warp);
    if (threadIdx.x == 0) {
        m[row] = s.m;
        l[row] = s.l;
    }
}

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    online_softmax_kernel<<<(unsigned)rows, THREADS>>>(m_gpu, l_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
