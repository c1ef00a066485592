// An access to memory: decides what kind of memory it is and asks the watchers that are on. This is
// what every load and store of a watched kernel runs through; the rare cases are elsewhere.
#include <string.h>
#include "profile.h"
#include "watch.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static bool is_write(enum cudev_access access) {
    return access != CUDEV_READ && access != CUDEV_VOLATILE_READ;
}

// Host code. It may touch neither device memory, which is closed to it and faults, nor the shadow.
static __attribute__((noinline)) void host_access(const volatile void* p, size_t bytes) {
    const char* address = (const char*)p;
    bool heap = cudev_is_device_address(address);
    bool shadow = address + bytes > SHADOW_BASE && address < SHADOW_BASE + SHADOW_SIZE;
    if (heap || shadow) cudev_report_host_access(address);
}

static bool within(const volatile void* p, const void* object, size_t bytes) {
    return (uintptr_t)p - (uintptr_t)object < bytes;
}

// An address outside the arena: its offset, or WATCHED_BYTES when there is nothing to watch.
static __attribute__((noinline)) uint64_t outside(struct watch* k, const volatile void* p,
                                                  size_t bytes, enum cudev_access access,
                                                  const void* pc) {
    const char* address = (const char*)p;
    if (address >= STACK_BASE && address < STACK_BASE + ALL_STACKS) return WATCHED_BYTES;
    if (within(p, &blockDim, sizeof blockDim) || within(p, &gridDim, sizeof gridDim) ||
        within(p, &threadIdx, sizeof threadIdx) || within(p, &blockIdx, sizeof blockIdx))
        return WATCHED_BYTES;
    uint64_t image = (uint64_t)(address - __executable_start);
    if (address >= __executable_start && address + bytes <= _end && image < IMAGE_SPACE)
        return IMAGE_OFFSET + image;
    cudev_bounds_foreign(k, p, bytes, access, pc);
    return WATCHED_BYTES;
}

// Checks for at most 4 bytes within one word.
static inline __attribute__((always_inline)) void
check_word(struct watch* k, uint64_t offset, unsigned mask, uint64_t me, bool write) {
    uint64_t* slot = RACE_SHADOW[offset >> 2];
    uint64_t floor = offset >= WINDOW_OFFSET ? k->shared_floor : k->launch_floor;
    me |= (uint64_t)mask << SLOT_MASK_SHIFT;
    if (write) {
        if (unlikely(slot[0] >= floor || slot[1] >= floor || slot[2] >= floor || slot[3] >= floor))
            cudev_race_access(k, offset, me, true);
        else
            slot[0] = me;
        return;
    }
    if (unlikely(slot[0] >= floor || slot[1] >= floor || mask != 15)) {
        cudev_race_access(k, offset, me, false);
        return;
    }
    // the first reader since the floor, and the latest
    if (slot[2] < floor)
        slot[2] = me;
    else if ((slot[2] ^ me) >> SLOT_THREAD_SHIFT)
        slot[3] = me;
}

static inline __attribute__((always_inline)) void
check(struct watch* k, uint64_t offset, unsigned bytes, enum cudev_access access, const void* pc) {
    if (unlikely(offset + bytes > OWNER_SHADOW[offset >> PAGE_SHIFT])) {
        cudev_bounds_stray(k, offset, bytes, access, pc);
        return;
    }
    const bool write = is_write(access);
    uint64_t me = k->now | (uint64_t)k->worker->current << SLOT_THREAD_SHIFT | site_at(pc);
    if (access == CUDEV_ATOMIC) me |= SLOT_ATOMIC;
    if (access >= CUDEV_VOLATILE_READ) me |= SLOT_ATOMIC | SLOT_VOLATILE;
    uint8_t* init = &INIT_SHADOW[offset >> 2];
    if (bytes < 4) {
        unsigned mask = ((1u << bytes) - 1) << offset % 4;
        if ((!write || access == CUDEV_ATOMIC) && unlikely((*init & mask) != mask))
            cudev_bounds_uninitialised(k, offset, bytes, pc);
        if (write) *init |= (uint8_t)mask;
        check_word(k, offset, mask, me, write);
        return;
    }
    static const uint32_t all_set = 0x0f0f0f0f;
    if (!write || access == CUDEV_ATOMIC)
        if (unlikely(memcmp(init, &all_set, bytes / 4) != 0))
            cudev_bounds_uninitialised(k, offset, bytes, pc);
    if (write) memcpy(init, &all_set, bytes / 4);
    for (unsigned i = 0; i < bytes; i += 4) check_word(k, offset + i, 15, me, write);
}

