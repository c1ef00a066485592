// a and b are put side by side in host memory: one copy brings both, one copy brings c back.
#include <stdlib.h>
#include <string.h>

#include "vector_add.h"

enum { BLOCK = 256 };

// c = a + b, c in the place of a
__global__ void add_in_place(float* both,  // (2, n): a, then b; out: c, then b
                             int64_t n) {
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) both[i] += both[n + i];
}

extern "C" int vector_add(float* c, const float* a, const float* b, int64_t n) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;
    if (c == NULL || a == NULL || b == NULL) return COURSE_BAD_ARGUMENT;

    int status = COURSE_CUDA_ERROR;
    size_t bytes = (size_t)n * sizeof(float);
    float* both_gpu = NULL;
    float* both = (float*)malloc(2 * bytes);
    if (both == NULL) return COURSE_CUDA_ERROR;
    memcpy(both, a, bytes);
    memcpy(both + n, b, bytes);
    if (cudaMalloc(&both_gpu, 2 * bytes) != cudaSuccess) goto done;
    if (cudaMemcpy(both_gpu, both, 2 * bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;
    add_in_place<<<(unsigned)CEIL_DIV(n, BLOCK), BLOCK>>>(both_gpu, n);
    if (cudaGetLastError() != cudaSuccess) goto done;
    if (cudaMemcpy(c, both_gpu, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) goto done;
    status = COURSE_OK;

done:
    cudaFree(both_gpu);
    free(both);
    if (status != COURSE_OK) cudaGetLastError();
    return status;
}
