// finds: out_of_bounds 9
// says: read at
// says: of in[100]
// The last piece of a row of 100 floats reaches beyond it: 100 is no multiple of 64.
#include "ptx.h"
#include "small.h"
__global__ void copy(float* out, const float* in) {
    __shared__ __align__(16) float s[128];
    cp_async16(&s[4 * threadIdx.x], &in[4 * threadIdx.x]);
    cp_async_wait_all();
    if (threadIdx.x < 25) out[threadIdx.x] = s[4 * threadIdx.x];
}

int main(void) {
    copy<<<1, 32>>>(empty(32), filled(100));
    return 0;
}
