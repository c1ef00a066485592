// finds: race 7 8
// The first block clears the sum that all blocks add to. Its own atomic behind that says nothing to
// the others.
#include "small.h"

__global__ void sum(float* out) {
    if (blockIdx.x == 0) *out = 0.0f;
    atomicAdd(out, 1.0f);
}

int main(void) {
    sum<<<2, 1>>>(empty(1));
    return 0;
}
