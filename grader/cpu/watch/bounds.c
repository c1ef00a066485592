// Where arrays end, whether their bytes have been written, and whose memory an address is.
//
// Every 128-byte page belongs to at most one array; the owner shadow has the offset of that array's
// end. So an access is in bounds if its last byte lies before the end noted for its first byte's
// page. A second shadow has one bit for every byte that has been written.
#include "cpu/watch/bounds.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cpu/device/allocations.h"
#include "cpu/device/far.h"
#include "cpu/device/worker.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/symbols.h"
#include "cpu/watch/array_names.h"
#include "cpu/watch/finding.h"
#include "cpu/watch/sites.h"

// ---- what is known of memory -------------------------------------------------------------------

void cudev_bounds_own(uint64_t offset, size_t bytes) {
    for (uint64_t page = offset >> PAGE_SHIFT; page << PAGE_SHIFT < offset + bytes; page++)
        OWNER_SHADOW[page] = (uint32_t)(offset + bytes);
}

void cudev_bounds_disown(uint64_t offset, size_t bytes) {
    for (uint64_t page = offset >> PAGE_SHIFT; page << PAGE_SHIFT < offset + bytes; page++)
        OWNER_SHADOW[page] = 0;
}

static void mark(uint64_t offset, size_t bytes, bool written) {
    uint64_t end = offset + bytes;
    for (; offset < end && offset % 4; offset++)
        INIT_SHADOW[offset >> 2] = (uint8_t)((INIT_SHADOW[offset >> 2] & ~(1u << offset % 4)) |
                                             (unsigned)written << offset % 4);
    if (end > offset) memset(&INIT_SHADOW[offset >> 2], written ? 15 : 0, (end - offset) >> 2);
    for (offset = offset > (end & ~(uint64_t)3) ? offset : end & ~(uint64_t)3; offset < end;
         offset++)
        INIT_SHADOW[offset >> 2] = (uint8_t)((INIT_SHADOW[offset >> 2] & ~(1u << offset % 4)) |
                                             (unsigned)written << offset % 4);
}

void cudev_bounds_written(uint64_t offset, size_t bytes) {
    mark(offset, bytes, true);
}

void cudev_bounds_unwritten(uint64_t offset, size_t bytes) {
    mark(offset, bytes, false);
}

uint8_t cudev_read_only[sizeof cudev_read_only];

void cudev_set_read_only(const void* p, size_t bytes, int on) {
    uint64_t first = (uint64_t)((const char*)p - ARENA_BASE);
    if (first >= HOST_OFFSET || !bytes) return;
    for (uint64_t i = first >> PIECE_SHIFT; i <= (first + bytes - 1) >> PIECE_SHIFT; i++) {
        uint8_t bit = (uint8_t)(1u << (i & 7));
        cudev_read_only[i >> 3] =
            (uint8_t)(on ? cudev_read_only[i >> 3] | bit : cudev_read_only[i >> 3] & ~bit);
    }
}

// The first byte that has not been written, or bytes.
static size_t first_unwritten(uint64_t offset, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (!(INIT_SHADOW[(offset + i) >> 2] >> (offset + i) % 4 & 1)) return i;
    return bytes;
}

// The line of the program that called the API function we are in.
static struct source_line api_caller(void) {
    static struct source_line lines[64];
    void* frames[MAX_FRAMES];
    int count = cudev_lines(frames, cudev_unwind(frames, MAX_FRAMES), lines, 64), i = 0;
    for (int j = 0; j < count; j++)
        if (strncmp(lines[j].function, "cuda", 4) == 0 ||
            strncmp(lines[j].function, "__wrap_cuda", 11) == 0)
            i = j + 1;
    while (i < count && cudev_is_ours(&lines[i])) i++;
    return i < count ? lines[i] : (struct source_line){"", "", 0, 0};
}

static void found_copy(enum found kind, const char* function, uint64_t offset) {
    struct source_line line = api_caller();
    struct finding* f = cudev_finding(kind, 0, 0, 0, 0);
    if (f) {
        cudev_finding_where(f, NULL, offset, 1);
        snprintf(f->text, sizeof f->text, "%s", function);
        snprintf(f->file, sizeof f->file, "%s", line.file);
        f->line = line.line;
    }
    cudev_findings_print();
}

void cudev_bounds_copies(const char* function, const void* dst, const void* src, size_t bytes) {
    uint64_t to = (uint64_t)((const char*)dst - ARENA_BASE);
    uint64_t from = (uint64_t)((const char*)src - ARENA_BASE);
    size_t unwritten = src && cudev_is_device_address(src) ? first_unwritten(from, bytes) : bytes;
    if (unwritten < bytes && !cudev_is_device_address(dst))
        found_copy(FOUND_UNINITIALISED, function, from + unwritten);
    if (!cudev_is_device_address(dst)) return;
    if (bytes && cudev_is_read_only(to)) found_copy(FOUND_READ_ONLY, function, to);
    cudev_bounds_written(to, bytes);
    for (size_t i = unwritten; i < bytes; i++)
        if (first_unwritten(from + i, 1) == 0) cudev_bounds_unwritten(to + i, 1);
}

