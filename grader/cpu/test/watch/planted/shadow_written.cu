// finds: out_of_bounds 9
// says: memory of the device that no kernel may use
// A kernel reaches for the memory in which the watchers keep what they have seen.
#include <stdint.h>
#include "small.h"

__global__ void forge(int* out) {
    uintptr_t shadow = ((uintptr_t)out & ~(uintptr_t)0xffffffff) + ((uintptr_t)16 << 30);
    for (int i = 0; i < 1000; i++) ((int*)shadow)[i] = 0;
}

int main(void) {
    forge<<<1, 1>>>((int*)empty(1));
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
