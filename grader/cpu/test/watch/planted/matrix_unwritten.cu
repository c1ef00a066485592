// finds: uninitialised 12
// says: of s[24]
// Three of four matrices have been written.
#include "ptx.h"
#include "small.h"

__global__ void rows(float* out, const float* in) {
    __shared__ __align__(16) unsigned s[32][4];
    unsigned r[4], t = threadIdx.x;
    for (int i = 0; t < 24 && i < 4; i++) s[t][i] = (unsigned)in[4 * t + i];
    __syncwarp();
    ldmatrix_x4(r, s[t]);
    out[t] = (float)r[3];
}

int main(void) {
    rows<<<1, 32>>>(empty(32), filled(128));
    return 0;
}
