// finds: race 7 8
// The threads of a block exchange values through global memory without a barrier.
#include "small.h"

__global__ void reverse(float* out, float* scratch, const float* in) {
    int i = blockIdx.x * 64 + threadIdx.x, mirror = blockIdx.x * 64 + 63 - threadIdx.x;
    scratch[i] = in[i];
    out[i] = scratch[mirror];
}

int main(void) {
    reverse<<<2, 64>>>(empty(128), empty(128), filled(128));
    return 0;
}
