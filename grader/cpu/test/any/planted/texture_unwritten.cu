// finds: uninitialised
// says: texture_unwritten.cu:7
// A part of the array was never copied.
#include "test.h"
__global__ void read(cudaTextureObject_t t, float* out) {
    int i = threadIdx.x;
    out[i] = tex1D<float>(t, i + 0.5f);
}

int main() {
    float host[32] = {0}, *out;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK_CUDA(cudaMallocArray(&array, &channels, 32));
    CHECK_CUDA(cudaMemcpyToArray(array, 0, 0, host, 31 * sizeof(float), cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    CHECK_CUDA(cudaCreateTextureObject(&t, &resource, &how, NULL));
    CHECK_CUDA(cudaMalloc(&out, sizeof host));
    read<<<1, 32>>>(t, out);
    return failures != 0;
}
