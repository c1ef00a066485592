// finds: race 8 21
// A warp of a block writes what others add to, and one lane says so, without a __syncwarp().
#include "small.h"

__global__ void add(float* sum, int* cleared) {
    int lane = threadIdx.x;
    if (blockIdx.x == 0) {
        sum[lane] = 0.0f;
        if (lane == 31) {
            __threadfence();
            atomicAdd(cleared, 1);
        }
        return;
    }
    if (lane == 0) {
        while (atomicAdd(cleared, 0) == 0) __nanosleep(20);
        __threadfence();
    }
    __syncwarp();

    atomicAdd(&sum[31 - lane], 1.0f);
}

int main(void) {
    int* cleared = (int*)empty(1);
    cudaMemset(cleared, 0, sizeof *cleared);
    add<<<3, 32>>>(empty(32), cleared);
    return 0;
}
