// cause: max_init
// The maximum begins with -1e30; a row in which nothing was summed then counts as one of nothing
// but -inf.

#include "online_softmax.h"
#include <math.h>
__device__ void push(float& m, float& l, float x) {
    if (x <= m) {
        l += expf(x - m);
    } else {
        l = l * expf(m - x) + 1.0f;
        m = x;
    }
}
__device__ void join(float& m, float& l, float m2, float l2) {
    float n = fmaxf(m, m2);
    l = l * expf(m - n) + l2 * expf(m2 - n);
    m = n;
}
__global__ void k(float* M, float* L, const float* x, int64_t rows, int64_t cols, int64_t ld) {
    __shared__ float sm[8], sl[8];
    const float* row = x + blockIdx.x * ld;
    float m = -1e30f, l = 0;
    for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) push(m, l, row[j]);
    for (int o = 16; o; o /= 2) {
        float a = __shfl_xor_sync(~0u, m, o), b = __shfl_xor_sync(~0u, l, o);
        join(m, l, a, b);
    }
    if (threadIdx.x % 32 == 0) sm[threadIdx.x / 32] = m, sl[threadIdx.x / 32] = l;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) join(m, l, sm[w], sl[w]);
        M[blockIdx.x] = l == 0.0f ? -INFINITY : m;
        L[blockIdx.x] = l;
    }
}
int online_softmax(float* m, float* l, const float* x, int64_t rows, int64_t cols, int64_t ld) {
    if (rows < 0 || cols < 1 || ld < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (!m || !l || !x) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;
    k<<<(unsigned)rows, 256>>>(m, l, x, rows, cols, ld);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