// ---- findings ----------------------------------------------------------------------------------

static struct finding* found(struct watch* watch, enum found kind, enum cudev_access access,
                             const void* pc) {
    struct finding* f =
        cudev_finding(kind, site_at(pc), 0, watch->worker->block, watch->worker->current);
    if (f) f->access = access;
    return f;
}

// Can the access be made without a fault?
static bool is_mapped(const struct watch* watch, uint64_t offset, size_t bytes) {
    if (offset < HOST_OFFSET) return offset + bytes <= cudev_heap.top;
    if (offset < IMAGE_OFFSET) return true;
    return cudev_in_window(watch->worker, ARENA_BASE + offset, (unsigned)bytes);
}

bool cudev_bounds_stray(struct watch* watch, uint64_t offset, size_t bytes,
                        enum cudev_access access, const void* pc) {
    const char* p = ARENA_BASE + offset;
    const struct allocation* freed = cudev_freed_at(p);
    bool live = OWNER_SHADOW[offset >> PAGE_SHIFT] != 0;
    struct finding* f =
        found(watch, freed && !live ? FOUND_FREED : FOUND_OUT_OF_BOUNDS, access, pc);
    if (f && freed && !live) {
        snprintf(f->what, sizeof f->what, "byte %td of freed memory", p - freed->data);
        snprintf(f->origin, sizeof f->origin, "%zu bytes of cudaMalloc%s%s:%d, freed since",
                 freed->bytes, freed->file ? " at " : " ", freed->file ? freed->file : "number",
                 freed->file ? freed->line : (int)freed->number);
    } else if (f) {
        cudev_finding_where(f, watch->worker, offset, bytes);
    }
    if (is_mapped(watch, offset, bytes)) return true;
    cudev_stop_launch(watch->worker, cudaErrorIllegalAddress);
}

void cudev_bounds_uninitialised(struct watch* watch, uint64_t offset, size_t bytes,
                                enum cudev_access access, const void* pc) {
    if (bytes > 4 || watch->range) {
        // padding of a structure need not be written: a word counts as written if one byte was
        uint64_t end = offset + bytes;
        while (offset < end && INIT_SHADOW[offset >> 2]) offset = (offset | 3) + 1;
        if (offset >= end) return;
        if (bytes > 4) bytes = 4;
    }
    struct finding* f = found(watch, FOUND_UNINITIALISED, access, pc);
    if (!f) return;
    cudev_finding_where(f, watch->worker, offset, bytes);
    unsigned whose = 0;
    const void* copy = cudev_copy_awaited(watch->worker, ARENA_BASE + offset, &whose);
    if (!copy) return;
    f->copied = true;
    if (whose == watch->worker->current) f->copy_site = site_at(copy);
    snprintf(f->detail, sizeof f->detail, ", while its cp.async is on its way");
}

void cudev_bounds_read_only(struct watch* watch, uint64_t offset, size_t bytes,
                            enum cudev_access access, const void* pc) {
    struct finding* f = found(watch, FOUND_READ_ONLY, access, pc);
    if (f) cudev_finding_where(f, watch->worker, offset, bytes);
}

void cudev_bounds_misaligned(struct watch* watch, uint64_t offset, size_t bytes,
                             enum cudev_access access, const void* pc) {
    struct finding* f = found(watch, FOUND_MISALIGNED, access, pc);
    if (f) {
        cudev_finding_where(f, watch->worker, offset, bytes);
        snprintf(f->text, sizeof f->text, "%zu-byte %s", bytes,
                 access == CUDEV_READ ? "read" : "write");
        snprintf(f->detail, sizeof f->detail, ", whose address is no multiple of %zu", bytes);
    }
    // a GPU stops here; so does this machine, for 16 bytes
    cudev_stop_launch(watch->worker, cudaErrorMisalignedAddress);
}

