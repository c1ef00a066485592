// finds: uninitialised 7
// says: atomic at
// Counting into memory that nobody has set to zero.
#include "small.h"

__global__ void count(int* n) {
    atomicAdd(n, 1);
}

int main(void) {
    count<<<2, 32>>>((int*)empty(1));
    return 0;
}
