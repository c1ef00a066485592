// finds: host_pointer
// says: not_registered.cu:7
#include "test.h"
__global__ void through(int** p) {
    int i = threadIdx.x;
    // *p was registered, and is no longer
    (*p)[i] = i;
}

int main() {
    static int plain[32];
    int **p, *at = plain;
    CHECK_CUDA(cudaHostRegister(plain, sizeof plain, 0));
    CHECK_CUDA(cudaMalloc(&p, sizeof *p));
    CHECK_CUDA(cudaMemcpy(p, &at, sizeof at, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaHostUnregister(plain));
    through<<<1, 32>>>(p);
    return failures != 0;
}
