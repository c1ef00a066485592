// An access to memory: every load and store of a watched kernel comes here. Decides which kind of
// memory it is, and asks the watchers that are on. Other files have the rare cases.
#include "cpu/watch/access.h"
#include <string.h>
#include "cpu/watch/async_finding.h"
#include "cpu/device/allocations.h"
#include "cpu/device/far.h"
#include "cpu/device/fault.h"
#include "cpu/device/any.h"
#include "cpu/device/symbols.h"
#include "cpu/device/stacks.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"
#include "cpu/watch/bounds.h"
#include "cpu/watch/counters.h"
#include "cpu/watch/races.h"
#include "cpu/watch/sites.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
// from device memory to the end of the shadow: all memory that belongs to the device, but for rows
// that lie far away
#define DEVICE_SPACE ((uint64_t)(SHADOW_BASE - ARENA_BASE) + SHADOW_SIZE)

static bool is_write(enum cudev_access access) {
    return access != CUDEV_READ && access != CUDEV_VOLATILE_READ && access != CUDEV_ATOMIC_READ;
}

// Host code. It may touch neither device memory nor the shadow, and write only to memory that the
// program calls its own. Device memory is closed to host code: an access faults.
static __attribute__((noinline)) void host_access(const volatile void* p, size_t bytes,
                                                  enum cudev_access access) {
    const char* address = (const char*)p;
    const bool far = cudev_is_far(address);
    if ((uint64_t)(address - ARENA_BASE) >= DEVICE_SPACE && !far) {
        if (cudev_watcher && is_write(access) && cudev_may_write &&
            !cudev_may_write(address, bytes))
            cudev_report_host_access(address);
        return;
    }
    bool heap = cudev_is_device_address(address);
    bool shadow = address + bytes > SHADOW_BASE && address < SHADOW_BASE + SHADOW_SIZE;
    if (heap || shadow || far) cudev_report_host_access(address);
}

// Is it a variable of the running thread, in a function that has not returned?
ALWAYS_INLINE bool is_local(const struct worker* w, const volatile void* p, size_t bytes) {
    const char *frame = __builtin_frame_address(0), *address = (const char*)p;
    return address > frame && address + bytes <= w->stack_end;
}

static bool within(const volatile void* p, const void* object, size_t bytes) {
    return (uintptr_t)p - (uintptr_t)object < bytes;
}

// An address outside the arena: its offset, or WATCHED_BYTES when there is nothing to watch.
static __attribute__((noinline)) uint64_t outside(struct watch* watch, const volatile void* p,
                                                  size_t bytes, enum cudev_access access,
                                                  const void* pc) {
    const char* address = (const char*)p;
    if (cudev_is_far(p)) return cudev_bounds_far(watch, p, bytes, access, pc);
    if (is_local(watch->worker, p, bytes)) return WATCHED_BYTES;
    if (!is_write(access) &&
        (within(p, &blockDim, sizeof blockDim) || within(p, &gridDim, sizeof gridDim) ||
         within(p, &threadIdx, sizeof threadIdx) || within(p, &blockIdx, sizeof blockIdx)))
        return WATCHED_BYTES;
    uint64_t image = (uint64_t)(address - __executable_start);
    // of the program's own data a kernel reaches constants and the variables of the device; of
    // constant memory only that counts which came from device memory
    const struct symbol symbol = cudev_symbol_at(address);
    const bool literal = address >= __executable_start && address + bytes <= __data_start;
    const bool came = address < watch_state()->constants_end && address >= watch_state()->constants;
    if (symbol.constant && cudev_symbol_at(address + bytes - 1).constant && !is_write(access) &&
        !came)
        return WATCHED_BYTES;
    if (image < IMAGE_SPACE && ((literal && !is_write(access)) ||
                                (symbol.is && cudev_is_symbol(address + bytes - 1) &&
                                 !(is_write(access) && (symbol.fixed || symbol.constant)))))
        return IMAGE_OFFSET + image;
    if (cudev_shares((const char*)p, bytes) || cudev_in_heap((const char*)p, bytes))
        return image < IMAGE_SPACE ? IMAGE_OFFSET + image : WATCHED_BYTES;
    cudev_bounds_foreign(watch, p, bytes, access, pc);
    return WATCHED_BYTES;
}

// ---- the rare cases, and everything that changes more than one slot -----------------------------

