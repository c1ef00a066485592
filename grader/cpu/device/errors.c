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
#define ERROR(id, text) \
    { id, #id, text }
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInitializationError, "initialization error"),
    ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    ERROR(cudaErrorInvalidTexture, "invalid texture reference"),
    ERROR(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    ERROR(cudaErrorInsufficientDriver,
          "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ERROR(cudaErrorHostMemoryAlreadyRegistered,
          "part or all of the requested memory range is already mapped"),
    ERROR(cudaErrorHostMemoryNotRegistered,
          "pointer does not correspond to a registered memory region"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ERROR(cudaErrorAssert, "device-side assert triggered"),
    ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR(cudaErrorNotPermitted, "operation not permitted"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
    ERROR(cudaErrorUnknown, "unknown error"),
#undef ERROR
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
