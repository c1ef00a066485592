// The state of the device that all its files share.
#include "cpu/device/worker.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "cpu/device/watcher.h"

struct launch cudev_current_launch;
struct worker* cudev_worker[MAX_WORKERS];
__thread struct worker* cudev_self;
__thread uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
const struct cudev_watcher* cudev_watcher;

void* cudev_worker_memory(size_t bytes) {
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) return memory;
    perror("CPU device: no memory for a worker");
    exit(EXIT_FAILURE);
}

unsigned cudev_current(const struct worker* w) {
    if (!w->direct) return w->current;
    return w->row + (w == cudev_self ? threadIdx.x : w->asked_x);
}

struct worker* cudev_in_kernel(const char* what) {
    if (cudev_self) return cudev_self;
    fprintf(stderr, "CPU device: %s is used by host code; it belongs into a kernel\n", what);
    exit(EXIT_FAILURE);
}
