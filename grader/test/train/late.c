// late.c: a test of when `make train` reads and writes gradients. Linked into its program for the
// CPU device, whose streams carry nothing, it makes means over the GPUs as late as they may come:
// when the default stream waits for them. A program that forgets to wait goes on with the gradients
// of one GPU, and its ranks end with other parameters; one that asks for a mean of what the stream
// has not waited for ends here.
//
// What the linker puts in the place of CUDA's calls: -Wl,--wrap=cudev_launch,--wrap=dlsym,
// --wrap=cudaEventRecord,--wrap=cudaStreamWaitEvent,--wrap=cudaStreamSynchronize
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/include/cudev/abi.h"

enum { MOST = 64, EVENTS = 8 };

struct mean {
    const void* from;
    void* to;
    size_t count;
    int type, operation;
    void* comm;
    cudaStream_t stream;
};

// An event of the default stream: how many launches are before it; of another: how many means.
struct event {
    cudaEvent_t event;
    long launches, means;
};

static struct mean waiting[MOST];
static long launches, waited_for, asked,
    made;  // waited_for: launches that the other stream waits for
static struct event events[EVENTS];
static int (*all_reduce)(const void* from, void* to, size_t count, int type, int operation,
                         void* comm, cudaStream_t stream);

static void fail(const char* what) {
    fprintf(stderr, "late.c: %s\n", what);
    exit(3);
}

static struct event* event_of(cudaEvent_t event) {
    for (int i = 0; i < EVENTS; i++) {
        if (!events[i].event) events[i].event = event;
        if (events[i].event == event) return &events[i];
    }
    fail("there are more events than this test has room for");
    return NULL;
}

// All that were asked for before number `last`.
static void make(long last) {
    for (; made < last; made++) {
        const struct mean* m = &waiting[made % MOST];
        if (all_reduce(m->from, m->to, m->count, m->type, m->operation, m->comm, m->stream) != 0)
            fail("a mean failed");
    }
}

static int late_all_reduce(const void* from, void* to, size_t count, int type, int operation,
                           void* comm, cudaStream_t stream) {
    if (!stream) fail("means are taken in the default stream");
    if (waited_for != launches) fail("a mean of what a kernel may not have written yet");
    if (asked - made == MOST) fail("nobody waits for the means");
    waiting[asked++ % MOST] = (struct mean){from, to, count, type, operation, comm, stream};
    return 0;
}

static int nothing(void) {
    return 0;
}

void* __real_dlsym(void* library, const char* name);
void* __wrap_dlsym(void* library, const char* name) {
    int (*late)(const void* from, void* to, size_t count, int type, int operation, void* comm,
                cudaStream_t stream) = late_all_reduce;
    int (*group)(void) = nothing;
    void* symbol = __real_dlsym(library, name);
    if (strcmp(name, "ncclAllReduce") == 0) {
        memcpy(&all_reduce, &symbol, sizeof symbol);
        memcpy(&symbol, &late, sizeof symbol);
    }
    if (strncmp(name, "ncclGroup", 9) == 0) memcpy(&symbol, &group, sizeof symbol);
    return symbol;
}

int __real_cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body,
                        size_t bytes);
int __wrap_cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body,
                        size_t bytes) {
    launches++;
    return __real_cudev_launch(site, run, body, bytes);
}

cudaError_t __real_cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    struct event* e = event_of(event);
    e->launches = stream ? -1 : launches;
    e->means = stream ? asked : -1;
    return __real_cudaEventRecord(event, stream);
}

cudaError_t __real_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t __wrap_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    const struct event* e = event_of(event);
    if (stream && e->launches > waited_for) waited_for = e->launches;
    if (!stream) make(e->means);
    return __real_cudaStreamWaitEvent(stream, event, flags);
}

cudaError_t __real_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream) {
    if (stream) make(asked);
    return __real_cudaStreamSynchronize(stream);
}
