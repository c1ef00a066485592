// finds: nothing
// Each thread its own elements, in place; a grid-stride loop; neighbours only after a barrier.
#include "small.h"

__global__ void scale(float* a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        a[i] = a[i] * 2.0f + a[i];
}

__global__ void shift(float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool in_block = threadIdx.x + 1 < blockDim.x && i + 1 < n;
    float right = in_block ? a[i + 1] : 0.0f;
    __syncthreads();
    if (in_block) a[i] = right;
}

int main(void) {
    float* a = filled(1000);
    scale<<<3, 64>>>(a, 1000);
    shift<<<10, 100>>>(a, 1000);
    return 0;
}
