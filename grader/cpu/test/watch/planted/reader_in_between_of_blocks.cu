// finds: race 7 16
// says: by a thread of block (1,0,0)
// Three blocks read. The last one knows of the first and of itself, not of the one between.
#include "small.h"

__device__ float read(const float* number) {
    return *number;
}

__global__ void last_writes(float* out, float* number, int* flag) {
    if (blockIdx.x == 2 && atomicAdd(flag, 0) == 0) return;
    __threadfence();
    out[blockIdx.x] = read(number);
    __threadfence();
    if (blockIdx.x == 0) atomicExch(flag, 1);
    if (blockIdx.x == 2) *number = 1.0f;
}

int main(void) {
    int* flag = (int*)empty(1);
    cudaMemset(flag, 0, sizeof *flag);
    last_writes<<<3, 1>>>(empty(3), filled(1), flag);
    return 0;
}
