// two_each.cu: y = factor * x, two elements a thread, a block apart.
//
//     y_i = factor * x_i                                                       (1)
#include "new_lesson.h"

enum { THREADS = 256 };  // a block

__global__ void new_lesson_kernel(float* y,        // (n)
                                  const float* x,  // (n)
                                  int n, float factor) {
    int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
    i += blockDim.x;
    if (i < n) y[i] = factor * x[i];
}

int new_lesson(float* y_gpu, const float* x_gpu, int n, float factor) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;

    new_lesson_kernel<<<CEIL_DIV(n, 2 * THREADS), THREADS>>>(y_gpu, x_gpu, n, factor);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
