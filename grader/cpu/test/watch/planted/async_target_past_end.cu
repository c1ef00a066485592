// finds: out_of_bounds 8
// says: write at
// One row of the buffer too few.
#include "ptx.h"
#include "small.h"
__global__ void copy(float* out, const float* in) {
    __shared__ __align__(16) float s[31][4];
    cp_async16(s[0] + 4 * threadIdx.x, &in[4 * threadIdx.x]);
    cp_async_wait_all();
    if (threadIdx.x < 31) out[threadIdx.x] = s[threadIdx.x][0];
}

int main(void) {
    copy<<<1, 32>>>(empty(32), filled(128));
    return 0;
}
