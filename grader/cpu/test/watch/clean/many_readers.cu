// finds: nothing
// Many read, and one writes when it knows of all of them: the warps of a block by named barriers and
// by flags, blocks by tickets. Each does so several times.
#include <cuda_fp16.h>
#include "ptx.h"
#include "small.h"

enum { FULL = 1, EMPTY, ROUNDS = 3 };

__global__ void one_fills(float* out) {
    __shared__ float s[2];
    const bool fills = threadIdx.x < 32;
    for (int i = 0; i < ROUNDS; i++) {
        if (fills && threadIdx.x < 2) s[threadIdx.x] = i;
        if (fills)
            named_arrive(FULL, 160);
        else
            named_sync(FULL, 160);
        if (!fills) out[160 * blockIdx.x + threadIdx.x] = s[0] + s[threadIdx.x % 2];
        if (fills)
            named_sync(EMPTY, 160);
        else
            named_arrive(EMPTY, 160);
    }
}

// Warps hear of each other one after the other.
__global__ void in_turns(float* out) {
    __shared__ half s[2];
    if (threadIdx.x < 2) s[threadIdx.x] = __float2half(1.0f);
    __syncthreads();
    const int warp = threadIdx.x / 32;
    out[128 * blockIdx.x + threadIdx.x] = __half2float(s[0]) + __half2float(s[threadIdx.x % 2]);
    if (warp > 0) named_sync(warp, 64);
    if (warp < 3) named_sync(warp + 1, 64);
    if (threadIdx.x == 96) s[1] = s[0] = __float2half(2.0f);
}

__global__ void by_flags(float* out, int* flag) {
    __shared__ float s;
    if (threadIdx.x == 0) s = 1.0f;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        out[threadIdx.x / 32] = s;
        __threadfence_block();
        atomicAdd(flag, 1);
        if (threadIdx.x != 64) return;
        while (atomicAdd(flag, 0) < 4) {
        }
        s = 2.0f;
    }
}

__global__ void last_block(float* out, float* in, int* count) {
    out[threadIdx.x + 64 * blockIdx.x] = in[threadIdx.x % 8];
    __threadfence();
    __syncthreads();
    __shared__ bool last;
    if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x < 8) in[threadIdx.x] += 1.0f;
}

int main(void) {
    int* flag = (int*)empty(2);
    cudaMemset(flag, 0, 2 * sizeof *flag);
    one_fills<<<2, 160>>>(empty(320));
    in_turns<<<2, 128>>>(empty(256));
    by_flags<<<1, 128>>>(empty(4), flag);
    last_block<<<70, 64>>>(empty(70 * 64), filled(8), flag + 1);
    return 0;
}
