// cause: tail_dropped
// Two elements a thread, n / 2 pairs: the last element of an odd n has no thread.
#include "vector_add.h"

enum {
    BLOCK = 256,  // threads per block: a multiple of the warp size (32), at most 1024
};

// ---- GPU kernel

// c = a + b, two elements a thread
__global__ void vector_add_kernel(float2* c, const float2* a, const float2* b, int64_t pairs) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) c[i] = make_float2(a[i].x + b[i].x, a[i].y + b[i].y);
}

// ---- launcher

extern "C" int vector_add(float* c, const float* a, const float* b, int64_t n) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (c == NULL || a == NULL || b == NULL) return COURSE_BAD_ARGUMENT;

    int status = COURSE_CUDA_ERROR;  // until the sum has arrived in c
    size_t bytes = (size_t)n * sizeof(float);
    int64_t blocks = CEIL_DIV(n, BLOCK);
    float* a_gpu = NULL;
    float* b_gpu = NULL;
    float* c_gpu = NULL;
    if (cudaMalloc(&a_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMalloc(&b_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMalloc(&c_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMemcpy(a_gpu, a, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;
    if (cudaMemcpy(b_gpu, b, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;

    vector_add_kernel<<<(unsigned)blocks, BLOCK>>>((float2*)c_gpu, (float2*)a_gpu, (float2*)b_gpu,
                                                   n / 2);
    if (cudaGetLastError() != cudaSuccess) goto done;  // a launch returns nothing: ask

    // The copy waits for the kernel, so an error inside the kernel comes out here.
    if (cudaMemcpy(c, c_gpu, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) goto done;
    status = COURSE_OK;

done:
    // Every way out passes here. Freeing NULL is allowed, as with free().
    cudaFree(c_gpu);
    cudaFree(b_gpu);
    cudaFree(a_gpu);
    if (status != COURSE_OK) cudaGetLastError();  // forget the error: the next call starts clean
    return status;
}
