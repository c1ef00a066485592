// version.cu: versions of the test's kernel; MISTAKE says what is wrong with this one.
#include "scale.h"

enum { RIGHT, FIRST_ELEMENT, LAST_ELEMENT, FORGETS, REFUSES };

__global__ void scale_kernel(float* y, const float* x, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

extern "C" int scale(float* y_gpu, const float* x_gpu, int64_t n) {
    static int calls;
    calls++;
    if (MISTAKE == REFUSES && n > 1000) return COURSE_UNSUPPORTED;
    if (MISTAKE == FIRST_ELEMENT) y_gpu++, x_gpu++, n--;
    if (MISTAKE == LAST_ELEMENT) n--;
    if (MISTAKE == FORGETS && calls == 4) return COURSE_OK;  // what was there before does not count
    scale_kernel<<<CEIL_DIV((unsigned)n, 256), 256>>>(y_gpu, x_gpu, n);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
