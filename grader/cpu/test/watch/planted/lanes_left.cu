// finds: race 8 11
// Half of a warp returns: the __syncwarp() of the others does not order what it has stored.
#include "small.h"

__global__ void half_leaves(float* out, const float* in) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    if (t >= 16) return;
    __syncwarp();
    out[t] = s[t + 16];
}

int main(void) {
    half_leaves<<<1, 32>>>(empty(16), filled(32));
    return 0;
}
