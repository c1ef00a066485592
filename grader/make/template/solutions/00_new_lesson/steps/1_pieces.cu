// 1_pieces.cu: y = factor * x, each thread a piece of its own: right, but the lanes of a warp read
// 32 elements that lie apart, and each load moves a whole sector for one of them.
//
//     y_i = factor * x_i                                                       (1)
#include "new_lesson.h"

enum { THREADS = 256, PIECE = 32 };  // of a block; elements of a thread

__global__ void new_lesson_kernel(float* y,        // (n)
                                  const float* x,  // (n)
                                  int n, float factor) {
    long long first = ((long long)blockIdx.x * THREADS + threadIdx.x) * PIECE;
    for (int e = 0; e < PIECE; e++)
        if (first + e < n) y[first + e] = factor * x[first + e];
}

int new_lesson(float* y_gpu, const float* x_gpu, int n, float factor) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;

    int blocks = (n - 1) / (THREADS * PIECE) + 1;
    new_lesson_kernel<<<blocks, THREADS>>>(y_gpu, x_gpu, n, factor);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
