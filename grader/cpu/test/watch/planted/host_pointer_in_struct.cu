// finds: host_pointer 13
// says: host memory
// A host pointer hidden in a structure: the launch cannot see it.
#include <stdlib.h>
#include "small.h"

struct matrix {
    float* data;
    int n;
};

__global__ void scale(struct matrix m) {
    if (threadIdx.x < m.n) m.data[threadIdx.x] *= 2.0f;
}

int main(void) {
    struct matrix m = {(float*)calloc(32, sizeof(float)), 32};
    scale<<<1, 32>>>(m);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
