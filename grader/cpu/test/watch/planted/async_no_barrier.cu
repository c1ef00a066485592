// finds: race 10 13
// says: write  by thread
// Each thread waits for its own copies; nothing says that those of the others have arrived.
#include "ptx.h"
#include "small.h"

__global__ void reverse(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    cp_async4(&s[t], &in[t]);
    cp_async_commit();
    cp_async_wait<0>();
    out[t] = s[63 - t];
}

int main(void) {
    reverse<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
