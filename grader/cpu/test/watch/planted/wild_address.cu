// finds: out_of_bounds 6
// An index that overflows: no memory there at all. The launch ends with an error.
#include "small.h"

__global__ void wild(float* out, long long i) {
    out[i] = 1.0f;
}

int main(void) {
    wild<<<1, 1>>>(empty(32), 1ll << 28);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
