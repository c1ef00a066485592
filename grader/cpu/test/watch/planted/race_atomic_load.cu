// finds: race 7 7, race 8 9
// A plain write beside an atomic load; the store that is atomic too is no race. (Not on a GPU: no
// cudev_ there has these.)
#include "small.h"

__global__ void exchange(int* data, int* out) {
    data[0] = threadIdx.x;
    if (threadIdx.x == 1) data[1] = 1;
    if (threadIdx.x == 2) out[0] = __atomic_load_n(data + 1, __ATOMIC_RELAXED);
    if (threadIdx.x == 3) __atomic_store_n(data + 2, 1, __ATOMIC_RELAXED);
    __syncthreads();
    if (threadIdx.x < 4) __atomic_store_n(data + 2, 2, __ATOMIC_RELAXED);
    if (threadIdx.x == 4) out[1] = __atomic_load_n(data + 2, __ATOMIC_RELAXED);
}

int main(void) {
    exchange<<<1, 32>>>((int*)empty(4), (int*)empty(4));
    return 0;
}
