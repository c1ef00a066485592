// finds: race 15 15
// Blocks add to the same sums, in their turns; but a thread gives the turn on before the barrier of
// those that add.
#include "ptx.h"
#include "small.h"

__global__ void add(float* sums, int* turns) {
    const int half = threadIdx.x / 64, first = threadIdx.x % 64 == 0;
    if (first) {
        while (atomicAdd(&turns[half], 0) != (int)blockIdx.x) {
        }
        __threadfence();  // what the block before has added comes first
    }
    named_sync(1 + half, 64);  // ... before all 64 threads read it
    sums[threadIdx.x] += 1;
    if (first) {
        __threadfence();
        atomicAdd(&turns[half], 1);
    }
    named_sync(1 + half, 64);
}

int main(void) {
    int* turns = NULL;
    cudaMalloc(&turns, 2 * sizeof *turns);
    cudaMemset(turns, 0, 2 * sizeof *turns);
    add<<<5, 128>>>(filled(128), turns);
    return 0;
}
