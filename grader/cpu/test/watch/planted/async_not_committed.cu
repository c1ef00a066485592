// finds: uninitialised 13
// Without the commit the copy is in no group: there is nothing to wait for.
#include "ptx.h"
#include "small.h"

__global__ void reverse(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    cp_async4(&s[t], &in[t]);
    cp_async_wait<0>();
    __syncthreads();
    cp_async_commit();
    out[t] = s[63 - t];
}

int main(void) {
    reverse<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
