// cause: stale_state, too_much_read
// The maxima are gathered in a global array that nobody resets: in the second call they start from
// those of the first.

#include "online_softmax.h"

#include <math.h>

#define THREADS 128
#define MAX_ROWS 1024

static __device__ unsigned m_key[MAX_ROWS];

__device__ unsigned to_key(float x) {
    unsigned bits = __float_as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float from_key(unsigned key) {
    return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

__global__ void max_kernel(const float* x, int64_t cols, int64_t stride_row) {
    const float* x_row = x + blockIdx.x * stride_row;
    float m = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) m = fmaxf(m, x_row[j]);
    atomicMax(&m_key[blockIdx.x], to_key(m));
}

__global__ void sum_kernel(float* m, float* l, const float* x, int64_t cols, int64_t stride_row) {
    __shared__ float l_thread[THREADS];
    const float* x_row = x + blockIdx.x * stride_row;
    float m_row = from_key(m_key[blockIdx.x]);
    float sum = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        if (x_row[j] > -INFINITY) sum += expf(x_row[j] - m_row);
    }
    l_thread[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < THREADS; t++) sum += l_thread[t];
        m[blockIdx.x] = m_row;
        l[blockIdx.x] = sum;
    }
}

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > MAX_ROWS) return COURSE_UNSUPPORTED;

    max_kernel<<<(unsigned)rows, THREADS>>>(x_gpu, cols, stride_row);
    sum_kernel<<<(unsigned)rows, THREADS>>>(m_gpu, l_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
