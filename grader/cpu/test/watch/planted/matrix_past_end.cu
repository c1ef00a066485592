// finds: out_of_bounds 13
// says: 16 x 4 elements
// The last rows of the tile are the next warp's.
#include "ptx.h"
#include "small.h"

__global__ void rows(float* out, const float* in) {
    __shared__ __align__(16) unsigned s[16][4];
    unsigned r[4], t = threadIdx.x;
    for (int i = 0; t < 16 && i < 4; i++) s[t][i] = (unsigned)in[4 * t + i];
    __syncwarp();
    // x2 takes the rows of 16 lanes, x4 those of 32
    ldmatrix_x4(r, s[0] + 4 * t);
    out[t] = (float)r[0];
}

int main(void) {
    rows<<<1, 32>>>(empty(32), filled(128));
    return 0;
}
