// finds: misaligned 12
// says: 16-byte read at
// Rows of 20 bytes do not queue at one bank, and are no place for ldmatrix.
#include "ptx.h"
#include "small.h"

__global__ void rows(float* out, const float* in) {
    __shared__ __align__(16) unsigned s[32][5];
    unsigned r[4], t = threadIdx.x;
    for (int i = 0; i < 5; i++) s[t][i] = (unsigned)in[5 * t + i];
    __syncwarp();
    ldmatrix_x4(r, s[t]);
    out[t] = (float)r[0];
}

int main(void) {
    rows<<<1, 32>>>(empty(32), filled(160));
    return cudaGetLastError() == cudaErrorMisalignedAddress ? 0 : 1;
}
