// finds: misaligned 8
// says: 16-byte read at
// says: whose address is no multiple of 16
// Rows of 33 floats, read as float4.
#include "small.h"

__global__ void rows(float4* out, const float* in) {
    out[threadIdx.x] = *(const float4*)&in[33 * threadIdx.x];
}

int main(void) {
    rows<<<1, 4>>>((float4*)empty(16), filled(200));
    return cudaGetLastError() == cudaErrorMisalignedAddress ? 0 : 1;
}
