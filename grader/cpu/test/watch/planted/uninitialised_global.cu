// finds: uninitialised 7
// says: of out[0]
// An accumulator in memory that nobody has set to zero.
#include "small.h"

__global__ void add(float* out, const float* in) {
    out[threadIdx.x] += in[threadIdx.x];
}

int main(void) {
    add<<<1, 32>>>(empty(32), filled(32));
    return 0;
}
