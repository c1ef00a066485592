// finds: misaligned 8
// says: 16-byte read at
// Rows of 33 floats, copied 16 bytes at a time: row 1 starts at byte 132.
#include "ptx.h"
#include "small.h"
__global__ void rows(float* out, const float* in) {
    __shared__ __align__(16) float s[8][36];
    cp_async16(&s[threadIdx.x][0], &in[33 * threadIdx.x]);
    cp_async_wait_all();
    out[threadIdx.x] = s[threadIdx.x][0];
}

int main(void) {
    rows<<<1, 8>>>(empty(8), filled(300));
    return cudaGetLastError() == cudaErrorMisalignedAddress ? 0 : 1;
}
