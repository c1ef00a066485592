// finds: race 10 10
// says: which of the two should write it?
// says: write  by thread (63,0,0) of block (0,0,0)
// says: write  by thread (0,0,0) of block (1,0,0)
// The blocks' ranges overlap by one element.
#include "small.h"

__global__ void scale(float* out, const float* in) {
    int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
    out[i] = 2.0f * in[i];
}

int main(void) {
    scale<<<2, 64>>>(empty(128), filled(128));
    return 0;
}
