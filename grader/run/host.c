// host.c: see host.h.
#include "run/host.h"

#ifdef CPU_DEVICE

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "cpu/include/cudev.h"
#include "cudev/abi.h"
#include "run/border.h"

#define POOL_SPACE ((size_t)16 << 30)  // of addresses
enum { POOL_STEP = 1 << 20, STACK_BYTES = 8 << 20, ALIGNMENT = 16 };

// ---- blocks

struct block {
    char* data;
    size_t bytes;
};

// By address. The table lies in the C library's memory, the blocks on pages of the pool.
static struct {
    char* base;
    size_t open;  // bytes of it that can be used so far
    struct block* block;
    size_t count, capacity;
} pool;

static bool grow_pool(size_t bytes) {
    if (bytes <= pool.open) return true;
    size_t more = (bytes - pool.open + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
    if (mprotect(pool.base + pool.open, more, PROT_READ | PROT_WRITE) != 0) return false;
    pool.open += more;
    return true;
}

static bool grow_table(void) {
    if (pool.count < pool.capacity) return true;
    size_t more = pool.capacity ? 2 * pool.capacity : 64;
    struct block* larger = realloc(pool.block, more * sizeof *larger);
    if (!larger) return false;
    pool.block = larger;
    pool.capacity = more;
    return true;
}

static size_t room_of(size_t bytes) {
    return (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;  // no two blocks touch
}

// The number of the block that begins at p, or of the first one behind it.
static size_t find(const void* p) {
    size_t low = 0, high = pool.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pool.block[middle].data < (const char*)p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Finds `room` free bytes, and the number of the block behind them. Behind the last block first:
// the holes are looked through when the memory that is open is full.
static char* find_room(size_t room, size_t* position) {
    const struct block* last = pool.count ? &pool.block[pool.count - 1] : NULL;
    char *end = last ? last->data + room_of(last->bytes) : pool.base, *at = pool.base;
    *position = pool.count;
    if ((size_t)(end - pool.base) + room <= pool.open) return end;
    for (size_t i = 0; i < pool.count; i++) {
        if ((size_t)(pool.block[i].data - at) >= room) {
            *position = i;
            return at;
        }
        at = pool.block[i].data + room_of(pool.block[i].bytes);
    }
    return (size_t)(end - pool.base) + room <= POOL_SPACE ? end : NULL;
}

void* host_allocate(size_t bytes) {
    size_t position;
    if (!pool.base) {
        void* base =
            mmap(NULL, POOL_SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) return NULL;
        pool.base = base;
    }
    if (bytes > POOL_SPACE / 2 || !grow_table()) return NULL;
    char* data = find_room(room_of(bytes), &position);
    if (!data || !grow_pool((size_t)(data - pool.base) + room_of(bytes))) return NULL;
    memmove(&pool.block[position + 1], &pool.block[position],
            (pool.count - position) * sizeof *pool.block);
    pool.block[position] = (struct block){data, bytes};
    pool.count++;
    return data;
}

bool host_bytes(const void* block, size_t* bytes) {
    size_t i = find(block);
    if (i == pool.count || pool.block[i].data != block) return false;
    *bytes = pool.block[i].bytes;
    return true;
}

bool host_free(void* block) {
    size_t i = find(block), bytes;
    if (!host_bytes(block, &bytes)) return false;
    if (bytes >= POOL_STEP) {  // whole pages go back to the system
        uintptr_t first = ((uintptr_t)block + BORDER - 1) / BORDER * BORDER;
        uintptr_t end = ((uintptr_t)block + bytes) / BORDER * BORDER;
        if (first < end) madvise((void*)first, end - first, MADV_DONTNEED);
    }
    memmove(&pool.block[i], &pool.block[i + 1], (pool.count - i - 1) * sizeof *pool.block);
    pool.count--;
    return true;
}

// ---- the stack

static struct {
    char* stack;
    ucontext_t runner, student;
    int (*function)(void);
    int result;
    bool inside, ended;
    // the launch that the student asks for
    host_launcher launch;
    struct cudev_launch_site site;
    void (*run)(void*);
    void* body;
    size_t body_bytes;
    int launched;
} own;

bool host_owns(const void* p, size_t bytes, const void* frame) {
    const char *from = p, *end = from + bytes;
    if (from >= front_data && end <= border_data) return true;
    if (from >= front_bss && end <= border_bss) return true;
    bool on_stack = own.inside && from >= own.stack && end <= own.stack + STACK_BYTES;
    if (on_stack && from >= (const char*)frame) return true;
    size_t i = find(from + 1);
    return i > 0 && end <= pool.block[i - 1].data + pool.block[i - 1].bytes;
}

static void close_host(bool closed) {
    const int protection = closed ? PROT_NONE : PROT_READ | PROT_WRITE;
    if (cudev_is_watched()) return;
    mprotect(front_data, (size_t)(border_data - front_data), protection);
    mprotect(front_bss, (size_t)(border_bss - front_bss), protection);
    mprotect(own.stack, STACK_BYTES, protection);
    if (pool.open) mprotect(pool.base, pool.open, protection);
}

static void on_stack(void) {
    own.result = own.function();
    own.ended = true;
}

int host_call(int (*function)(void)) {
    if (!own.stack) {
        // a page below it stays closed
        char* stack = mmap(NULL, STACK_BYTES + BORDER, PROT_NONE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stack == MAP_FAILED) abort();
        own.stack = stack + BORDER;
        mprotect(own.stack, STACK_BYTES, PROT_READ | PROT_WRITE);
    }
    getcontext(&own.student);
    own.student.uc_stack.ss_sp = own.stack;
    own.student.uc_stack.ss_size = STACK_BYTES;
    own.student.uc_link = &own.runner;
    makecontext(&own.student, on_stack, 0);
    own.function = function;
    own.ended = false;
    own.inside = true;
    cudev_host_stack(own.stack + STACK_BYTES, STACK_BYTES);
    for (;;) {
        swapcontext(&own.runner, &own.student);
        if (own.ended) break;
        close_host(true);
        own.launched = own.launch(&own.site, own.run, own.body, own.body_bytes);
        close_host(false);
    }
    cudev_host_stack(NULL, 0);
    own.inside = false;
    return own.result;
}

int host_launch(host_launcher launch, const struct cudev_launch_site* site, void (*run)(void*),
                void* body, size_t bytes) {
    if (!own.inside || cudev_is_kernel()) return launch(site, run, body, bytes);
    if (bytes > own.body_bytes) {
        free(own.body);
        own.body_bytes = bytes;
        own.body = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (!own.body) abort();
    }
    memcpy(own.body, body, bytes);
    own.site = *site;
    own.run = run;
    own.launch = launch;
    swapcontext(&own.student, &own.runner);
    return own.launched;
}

#else

int host_call(int (*function)(void)) {
    return function();
}

#endif
