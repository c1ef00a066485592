// finds: race 13 15
// One barrier says that the buffer is full; none says that it has been read, and may be filled again.
#include "ptx.h"
#include "small.h"

enum { FULL = 1, ROUNDS = 4 };

__global__ void pass(float* out, const float* in) {
    __shared__ float s[32];
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = 0; i < ROUNDS; i++) {
        if (threadIdx.x < 32) s[lane] = in[32 * i + lane];
        named_sync(FULL, 64);
        if (threadIdx.x >= 32) sum += s[31 - lane];
    }
    out[threadIdx.x] = sum;
}

int main(void) {
    pass<<<1, 64>>>(empty(64), filled(32 * ROUNDS));
    return 0;
}
