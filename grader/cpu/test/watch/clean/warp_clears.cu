// finds: nothing
// A warp of a block writes what others add to, and one lane says so, behind a __syncwarp().
#include "small.h"

__global__ void add(float* sum, int* cleared) {
    if (blockIdx.x == 0) {
        sum[threadIdx.x] = 0.0f;
        __syncwarp();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(cleared, 1);
        }
        return;
    }
    if (threadIdx.x == 0) {
        while (atomicAdd(cleared, 0) == 0) __nanosleep(20);
        __threadfence();
    }
    __syncwarp();
    atomicAdd(&sum[31 - threadIdx.x], 1.0f);
}

int main(void) {
    int* cleared = (int*)empty(1);
    cudaMemset(cleared, 0, sizeof *cleared);
    add<<<3, 32>>>(empty(32), cleared);
    return 0;
}
