// waits.c: a launcher that waits for what it has launched. The calls arrive as those of meter.c do.
// On the CPU device all is done when a launch returns, and on a GPU it may be: a loop that asks
// until all is done would not be told from one question.
#include <cuda_runtime_api.h>

#include "run/meter.h"

#define WRAP(f, parameters)            \
    cudaError_t __real_##f parameters; \
    cudaError_t __wrap_##f parameters

WRAP(cudaDeviceSynchronize, (void)) {
    meter_note_wait();
    return __real_cudaDeviceSynchronize();
}

WRAP(cudaStreamSynchronize, (cudaStream_t stream)) {
    meter_note_wait();
    return __real_cudaStreamSynchronize(stream);
}

WRAP(cudaEventSynchronize, (cudaEvent_t event)) {
    meter_note_wait();
    return __real_cudaEventSynchronize(event);
}

// A question that is refused says nothing of what was launched.
static cudaError_t asked(cudaError_t error) {
    return error == cudaSuccess && meter_note_query() ? cudaErrorNotReady : error;
}

WRAP(cudaStreamQuery, (cudaStream_t stream)) {
    return asked(__real_cudaStreamQuery(stream));
}

WRAP(cudaEventQuery, (cudaEvent_t event)) {
    return asked(__real_cudaEventQuery(event));
}

WRAP(cudaEventElapsedTime, (float* ms, cudaEvent_t start, cudaEvent_t stop)) {
    return asked(__real_cudaEventElapsedTime(ms, start, stop));
}
