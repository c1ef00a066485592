// Device memory as a whole: its address space, when it is open, its guard bytes, and the lock of
// the API.
//
// Host code may not touch the heap (cudaMalloc) or the variables of the device: they are PROT_NONE
// except during kernels and copies.
// Pinned memory (cudaMallocHost, cudaMallocManaged) is open to both sides.
#include "cpu/device/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cpu/device/fault.h"
#include "cpu/device/report.h"
#include "cpu/device/symbols.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"

static struct cudev_stats stats;
static int open_count;

static pthread_mutex_t api_mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int lock_depth;
static bool forked;

void cudev_lock(void) {
    if (lock_depth++ == 0) pthread_mutex_lock(&api_mutex);
}

void cudev_unlock(void) {
    if (--lock_depth == 0) pthread_mutex_unlock(&api_mutex);
}

static void after_fork(void) {
    forked = true;
}

static void at_exit(void) {
    if (!cudev_self && !forked) cudev_memory_check("at the end of the program");
}

bool cudev_memory_init(void) {
    static enum { NOT_TRIED, READY, FAILED } state;
    if (forked) {
        fprintf(stderr,
                "==CPU device== this process was forked from one that already used the device; "
                "as with CUDA, it cannot use it: fork before the first CUDA call\n");
        return false;
    }
    cudev_lock();
    if (state == NOT_TRIED) {
        // private, as the stacks are: what is in use counts against data limits
        void* got = mmap(HEAP_BASE, HEAP_SPACE, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        void* got_host =
            mmap(HOST_BASE, HOST_SPACE, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        state = got == HEAP_BASE && got_host == HOST_BASE ? READY : FAILED;
        if (state == FAILED) {
            perror("CPU device: cannot reserve 3.5 GiB of address space (see ulimit -v)");
        } else {
            // a forked child shares nothing of the device
            madvise(HEAP_BASE, HEAP_SPACE, MADV_DONTFORK);
            pthread_atfork(NULL, NULL, after_fork);
            atexit(at_exit);
            cudev_faults_init();
            cudev_symbols_protect(SYMBOLS_CLOSED);
        }
    }
    cudev_unlock();
    return state == READY;
}

// The arrays of which little is there, and a little around them: not the gaps before. An access far
// out of an array shall not write there unseen; a near one is found with arrays that are whole.
enum { AROUND = 1 << 20 };
static void protect_hollow(int protection) {
    const size_t page = (size_t)getpagesize();
    for (size_t i = 0; i < cudev_hollow.count; i++) {
        const struct allocation* a = &cudev_hollow.table[i];
        mprotect(a->data - AROUND, cudev_round_up(a->bytes, page) + 2 * (size_t)AROUND, protection);
    }
}

void cudev_memory_open(void) {
    if (open_count++ != 0) return;
    if (cudev_heap.top) mprotect(cudev_heap.base, cudev_heap.top, PROT_READ | PROT_WRITE);
    protect_hollow(PROT_READ | PROT_WRITE);
    cudev_symbols_protect(SYMBOLS_OPEN);
    if (cudev_watcher) cudev_watcher->open();
}

void cudev_memory_close(void) {
    if (--open_count != 0) return;
    if (cudev_heap.top) mprotect(cudev_heap.base, cudev_heap.top, PROT_NONE);
    protect_hollow(PROT_NONE);
    cudev_symbols_protect(SYMBOLS_CLOSED);
    if (cudev_watcher) cudev_watcher->close();
}

void cudev_memory_grow(struct pool* pool, size_t top) {
    if (top <= pool->top) return;
    if (pool != &cudev_pinned && pool != &cudev_hollow)
        mprotect(pool->base + pool->top, top - pool->top, PROT_READ | PROT_WRITE);
    pool->top = top;
    if (pool == &cudev_hollow) protect_hollow(PROT_READ | PROT_WRITE);
}

void cudev_hold_open(int held) {
    if (!cudev_memory_init()) return;
    cudev_lock();
    held ? cudev_memory_open() : cudev_memory_close();
    cudev_unlock();
}

static void check_guard(const struct allocation* a, const char* guard, size_t bytes,
                        const char* when) {
    if (cudev_watcher && cudev_watcher->finds) return;
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)guard[i] == GUARD_BYTE) continue;
        char where[300];
        // a byte of a number may by chance be the guard's: say where its word begins
        i &= ~(size_t)3;
        cudev_describe_address(where, sizeof where, guard + i);
        cudev_report_begin("out_of_bounds", "out-of-bounds write %s: %s was overwritten, found %s",
                           guard + i < a->data ? "before the start" : "past the end", where, when);
        if (cudev_current_launch.site.name) cudev_report_launch(NULL);
        cudev_report_add(
            "  next: which index reaches that byte? the last block and the last tile are "
            "the usual suspects\n");
        cudev_report_end(EXIT_DIAGNOSIS);
    }
}

void cudev_memory_check_allocation(const struct allocation* a, const char* when) {
    check_guard(a, a->data - FRONT_GUARD, FRONT_GUARD, when);
    check_guard(a, a->data + a->bytes, cudev_back_guard(a), when);
}

void cudev_memory_check(const char* when) {
    cudev_lock();
    cudev_memory_open();
    for (size_t i = 0; i < cudev_heap.count; i++)
        cudev_memory_check_allocation(&cudev_heap.table[i], when);
    for (size_t i = 0; i < cudev_pinned.count; i++)
        cudev_memory_check_allocation(&cudev_pinned.table[i], when);
    cudev_memory_close();
    cudev_unlock();
}

void cudev_count_launch(void) {
    stats.launches++;
}

void cudev_count_copy(size_t to_device, size_t to_host) {
    stats.bytes_to_device += to_device;
    stats.bytes_to_host += to_host;
}

void cudev_get_stats(struct cudev_stats* out) {
    cudev_lock();
    *out = stats;
    out->peak_bytes = cudev_heap.peak;
    out->live_bytes = cudev_heap.used;
    out->live_count = cudev_heap.count;
    cudev_unlock();
}
