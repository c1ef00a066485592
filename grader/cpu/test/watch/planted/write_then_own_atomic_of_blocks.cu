// finds: race 6 7
// Block 0 sets the sum and adds to it; nothing orders that before what the other blocks add.
#include "small.h"

__global__ void add(float* sum, const float* in) {
    if (blockIdx.x == 0) *sum = 0.0f;
    atomicAdd(sum, in[blockIdx.x]);
}

int main(void) {
    add<<<4, 1>>>(empty(1), filled(4));
    return 0;
}