// The slot of an access by the thread, without its bytes.
static uint64_t slot_of(const struct watch* watch, unsigned thread, const void* pc) {
    return watch->now | (uint64_t)thread << SLOT_THREAD_SHIFT | site_at(pc);
}

static void check(struct watch* watch, uint64_t offset, unsigned bytes, enum cudev_access access,
                  const void* pc) {
    if (offset + bytes > OWNER_SHADOW[offset >> PAGE_SHIFT]) {
        cudev_bounds_stray(watch, offset, bytes, access, pc);
        return;
    }
    const bool write = is_write(access);
    if (write && cudev_is_read_only(offset))
        cudev_bounds_read_only(watch, offset, bytes, access, pc);
    uint64_t me = slot_of(watch, watch->worker->current, pc);
    if (access >= CUDEV_ATOMIC) me |= SLOT_ATOMIC;
    if (access >= CUDEV_VOLATILE_READ) me |= SLOT_VOLATILE;
    for (unsigned done = 0; done < bytes;) {
        unsigned part = bytes - done < 4 ? bytes - done : 4, at = (offset + done) % 4;
        unsigned mask = ((1u << part) - 1) << at;
        uint8_t* init = &INIT_SHADOW[(offset + done) >> 2];
        if ((!write || access == CUDEV_ATOMIC) && (*init & mask) != mask &&
            !cudev_async_reads_early(watch, offset + done, pc))
            cudev_bounds_uninitialised(watch, offset, bytes, access, pc);
        if (write) *init |= (uint8_t)mask;
        cudev_race_access(watch, offset + done, me | (uint64_t)mask << SLOT_MASK_SHIFT, write);
        done += part;
    }
}

static void put_into_log(struct watch* watch, log_entry e) {
    struct worker* w = watch->worker;
    unsigned lane = w->current % WARP_SIZE;
    if (w->current / WARP_SIZE != watch->logs.warp) cudev_lockstep_change_warp(watch);
    unsigned warp = watch->logs.warp, n = watch->logs.length[warp][lane];
    watch->log[watch->logs.of[warp]][lane][n] = e;
    watch->logs.length[warp][lane] = n + 1;
    if (n + 1 == LOG_ENTRIES) cudev_lockstep_log_full(watch);
}

static void log_access(struct watch* watch, uint64_t offset, unsigned bytes, enum log_kind kind,
                       const void* pc) {
    put_into_log(watch, log_entry_of(offset, site_at(pc), kind, bytes));
}

// The offset of the bytes; WATCHED_BYTES when there is nothing to watch. Does not return when the
// access must not be made.
static uint64_t offset_of(struct watch* watch, const volatile void* p, unsigned bytes,
                          enum cudev_access access, const void* pc) {
    uint64_t offset = (uint64_t)((const char*)p - ARENA_BASE);
    if (offset >= WATCHED_BYTES) offset = outside(watch, p, bytes, access, pc);
    if (offset < WATCHED_BYTES && offset & (bytes - 1))
        cudev_bounds_misaligned(watch, offset, bytes, access, pc);
    return offset;
}

// Before a thread tells others something, in a flag or in the data itself, they run as far as they
// can: a thread that does not wait for it goes on without it, and that is found. Threads start in
// the order of their numbers, so what comes first would seem to have been waited for. Not so often
// that a lock for which many spin takes long, and not for sums in global memory.
static void tell_late(struct watch* watch, uint64_t offset, enum cudev_access access) {
    if (access < CUDEV_ATOMIC || !is_write(access) || watch->range) return;
    const unsigned thread = watch->worker->current;
    const unsigned most = access == CUDEV_VOLATILE_WRITE                     ? 1024
                          : watch->fences.block[thread] > watch->block_floor ? 8
                          : offset >= WINDOW_OFFSET                          ? 1
                                                                             : 0;
    if (watch->gave[thread].floor != watch->shared_floor) watch->gave[thread].times = 0;
    watch->gave[thread].floor = watch->shared_floor;
    if (watch->gave[thread].times >= most) return;
    watch->gave[thread].times++;
    cudev_yield();
}

