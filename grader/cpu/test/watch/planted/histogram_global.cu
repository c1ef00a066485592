// finds: race 8 8
// says: on out[0]
// says: blocks run in any order
// Every block adds to the same number without an atomic.
#include "small.h"

__global__ void count(float* out, const float* in) {
    if (threadIdx.x == 0) out[0] += in[blockIdx.x];
}

int main(void) {
    float* out = filled(1);
    count<<<4, 32>>>(out, filled(4));
    return 0;
}