static inline __attribute__((always_inline)) void log_access(struct watch* k, uint64_t offset,
                                                             unsigned bytes,
                                                             enum cudev_access access,
                                                             const void* pc) {
    struct worker* w = k->worker;
    unsigned lane = w->current % WARP_SIZE;
    if (unlikely(w->current / WARP_SIZE != k->log_warp)) cudev_profile_change_warp(k);
    unsigned warp = k->log_warp, n = k->length[warp][lane];
    k->log[warp][lane][n] = (struct log_entry){(uint32_t)offset, (uint16_t)site_at(pc),
                                               access == CUDEV_ATOMIC ? LOG_ATOMIC
                                               : is_write(access)     ? LOG_STORE
                                                                      : LOG_LOAD,
                                               (uint8_t)bytes};
    k->length[warp][lane] = n + 1;
    if (unlikely(n + 1 == LOG_ENTRIES)) cudev_profile_log_full(k);
}

bool cudev_may_load(const volatile void* p, size_t bytes, const void* pc) {
    struct worker* w = cudev_self;
    if (!w || !w->watch) return true;
    uint64_t offset = (uint64_t)((const char*)p - ARENA_BASE);
    if (offset >= WATCHED_BYTES) return outside(w->watch, p, bytes, CUDEV_ATOMIC, pc) != 0;
    if (offset & (bytes - 1)) cudev_bounds_misaligned(w->watch, offset, bytes, CUDEV_ATOMIC, pc);
    if (offset + bytes <= OWNER_SHADOW[offset >> PAGE_SHIFT] || !w->watch->check) return true;
    return cudev_bounds_stray(w->watch, offset, bytes, CUDEV_ATOMIC, pc);
}

// One access of 1, 2, 4, 8 or 16 bytes at a multiple of its size, or a part of a larger one.
static inline __attribute__((always_inline)) void
watch_access(const volatile void* p, unsigned bytes, enum cudev_access access, const void* pc) {
    struct worker* w = cudev_self;
    if (unlikely(!w)) {
        host_access(p, bytes);
        return;
    }
    struct watch* k = w->watch;
    if (!k) return;
    uint64_t offset = (uint64_t)((const char*)p - ARENA_BASE);
    if (unlikely(offset >= WATCHED_BYTES)) {
        offset = outside(k, p, bytes, access, pc);
        if (offset == WATCHED_BYTES) return;
    }
    if (unlikely(offset & (bytes - 1))) {
        cudev_bounds_misaligned(k, offset, bytes, access, pc);
        return;
    }
    if (k->check) check(k, offset, bytes, access, pc);
    if (k->profile) log_access(k, offset, bytes, access, pc);
    // what waits for another thread with volatile reads or atomics lets it run
    if (access != CUDEV_READ && access != CUDEV_WRITE) cudev_watch_sync(k, offset, access);
}

#define ENTRY(name, bytes, access)                                   \
    void __tsan_##name(void* p);                                     \
    void __tsan_##name(void* p) {                                    \
        watch_access(p, bytes, access, __builtin_return_address(0)); \
    }
#define ENTRIES(bytes)                                      \
    ENTRY(read##bytes, bytes, CUDEV_READ)                   \
    ENTRY(write##bytes, bytes, CUDEV_WRITE)                 \
    ENTRY(volatile_read##bytes, bytes, CUDEV_VOLATILE_READ) \
    ENTRY(volatile_write##bytes, bytes, CUDEV_VOLATILE_WRITE)
ENTRIES(1)
ENTRIES(2)
ENTRIES(4)
ENTRIES(8)
ENTRIES(16)

void cudev_access(const volatile void* p, size_t bytes, enum cudev_access access, const void* pc) {
    switch (bytes) {
    case 1:
        watch_access(p, 1, access, pc);
        break;
    case 2:
        watch_access(p, 2, access, pc);
        break;
    case 4:
        watch_access(p, 4, access, pc);
        break;
    case 8:
        watch_access(p, 8, access, pc);
        break;
    default:
        watch_access(p, 16, access, pc);
    }
}

// Bytes that the type does not align: structures, memcpy. A GPU moves them in pieces of 4 bytes, or
// smaller ones where the address asks for it.
void cudev_access_range(const volatile void* p, size_t bytes, enum cudev_access access,
                        const void* pc) {
    const volatile char* end = (const volatile char*)p + bytes;
    for (const volatile char* q = p; q < end;) {
        size_t left = (size_t)(end - q);
        size_t piece = (uintptr_t)q % 4 == 0 && left >= 4   ? 4
                       : (uintptr_t)q % 2 == 0 && left >= 2 ? 2
                                                            : 1;
        cudev_access(q, piece, access, pc);
        q += piece;
    }
}
