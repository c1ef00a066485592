// finds: nothing
// A lock around plain reads and writes, taken by many blocks and by the warps of one.
#include "small.h"

__global__ void locked(int* lock, int* count, float* list) {
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    list[*count] = blockIdx.x;
    *count += 1;
    __threadfence();
    atomicExch(lock, 0);
}

int main(void) {
    int* lock = (int*)empty(2);
    cudaMemset(lock, 0, 2 * sizeof *lock);
    locked<<<10, 96>>>(lock, lock + 1, empty(30));
    return 0;
}
