// Blocks are counted in one dimension. Where they are more than 65535, which was the limit of old
// cards, they are folded into rows of so many; the last row is filled up with blocks that have
// nothing to do.
#include "vector_add.h"

enum {
    BLOCK = 256,  // threads per block
    ROW = 65535,  // blocks in x
};

// ---- GPU kernel

// c = a + b                                (README eq. 1)
__global__ void vector_add_kernel(float* c,        // (n)  out
                                  const float* a,  // (n)
                                  const float* b,  // (n)
                                  int64_t n) {
    int64_t i = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * BLOCK + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];  // the last block may reach past the end
}

// ---- launcher

extern "C" int vector_add(float* c, const float* a, const float* b, int64_t n) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (c == NULL || a == NULL || b == NULL) return COURSE_BAD_ARGUMENT;

    int status = COURSE_CUDA_ERROR;  // until the sum has arrived in c
    size_t bytes = (size_t)n * sizeof(float);
    int64_t blocks = CEIL_DIV(n, BLOCK), across = blocks < ROW ? blocks : ROW;
    dim3 grid((unsigned)across, (unsigned)CEIL_DIV(blocks, across));
    float* a_gpu = NULL;
    float* b_gpu = NULL;
    float* c_gpu = NULL;
    if (cudaMalloc(&a_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMalloc(&b_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMalloc(&c_gpu, bytes) != cudaSuccess) goto done;
    if (cudaMemcpy(a_gpu, a, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;
    if (cudaMemcpy(b_gpu, b, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;

    vector_add_kernel<<<grid, BLOCK>>>(c_gpu, a_gpu, b_gpu, n);
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
