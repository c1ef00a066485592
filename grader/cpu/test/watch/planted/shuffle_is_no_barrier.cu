// finds: race 8 10
// A shuffle exchanges registers; it does not order memory.
#include "small.h"

__global__ void exchange(float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = 1.0f;
    float other = __shfl_xor_sync(0xffffffff, (float)t, 1);
    out[t] = other + s[t ^ 1];
}

int main(void) {
    exchange<<<1, 32>>>(empty(32));
    return 0;
}
