// Copies by TMA: boxes of a tensor, and bytes in a row.
//
// They happen as late as they may. A load fills its place with 0xFF at once and lands when somebody
// waits at its mbarrier. A store reads shared memory when its thread waits for that, and writes
// global memory when its thread waits for the whole, or when the block ends. So a wait that is
// missing shows in the result each time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cpu/device/hopper.h"
#include "cpu/device/memory.h"
#include "cpu/device/report.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/watcher.h"

enum { PIECE = 16 };

static void* had(void* memory) {
    if (memory) return memory;
    perror("CPU device: no memory for copies by TMA");
    exit(EXIT_FAILURE);
}

// ---- pieces of a copy --------------------------------------------------------------------------

void cudev_bulk_pieces(struct worker* w, const struct bulk_copy* c, cudev_piece* piece) {
    const struct tensor_map* m = &c->map;
    char *window = w->shared->window, *shared = c->want.shared;
    const uint64_t begin = (uint64_t)(shared - window);
    if (!m->rank) {
        for (unsigned x = 0; x < c->bytes; x += PIECE)
            piece(w, c, shared + x, (char*)c->want.global + x, 0, PIECE);
        return;
    }
    const unsigned rows = cudev_box_rows(m), row_bytes = (unsigned)m->box[0] * m->element;
    for (unsigned i = 0; i < rows; i++) {
        const struct box_row r = cudev_box_row(m, c->want.c, i);
        const unsigned from = r.from * m->element;
        unsigned to = r.to * m->element;
        // A store goes over the end of the tensor's rows to a multiple of 16 bytes; a load does not
        // (hardware/hopper.cu).
        if (!c->barrier) to = (to + PIECE - 1) / PIECE * PIECE;
        for (unsigned x = 0; x < row_bytes; x += PIECE) {
            unsigned skip = from > x ? from - x < PIECE ? from - x : PIECE : 0;
            unsigned end = to > x ? to - x < PIECE ? to - x : PIECE : 0;
            uint64_t at = cudev_swizzled(begin + (uint64_t)i * row_bytes + x, m->swizzle);
            piece(w, c, window + at, r.global + x, skip, end > skip ? end - skip : 0);
        }
    }
}

static void load_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                       unsigned skip, unsigned bytes) {
    (void)w, (void)c;
    memset(shared, 0, PIECE);
    if (bytes) memcpy(shared + skip, global + skip, bytes);
}

static void store_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                        unsigned skip, unsigned bytes) {
    (void)w;
    if (bytes) memcpy(global + skip, c->read + (shared - (char*)c->want.shared) + skip, bytes);
}

