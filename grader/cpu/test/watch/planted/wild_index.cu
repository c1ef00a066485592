// finds: out_of_bounds 7
// says: no memory of any kind
// An index that leads far from all that the device has: nothing is there, of the host neither.
#include "small.h"

__global__ void wild(float* out, long long i) {
    out[i] = 1.0f;
}

int main(void) {
    wild<<<1, 1>>>(empty(32), 1ll << 44);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
