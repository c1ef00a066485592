// finds: uninitialised 21
// Two tiles in turn. The next one is not sent for before the wait, so one group is all there is, and
// "all but the newest" waits for nothing.
#include "ptx.h"
#include "small.h"

__global__ void rounds(float* out, const float* in) {
    __shared__ __align__(16) float s[2][256];
    int t = threadIdx.x;
    float sum = 0.0f;
    cp_async16(&s[0][4 * t], &in[4 * t]);
    cp_async_commit();
    for (int i = 0; i < 4; i++) {
        cp_async_wait<1>();  // <0>, or send for the next tile first
        __syncthreads();
        if (i + 1 < 4) {
            cp_async16(&s[(i + 1) % 2][4 * t], &in[256 * (i + 1) + 4 * t]);
            cp_async_commit();
        }
        // the group of round i has not arrived
        sum += s[i % 2][255 - t];
        __syncthreads();
    }
    out[t] = sum;
}

int main(void) {
    rounds<<<1, 64>>>(empty(64), filled(1024));
    return 0;
}
