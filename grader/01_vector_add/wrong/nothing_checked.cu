// cause: error_ignored
// No CUDA call is asked whether it worked.
#include "vector_add.h"

enum {
    BLOCK = 256,  // threads per block: a multiple of the warp size (32), at most 1024
};

// ---- GPU kernel

// c = a + b                                (README eq. 1)
__global__ void vector_add_kernel(float* c,        // (n)  out
                                  const float* a,  // (n)
                                  const float* b,  // (n)
                                  int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, n rounded up to BLOCK)
    if (i < n) c[i] = a[i] + b[i];  // the last block may reach past the end
}

// ---- launcher

extern "C" int vector_add(float* c, const float* a, const float* b, int64_t n) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (c == NULL || a == NULL || b == NULL) return COURSE_BAD_ARGUMENT;

    size_t bytes = (size_t)n * sizeof(float);
    int64_t blocks = CEIL_DIV(n, BLOCK);
    float* a_gpu = NULL;
    float* b_gpu = NULL;
    float* c_gpu = NULL;
    cudaMalloc(&a_gpu, bytes);
    cudaMalloc(&b_gpu, bytes);
    cudaMalloc(&c_gpu, bytes);
    cudaMemcpy(a_gpu, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b_gpu, b, bytes, cudaMemcpyHostToDevice);

    vector_add_kernel<<<(unsigned)blocks, BLOCK>>>(c_gpu, a_gpu, b_gpu, n);
    cudaMemcpy(c, c_gpu, bytes, cudaMemcpyDeviceToHost);
    cudaFree(c_gpu);
    cudaFree(b_gpu);
    cudaFree(a_gpu);
    return COURSE_OK;
}
