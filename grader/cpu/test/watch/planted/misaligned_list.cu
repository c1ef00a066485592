// finds: misaligned 9
// says: 16-byte write at
// says: whose address is no multiple of 16
// Rows of 33 floats, stored as float4, of which each is written as a list of its members.
#include "small.h"

__global__ void rows(float* out, const float* in) {
    float x = in[threadIdx.x];
    if (x < 1000.0f) *(float4*)&out[33 * threadIdx.x] = {x, x, x, x};
}

int main(void) {
    rows<<<1, 4>>>(empty(200), filled(16));
    return cudaGetLastError() == cudaErrorMisalignedAddress ? 0 : 1;
}
