// cause: host_pointer
// The kernel gets the host's pointers; device code cannot follow them.
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

    vector_add_kernel<<<(unsigned)CEIL_DIV(n, BLOCK), BLOCK>>>(c, a, b, n);
    COURSE_TRY(cudaGetLastError());
    COURSE_TRY(cudaDeviceSynchronize());
    return COURSE_OK;
}
