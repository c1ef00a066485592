// cause: bits_compared
// Wide rows are shared by several blocks, which raise the maximum by atomics on its bits, as an
// int if it is not below 0. -0 is not, and of its bits, as an int, none are less.

#include "reduction.h"
#include <math.h>
#define PIECE 16384
__device__ void atomic_max(float* to, float v) {
    if (v >= 0)
        atomicMax((int*)to, __float_as_int(v));
    else
        atomicMin((unsigned*)to, __float_as_uint(v));
}
__global__ void clear(float* sum, float* max, int64_t rows) {
    int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) sum[r] = 0, max[r] = -INFINITY;
}
template <bool SHARED>
__global__ void k(float* sum, float* max, const float* x, int64_t cols, int64_t ld,
                  int64_t pieces) {
    __shared__ float ss[8], mm[8];
    int64_t row = blockIdx.x / pieces, piece = blockIdx.x % pieces;
    int64_t first = SHARED ? piece * PIECE : 0,
            last = SHARED && first + PIECE < cols ? first + PIECE : cols;
    float s = 0, m = -INFINITY;
    for (int64_t j = first + threadIdx.x; j < last; j += 256) {
        float v = x[row * ld + j];
        s += v, m = fmaxf(m, v);
    }
    for (int o = 16; o; o /= 2)
        s += __shfl_xor_sync(~0u, s, o), m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) ss[threadIdx.x / 32] = s, mm[threadIdx.x / 32] = m;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < 8; w++) s += ss[w], m = fmaxf(m, mm[w]);
    if (SHARED) {
        atomicAdd(&sum[row], s);
        atomic_max(&max[row], m);
    } else {
        sum[row] = s, max[row] = m;
    }
}
extern "C" int reduction(float* sum, float* max, const float* x, int64_t rows, int64_t cols,
                         int64_t ld) {
    if (rows < 0 || cols < 1 || ld < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (!sum || !max || !x) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;
    int64_t pieces = CEIL_DIV(cols, PIECE);
    if (pieces > 1 && pieces * rows <= INT32_MAX) {
        clear<<<(unsigned)CEIL_DIV(rows, 256), 256>>>(sum, max, rows);
        COURSE_TRY(cudaGetLastError());
        k<true><<<(unsigned)(pieces * rows), 256>>>(sum, max, x, cols, ld, pieces);
    } else {
        k<false><<<(unsigned)rows, 256>>>(sum, max, x, cols, ld, 1);
    }
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
