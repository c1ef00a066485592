// finds: out_of_bounds 12
// says: s: __shared__, 64 elements of 4 bytes
// A tile too small for the block: the index jumps over the guard bytes, into no other array.
#include "small.h"

__global__ void copy(float* out, const float* in) {
    __shared__ float s[64];
    __shared__ float other[64];
    int t = threadIdx.x;
    if (t < 64) other[t] = 0.0f;
    float* p = s;
    if (t < 64 || t >= 112) p[t] = in[t];
    __syncthreads();
    if (t < 64) out[t] = s[t];
}

int main(void) {
    copy<<<1, 128>>>(empty(64), filled(128));
    return 0;
}
