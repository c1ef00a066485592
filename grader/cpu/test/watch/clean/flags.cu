// finds: nothing
// Threads and blocks that wait for each other's flags, with fences.
#include "small.h"

// Within a block: an atomic flag, then a volatile one back.
__global__ void hand_over(float* out, float* data, int* flag) {
    volatile int* reply = flag + 1;
    if (threadIdx.x == 0) {
        data[0] = 1.0f;
        __threadfence_block();
        atomicExch(flag, 1);
        while (*reply == 0) {
        }
        __threadfence_block();
        out[1] = data[1];
    }
    if (threadIdx.x == 32) {
        while (atomicAdd(flag, 0) == 0) {
        }
        __threadfence_block();
        out[0] = data[0];
        data[1] = 2.0f;
        __threadfence_block();
        *reply = 1;
    }
}

// Along a chain of blocks, each waiting for the one before it.
__global__ void chain(float* sum, int* flag, const float* in) {
    if (threadIdx.x != 0) return;
    float before = 0.0f;
    if (blockIdx.x > 0) {
        while (atomicAdd(&flag[blockIdx.x - 1], 0) == 0) {
        }
        __threadfence();
        before = sum[blockIdx.x - 1];
    }
    sum[blockIdx.x] = before + in[blockIdx.x];
    __threadfence();
    atomicExch(&flag[blockIdx.x], 1);
    if (blockIdx.x == gridDim.x - 1) sum[0] += sum[1];  // known by way of all blocks between
}

int main(void) {
    int* flag = (int*)empty(64);
    cudaMemset(flag, 0, 64 * sizeof *flag);
    hand_over<<<1, 64>>>(empty(2), empty(2), flag);
    chain<<<20, 32>>>(empty(20), flag + 2, filled(20));
    return 0;
}