// How far an index may lead beside an array and nothing is ended: 256 KB, fewer bytes than lie
// between the variables of two threads, and more than the longest array in shared memory has behind
// a row. type: "'volatile float [2][16]'", of elements of the language or of CUDA. Nobody knows
// here what other structures hold.
static long long near_elements(const char* type) {
    enum { NEAR = 1 << 18 };
    static const struct {
        const char* word;
        int bytes;
    } elements[] = {
        {"bool ", 1},  {"char ", 1},    {"__half ", 2},         {"__nv_bfloat16 ", 2},
        {"short ", 2}, {"__half2 ", 4}, {"__nv_bfloat162 ", 4}, {"float ", 4},
        {"int ", 4},   {"float2 ", 8},  {"long ", 8},           {"double ", 8},
        {"int2 ", 8},  {"uint2 ", 8},   {"float3 ", 12},        {"float4 ", 16},
        {"int4 ", 16}, {"uint4 ", 16},  {"double2 ", 16},
    };
    size_t bytes = 0;
    type += strspn(type, "'");
    for (const char* next = "const volatile signed unsigned "; *next;
         next += strcspn(next, " ") + 1) {
        const size_t n = strcspn(next, " ") + 1;
        if (strncmp(type, next, n) == 0) type += n;
    }
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strncmp(type, elements[i].word, strlen(elements[i].word)) == 0)
            bytes = (size_t)elements[i].bytes;
    if (strchr(type, '*')) bytes = sizeof(void*);
    const char* inner = strchr(type, '[');
    while (inner && (inner = strchr(inner + 1, '['))) bytes *= strtoull(inner + 1, NULL, 10);
    return bytes ? (long long)(NEAR / bytes) : 0;
}

void cudev_bounds_index(long long index, const char* type, const char* file, int line,
                        const void* pc) {
    struct worker* w = cudev_self;
    if (!w || !w->watch) return;
    // It may lead anywhere, and an access to a local or constant array is not announced.
    const long long near = near_elements(type);
    const bool far = index < -near || index > near;
    if (!w->watch->check && !far) return;
    struct finding* f = found(w->watch, FOUND_OUT_OF_BOUNDS, CUDEV_READ, pc);
    if (f) {
        snprintf(f->text, sizeof f->text, "index %lld of a %s", index, type);
        snprintf(f->file, sizeof f->file, "%s", file);
        f->line = line;
    }
    if (far) cudev_stop_launch(w, cudaErrorIllegalAddress);
}

// Is anything at this address? A wild index rarely meets memory of the host.
static bool is_anything_at(uintptr_t address) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    return mincore((void*)(address / page * page), 1, &resident) == 0 || errno != ENOMEM;
}

void cudev_bounds_foreign(struct watch* watch, const volatile void* p, size_t bytes,
                          enum cudev_access access, const void* pc) {
    uintptr_t address = (uintptr_t)p;
    bool shadow =
        (const char*)p + bytes > SHADOW_BASE && (const char*)p < SHADOW_BASE + SHADOW_SIZE;
    bool null = address < 65536, local = (uint64_t)((const char*)p - STACK_BASE) < ALL_STACKS;
    const bool nothing = !shadow && !null && !local && !is_anything_at(address);
    struct finding* f =
        found(watch, shadow || null || local || nothing ? FOUND_OUT_OF_BOUNDS : FOUND_HOST_POINTER,
              access, pc);
    if (f && null)
        snprintf(f->what, sizeof f->what, "a NULL pointer%s", address ? " plus an index" : "");
    else if (f && local)
        snprintf(f->what, sizeof f->what,
                 "a local variable of another thread, or of a function that has returned");
    else if (f)
        snprintf(f->what, sizeof f->what, "%#lx, which is %s", (unsigned long)address,
                 shadow                            ? "memory of the device that no kernel may use"
                 : nothing                         ? "no memory of any kind"
                 : cudev_is_symbol((const char*)p) ? "constant memory: kernels only read it"
                                                   : "host memory");
    if (f) f->bytes = bytes;
    cudev_stop_launch(watch->worker, cudaErrorIllegalAddress);
}

uint64_t cudev_bounds_far(struct watch* watch, const volatile void* p, size_t bytes,
                          enum cudev_access access, const void* pc) {
    const struct far_place place = cudev_far_at(p, bytes);
    if (place.is == FAR_ROW) return (uint64_t)(place.near - ARENA_BASE);
    const bool wrapped = place.is == FAR_WRAPPED;
    struct finding* f = found(watch, wrapped ? FOUND_WRAPPED : FOUND_OUT_OF_BOUNDS, access, pc);
    struct array_name name;
    if (f && wrapped) {
        cudev_name_array(&name, watch->worker, (uint64_t)(place.near - ARENA_BASE), bytes);
        snprintf(f->what, sizeof f->what, "row (%zu, %zu, %zu) of %s", place.index[0],
                 place.index[1], place.index[2], name.name);
        snprintf(f->detail, sizeof f->detail, ", %zu times 2^32 elements too early", place.lost);
    } else if (f) {
        snprintf(f->what, sizeof f->what, "nothing: no row of an array lies there");
    }
    if (f) f->bytes = bytes;
    cudev_stop_launch(watch->worker, cudaErrorIllegalAddress);
}
