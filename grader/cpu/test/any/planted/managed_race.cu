// finds: race
// says: race on total
#include "test.h"
__managed__ int total;

__global__ void count() {
    total += 1;
}

int main() {
    count<<<4, 32>>>();
    CHECK_CUDA(cudaDeviceSynchronize());
    return failures != 0;
}
