// finds: misaligned 9
// says: 16-byte write at
// says: of s[1]
// Rows of 17 floats in shared memory, against bank conflicts: no place for 16 bytes at once.
#include "ptx.h"
#include "small.h"
__global__ void rows(float* out, const float* in) {
    __shared__ __align__(16) float s[8][17];
    cp_async16(&s[threadIdx.x][0], &in[16 * threadIdx.x]);
    cp_async_wait_all();
    out[threadIdx.x] = s[threadIdx.x][0];
}

int main(void) {
    rows<<<1, 8>>>(empty(8), filled(300));
    return cudaGetLastError() == cudaErrorMisalignedAddress ? 0 : 1;
}
