// finds: out_of_bounds 10
// says: of s[64]
// says: s: dynamic shared memory, 256 bytes
// Dynamic shared memory for 64 floats, and 65 threads use it.
#include "small.h"

__global__ void copy(float* out, const float* in) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 64) out[t] = s[t];
}

int main(void) {
    copy<<<1, 65, 64 * sizeof(float)>>>(empty(64), filled(65));
    return 0;
}
