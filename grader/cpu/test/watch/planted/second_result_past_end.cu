// finds: out_of_bounds 8, out_of_bounds 9
// says: of exponent[64]
// frexp() writes behind the array, by both of its ways.
#include "small.h"

__global__ void exponents(int* exponent, const float* in) {
    int t = threadIdx.x;
    if (t < 65) frexp(in[t % 64], &exponent[t]);
    if (t < 65) (frexpf)(in[t % 64], &exponent[t]);
}

int main(void) {
    int* exponent = NULL;
    cudaMalloc(&exponent, 64 * sizeof *exponent);
    exponents<<<1, 96>>>(exponent, filled(64));
    return 0;
}
