// finds: nothing
// says: NOTE: bad_mask: __shfl_xor_sync() at active_lanes.cu:13 reads lane 16, which the mask 0x0000ffff does not name
// Whose mask is __activemask() has some lanes, and not which it likes. To count itself that will do,
// in any pieces; a shuffle that takes them for the warp reads a lane beside its mask.
#include "small.h"

__global__ void count(int* counted, float* out) {
    unsigned lanes = __activemask();
    if (threadIdx.x % 32 == __ffs(lanes) - 1) atomicAdd(counted, __popc(lanes));
    __syncwarp();
    unsigned warp = __activemask();
    float sum = 1.0f;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(warp, sum, step);
    out[threadIdx.x] = sum;
}

int main(void) {
    int* counted = (int*)empty(1);
    int host = 0;
    cudaMemset(counted, 0, sizeof host);
    count<<<1, 64>>>(counted, empty(64));
    cudaMemcpy(&host, counted, sizeof host, cudaMemcpyDeviceToHost);
    return host != 64;
}
