// One allocation, cut in three. Each part is rounded up to 256 bytes, the alignment cudaMalloc
// gives.
#include "vector_add.h"

enum {
    BLOCK = 256,  // threads per block: a multiple of the warp size (32), at most 1024
    ALIGN = 64,   // floats, 256 bytes
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
    size_t part = CEIL_DIV(n, ALIGN) * ALIGN;  // floats
    int64_t blocks = CEIL_DIV(n, BLOCK);
    float* a_gpu = NULL;
    float* b_gpu = NULL;
    float* c_gpu = NULL;
    if (cudaMalloc(&a_gpu, 3 * part * sizeof(float)) != cudaSuccess) goto done;
    b_gpu = a_gpu + part;
    c_gpu = b_gpu + part;
    if (cudaMemcpy(a_gpu, a, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;
    if (cudaMemcpy(b_gpu, b, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto done;

    vector_add_kernel<<<(unsigned)blocks, BLOCK>>>(c_gpu, a_gpu, b_gpu, n);
    if (cudaGetLastError() != cudaSuccess) goto done;  // a launch returns nothing: ask

    // The copy waits for the kernel, so an error inside the kernel comes out here.
    if (cudaMemcpy(c, c_gpu, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) goto done;
    status = COURSE_OK;

done:
    cudaFree(a_gpu);
    if (status != COURSE_OK) cudaGetLastError();  // forget the error: the next call starts clean
    return status;
}
