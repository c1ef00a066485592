// cause: leak
// Allocating is slow, so the device arrays are kept for the next call; only an error frees them.
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

static void release(float** array_gpu) {
    cudaFree(*array_gpu);
    *array_gpu = NULL;
}

extern "C" int vector_add(float* c, const float* a, const float* b, int64_t n) {
    if (n < 0) return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (c == NULL || a == NULL || b == NULL) return COURSE_BAD_ARGUMENT;

    size_t bytes = (size_t)n * sizeof(float);
    int64_t blocks = CEIL_DIV(n, BLOCK);
    static float* a_gpu;
    static float* b_gpu;
    static float* c_gpu;
    static size_t capacity;  // bytes each of them has room for
    if (bytes > capacity) {
        release(&a_gpu);
        release(&b_gpu);
        release(&c_gpu);
        capacity = 0;
        if (cudaMalloc(&a_gpu, bytes) != cudaSuccess) goto failed;
        if (cudaMalloc(&b_gpu, bytes) != cudaSuccess) goto failed;
        if (cudaMalloc(&c_gpu, bytes) != cudaSuccess) goto failed;
        capacity = bytes;
    }
    if (cudaMemcpy(a_gpu, a, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto failed;
    if (cudaMemcpy(b_gpu, b, bytes, cudaMemcpyHostToDevice) != cudaSuccess) goto failed;

    vector_add_kernel<<<(unsigned)blocks, BLOCK>>>(c_gpu, a_gpu, b_gpu, n);
    if (cudaGetLastError() != cudaSuccess) goto failed;  // a launch returns nothing: ask

    // The copy waits for the kernel, so an error inside the kernel comes out here.
    if (cudaMemcpy(c, c_gpu, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) goto failed;
    return COURSE_OK;

failed:
    release(&a_gpu);
    release(&b_gpu);
    release(&c_gpu);
    capacity = 0;
    cudaGetLastError();  // forget the error: the next call starts clean
    return COURSE_CUDA_ERROR;
}
