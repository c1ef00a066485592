// finds: race 8 14
// says: on data[0]
// One warp waits for the other's flag; without a fence the data may come after the flag.
#include "small.h"

__global__ void hand_over(float* out, float* data, int* flag) {
    if (threadIdx.x == 0) {
        data[0] = 1.0f;
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 32) {
        while (atomicAdd(flag, 0) == 0) {
        }
        out[0] = data[0];
    }
}

int main(void) {
    int* flag = (int*)empty(1);
    cudaMemset(flag, 0, sizeof *flag);
    hand_over<<<1, 64>>>(empty(1), empty(1), flag);
    return 0;
}
