// finds: nothing
// Sums by shuffles, one value per warp through shared memory, votes, and a histogram with atomics.
#include "small.h"

__global__ void block_sum(float* out, const float* in, int n) {
    __shared__ float per_warp[32];
    float x = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) x += in[i];
    for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffff, x, step);
    if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = x;
    if (!__syncthreads_or(n > 0)) return;
    if (threadIdx.x < 32) {
        x = threadIdx.x < blockDim.x / 32 ? per_warp[threadIdx.x] : 0.0f;
        for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffff, x, step);
        if (threadIdx.x == 0) atomicAdd(out, x);
    }
}

__global__ void histogram(unsigned* out, const float* in, int n) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[(int)in[i] % 16], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

int main(void) {
    float* in = filled(1000);
    unsigned* bins = (unsigned*)empty(16);
    cudaMemset(bins, 0, 16 * sizeof *bins);
    block_sum<<<4, 128>>>(filled(1), in, 1000);
    histogram<<<4, 96>>>(bins, in, 1000);
    return 0;
}
