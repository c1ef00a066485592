// finds: nothing; ends with deadlock: no thread of the block can go on
// says: 64 threads (first: (0,0,0)) waiting in named_sync(1, 128) at named_wrong_count.cu:13
// says: named barrier 1: 64 of 128 threads have come, the first ((0,0,0)) at named_wrong_count.cu:13
// Two of four warps use the barrier, and the count is that of the block.
#include "ptx.h"
#include "small.h"

__global__ void pass(float* out, const float* in) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = in[t];
    if (t < 64) {
        named_sync(1, 128);
        s[t] += s[63 - t];
    }
    __syncthreads();
    out[t] = s[t];
}

int main(void) {
    pass<<<1, 128>>>(empty(128), filled(128));
    return 0;
}
