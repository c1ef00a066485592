// finds: uninitialised 13
// says: cudaMemcpy at
// The kernel leaves out the last element, and the program copies all.
#include "small.h"

__global__ void fill(float* out, int n) {
    if (threadIdx.x < n - 1) out[threadIdx.x] = 1.0f;
}

int main(void) {
    float host[32], *out = empty(32);
    fill<<<1, 32>>>(out, 32);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    return 0;
}
