// grid_stride.cu: y = factor * x by a grid of fixed size that strides over the elements.
//
//     y_i = factor * x_i                                                       (1)
#include "new_lesson.h"

enum { THREADS = 256, BLOCKS = 8 };

__global__ void new_lesson_kernel(float* y,        // (n)
                                  const float* x,  // (n)
                                  int n, float factor) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x) y[i] = factor * x[i];
}

int new_lesson(float* y_gpu, const float* x_gpu, int n, float factor) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;

    new_lesson_kernel<<<BLOCKS, THREADS>>>(y_gpu, x_gpu, n, factor);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
