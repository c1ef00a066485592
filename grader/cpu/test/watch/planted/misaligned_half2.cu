// finds: misaligned 9
// says: 4-byte write at
// says: whose address is no multiple of 4
// Rows of an odd number of halves, written as half2.
#include <cuda_fp16.h>
#include "small.h"

__global__ void rows(half* out) {
    *(half2*)&out[33 * threadIdx.x] = __float2half2_rn(1.0f);
}

int main(void) {
    rows<<<1, 4>>>((half*)empty(100));
    return 0;
}
