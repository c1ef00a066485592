// finds: uninitialised 13
// says: of s[0], while its cp.async is on its way
// says: next: cp_async_wait<>() for the thread's own copies
// All groups but the newest are awaited, and nobody has committed one. The barrier is there, so what others
// have asked for is no race of its own.
#include "ptx.h"
#include "small.h"

__global__ void add_next(float* out, const float* in) {
    __shared__ float s[64];
    cp_async4(&s[threadIdx.x], &in[threadIdx.x]);
    cp_async_wait<1>(), __syncthreads();
    float sum = s[threadIdx.x] + s[63 - threadIdx.x];
    __syncthreads();
    cp_async_wait_all();
    out[threadIdx.x] = sum;
}

int main(void) {
    add_next<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
