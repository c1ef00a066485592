// finds: uninitialised 8
// says: of in[0]
// Copies what nobody has written.
#include "ptx.h"
#include "small.h"
__global__ void copy(float* out, const float* in) {
    __shared__ float s[32];
    cp_async4(&s[threadIdx.x], &in[threadIdx.x]);
    cp_async_wait_all();
    out[threadIdx.x] = s[threadIdx.x];
}

int main(void) {
    copy<<<1, 32>>>(empty(32), empty(32));
    return 0;
}
