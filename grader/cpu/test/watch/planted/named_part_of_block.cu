// finds: race 11 13
// Two warps wait for each other; a third one reads what they have written.
#include "ptx.h"
#include "small.h"

enum { BOTH = 1 };

__global__ void pass(float* out, const float* in) {
    __shared__ float s[96];
    int t = threadIdx.x;
    s[t] = in[t];
    if (t < 64) named_sync(BOTH, 64);
    out[t] = s[95 - t];
}

int main(void) {
    pass<<<1, 96>>>(empty(96), filled(96));
    return 0;
}
