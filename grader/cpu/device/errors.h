// Errors of the runtime API.
#ifndef CUDEV_ERRORS_H
#define CUDEV_ERRORS_H

#include "cpu/include/cuda_runtime_api.h"

// Remembers an error for cudaGetLastError() and returns it; success leaves an earlier error
// standing.
cudaError_t cudev_error(cudaError_t error);
// The same, and prints a sentence for the programmer. function: one of the API, with whose name the
// line of its call is printed; or a kernel and the line of its launch.
cudaError_t cudev_fail(cudaError_t error, const char* function, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
// Remembers the error, prints the sentence as a line on stderr, and tells cudev_on_refusal() of it.
// call: the function of the API, or "launch".
cudaError_t cudev_refused(cudaError_t error, const char* call, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
