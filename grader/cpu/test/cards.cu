// The limits are those of the card that the CPU device poses as: cards KB-OF-SHARED-MEMORY
#include "test.h"
#include "cudev.h"

__global__ void use(int* out, int last) {
    extern __shared__ char bytes[];
    bytes[last] = 7;
    out[0] = bytes[last];
}

int main(int argc, char** argv) {
    const int most = argc > 1 ? atoi(argv[1]) * 1024 : 0;
    const cudaFuncAttribute attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    cudaDeviceProp prop;
    CHECK_CUDA(cudaGetDeviceProperties(&prop, 0));
    CHECK(prop.sharedMemPerBlockOptin == (size_t)most);
    CHECK(prop.sharedMemPerMultiprocessor == (size_t)most + prop.reservedSharedMemPerBlock);
    const struct {
        cudaDeviceAttr attribute;
        size_t value;
    } same[] = {
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, prop.sharedMemPerBlockOptin},
        {cudaDevAttrMaxThreadsPerMultiProcessor, (size_t)prop.maxThreadsPerMultiProcessor},
        {cudaDevAttrMaxBlocksPerMultiprocessor, (size_t)prop.maxBlocksPerMultiProcessor},
        {cudaDevAttrMultiProcessorCount, (size_t)prop.multiProcessorCount},
        {cudaDevAttrComputeCapabilityMajor, (size_t)prop.major},
        {cudaDevAttrComputeCapabilityMinor, (size_t)prop.minor},
        {cudaDevAttrL2CacheSize, (size_t)prop.l2CacheSize},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        int value = -1;
        CHECK_CUDA(cudaDeviceGetAttribute(&value, same[i].attribute, 0));
        CHECK((size_t)value == same[i].value);
    }

    int *out, got = 0, blocks = -1;
    CHECK_CUDA(cudaMalloc(&out, sizeof *out));
    CHECK(cudaFuncSetAttribute(use, attribute, most + 1) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFuncSetAttribute(use, attribute, most));
    use<<<1, 1, most>>>(out, most - 1);
    CHECK_CUDA(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 7);
    // The largest block leaves room for no second one, and a small one for as many as there may be.
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, use, 32, most));
    CHECK(blocks == 1);
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, use, 32, 0));
    CHECK(blocks == prop.maxBlocksPerMultiProcessor);
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, use, 1024, 0));
    CHECK(blocks == prop.maxThreadsPerMultiProcessor / 1024);
    CHECK_CUDA(cudaFree(out));
    return failures != 0;
}