// One access of 1, 2, 4, 8 or 16 bytes, or a part of a larger one.
static __attribute__((noinline)) void watch_any(const volatile void* p, unsigned bytes,
                                                enum cudev_access access, const void* pc) {
    struct worker* w = cudev_self;
    if (!w) {
        host_access(p, bytes, access);
        return;
    }
    struct watch* watch = w->watch;
    if (!watch) return;
    uint64_t offset = offset_of(watch, p, bytes, access, pc);
    if (offset == WATCHED_BYTES) return;
    // a loop that waits for another thread with such reads lets it run
    if ((access == CUDEV_VOLATILE_READ || access == CUDEV_ATOMIC_READ) && ++watch->spins % 64 == 0)
        cudev_yield();
    if (watch->check) {
        tell_late(watch, offset, access);
        check(watch, offset, bytes, access, pc);
    }
    if (watch->profile)
        log_access(watch, offset, bytes,
                   access == CUDEV_ATOMIC ? LOG_ATOMIC
                   : is_write(access)     ? LOG_STORE
                                          : LOG_LOAD,
                   pc);
    if (access != CUDEV_READ && access != CUDEV_WRITE && watch->check)
        cudev_order_sync(watch, offset,
                         access != CUDEV_VOLATILE_WRITE && access != CUDEV_ATOMIC_WRITE,
                         is_write(access));
}

// ---- instructions of the runtime's own ---------------------------------------------------------

void cudev_access_copy(struct worker* w, const void* to, const void* from, unsigned bytes,
                       unsigned used, const void* pc) {
    struct watch* watch = w->watch;
    uint64_t source = used ? offset_of(watch, from, bytes, CUDEV_READ, pc) : WATCHED_BYTES;
    uint64_t target = offset_of(watch, to, bytes, CUDEV_WRITE, pc);
    if (source < WATCHED_BYTES) {
        if (watch->check) check(watch, source, used, CUDEV_READ, pc);
        if (watch->profile) log_access(watch, source, bytes, LOG_COPY_LOAD, pc);
    }
    if (target == WATCHED_BYTES) return;
    if (watch->check) {
        check(watch, target, bytes, CUDEV_WRITE, pc);
        cudev_bounds_unwritten(target, bytes);
    }
    if (watch->profile) log_access(watch, target, bytes, LOG_COPY_STORE, pc);
}

// No barrier orders a write of another thread to the same place while the copy is on its way.
void cudev_access_arrival(struct worker* w, const void* to, const void* from, unsigned bytes,
                          unsigned used, const void* pc) {
    struct watch* watch = w->watch;
    uint64_t offset = (uint64_t)((const char*)to - ARENA_BASE);
    if (!watch->check || offset >= WATCHED_BYTES) return;
    uint64_t source = used ? offset_of(watch, from, bytes, CUDEV_READ, pc) : WATCHED_BYTES;
    if (source < WATCHED_BYTES) check(watch, source, used, CUDEV_READ, pc);
    const uint64_t me = slot_of(watch, w->current, pc);
    for (unsigned i = 0; i < bytes; i += 4)
        if (INIT_SHADOW[(offset + i) >> 2]) cudev_race_overwritten(watch, offset + i, me, false);
    check(watch, offset, bytes, CUDEV_WRITE, pc);
}

// Since the issue these bytes counted as not written. A thread that has written to them, for
// another tile or for what goes out, finds on a GPU what the copy has brought.
void cudev_access_left(struct worker* w, unsigned thread, const void* to, unsigned bytes,
                       const void* pc) {
    struct watch* watch = w->watch;
    uint64_t offset = (uint64_t)((const char*)to - ARENA_BASE);
    if (!watch->check || offset >= WATCHED_BYTES) return;
    const uint64_t me = slot_of(watch, thread, pc);
    for (unsigned i = 0; i < bytes; i += 4)
        if (INIT_SHADOW[(offset + i) >> 2]) cudev_race_overwritten(watch, offset + i, me, true);
}

// A lane loads 16 bytes on behalf of its warp.
void cudev_access_matrix_row(struct worker* w, const void* row, const void* pc) {
    struct watch* watch = w->watch;
    uint64_t offset = offset_of(watch, row, 16, CUDEV_READ, pc);
    if (offset == WATCHED_BYTES) return;
    if (watch->check) check(watch, offset, 16, CUDEV_READ, pc);
    if (watch->profile) log_access(watch, offset, 16, LOG_MATRIX_LOAD, pc);
}

void cudev_access_matrix_row_stored(struct worker* w, const void* row, const void* pc) {
    struct watch* watch = w->watch;
    uint64_t offset = offset_of(watch, row, 16, CUDEV_WRITE, pc);
    if (offset == WATCHED_BYTES) return;
    if (watch->check) check(watch, offset, 16, CUDEV_WRITE, pc);
    if (watch->profile) log_access(watch, offset, 16, LOG_STORE, pc);
}

