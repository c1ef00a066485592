// finds: race 9 11
// Another thread writes what a copy still has to read.
#include "ptx.h"
#include "small.h"

__global__ void shift(float* a) {
    __shared__ float s[64];
    int t = threadIdx.x;
    cp_async4(&s[t], &a[t]);
    __syncthreads();
    a[63 - t] = 0.0f;
    cp_async_wait_all();
    __syncthreads();
    a[64 + t] = s[t];
}

int main(void) {
    shift<<<1, 64>>>(filled(128));
    return 0;
}
