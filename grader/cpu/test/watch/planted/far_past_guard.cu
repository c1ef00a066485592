// finds: out_of_bounds 8
// says: of out[5000]
// The row length of another matrix: the index jumps far over the guard bytes.
#include "small.h"

__global__ void column(float* out, int rows, int stride) {
    int row = threadIdx.x;
    if (row < rows) out[row * stride] = 1.0f;
}

int main(void) {
    column<<<1, 32>>>(empty(5000), 5, 5000);
    return 0;
}
