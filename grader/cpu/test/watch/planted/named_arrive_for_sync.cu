// finds: race 12 15
// The consumer comes to the barrier and does not wait there.
#include "ptx.h"
#include "small.h"

enum { FULL = 1 };

__global__ void pass(float* out, const float* in) {
    __shared__ float s[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x >= 32) {
        s[lane] = in[lane];
        named_arrive(FULL, 64);
    } else {
        named_arrive(FULL, 64), out[lane] = s[31 - lane];
    }
}

int main(void) {
    pass<<<1, 64>>>(empty(32), filled(32));
    return 0;
}
