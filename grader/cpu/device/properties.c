// The one device: its properties and attributes, and those of its kernels.
#include "cpu/device/errors.h"
#include "cpu/device/worker.h"

static cudaError_t check_device(const char* function, int device) {
    if (device == 0) return cudaSuccess;
    return cudev_fail(cudaErrorInvalidDevice, function, "there is only device 0, not %d", device);
}

cudaError_t cudaGetDeviceCount(int* count) {
    if (!count) return cudev_null(__func__);
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    if (!device) return cudev_null(__func__);
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    return check_device(__func__, device);
}

cudaError_t cudaDeviceSynchronize(void) {
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    if (!version) return cudev_null(__func__);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    return cudaDriverGetVersion(version);
}

// The limits are the limits that the CPU device enforces; sizes of things that it lacks are 0.
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device) {
    if (!prop) return cudev_null(__func__);
    cudaError_t error = check_device(__func__, device);
    if (error != cudaSuccess) return error;
    *prop = (struct cudaDeviceProp){
        .name = "CPU device",
        .totalGlobalMem = GLOBAL_MEMORY,
        .sharedMemPerBlock = STATIC_SHARED_LIMIT,
        .sharedMemPerBlockOptin = OPT_IN_SHARED_LIMIT,
        .sharedMemPerMultiprocessor = OPT_IN_SHARED_LIMIT + 1024,
        .regsPerBlock = 65536,
        .regsPerMultiprocessor = 65536,
        .warpSize = WARP_SIZE,
        .memPitch = 0x7fffffff,
        .maxThreadsPerBlock = MAX_THREADS,
        .maxThreadsDim = {MAX_THREADS, MAX_THREADS, 64},
        .maxGridSize = {0x7fffffff, 65535, 65535},
        .totalConstMem = 65536,
        .major = 9,
        .minor = 0,
        .multiProcessorCount = cudev_worker_count(),
        .canMapHostMemory = 1,
        .maxThreadsPerMultiProcessor = MAX_THREADS,
        .maxBlocksPerMultiProcessor = 1,
        .managedMemory = 1,
    };
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
    struct cudaDeviceProp prop;
    if (!value) return cudev_null(__func__);
    cudaError_t error = cudaGetDeviceProperties(&prop, device);
    if (error != cudaSuccess) return error;
    const struct {
        enum cudaDeviceAttr attribute;
        size_t value;
    } known[] = {
        {cudaDevAttrMaxThreadsPerBlock, MAX_THREADS},
        {cudaDevAttrMaxSharedMemoryPerBlock, prop.sharedMemPerBlock},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, prop.sharedMemPerBlockOptin},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, prop.sharedMemPerMultiprocessor},
        {cudaDevAttrWarpSize, WARP_SIZE},
        {cudaDevAttrMultiProcessorCount, (size_t)prop.multiProcessorCount},
        {cudaDevAttrComputeCapabilityMajor, (size_t)prop.major},
        {cudaDevAttrComputeCapabilityMinor, (size_t)prop.minor},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].attribute != attribute) continue;
        *value = (int)known[i].value;
        return cudaSuccess;
    }
    return cudev_fail(cudaErrorNotSupported, __func__, "the CPU device has no attribute %d",
                      (int)attribute);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* a, const void* kernel) {
    if (!a || !kernel) return cudev_null(__func__);
    struct cudev_launch_site site = {.kernel = kernel};
    size_t limit;
    cudev_shared_limit(&site, &limit);
    *a = (struct cudaFuncAttributes){.maxThreadsPerBlock = MAX_THREADS,
                                     .maxDynamicSharedSizeBytes = (int)limit};
    return cudaSuccess;
}

// One block at a time runs on a worker.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int block_size, size_t shared_bytes) {
    if (!blocks || !kernel) return cudev_null(__func__);
    *blocks = block_size > 0 && block_size <= MAX_THREADS && shared_bytes <= OPT_IN_SHARED_LIMIT;
    return cudaSuccess;
}