void cudev_access_for(struct worker* w, unsigned thread, const void* p, unsigned bytes,
                      enum cudev_access access, const void* pc) {
    struct watch* watch = w->watch;
    const unsigned current = w->current;
    w->current = thread;
    uint64_t offset = (uint64_t)((const char*)p - ARENA_BASE);
    if (offset >= WATCHED_BYTES) offset = outside(watch, p, bytes, access, pc);
    if (offset < WATCHED_BYTES) check(watch, offset, bytes, access, pc);
    w->current = current;
}

// ---- the common case: everything is in order ----------------------------------------------------
//
// These functions change nothing before they know that everything is in order. If it is not, they
// return false, and watch_any() starts again.

ALWAYS_INLINE bool check_fast(struct watch* watch, uint64_t offset, unsigned bytes, bool write,
                              unsigned site) {
    static const uint32_t all_set = 0x0f0f0f0f;
    uint64_t(*slot)[4] = &RACE_SHADOW[offset >> 2];
    const uint64_t floor = offset >= WINDOW_OFFSET ? watch->shared_floor : watch->overlap.floor;
    const uint64_t me = watch->now | (uint64_t)watch->worker->current << SLOT_THREAD_SHIFT |
                        (uint64_t)15 << SLOT_MASK_SHIFT | site;
    uint8_t* init = &INIT_SHADOW[offset >> 2];
    if (offset + bytes > OWNER_SHADOW[offset >> PAGE_SHIFT]) return false;
    if (!write && memcmp(init, &all_set, bytes / 4) != 0) return false;
    if (write && cudev_is_read_only(offset)) return false;
    for (unsigned i = 0; i < bytes / 4; i++) {
        if (slot[i][0] >= floor || slot[i][1] >= floor) return false;
        if (write && (slot[i][2] >= floor || slot[i][3] >= floor)) return false;
    }
    if (write) memcpy(init, &all_set, bytes / 4);
    for (unsigned i = 0; i < bytes / 4; i++) {
        if (write) {
            slot[i][0] = me;
        } else if (slot[i][2] < floor) {  // the first reader since the floor, and the latest
            slot[i][2] = me;
            if (watch->groups) slot[i][1] = 0;
        } else if ((slot[i][2] ^ me) >> SLOT_THREAD_SHIFT) {
            slot[i][3] = me;
            if (watch->groups) slot[i][1] |= slot_group(watch, offset, slot_thread(me));
        }
    }
    return true;
}

// The same for 1 or 2 bytes.
ALWAYS_INLINE bool check_fast_part(struct watch* watch, uint64_t offset, unsigned bytes, bool write,
                                   unsigned site) {
    uint64_t* slot = RACE_SHADOW[offset >> 2];
    const uint64_t floor = offset >= WINDOW_OFFSET ? watch->shared_floor : watch->overlap.floor;
    const unsigned mask = ((1u << bytes) - 1) << offset % 4;
    const uint64_t me = watch->now | (uint64_t)watch->worker->current << SLOT_THREAD_SHIFT |
                        (uint64_t)mask << SLOT_MASK_SHIFT | site;
    uint8_t* init = &INIT_SHADOW[offset >> 2];
    if (offset + bytes > OWNER_SHADOW[offset >> PAGE_SHIFT]) return false;
    if (slot[0] >= floor || slot[1] >= floor) return false;
    if (write) {
        if (slot[2] >= floor || slot[3] >= floor || cudev_is_read_only(offset)) return false;
        *init |= (uint8_t)mask;
        slot[0] = me;
        return true;
    }
    if ((*init & mask) != mask) return false;
    if (slot[2] < floor) {
        slot[2] = me;
        slot[1] = 0;
        return true;
    }
    return (slot[2] ^ me) >> SLOT_THREAD_SHIFT == 0 && (slot_mask(slot[2]) & mask) == mask;
}

ALWAYS_INLINE bool log_fast(struct watch* watch, uint64_t offset, unsigned bytes, bool write,
                            unsigned site) {
    const unsigned thread = watch->worker->current, warp = thread / WARP_SIZE,
                   lane = thread % WARP_SIZE;
    const unsigned n = watch->logs.length[warp][lane];
    if (warp != watch->logs.warp || n + 1 >= LOG_ENTRIES) return false;
    watch->log[watch->logs.of[warp]][lane][n] =
        log_entry_of(offset, site, write ? LOG_STORE : LOG_LOAD, bytes);
    watch->logs.length[warp][lane] = n + 1;
    return true;
}

