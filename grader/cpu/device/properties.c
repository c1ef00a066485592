// The one device: its properties and attributes, and those of its kernels.
#include <stdio.h>

#include "cpu/device/any.h"
#include "cpu/device/errors.h"
#include "cpu/device/worker.h"

static cudaError_t check_device(const char* function, int device) {
    int count;
    (void)cudev_device(&count);
    if (device >= 0 && device < count) return cudaSuccess;
    return cudev_fail(cudaErrorInvalidDevice, function, "there is only device %d, not %d",
                      count - 1, device);
}

cudaError_t cudaGetDeviceCount(int* count) {
    if (!count) return cudev_null(__func__);
    (void)cudev_device(count);
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    if (!device) return cudev_null(__func__);
    int count;
    *device = cudev_device(&count);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    int count;
    if (device == cudev_device(&count)) return cudaSuccess;
    return cudev_fail(cudaErrorInvalidDevice, __func__, "the current device is %d, and stays so",
                      cudev_device(&count));
}

// A kernel that has ended by an assertion spoils all that follows, as on a GPU.
cudaError_t cudaDeviceSynchronize(void) {
    cudev_launches_ended();
    const bool failed = cudev_any_assert && cudaPeekAtLastError() == cudaErrorAssert;
    return failed ? cudaErrorAssert : cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    if (!version) return cudev_null(__func__);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    return cudaDriverGetVersion(version);
}

// The limits of the card that the CPU device poses as; sizes of things that it lacks are 0.
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device) {
    if (!prop) return cudev_null(__func__);
    cudaError_t error = check_device(__func__, device);
    if (error != cudaSuccess) return error;
    const struct known_card* card = cudev_card_of(device);
    *prop = (struct cudaDeviceProp){
        .totalGlobalMem = GLOBAL_MEMORY,
        .sharedMemPerBlock = STATIC_SHARED_LIMIT,
        .sharedMemPerBlockOptin = card->shared_block,
        .sharedMemPerMultiprocessor = card->shared,
        .reservedSharedMemPerBlock = CARD_SHARED_RESERVED,
        .regsPerBlock = card->registers,
        .regsPerMultiprocessor = card->registers,
        .warpSize = WARP_SIZE,
        .memPitch = 0x7fffffff,
        .maxThreadsPerBlock = MAX_THREADS,
        .maxThreadsDim = {MAX_THREADS, MAX_THREADS, 64},
        .maxGridSize = {0x7fffffff, 65535, 65535},
        .totalConstMem = 65536,
        .major = card->major,
        .minor = card->minor,
        .multiProcessorCount = card->multiprocessors,
        .canMapHostMemory = 1,
        // all these cards have them; here what overlaps comes one after the other
        .deviceOverlap = 1,
        .asyncEngineCount = 2,
        .concurrentKernels = 1,
        .l2CacheSize = (int)card->l2,
        .maxThreadsPerMultiProcessor = card->threads,
        .maxBlocksPerMultiProcessor = card->blocks,
        .managedMemory = 1,
        .unifiedAddressing = 1,
        .concurrentManagedAccess = 1,
        .canUseHostPointerForRegisteredMem = 1,
        .hostRegisterSupported = 1,
        .textureAlignment = 512,
        .texturePitchAlignment = 32,
        .surfaceAlignment = 512,
    };
    snprintf(prop->name, sizeof prop->name, "CPU device posing as %s", card->name);
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
        {cudaDevAttrMaxBlockDimX, (size_t)prop.maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, (size_t)prop.maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, (size_t)prop.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, (size_t)prop.maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, (size_t)prop.maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, (size_t)prop.maxGridSize[2]},
        {cudaDevAttrMaxSharedMemoryPerBlock, prop.sharedMemPerBlock},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, prop.sharedMemPerBlockOptin},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, prop.sharedMemPerMultiprocessor},
        {cudaDevAttrReservedSharedMemoryPerBlock, prop.reservedSharedMemPerBlock},
        {cudaDevAttrTotalConstantMemory, prop.totalConstMem},
        {cudaDevAttrMaxRegistersPerBlock, (size_t)prop.regsPerBlock},
        {cudaDevAttrMaxRegistersPerMultiprocessor, (size_t)prop.regsPerMultiprocessor},
        {cudaDevAttrMaxThreadsPerMultiProcessor, (size_t)prop.maxThreadsPerMultiProcessor},
        {cudaDevAttrMaxBlocksPerMultiprocessor, (size_t)prop.maxBlocksPerMultiProcessor},
        {cudaDevAttrL2CacheSize, (size_t)prop.l2CacheSize},
        {cudaDevAttrWarpSize, WARP_SIZE},
        {cudaDevAttrClockRate, (size_t)prop.clockRate},
        {cudaDevAttrTextureAlignment, prop.textureAlignment},
        {cudaDevAttrGpuOverlap, (size_t)prop.deviceOverlap},
        {cudaDevAttrKernelExecTimeout, (size_t)prop.kernelExecTimeoutEnabled},
        {cudaDevAttrIntegrated, (size_t)prop.integrated},
        {cudaDevAttrCanMapHostMemory, (size_t)prop.canMapHostMemory},
        {cudaDevAttrComputeMode, (size_t)prop.computeMode},
        {cudaDevAttrConcurrentKernels, (size_t)prop.concurrentKernels},
        {cudaDevAttrEccEnabled, (size_t)prop.ECCEnabled},
        {cudaDevAttrTccDriver, (size_t)prop.tccDriver},
        {cudaDevAttrMemoryClockRate, (size_t)prop.memoryClockRate},
        {cudaDevAttrGlobalMemoryBusWidth, (size_t)prop.memoryBusWidth},
        {cudaDevAttrAsyncEngineCount, (size_t)prop.asyncEngineCount},
        {cudaDevAttrUnifiedAddressing, (size_t)prop.unifiedAddressing},
        {cudaDevAttrManagedMemory, (size_t)prop.managedMemory},
        {cudaDevAttrPageableMemoryAccess, (size_t)prop.pageableMemoryAccess},
        {cudaDevAttrConcurrentManagedAccess, (size_t)prop.concurrentManagedAccess},
        {cudaDevAttrComputePreemptionSupported, (size_t)prop.computePreemptionSupported},
        {cudaDevAttrCooperativeLaunch, (size_t)prop.cooperativeLaunch},
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

