// a and b are sent a megabyte at a time; c comes back whole.
#include "vector_add.h"

enum {
    PIECE = 1 << 18,
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

// Copies n floats to the device, PIECE at a time.
static bool send(float* to, const float* from, int64_t n) {
    for (int64_t first = 0; first < n; first += PIECE) {
        int64_t some = n - first < PIECE ? n - first : PIECE;
        if (cudaMemcpy(to + first, from + first, some * sizeof(float), cudaMemcpyHostToDevice) !=
            cudaSuccess)
            return false;
    }
    return true;
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
    if (!send(a_gpu, a, n)) goto done;
    if (!send(b_gpu, b, n)) goto done;

    vector_add_kernel<<<(unsigned)blocks, BLOCK>>>(c_gpu, a_gpu, b_gpu, n);
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