ALWAYS_INLINE void watch_access(const volatile void* p, unsigned bytes, bool write,
                                const void* pc) {
    struct worker* w = cudev_self;
    struct watch* watch = w ? w->watch : NULL;
    uint64_t offset = (uint64_t)((const char*)p - ARENA_BASE);
    size_t distance = (size_t)((const char*)pc - __executable_start);
    if (likely(watch && offset < WATCHED_BYTES && !(offset & (bytes - 1)) &&
               distance < TEXT_BYTES)) {
        unsigned site = SITE_OF[distance];
        bool done = site != 0;
        if (watch->check)
            done = done && (bytes < 4 ? check_fast_part(watch, offset, bytes, write, site)
                                      : check_fast(watch, offset, bytes, write, site));
        if (watch->profile) done = done && log_fast(watch, offset, bytes, write, site);
        if (likely(done)) return;
    } else if (w ? !watch || is_local(w, p, bytes)
                 : offset >= DEVICE_SPACE && !write && !cudev_is_far(p)) {
        return;  // not watched; a local variable; host code that reads its own memory
    }
    watch_any(p, bytes, write ? CUDEV_WRITE : CUDEV_READ, pc);
}

void cudev_next_round(unsigned loop, unsigned depth) {
    struct worker* w = cudev_self;
    struct watch* watch = w ? w->watch : NULL;
    if (!watch || !watch->profile) return;
    put_into_log(watch, log_entry_of(0, loop % MAX_SITES, LOG_ROUND, depth));
}

#define CALLER __builtin_return_address(0)
#define ENTRIES(bytes)                                     \
    void __tsan_read##bytes(void* p);                      \
    void __tsan_read##bytes(void* p) {                     \
        watch_access(p, bytes, false, CALLER);             \
    }                                                      \
    void __tsan_write##bytes(void* p);                     \
    void __tsan_write##bytes(void* p) {                    \
        watch_access(p, bytes, true, CALLER);              \
    }                                                      \
    void __tsan_volatile_read##bytes(void* p);             \
    void __tsan_volatile_read##bytes(void* p) {            \
        watch_any(p, bytes, CUDEV_VOLATILE_READ, CALLER);  \
    }                                                      \
    void __tsan_volatile_write##bytes(void* p);            \
    void __tsan_volatile_write##bytes(void* p) {           \
        watch_any(p, bytes, CUDEV_VOLATILE_WRITE, CALLER); \
    }
ENTRIES(1)
ENTRIES(2)
ENTRIES(4)
ENTRIES(8)
ENTRIES(16)

// ---- for compiler_calls.c -------------------------------------------------------------------

void cudev_access(const volatile void* p, size_t bytes, enum cudev_access access, const void* pc) {
    watch_any(p, (unsigned)bytes, access, pc);
}

void cudev_access_cached(const volatile void* p, size_t bytes, const void* pc) {
    struct watch* watch = cudev_self ? cudev_self->watch : NULL;
    const uint64_t offset = (uint64_t)((const char*)p - ARENA_BASE);
    if (!watch || !watch->check || offset >= WINDOW_OFFSET) return;
    const uint64_t me = slot_of(watch, cudev_self->current, pc);
    for (size_t i = 0; i < bytes; i += 4) {
        const unsigned part = bytes - i < 4 ? (unsigned)(bytes - i) : 4;
        const uint64_t mask = ((1u << part) - 1) << (offset + i) % 4;
        cudev_race_cached(watch, offset + i, me | mask << SLOT_MASK_SHIFT);
    }
}

// Bytes that the type does not align: structures, memcpy. A GPU moves them in pieces of 4 bytes, or
// in smaller pieces where the address asks for it.
void cudev_access_range(const volatile void* p, size_t bytes, enum cudev_access access,
                        const void* pc) {
    if (!cudev_self) {
        host_access(p, bytes, access);
        return;
    }
    const volatile char* end = (const volatile char*)p + bytes;
    struct watch* watch = cudev_self->watch;
    if (!watch || is_local(cudev_self, p, bytes)) return;
    watch->range = true;
    for (const volatile char* q = p; q < end;) {
        size_t left = (size_t)(end - q);
        size_t piece = (uintptr_t)q % 4 == 0 && left >= 4   ? 4
                       : (uintptr_t)q % 2 == 0 && left >= 2 ? 2
                                                            : 1;
        cudev_access(q, piece, access, pc);
        q += piece;
    }
    watch->range = false;
}
