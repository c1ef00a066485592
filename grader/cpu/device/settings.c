// Preferences, limits and flags of the device and its kernels. They are kept, so that they can be
// read again; nothing here depends on them.
#include <stdbool.h>

#include "cpu/device/errors.h"
#include "cpu/include/cuda_runtime_api.h"

static unsigned device_flags = cudaDeviceMapHost;
static enum cudaFuncCache device_cache;
static enum cudaSharedMemConfig device_banks;
// in bytes, but the counts of launches by kernels: what a GPU begins with
static size_t limits[] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 1 << 20,
    [cudaLimitMallocHeapSize] = 8 << 20,
    [cudaLimitDevRuntimeSyncDepth] = 2,
    [cudaLimitDevRuntimePendingLaunchCount] = 2048,
    [cudaLimitMaxL2FetchGranularity] = 64,
    [cudaLimitPersistingL2CacheSize] = 0,
};

static cudaError_t no_value(const char* function, int value) {
    return cudev_fail(cudaErrorInvalidValue, function, "there is no value %d", value);
}

// ---- the device

cudaError_t cudaInitDevice(int device, unsigned flags_of_device, unsigned flags) {
    cudaError_t error = cudaSetDevice(device);
    if (error != cudaSuccess || !(flags & cudaInitDeviceFlagsAreValid)) return error;
    return cudaSetDeviceFlags(flags_of_device);
}

cudaError_t cudaChooseDevice(int* device, const struct cudaDeviceProp* prop) {
    return prop ? cudaGetDevice(device) : cudev_null(__func__);
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    const unsigned known = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax;
    if (flags & ~known) return no_value(__func__, (int)flags);
    device_flags = flags | cudaDeviceMapHost;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    if (!flags) return cudev_null(__func__);
    *flags = device_flags;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    if (!can) return cudev_null(__func__);
    *can = 0;
    cudaError_t error = cudaSetDevice(device);
    return error == cudaSuccess ? cudaSetDevice(peer) : error;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = 0;
    return cudaSuccess;
}

static bool is_limit(enum cudaLimit limit) {
    return (size_t)limit < sizeof limits / sizeof limits[0];
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    if (!is_limit(limit)) return no_value(__func__, (int)limit);
    limits[limit] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit) {
    if (!value) return cudev_null(__func__);
    if (!is_limit(limit)) return no_value(__func__, (int)limit);
    *value = limits[limit];
    return cudaSuccess;
}

// ---- caches

static cudaError_t check_cache(const char* function, enum cudaFuncCache cache) {
    return (unsigned)cache <= cudaFuncCachePreferEqual ? cudaSuccess
                                                       : no_value(function, (int)cache);
}

static cudaError_t check_banks(const char* function, enum cudaSharedMemConfig banks) {
    return (unsigned)banks <= cudaSharedMemBankSizeEightByte ? cudaSuccess
                                                             : no_value(function, (int)banks);
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cache) {
    cudaError_t error = check_cache(__func__, cache);
    if (error == cudaSuccess) device_cache = cache;
    return error;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* cache) {
    if (!cache) return cudev_null(__func__);
    *cache = device_cache;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig banks) {
    cudaError_t error = check_banks(__func__, banks);
    if (error == cudaSuccess) device_banks = banks;
    return error;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* banks) {
    if (!banks) return cudev_null(__func__);
    *banks = device_banks;
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void* kernel, enum cudaFuncCache cache) {
    return kernel ? check_cache(__func__, cache) : cudev_null(__func__);
}

cudaError_t cudaFuncSetSharedMemConfig(const void* kernel, enum cudaSharedMemConfig banks) {
    return kernel ? check_banks(__func__, banks) : cudev_null(__func__);
}
