// Streams and events. Work is done when it has been submitted: streams carry nothing, and events
// note the time.
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/clock.h"
#include "cpu/device/errors.h"
#include "cpu/device/worker.h"
#include "cpu/include/cudev/abi.h"

// All that were created and not destroyed are listed: what a program says is one may be any
// pointer.
struct cudev_stream {
    unsigned flags;
    unsigned long long id;
    struct cudev_stream* next;
};
struct cudev_event {
    bool timed, recorded;
    long long time;  // of cudev_clock()
    struct cudev_event* next;
};
static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;
static struct cudev_stream* streams;
static struct cudev_event* events;

// ---- streams ----

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    if (!stream) return cudev_null(__func__);
    *stream = malloc(sizeof **stream);
    if (!*stream) return cudev_error(cudaErrorMemoryAllocation);
    static _Atomic unsigned long long created = 2;  // after the two default streams
    (*stream)->flags = flags;
    (*stream)->id = ++created;
    pthread_mutex_lock(&lists);
    (*stream)->next = streams;
    streams = *stream;
    pthread_mutex_unlock(&lists);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    (void)priority;  // there is one: cudaDeviceGetStreamPriorityRange()
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

static bool is_default(cudaStream_t stream) {
    return !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

// The link to it in its list; NULL: there is no such stream, or no such event.
static struct cudev_stream** link_of_stream(cudaStream_t stream) {
    struct cudev_stream** link = &streams;
    while (*link && *link != stream) link = &(*link)->next;
    return *link ? link : NULL;
}
static struct cudev_event** link_of_event(cudaEvent_t event) {
    struct cudev_event** link = &events;
    while (*link && *link != event) link = &(*link)->next;
    return *link ? link : NULL;
}

static bool is_stream(cudaStream_t stream) {
    pthread_mutex_lock(&lists);
    bool is = is_default(stream) || link_of_stream(stream);
    pthread_mutex_unlock(&lists);
    return is;
}
static bool is_event(cudaEvent_t event) {
    pthread_mutex_lock(&lists);
    bool is = link_of_event(event);
    pthread_mutex_unlock(&lists);
    return is;
}

static cudaError_t no_stream(const char* function) {
    return cudev_fail(cudaErrorInvalidResourceHandle, function, "there is no such stream");
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    if (!flags) return cudev_null(__func__);
    if (!is_stream(stream)) return no_stream(__func__);
    *flags = is_default(stream) ? cudaStreamDefault : stream->flags;
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    (void)stream;
    if (!priority) return cudev_null(__func__);
    *priority = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    if (!id) return cudev_null(__func__);
    if (!is_stream(stream)) return no_stream(__func__);
    *id = is_default(stream) ? 1 + (stream == cudaStreamPerThread) : stream->id;
    return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    (void)stream;
    return cudaGetDevice(device);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (is_default(stream))
        return cudev_fail(cudaErrorInvalidResourceHandle, __func__, "this stream stays");
    pthread_mutex_lock(&lists);
    struct cudev_stream** link = link_of_stream(stream);
    if (link) *link = stream->next;
    pthread_mutex_unlock(&lists);
    if (!link) return no_stream(__func__);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    (void)stream;
    cudev_launches_ended();
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)stream;
    (void)flags;
    return is_event(event)
               ? cudaSuccess
               : cudev_fail(cudaErrorInvalidResourceHandle, __func__, "there is no such event");
}

// ---- functions of the host: what was submitted before is done, so they run at once ----

static cudaError_t cannot_run(const char* function, bool is_null) {
    if (cudev_self) return cudev_fail(cudaErrorNotSupported, function, "called by a kernel");
    return is_null ? cudev_null(function) : cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    (void)stream;
    cudaError_t error = cannot_run(__func__, !function);
    if (error == cudaSuccess) function(data);
    return error;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned flags) {
    cudaError_t error = cannot_run(__func__, !function);
    if (error == cudaSuccess && flags)
        error = cudev_fail(cudaErrorInvalidValue, __func__, "the flags are 0");
    if (error == cudaSuccess) function(stream, cudaSuccess, data);
    return error;
}

// ---- events ----

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (!event) return cudev_null(__func__);
    *event = calloc(1, sizeof **event);
    if (!*event) return cudev_error(cudaErrorMemoryAllocation);
    (*event)->timed = !(flags & cudaEventDisableTiming);
    pthread_mutex_lock(&lists);
    (*event)->next = events;
    events = *event;
    pthread_mutex_unlock(&lists);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

static cudaError_t no_event(const char* function) {
    return cudev_fail(cudaErrorInvalidResourceHandle, function, "the event was not created");
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    pthread_mutex_lock(&lists);
    struct cudev_event** link = link_of_event(event);
    if (link) *link = event->next;
    pthread_mutex_unlock(&lists);
    if (!link) return no_event(__func__);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    (void)stream;
    if (!is_event(event)) return no_event(__func__);
    event->time = cudev_clock();
    event->recorded = true;
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    (void)flags;
    return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    cudev_launches_ended();
    return is_event(event) ? cudaSuccess : no_event(__func__);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return is_event(event) ? cudaSuccess : no_event(__func__);
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
    if (!ms) return cudev_null(__func__);
    if (!is_event(start) || !is_event(stop)) return no_event(__func__);
    if (!start->recorded || !stop->recorded || !start->timed || !stop->timed)
        return cudev_fail(cudaErrorInvalidResourceHandle, __func__,
                          "both events have to be recorded first, and created with timing");
    *ms = (float)((double)(stop->time - start->time) * 1e-6);
    return cudaSuccess;
}

long long cudev_clock(void) {
    return clock_nanoseconds(CLOCK_MONOTONIC);
}
