// A launch for each million elements.
#include "vector_add.h"

enum {
    BLOCK = 256,
    PART = 1 << 20,  // elements of a launch
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

    int status = COURSE_CUDA_ERROR;  // until the sum has arrived in c
    size_t bytes = (size_t)n * sizeof(float);
    float* a_gpu = NULL;
    float* b_gpu = NULL;
    float* c_gpu = NULL;
    if (cudaMalloc(&a_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMalloc(&b_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMalloc(&c_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMemcpy(a_gpu, a, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;
    if (cudaMemcpy(b_gpu, b, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;

    for (int64_t first = 0; first < n; first += PART) {
        int64_t part = n - first < PART ? n - first : PART;
        vector_add_kernel<<<(unsigned)CEIL_DIV(part, BLOCK), BLOCK>>>(c_gpu + first, a_gpu + first,
                                                                      b_gpu + first, part);
        if (cudaGetLastError() != cudaSuccess) goto done;
    }

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
