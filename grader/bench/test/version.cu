// version.cu: versions of the test's kernel; MISTAKE says what is wrong with this one.
#include <unistd.h>

#include "scale.h"

enum {
    RIGHT,
    FIRST_ELEMENT,
    LAST_ELEMENT,
    FORGETS,
    REFUSES,
    LEAVES,      // z stays as it was
    LEAVES_END,  // so does its second half
    ONCE,        // only the first call doubles z: later ones are right where they find it doubled
    SMALL_ONES,  // numbers of z are off that are small beside the largest
    NEARLY,      // all are off, by less than bench_each() says
    SLEEPS       // longer than the bench waits for one run
};

__global__ void scale_kernel(float* y, const float* x, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

__global__ void double_kernel(float* z, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float factor = 2.0f;  // of the sample, element 0, always
    if (MISTAKE == SMALL_ONES && i > 0 && fabsf(z[i]) < 0.01f) factor = 2.001f;
    if (MISTAKE == NEARLY && i > 0) factor = 2.000001f;
    z[i] *= factor;
}

extern "C" int scale(float* y_gpu, float* z_gpu, const float* x_gpu, int64_t n) {
    static int calls;
    calls++;
    if (MISTAKE == SLEEPS && n == 1000) sleep(6);
    if (MISTAKE == REFUSES && n > 1000) return COURSE_UNSUPPORTED;
    if (MISTAKE == FORGETS && calls == 4) return COURSE_OK;  // what was there before does not count
    int64_t doubled = MISTAKE == LEAVES_END ? n / 2 : n;
    if (MISTAKE != LEAVES && (MISTAKE != ONCE || calls == 1))
        double_kernel<<<CEIL_DIV((unsigned)doubled, 256), 256>>>(z_gpu, doubled);
    if (MISTAKE == FIRST_ELEMENT) y_gpu++, x_gpu++, n--;
    if (MISTAKE == LAST_ELEMENT) n--;
    scale_kernel<<<CEIL_DIV((unsigned)n, 256), 256>>>(y_gpu, x_gpu, n);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
