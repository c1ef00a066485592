// finds: freed 8
// says: byte 0 of freed memory
// says: freed since
// Memory that was freed before the kernel that reads it.
#include "small.h"

__global__ void copy(float* out, float* const* in) {
    out[threadIdx.x] = (*in)[threadIdx.x];
}

int main(void) {
    float *in = filled(32), **list = NULL;
    cudaMalloc(&list, sizeof *list);
    cudaMemcpy(list, &in, sizeof in, cudaMemcpyHostToDevice);
    cudaFree(in);
    empty(32);
    copy<<<1, 32>>>(empty(32), list);
    return 0;
}
