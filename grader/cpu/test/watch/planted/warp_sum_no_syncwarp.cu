// finds: race 12 12
// says: on s[1]
// A warp adds up without __syncwarp(): the lanes do not run in step.
#include "small.h"

__global__ void warp_sum(float* out, const float* in) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    for (int step = 16; step > 0; step /= 2)
        if (t < step) s[t] += s[t + step];
    if (t == 0) out[0] = s[0];
}

int main(void) {
    warp_sum<<<1, 32>>>(empty(1), filled(32));
    return 0;
}
