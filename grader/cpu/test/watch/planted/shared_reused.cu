// finds: race 9 11
// says: on s[0]
// The second use of a shared variable comes before all have read the first.
#include "small.h"

__global__ void twice(float* out, const float* in) {
    __shared__ float s[1];
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) s[0] = in[i];
        __syncthreads();
        out[64 * i + threadIdx.x] = s[0];
    }
}

int main(void) {
    twice<<<1, 64>>>(empty(128), filled(2));
    return 0;
}
