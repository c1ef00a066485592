// finds: nothing
// says: NOTE: bad_mask: __shfl_down_sync() at unread_lanes.cu:10 reads lane 16, which the mask 0x0000ffff does not name
// says: by thread (8,0,0) of block (0,0,0); what it gets is undefined, and NaN here
// Half a warp sums up. Its upper lanes read lanes that take no part, and nobody uses what they get.
#include "small.h"

__global__ void half_sum(float* out) {
    float sum = 1.0f + threadIdx.x;
    if (threadIdx.x >= 16) return;
    for (int step = 8; step > 0; step /= 2) sum += __shfl_down_sync(0x0000ffffu, sum, step);
    if (threadIdx.x == 0) out[0] = sum;
}

int main(void) {
    half_sum<<<1, 32>>>(empty(1));
    return 0;
}
