// finds: race 9 9
// says: on hits
// A __device__ variable as a counter, without an atomic.
#include "small.h"

__device__ int hits;

__global__ void count(const float* in) {
    if (in[threadIdx.x] > 4.0f) hits = hits + 1;
}

int main(void) {
    count<<<1, 64>>>(filled(64));
    return 0;
}
