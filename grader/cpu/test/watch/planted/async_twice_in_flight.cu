// finds: race 9 12
// Two copies to the same place on their way at once: nobody knows which arrives last.
#include "ptx.h"
#include "small.h"

__global__ void copy(float* out, const float* in) {
    __shared__ float s[32];
    int t = threadIdx.x;
    cp_async4(&s[t], &in[t]);
    cp_async_commit();
    // a cp_async_wait<0>() is missing
    cp_async4(&s[t], &in[32 + t]);
    cp_async_wait_all();
    out[t] = s[t];
}

int main(void) {
    copy<<<1, 32>>>(empty(32), filled(64));
    return 0;
}
