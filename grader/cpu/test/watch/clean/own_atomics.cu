// finds: nothing
// Ordinary accesses before a thread's own atomic, which something orders before those of others.
#include "small.h"

// A barrier of the block, once before the own atomic and once behind it; one of the warp.
__global__ void in_block(int* out) {
    __shared__ int n, of_warp[2];
    int t = threadIdx.x, warp = t / 32;
    if (t == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1);
    __syncthreads();
    if (t == 0) {
        out[0] = n;
        n = 0;
        atomicAdd(&n, 1);
        n++;
        atomicAdd(&n, 1);
    }
    __syncthreads();
    atomicAdd(&n, 1);
    if (t % 32 == 0) {
        of_warp[warp] = 5;
        atomicMax(&of_warp[warp], warp);
    }
    __syncwarp();
    atomicMax(&of_warp[warp], t);
    __syncthreads();
    if (t < 2) out[1 + t] = of_warp[t] + n;
}

// A fence and a flag: the first block's write and atomic come before the second's.
__global__ void in_two_blocks(float* sum, int* flag) {
    if (blockIdx.x == 0) {
        *sum = 0.0f;
        atomicAdd(sum, 1.0f);
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {
        }
        __threadfence();
        atomicAdd(sum, 2.0f);
    }
}

// Two launches: the first one's writes come before all.
__global__ void clear(float* sum) {
    *sum = 0.0f;
    atomicAdd(sum, 1.0f);
}
__global__ void add(float* sum) {
    atomicAdd(sum, 1.0f);
}

int main(void) {
    int* flag = (int*)empty(1);
    float* sum = empty(1);
    cudaMemset(flag, 0, sizeof *flag);
    in_block<<<1, 64>>>((int*)empty(3));
    in_two_blocks<<<2, 1>>>(empty(1), flag);
    clear<<<1, 1>>>(sum);
    add<<<3, 32>>>(sum);
    return 0;
}
