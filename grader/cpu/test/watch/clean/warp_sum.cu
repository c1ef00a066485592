// finds: nothing
// A warp adds up in shared memory, one __syncwarp() after each read and each write; with volatile, too.
#include "small.h"

__global__ void warp_sum(float* out, const float* in) {
    __shared__ float s[4][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    s[warp][lane] = in[threadIdx.x];
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        float other = lane < step ? s[warp][lane + step] : 0.0f;
        __syncwarp();
        s[warp][lane] += other;
        __syncwarp();
    }
    volatile float* v = s[warp];
    if (lane == 1) v[0] = v[0] + 1.0f;
    __syncwarp();
    if (lane == 0) out[warp] = v[0];
}

int main(void) {
    warp_sum<<<1, 128>>>(empty(4), filled(128));
    return 0;
}
