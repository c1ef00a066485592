// finds: uninitialised 7
// says: of in[100]
// n * sizeof(float) was meant; the copy brought fewer elements.
#include "small.h"

__global__ void scale(float* out, const float* in) {
    out[threadIdx.x] = 2.0f * in[threadIdx.x];
}

int main(void) {
    float* in = empty(128);
    cudaMemcpy(in, filled(128), 100 * sizeof *in, cudaMemcpyDeviceToDevice);
    scale<<<1, 128>>>(empty(128), in);
    return 0;
}
