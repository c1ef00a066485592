// finds: race 17 21
// says: line 17's copy is on its way, line 21 writes
// says: race on s[0]
// The last round asks for one tile more, which no one waits for. The output is written to the same
// place meanwhile, and the copy may land on top of it.
#include "ptx.h"
#include "small.h"

__global__ void twice(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    cp_async4(&s[t], &in[t]);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    float x = s[63 - t];
    __syncthreads(), cp_async4(&s[t], &in[64 + t]);
    cp_async_commit();
    __syncthreads();
    // thread t writes where the copy of another thread goes
    s[63 - t] = 2.0f * x;
    __syncthreads();
    out[t] = s[t];
}

int main(void) {
    twice<<<1, 64>>>(empty(64), filled(128));
    return 0;
}
