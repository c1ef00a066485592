// 1_one_thread.cu: the C loop, moved to the GPU as it stands.
//
// The host's part is whole: allocate, copy, launch, copy back, free. What is wrong is the launch:
// one thread of one block does all the work, on a machine that can run more than 200,000 at a time,
// and one GPU thread is slower than one CPU core. Next: 2_one_block.cu.
#include "vector_add.h"

// ---- GPU kernel

// c = a + b                                (README eq. 1)
__global__ void vector_add_kernel(float* c,        // (n)  out
                                  const float* a,  // (n)
                                  const float* b,  // (n)
                                  int64_t n) {
    for (int64_t i = 0; i < n; i++) c[i] = a[i] + b[i];
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

    vector_add_kernel<<<1, 1>>>(c_gpu, a_gpu, b_gpu, n);
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
