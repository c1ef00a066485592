// finds: host_pointer 9
// says: constant memory
// A kernel writes to constant memory, through a pointer.
#include "small.h"

__constant__ float factors[32];

__global__ void fill(float* to) {
    to[threadIdx.x] = 1.0f;
}

int main(void) {
    void* address = NULL;
    cudaGetSymbolAddress(&address, factors);
    fill<<<1, 32>>>((float*)address);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
