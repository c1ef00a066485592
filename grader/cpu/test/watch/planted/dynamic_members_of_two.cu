// finds: race 17 18
// says: race on memory[
// Two structures over the same memory: nobody knows which one is meant.
#include "small.h"

struct numbers {
    float x[16];
};
struct sums {
    float total[4], x[12];
};

__global__ void kernel(float* out) {
    extern __shared__ __align__(16) unsigned char memory[];
    struct numbers* n = (struct numbers*)memory;
    struct sums& s = *(struct sums*)memory;
    n->x[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = threadIdx.x == 7 ? n->x[6] : s.total[threadIdx.x % 1 + threadIdx.x / 8];
}

int main(void) {
    kernel<<<1, 8, 64>>>(empty(20));
    return 0;
}
