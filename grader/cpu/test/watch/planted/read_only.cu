// finds: read_only 8, read_only 9, read_only 17
// Memory that is declared read-only is written, with the value that it has. (Not on a GPU.)
#include <cudev.h>
#include "small.h"

__global__ void writes(float* a, float* out) {
    out[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = threadIdx.x % 10;
    if (threadIdx.x == 3) atomicAdd(&a[100], 0.0f);
}

int main(void) {
    float *a = filled(200), *out = empty(128);
    cudev_set_read_only(a, 200 * sizeof *a, 1);
    float zero = 0.0f;
    writes<<<1, 64>>>(a, out);
    cudaMemcpy(a, &zero, sizeof zero, cudaMemcpyHostToDevice);
    cudev_set_read_only(a, 200 * sizeof *a, 0);
    writes<<<1, 64>>>(a, out);
    return 0;
}
