// finds: race 10 11
// says: read   by thread
// ldmatrix reads rows that other warps write.
#include "ptx.h"
#include "small.h"

__global__ void rows(float* out, const float* in) {
    __shared__ __align__(16) unsigned s[32][4];
    unsigned r[4], t = threadIdx.x;
    for (int i = 0; i < 2; i++) s[t / 2][t % 2 * 2 + i] = (unsigned)in[2 * t + i];
    ldmatrix_x4(r, s[31 - t % 32]);
    out[t] = (float)r[0];
}

int main(void) {
    rows<<<1, 64>>>(empty(64), filled(128));
    return 0;
}
