// cause: inner_tail, out_of_bounds
// What comes before the first multiple of 16 bytes is taken one by one, also of rows that end
// before it.

#include "online_softmax.h"
#include <math.h>
#include <stdint.h>
struct st {
    float m, l;
};
__device__ __forceinline__ st join(st a, st b) {
    float m = fmaxf(a.m, b.m);
    if (m == -INFINITY) return {-INFINITY, 0.0f};
    return {m, a.l * expf(a.m - m) + b.l * expf(b.m - m)};
}
__device__ __forceinline__ st four(st s, float4 v) {
    float m = fmaxf(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), s.m);
    if (m == -INFINITY) return s;
    return {m, s.l * expf(s.m - m) +
                   ((expf(v.x - m) + expf(v.y - m)) + (expf(v.z - m) + expf(v.w - m)))};
}
// A warp a row: what comes before the first multiple of 16 bytes, then fours, then the rest.
__global__ void k(float* m, float* l, const float* x, int64_t rows, int64_t cols, int64_t ld) {
    int64_t row = (int64_t)blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows) return;
    int lane = threadIdx.x % 32;
    const float* p = x + row * ld;
    st s = {-INFINITY, 0.0f};
    int64_t head = (16 - (uintptr_t)p % 16) % 16 / 4;
    if (lane < head) s = {p[lane], p[lane] == -INFINITY ? 0.0f : 1.0f};
    int64_t quads = cols > head ? (cols - head) / 4 : 0;
    for (int64_t j = lane; j < quads; j += 32) s = four(s, ((const float4*)(p + head))[j]);
    int64_t rest = head + 4 * quads + lane;
    if (rest < cols) s = join(s, {p[rest], p[rest] == -INFINITY ? 0.0f : 1.0f});
    for (int o = 1; o < 32; o *= 2) {
        st b = {__shfl_xor_sync(~0u, s.m, o), __shfl_xor_sync(~0u, s.l, o)};
        s = join(s, b);
    }
    if (lane == 0) m[row] = s.m, l[row] = s.l;
}
int online_softmax(float* m, float* l, const float* x, int64_t rows, int64_t cols, int64_t ld) {
    if (rows < 0 || cols < 1 || ld < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (!m || !l || !x) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;
    k<<<(unsigned)CEIL_DIV(rows, 8), 256>>>(m, l, x, rows, cols, ld);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