static void add_to(float* to, float x) {
    float old, sum;
    __atomic_load(to, &old, __ATOMIC_RELAXED);
    do {
        sum = old + x;
    } while (!__atomic_compare_exchange(to, &old, &sum, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void add_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                      unsigned skip, unsigned bytes) {
    (void)w, (void)skip;
    const char* from = c->read + (shared - (char*)c->want.shared);
    for (unsigned i = 0; i < bytes; i += sizeof(float)) {
        float x;
        memcpy(&x, from + i, sizeof x);
        add_to((float*)(void*)(global + i), x);
    }
}

// ---- the issue ---------------------------------------------------------------------------------

// The copy as it was asked for; ends the program where a GPU would fault.
static struct bulk_copy checked(struct worker* w, const struct cudev_bulk* want,
                                const struct place* at, const void* pc) {
    struct bulk_copy c = {
        .want = *want, .place = *at, .pc = pc, .thread = cudev_current(w), .bytes = want->bytes};
    if (want->map || want->rank) {
        if ((uintptr_t)want->map < 4096)
            cudev_hopper_mistake(w, "bad_address", at, "gets a NULL pointer as its map",
                                 "pass the address of a parameter: const __grid_constant__ "
                                 "CUtensorMap map");
        memcpy(&c.map, want->map, sizeof c.map);
        if (!cudev_is_tensor_map(&c.map))
            cudev_hopper_mistake(w, "bad_address", at,
                                 "gets a map that tensor_map_encode() has "
                                 "not made",
                                 "did that call return 0, and is it this map?");
        if (c.map.rank != want->rank) {
            char text[100];
            snprintf(text, sizeof text, "gets a map of %u dimensions", c.map.rank);
            cudev_hopper_mistake(w, "bad_address", at, text,
                                 "the map and the function have the same number of dimensions");
        }
        c.bytes = cudev_box_bytes(&c.map);
        if ((int64_t)want->c[0] * c.map.element % PIECE) {
            char text[100];
            snprintf(text, sizeof text, "begins its box at element %d of a row", want->c[0]);
            cudev_hopper_mistake(w, "misaligned", at, text,
                                 "the first coordinate is a multiple of 16 bytes; a GPU calls it "
                                 "an illegal instruction");
        }
    } else if (want->bytes == 0 || want->bytes % PIECE || (uintptr_t)want->global % PIECE) {
        cudev_hopper_mistake(w, "misaligned", at,
                             "has a size or a global address that is no "
                             "multiple of 16",
                             "it moves whole pieces of 16 bytes");
    }
    if (c.bytes > SHARED_WINDOW / 2) c.bytes = SHARED_WINDOW / 2;  // found to be out of bounds
    cudev_check_shared(w, at, want->shared, c.bytes,
                       want->map ? cudev_box_alignment(&c.map) : PIECE);
    const char* global = want->map ? c.map.data : want->global;
    if (!cudev_in_global(global))
        cudev_hopper_mistake(w, "bad_address", at, "is to move data that is not in global memory",
                             "the pointer in the map, or the second argument, is one of "
                             "cudaMalloc()");
    return c;
}

static void issue_load(struct worker* w, struct bulk_copy* c, struct mbarrier* b) {
    struct bulk_copies* all = &w->hopper->bulk;
    c->barrier = b;
    c->phase = b->phase;
    w->met.copies++;
    if (w->watch) {
        cudev_watcher->mbarrier_used(w, b, c->pc, true);
        c->time = cudev_watcher->bulk_issued(w, c);
    }
    memset(c->want.shared, FRESH_BYTE, c->bytes);
    if (all->loads == all->load_room) {
        all->load_room = all->load_room ? 2 * all->load_room : 64;
        all->load = had(realloc(all->load, all->load_room * sizeof *all->load));
    }
    all->load[all->loads++] = *c;
}

void cudev_bulk_load(const struct cudev_bulk* copy, const char* file, int line) {
    const struct place at = {copy->name, file, line};
    const void* pc = __builtin_return_address(0);
    struct worker* w = cudev_in_hopper(at.what, file, line);
    struct bulk_copy c = checked(w, copy, &at, pc);
    struct mbarrier* b = cudev_mbarrier_at(w, copy->bar, &at);
    if (copy->mask == 0) {
        issue_load(w, &c, b);
        return;
    }
    if (copy->mask >> w->launch->cluster)
        cudev_hopper_mistake(w, "bad_address", &at,
                             "names blocks that the cluster does not have, or none",
                             "bit i of the mask is block i of the cluster");
    for (unsigned r = 0; r < w->launch->cluster; r++) {
        if (!(copy->mask >> r & 1)) continue;
        c.want.shared = cudev_cluster_shared(copy->shared, r, file, line);
        b = cudev_mbarrier_at(w, cudev_cluster_shared(copy->bar, r, file, line), &at);
        issue_load(w, &c, b);
    }
}

void cudev_bulk_store(const struct cudev_bulk* copy, const char* file, int line) {
    const struct place at = {copy->name, file, line};
    const void* pc = __builtin_return_address(0);
    struct worker* w = cudev_in_hopper(at.what, file, line);
    struct bulk_copies* all = &w->hopper->bulk;
    struct bulk_copy c = checked(w, copy, &at, pc);
    for (unsigned i = 0; copy->map && i < c.map.rank; i++) {
        if (copy->c[i] >= 0) continue;
        char text[100];
        snprintf(text, sizeof text, "begins its box at %d", copy->c[i]);
        cudev_hopper_mistake(w, "bad_address", &at, text,
                             "a load may begin before the tensor, a store may not: a GPU calls it "
                             "an illegal instruction");
    }
    c.group = all->groups[c.thread];
    w->met.copies++;
    if (w->watch) c.time = cudev_watcher->bulk_issued(w, &c);
    if (all->stores == all->store_room) {
        all->store_room = all->store_room ? 2 * all->store_room : 64;
        all->store = had(realloc(all->store, all->store_room * sizeof *all->store));
    }
    all->store[all->stores++] = c;
}

// ---- loads land --------------------------------------------------------------------------------

unsigned cudev_bulk_bytes_for(const struct worker* w, const struct mbarrier* b) {
    const struct bulk_copies* all = &w->hopper->bulk;
    unsigned bytes = 0;
    for (unsigned i = 0; i < all->loads; i++)
        if (all->load[i].barrier == b && all->load[i].phase == b->phase)
            bytes += all->load[i].bytes;
    return bytes;
}

void cudev_bulk_land(struct worker* w, struct mbarrier* b) {
    struct bulk_copies* all = &w->hopper->bulk;
    unsigned left = 0;
    for (unsigned i = 0; i < all->loads; i++) {
        const struct bulk_copy c = all->load[i];
        if (c.barrier != b || c.phase != b->phase) {
            all->load[left++] = c;
            continue;
        }
        if (w->watch) cudev_watcher->bulk_lands(w, &c);
        cudev_bulk_pieces(w, &c, load_piece);
        b->missing -= c.bytes;
    }
    all->loads = left;
}

const struct bulk_copy* cudev_bulk_load_at(const struct worker* w, const char* p) {
    const struct bulk_copies* all = &w->hopper->bulk;
    for (unsigned i = 0; w->hopper->used && i < all->loads; i++)
        if ((size_t)(p - (char*)all->load[i].want.shared) < all->load[i].bytes)
            return &all->load[i];
    return NULL;
}

// ---- stores ------------------------------------------------------------------------------------

static void read_shared(struct worker* w, struct bulk_copy* c) {
    if (w->watch) cudev_watcher->bulk_reads(w, c);
    c->read = had(malloc(c->bytes));
    memcpy(c->read, c->want.shared, c->bytes);
}

static void write_global(struct worker* w, struct bulk_copy* c) {
    if (w->watch) cudev_watcher->bulk_writes(w, c);
    cudev_bulk_pieces(w, c, c->want.adds ? add_piece : store_piece);
    free(c->read);
}

// A thread that was told that a store had been read may take it for written: others come first, now
// and then.
static void come_late(const struct worker* w, const struct bulk_copy* c) {
    const struct timespec time = {0, rand() % 500000};
    if (c->read && w->launch->crowded) nanosleep(&time, NULL);
}

void cudev_bulk_commit(const char* file, int line) {
    struct worker* w = cudev_in_hopper("bulk_commit()", file, line);
    w->hopper->bulk.groups[cudev_current(w)]++;
}

void cudev_bulk_wait(unsigned pending, int written, const char* file, int line) {
    struct worker* w = cudev_in_hopper(written ? "bulk_wait()" : "bulk_wait_read()", file, line);
    struct bulk_copies* all = &w->hopper->bulk;
    const unsigned t = cudev_current(w);
    unsigned left = 0;
    for (unsigned i = 0; i < all->stores; i++) {
        struct bulk_copy* c = &all->store[i];
        bool done = c->thread == t && c->group + pending < all->groups[t];
        if (done && written) come_late(w, c);
        if (done && !c->read) read_shared(w, c);
        if (done && written)
            write_global(w, c);
        else
            all->store[left++] = *c;
    }
    all->stores = left;
}

// Nobody knows what a store will read that has not read when its block ends.
void cudev_bulk_end(struct worker* w) {
    struct bulk_copies* all = &w->hopper->bulk;
    for (unsigned i = 0; i < all->loads; i++)
        if (w->watch) cudev_watcher->bulk_left(w, &all->load[i]);
    for (unsigned i = 0; i < all->stores; i++) {
        struct bulk_copy* c = &all->store[i];
        if (!c->read) {
            if (w->watch) cudev_watcher->bulk_left(w, c);
            c->read = had(malloc(c->bytes));
            memset(c->read, FRESH_BYTE, c->bytes);
        }
        write_global(w, c);
    }
    all->loads = all->stores = 0;
}

void cudev_fence_proxy(int global, const char* file, int line) {
    struct worker* w = cudev_in_hopper("fence_proxy_async()", file, line);
    if (!global) cudev_mbarrier_fence_init(file, line);
    if (w->watch) cudev_watcher->proxy_fence(w, global != 0);
}

int cudev_flag_is_late(const int* flag, int* value) {
    struct worker* w = cudev_self;
    return w && w->watch && cudev_watcher->flag_is_late(w, flag, value);
}

void cudev_flag_added(const int* flag, int before, int more) {
    struct worker* w = cudev_self;
    if (w && w->watch) cudev_watcher->flag_added(w, flag, before, more);
}
