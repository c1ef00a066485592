// malloc(), free(), new and delete in a kernel: memory of the device's own heap, which lasts until
// a kernel frees it. The command cudev gives these names to the calls of a .cu (cudev.sh); in host
// code they are the C library's and the C++ library's.
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cpu/any/include/cudev/any_api.h"
#include "cpu/device/any.h"
#include "cpu/device/worker.h"

// A block of the heap is 2^(5 + kind) bytes, this among them. Freed blocks are kept by kinds.
struct block {
    struct block* next;  // of the free ones of its kind
    uint64_t kind;
};
enum { SMALLEST = 32, KINDS = 40 };

static struct {
    pthread_mutex_t lock;
    char *base, *top, *end;  // base: NULL before the first call
    struct block* free[KINDS];
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool cudev_any_heap(const void* p, size_t bytes) {
    const char* at = p;
    return heap.base && at >= heap.base && at < heap.end && bytes <= (size_t)(heap.end - at);
}

// As large as cudaDeviceSetLimit() has said before the first call; 8 MiB.
static void make(void) {
    size_t bytes = 0;
    cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize);
    char* base = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return;
    heap.top = base;
    heap.end = base + bytes;
    heap.base = base;
}

// `bytes` at a multiple of 16, filled with 0xFF as all fresh memory; NULL if the heap has no more.
static void* allocate(size_t bytes) {
    uint64_t kind = 0;
    while (kind < KINDS - 1 && ((size_t)SMALLEST << kind) - sizeof(struct block) < bytes) kind++;
    const size_t all = (size_t)SMALLEST << kind;
    pthread_mutex_lock(&heap.lock);
    if (!heap.base) make();
    struct block* b = heap.free[kind];
    if (b) {
        heap.free[kind] = b->next;
    } else if (heap.base && all <= (size_t)(heap.end - heap.top)) {
        b = (struct block*)heap.top;
        heap.top += all;
    }
    pthread_mutex_unlock(&heap.lock);
    if (!b) return NULL;
    b->kind = kind;
    return memset(b + 1, 0xFF, all - sizeof *b);
}

static void release(void* p) {
    struct block* b = (struct block*)p - 1;
    pthread_mutex_lock(&heap.lock);
    b->next = heap.free[b->kind];
    heap.free[b->kind] = b;
    pthread_mutex_unlock(&heap.lock);
}

void* cudev_any_malloc(size_t bytes) {
    return cudev_self ? allocate(bytes) : malloc(bytes);
}

void cudev_any_free(void* p) {
    if (cudev_any_heap(p, 1))
        release(p);
    else
        free(p);
}

// ---- operators of C++, by the names that compilers give them

void* host_new(size_t bytes) __asm__("_Znwm");
void* host_new_array(size_t bytes) __asm__("_Znam");
void host_delete(void* p) __asm__("_ZdlPv");
void host_delete_array(void* p) __asm__("_ZdaPv");

void* cudev_any_new(size_t bytes) {
    return cudev_self ? allocate(bytes) : host_new(bytes);
}

void* cudev_any_new_array(size_t bytes) {
    return cudev_self ? allocate(bytes) : host_new_array(bytes);
}

void cudev_any_delete(void* p) {
    if (cudev_any_heap(p, 1))
        release(p);
    else
        host_delete(p);
}

void cudev_any_delete_array(void* p) {
    if (cudev_any_heap(p, 1))
        release(p);
    else
        host_delete_array(p);
}

void cudev_any_delete_sized(void* p, size_t bytes) {
    (void)bytes;
    cudev_any_delete(p);
}

void cudev_any_delete_array_sized(void* p, size_t bytes) {
    (void)bytes;
    cudev_any_delete_array(p);
}
