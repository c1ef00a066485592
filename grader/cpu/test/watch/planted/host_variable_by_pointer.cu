// finds: host_pointer 10
// says: host memory
// A static array of the host, reached through a pointer that lies in device memory.
#include "small.h"

static float mine[32];

__global__ void fill(float** where) {
    float* to = where[0];
    to[threadIdx.x] = 1.0f;
}

int main(void) {
    float *mine_cpu = mine, **where = NULL;
    cudaMalloc(&where, sizeof *where);
    cudaMemcpy(where, &mine_cpu, sizeof mine_cpu, cudaMemcpyHostToDevice);
    fill<<<1, 32>>>(where);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
