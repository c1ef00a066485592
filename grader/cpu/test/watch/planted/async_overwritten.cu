// finds: race 9 12
// Thread 0 clears what is on its way, with a barrier before and after: the copy may still arrive later.
#include "ptx.h"
#include "small.h"

__global__ void reverse(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    cp_async4(&s[t], &in[t]);
    cp_async_commit();
    __syncthreads();
    if (t == 0) s[63] = 0.0f;
    __syncthreads();
    cp_async_wait<0>();
    __syncthreads();
    out[t] = s[63 - t];
}

int main(void) {
    reverse<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