// How many registers a kernel has on a GPU is not known here: they never limit it.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int block_size, size_t shared_bytes) {
    if (!blocks || !kernel) return cudev_null(__func__);
    struct cudev_launch_site site = {.kernel = kernel};
    size_t limit;
    cudev_shared_limit(&site, &limit);
    *blocks = shared_bytes > limit ? 0 : card_blocks(cudev_card(), block_size, 0, shared_bytes);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                   int block_size,
                                                                   size_t shared_bytes,
                                                                   unsigned flags) {
    (void)flags;  // about caches
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared_bytes);
}

// The shared memory that each of so many blocks of a multiprocessor can have.
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes, const void* kernel,
                                                      int blocks, int block_size) {
    if (!shared_bytes || !kernel) return cudev_null(__func__);
    const struct known_card* card = cudev_card();
    if (blocks < 1 || blocks > card_blocks(card, block_size, 0, 0))
        return cudev_fail(cudaErrorInvalidValue, __func__,
                          "%d blocks of %d threads are not on a multiprocessor at once", blocks,
                          block_size);
    size_t share = card->shared / (size_t)blocks / CARD_SHARED_UNIT * CARD_SHARED_UNIT;
    *shared_bytes = share - CARD_SHARED_RESERVED;
    if (*shared_bytes > card->shared_block) *shared_bytes = card->shared_block;
    return cudaSuccess;
}

// The block with which most threads are on a multiprocessor at once; of several the largest.
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* kernel,
                                               size_t shared_bytes, int most) {
    int best = 0, count = 0;
    if (!grid || !block) return cudev_null(__func__);
    if (most <= 0 || most > MAX_THREADS) most = MAX_THREADS;
    for (int size = most / WARP_SIZE * WARP_SIZE; size > 0; size -= WARP_SIZE) {
        cudaError_t error =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, size, shared_bytes);
        if (error != cudaSuccess) return error;
        if (count * size <= best) continue;
        best = count * size;
        *block = size;
        *grid = count * cudev_card()->multiprocessors;
    }
    return best > 0 ? cudaSuccess
                    : cudev_fail(cudaErrorInvalidValue, __func__,
                                 "no block of this kernel fits with %zu bytes of shared memory",
                                 shared_bytes);
}
