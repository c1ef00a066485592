// finds: nothing
// __constant__ and __device__ variables, managed and pinned memory, memory freed and allocated again.
#include "small.h"

__constant__ float weight[4];
__device__ float result[64];
__device__ unsigned done;

__global__ void weigh(float* managed, const float* pinned) {
    float sum = 0.0f;
    for (int i = 0; i < 4; i++) sum += weight[i] * pinned[threadIdx.x + i];
    result[threadIdx.x] = sum;
    managed[threadIdx.x] = sum;
    atomicAdd(&done, 1);
}

__global__ void copy(float* out, const float* in) {
    out[threadIdx.x] = in[threadIdx.x];
}

int main(void) {
    float w[4] = {1, 2, 3, 4}, host[64], *managed = NULL, *pinned = NULL, *symbol = NULL;
    cudaMemcpyToSymbol(weight, w, sizeof w);
    cudaMallocManaged(&managed, 64 * sizeof(float));
    cudaMallocHost(&pinned, 68 * sizeof(float));
    for (int i = 0; i < 68; i++) pinned[i] = i;
    weigh<<<1, 64>>>(managed, pinned);
    managed[0] += 1.0f;
    cudaMemcpyFromSymbol(host, result, sizeof host);
    cudaGetSymbolAddress((void**)&symbol, result);
    for (int i = 0; i < 3; i++) {
        float* out = empty(64);
        copy<<<1, 64>>>(out, i ? symbol : managed);
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
        cudaFree(out);
    }
    return 0;
}
