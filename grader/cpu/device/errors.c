// Errors of the runtime API: remembered per host thread, named and explained as CUDA does.
#include "cpu/device/errors.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "cpu/device/lines.h"
#include "cpu/include/cudev.h"

static __thread cudaError_t last_error;

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down"},
    {cudaErrorInvalidTexture, "cudaErrorInvalidTexture", "invalid texture reference"},
    {cudaErrorInvalidChannelDescriptor, "cudaErrorInvalidChannelDescriptor",
     "invalid channel descriptor"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

cudaError_t cudev_error(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

static __thread char failure[900];
static __thread cudaError_t failed_with;

// The line of the program that has called the API, as " at k.cu:12"; "" if that is not known.
static void add_line(char* text, size_t size) {
    struct source_line line;
    text[0] = '\0';
    if (cudev_program_line(&line))
        snprintf(text, size, " at %s:%d", cudev_shown_file(line.file), line.line);
}

cudaError_t cudev_fail(cudaError_t error, const char* function, const char* format, ...) {
    char text[600], line[200] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (strncmp(function, "cuda", 4) == 0) add_line(line, sizeof line);
    snprintf(failure, sizeof failure, "%s%s: %s: %s", function, line, cudaGetErrorName(error),
             text);
    failed_with = error;
    return cudev_refused(error, function, "%s", failure);
}

cudaError_t cudev_null(const char* function) {
    return cudev_fail(cudaErrorInvalidValue, function, "a pointer is NULL");
}

cudaError_t cudev_refused(cudaError_t error, const char* call, const char* format, ...) {
    char text[1000] = "==CPU device== ";
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, sizeof text - used - 1, format, args);
    va_end(args);
    strcat(text, "\n");
    fputs(text, stderr);
    if (cudev_on_refusal) cudev_on_refusal(call, (int)error, text);
    return cudev_error(error);
}

const char* cudev_last_failure(int error) {
    return (int)failed_with == error ? failure : "";
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error) return errors[i].name;
    return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error) return errors[i].text;
    return "unrecognized error code";
}
