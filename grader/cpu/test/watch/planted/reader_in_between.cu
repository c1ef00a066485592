// finds: race 12 14
// says: one of the warp of thread (64,0,0)
// Three warps read. The writer waits for the first of them and for its own, not for the one between.
#include "ptx.h"
#include "small.h"

__global__ void next_number(float* out) {
    __shared__ int number;
    if (threadIdx.x == 0) number = 1;
    __syncthreads();
    if (threadIdx.x < 64) named_sync(2, 64);  // so that the others come first
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = number;
    if (threadIdx.x < 64) named_sync(1, 64);
    if (threadIdx.x == 0) number = 2;
}

int main(void) {
    next_number<<<1, 96>>>(empty(3));
    return 0;
}
