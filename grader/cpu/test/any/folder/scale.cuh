// A header with kernels, that includes another one beside it.
#ifndef SCALE_CUH
#define SCALE_CUH
#include "factor.h"

#define LAUNCH(kernel, blocks, threads, bytes, ...) kernel<<<blocks, threads, bytes>>>(__VA_ARGS__)

__constant__ float offset[2];

template <class T> __global__ void scale(T* p, int n) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* stage = reinterpret_cast<T*>(raw);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    stage[threadIdx.x] = i < n ? p[i] : T(0);
    __syncthreads();
    if (i < n) p[i] = stage[threadIdx.x] * T(FACTOR) + T(offset[1]);
}

#endif
