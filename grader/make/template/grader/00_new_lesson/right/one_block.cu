// one_block.cu: y = factor * x by a single block: right, on one multiprocessor.
//
//     y_i = factor * x_i                                                       (1)
//
// Its threads go through the elements together, 256 at a time.
#include "new_lesson.h"

enum { THREADS = 256 };  // a block

__global__ void new_lesson_kernel(float* y,        // (n)
                                  const float* x,  // (n)
                                  int n, float factor) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = factor * x[i];
}

int new_lesson(float* y_gpu, const float* x_gpu, int n, float factor) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;

    new_lesson_kernel<<<1, THREADS>>>(y_gpu, x_gpu, n, factor);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
