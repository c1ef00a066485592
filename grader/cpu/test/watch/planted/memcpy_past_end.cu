// finds: out_of_bounds 7
// memcpy() in a kernel, with the size of the wrong array.
#include <string.h>
#include "small.h"

__global__ void copy(float* out, const float* in, int n) {
    if (threadIdx.x == 0) memcpy(out, in, n * sizeof(float));
}

int main(void) {
    copy<<<1, 32>>>(empty(30), filled(32), 32);
    return 0;
}
