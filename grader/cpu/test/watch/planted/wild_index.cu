// finds: out_of_bounds 9
// says: no memory of any kind
// An index that nobody has set: where it leads there is nothing, of the host neither.
#include <stdint.h>
#include "small.h"

__global__ void scale(float* data, const int64_t* index) {
    int64_t at = index[threadIdx.x];
    data[at] *= 2.0f;
}

int main(void) {
    float* data;
    int64_t *index, far[32];
    for (int i = 0; i < 32; i++) far[i] = (int64_t)1 << 40;
    CHECK_CUDA(cudaMalloc(&data, 32 * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&index, sizeof far));
    CHECK_CUDA(cudaMemset(data, 0, 32 * sizeof(float)));
    CHECK_CUDA(cudaMemcpy(index, far, sizeof far, cudaMemcpyHostToDevice));
    scale<<<1, 32>>>(data, index);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
