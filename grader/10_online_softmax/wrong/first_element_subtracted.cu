// cause: overflow
// Not the maximum is subtracted before exp but the row's first element, and the sum is corrected at the
// end. On paper that is the same; in a float, exp overflows when the maximum is 89 above it.

#include "online_softmax.h"

#include <math.h>

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu
#define THREADS 128
#define WARPS (THREADS / WARP_SIZE)
#define TILE 16

struct state {
    float m;
    float l;
};

inline __device__ struct state fold(struct state s, const float x_tile[TILE], float shift) {
    float m_new = s.m;
    for (int i = 0; i < TILE; i++) m_new = fmaxf(m_new, x_tile[i]);
    if (m_new == -INFINITY) return s;
    float l_new = s.l;
    for (int i = 0; i < TILE; i++) l_new += expf(x_tile[i] - shift);
    s.m = m_new;
    s.l = l_new;
    return s;
}

inline __device__ struct state merge(struct state a, struct state b) {
    struct state both = {-INFINITY, 0.0f};
    both.m = fmaxf(a.m, b.m);
    if (both.m == -INFINITY) return both;
    both.l = a.l + b.l;
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

    float shift = x_row[0] == -INFINITY ? 0.0f : x_row[0];
    struct state s = {-INFINITY, 0.0f};
    for (int64_t first = threadIdx.x; first < cols; first += THREADS * TILE) {
        float x_tile[TILE];
        for (int i = 0; i < TILE; i++) {
            int64_t j = first + i * THREADS;
            x_tile[i] = j < cols ? x_row[j] : -INFINITY;
        }
        s = fold(s, x_tile, shift);
    }

    s = merge_block(s, s_warp);
    if (threadIdx.x == 0) {
        m[row] = s.m;
        l[row] = s.l == 0.0f ? 0.0f : s.l * expf(shift - s.m);
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
