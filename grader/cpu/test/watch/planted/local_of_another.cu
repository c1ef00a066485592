// finds: out_of_bounds 11
// says: a local variable of another thread
// Thread 0 gives away the address of a variable of its own.
#include "small.h"

__global__ void borrow(float* out, const float* in) {
    __shared__ const float* published;
    float mine = in[threadIdx.x];
    if (threadIdx.x == 0) published = &mine;
    __syncthreads();
    out[threadIdx.x] = *published;
    __syncthreads();
}

int main(void) {
    borrow<<<1, 32>>>(empty(32), filled(32));
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
