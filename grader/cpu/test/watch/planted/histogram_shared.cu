// finds: race 11 11
// says: on bins[
// A histogram in shared memory that counts without atomics.
#include "small.h"

__global__ void histogram(int* out, const float* in) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    bins[(int)in[t] % 8]++;
    __syncthreads();
    if (t < 8) out[t] = bins[t];
}

int main(void) {
    histogram<<<1, 128>>>((int*)empty(8), filled(128));
    return 0;
}
