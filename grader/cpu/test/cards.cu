// The limits are those of the card that the CPU device poses as: cards KB-OF-SHARED-MEMORY. Where
// CUDEV_FIRST_CARD names another card: cards KB KB-OF-THE-OTHER
#include "test.h"
#include "cudev.h"

__global__ void use(int* out, int last) {
    extern __shared__ char bytes[];
    bytes[last] = 7;
    out[0] = bytes[last];
}

// The current device is number `device`, whose blocks may have `most` bytes.
static void check_device(int device, int most) {
    const cudaFuncAttribute attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    cudaDeviceProp prop;
    int current = -1;
    CHECK_CUDA(cudaGetDevice(&current));
    CHECK(current == device);
    CHECK_CUDA(cudaGetDeviceProperties(&prop, device));
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
        CHECK_CUDA(cudaDeviceGetAttribute(&value, same[i].attribute, device));
        CHECK((size_t)value == same[i].value);
    }

    int *out, got = 0, blocks = -1;
    CHECK_CUDA(cudaMalloc(&out, sizeof *out));
    use<<<1, 1, most>>>(out, most - 1);  // not allowed yet, on this device
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
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
}

// The first of two devices, while the second one is the current one.
static void check_other(int most) {
    int count = 0, value = 0;
    CHECK_CUDA(cudaGetDeviceCount(&count));
    CHECK(count == 2);
    CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(value == most);
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
    CHECK_CUDA(cudaSetDevice(1));
}

int main(int argc, char** argv) {
    const int most = argc > 1 ? atoi(argv[1]) * 1024 : 0,
              other = argc > 2 ? atoi(argv[2]) * 1024 : 0;
    check_device(0, other ? other : most);
    if (other) {
        cudev_next_device();
        check_device(1, most);
        check_other(other);
    }
    return failures != 0;
}
