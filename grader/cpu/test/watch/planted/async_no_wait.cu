// finds: uninitialised 11
// says: of s[63], while its cp.async is on its way
// The copies are committed, and nobody waits for them.
#include "ptx.h"
#include "small.h"

__global__ void reverse(float* out, const float* in) {
    __shared__ float s[64];
    cp_async4(&s[threadIdx.x], &in[threadIdx.x]);
    cp_async_commit();
    __syncthreads(), out[threadIdx.x] = s[63 - threadIdx.x];
}

int main(void) {
    reverse<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
