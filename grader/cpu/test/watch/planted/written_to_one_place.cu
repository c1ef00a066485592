// finds: race 11 11
// The index of the writes is wrong: two threads meet in each element, and half of the tile stays
// empty. That line 13 reads what nobody wrote follows from it, and is not told.
#include "small.h"

__global__ void reverse(float* out, const float* in) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    // should be tile[t]
    float x = in[t];
    tile[t / 2] = x;
    __syncthreads();
    out[t] = tile[63 - t];
}

int main(void) {
    reverse<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
