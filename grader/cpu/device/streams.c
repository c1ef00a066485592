// Streams and events. Work is done when it has been submitted: streams carry nothing, and events
// note the time.
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include "cpu/device/errors.h"
#include "cpu/include/cudev/abi.h"

struct cudev_stream {
    unsigned flags;
};
struct cudev_event {
    bool timed, recorded;
    struct timespec time;
};

// ---- streams ----

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    if (!stream) return cudev_null(__func__);
    *stream = malloc(sizeof **stream);
    if (!*stream) return cudev_error(cudaErrorMemoryAllocation);
    (*stream)->flags = flags;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return cudev_fail(cudaErrorInvalidResourceHandle, __func__, "this stream stays");
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)stream;
    (void)flags;
    return event ? cudaSuccess
                 : cudev_fail(cudaErrorInvalidResourceHandle, __func__, "the event is NULL");
}

// ---- events ----

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (!event) return cudev_null(__func__);
    *event = calloc(1, sizeof **event);
    if (!*event) return cudev_error(cudaErrorMemoryAllocation);
    (*event)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

static cudaError_t no_event(const char* function) {
    return cudev_fail(cudaErrorInvalidResourceHandle, function, "the event was not created");
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (!event) return no_event(__func__);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    (void)stream;
    if (!event) return no_event(__func__);
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    event->recorded = true;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return event ? cudaSuccess : no_event(__func__);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return event ? cudaSuccess : no_event(__func__);
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
    if (!ms) return cudev_null(__func__);
    if (!start || !stop) return no_event(__func__);
    if (!start->recorded || !stop->recorded || !start->timed || !stop->timed)
        return cudev_fail(cudaErrorInvalidResourceHandle, __func__,
                          "both events have to be recorded first, and created with timing");
    *ms = (float)((double)(stop->time.tv_sec - start->time.tv_sec) * 1e3 +
                  (double)(stop->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return cudaSuccess;
}

long long cudev_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
