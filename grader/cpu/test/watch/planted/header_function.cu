// finds: race 11
// says: race on s[1]: helper.h:4 writes, line 11 reads
// One side is in a header: a bare line would be looked for in this file.
#include "helper.h"
#include "small.h"

__global__ void sum(float* out, const float* in) {
    __shared__ float s[64];
    keep(s, in[threadIdx.x]);
    float l = 0.0f;
    for (int i = 0; i < 64; i++) l += s[i];
    if (threadIdx.x == 0) out[0] = l;
}

int main(void) {
    sum<<<1, 64>>>(empty(1), filled(64));
    return 0;
}
