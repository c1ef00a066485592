// finds: nothing
// The last block adds up: four ways to put the fences that are all right. Behind the last ticket
// stands one, too, or the reads are volatile.
#include "small.h"

__device__ float total(const volatile float* part, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += part[i];
    return sum;
}

__device__ float total_of_plain(const float* part, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += part[i];
    return sum;
}

// One thread writes, fences and counts.
__global__ void one_thread(float* out, float* part, unsigned* count) {
    if (threadIdx.x != 0) return;
    part[blockIdx.x] = blockIdx.x;
    __threadfence();
    if (atomicAdd(count, 1) != gridDim.x - 1) return;
    __threadfence();
    out[0] = total_of_plain(part, gridDim.x);
    *count = 0;
}

// All write and fence; after a barrier one counts.
__global__ void all_fence(float* out, float* part, unsigned* count) {
    __shared__ bool last;
    part[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) out[threadIdx.x] = total(part, gridDim.x * blockDim.x);
}

// All write and fence; the threads of the last block fence for themselves.
__global__ void all_fence_twice(float* out, float* part, unsigned* count) {
    __shared__ bool last;
    part[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    out[threadIdx.x] = total_of_plain(part, gridDim.x * blockDim.x);
}

// All write; around its count one thread fences for all, as a grid barrier does.
__global__ void one_fences(float* out, float* part, unsigned* count) {
    __shared__ bool last;
    part[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) out[threadIdx.x] = total_of_plain(part, gridDim.x * blockDim.x);
}

int main(void) {
    unsigned* count = (unsigned*)empty(1);
    cudaMemset(count, 0, sizeof *count);
    float *out = empty(64), *part = empty(64 * 40);
    one_thread<<<40, 32>>>(out, part, count);
    all_fence<<<40, 64>>>(out, part, count);
    all_fence_twice<<<40, 64>>>(out, part, count);
    one_fences<<<40, 64>>>(out, part, count);
    return 0;
}
