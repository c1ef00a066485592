// Hints about memory, calls for several devices, marks for a profiler: what they ask for is
// checked, and then nothing is to be done.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu/any/include/cudev/any_api.h"
#include "cpu/device/allocations.h"
#include "cpu/device/any.h"
#include "cpu/device/errors.h"
#include "cpu/include/cudev.h"

static cudaError_t check_managed(const char* function, const void* p, size_t bytes) {
    const struct allocation* a = cudev_allocation_at(p);
    if (cudev_shares(p, bytes)) return cudaSuccess;
    if (!a || a->type != cudaMemoryTypeManaged)
        return cudev_fail(cudaErrorInvalidValue, function,
                          "this is not memory of cudaMallocManaged");
    if ((const char*)p + bytes > a->data + a->bytes)
        return cudev_fail(cudaErrorInvalidValue, function,
                          "%zu bytes from there on are more than were allocated", bytes);
    return cudaSuccess;
}

static cudaError_t check_place(const char* function, int device) {
    return device == cudaCpuDeviceId || device == 0
               ? cudaSuccess
               : cudev_fail(cudaErrorInvalidDevice, function, "there is only device 0, not %d",
                            device);
}

cudaError_t cudaMemPrefetchAsync(const void* p, size_t bytes, int device, cudaStream_t stream) {
    (void)stream;
    cudaError_t error = check_place(__func__, device);
    return error == cudaSuccess ? check_managed(__func__, p, bytes) : error;
}

cudaError_t cudaMemAdvise(const void* p, size_t bytes, enum cudaMemoryAdvise advice, int device) {
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
        return cudev_fail(cudaErrorInvalidValue, __func__, "there is no advice %d", (int)advice);
    cudaError_t error = check_place(__func__, device);
    return error == cudaSuccess ? check_managed(__func__, p, bytes) : error;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* p, size_t bytes, unsigned flags) {
    (void)stream;
    (void)flags;
    return check_managed(__func__, p, bytes);
}

cudaError_t cudaProfilerStart(void) {
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void) {
    return cudaSuccess;
}

// ---- several devices

cudaError_t cudaMemcpyPeerAsync(void* dst, int to_device, const void* src, int from_device,
                                size_t bytes, cudaStream_t stream) {
    (void)stream;
    cudaError_t error = cudaSetDevice(to_device);
    if (error == cudaSuccess) error = cudaSetDevice(from_device);
    return error == cudaSuccess ? cudaMemcpy(dst, src, bytes, cudaMemcpyDeviceToDevice) : error;
}

cudaError_t cudaMemcpyPeer(void* dst, int to_device, const void* src, int from_device,
                           size_t bytes) {
    return cudaMemcpyPeerAsync(dst, to_device, src, from_device, bytes, NULL);
}

cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned flags) {
    (void)flags;
    return cudev_fail(cudaErrorInvalidDevice, __func__,
                      "there is only device 0, and %d cannot be its peer", device);
}

cudaError_t cudaDeviceDisablePeerAccess(int device) {
    return cudev_fail(cudaErrorPeerAccessNotEnabled, __func__, "device %d is no peer", device);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
    cudaError_t error = cudaSetDevice(device);
    if (error != cudaSuccess) return error;
    if (!text || size < 13)
        return cudev_fail(cudaErrorInvalidValue, __func__, "13 bytes are needed");
    snprintf(text, (size_t)size, "0000:00:00.0");
    return cudaSuccess;
}

// ---- the profile of a program that has none of its own

static void write_profile(void) {
    cudev_write_profile(stderr, "table");
}

static __attribute__((constructor)) void profile_at_exit(void) {
    const char* watch = getenv("CUDEV_WATCH");
    if (watch && strstr(watch, "profile") && getenv("CUDEV_PROFILE")) atexit(write_profile);
}
