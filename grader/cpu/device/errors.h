// Errors of the runtime API.
#ifndef CUDEV_ERRORS_H
#define CUDEV_ERRORS_H

#include "cpu/include/cuda_runtime_api.h"

// Remembers an error for cudaGetLastError() and returns it; success leaves an earlier error
// standing.
cudaError_t cudev_error(cudaError_t error);
// Does the same and prints a sentence for the programmer. function: a function of the API, which is
// printed with the line of its call; or a kernel and the line of its launch.
cudaError_t cudev_fail(cudaError_t error, const char* function, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
cudaError_t cudev_null(const char* function);  // the same: an argument is NULL
// Remembers the error, prints the sentence as a line on stderr, and calls cudev_on_refusal().
// call: the function of the API, or "launch".
cudaError_t cudev_refused(cudaError_t error, const char* call, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
