// finds: race 11 13
// A barrier for 32 threads opens for each warp by itself.
#include "ptx.h"
#include "small.h"

enum { BOTH = 1 };

__global__ void pass(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    named_sync(BOTH, 32);
    out[t] = s[63 - t];
}

int main(void) {
    pass<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
