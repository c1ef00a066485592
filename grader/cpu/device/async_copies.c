// Copies from global to shared memory that arrive later (cp.async), and waiting for them.
//
// A copy may arrive at any time between its issue and the wait that needs it. Here it arrives as
// late as it may: at the issue the destination is filled with 0xFF, which is NaN in every format,
// and the bytes move when the thread waits for their group. So a wait that is missing, or counts
// one group too few, shows in the result each time, and not only when the memory is slow.
#include "cpu/device/worker.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu/device/far.h"
#include "cpu/device/lines.h"
#include "cpu/device/memory.h"
#include "cpu/device/report.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/symbols.h"
#include "cpu/device/waiting.h"
#include "cpu/device/watcher.h"

enum {
    FIRST_COPIES = 32,
    MOST_COPIES = 1 << 14,  // of one thread; with more, the oldest arrive early, as they may
};

struct copy {
    char* to;
    const char* from;
    const void* pc;  // of the issue
    uint32_t group;
    uint8_t bytes, used;
};

// The copies of a thread that have not arrived: copy[first .. end), oldest first.
struct queue {
    struct copy* copy;
    unsigned first, end, room;
    uint32_t groups;  // committed so far; a copy that is issued now belongs to this number
};

struct pending_copies {
    bool used;  // by the block that runs
    struct queue queue[MAX_THREADS];
};

void cudev_async_copies_create(struct worker* w) {
    w->pending_copies = cudev_worker_memory(sizeof *w->pending_copies);
}

// A copy that the last block has not waited for never arrives: nobody could look.
void cudev_async_copies_begin(struct worker* w) {
    struct pending_copies* pending = w->pending_copies;
    for (unsigned t = 0; pending->used && t < MAX_THREADS; t++)
        pending->queue[t].first = pending->queue[t].end = 0;
    pending->used = false;
}

static struct queue* own_queue(struct worker* w) {
    return &w->pending_copies->queue[cudev_current(w)];
}

static void arrive(struct worker* w, const struct copy* c) {
    if (w->watch) cudev_watcher->copy_arrives(w, c->to, c->from, c->bytes, c->used, c->pc);
    memcpy(c->to, c->from, c->used);
    memset(c->to + c->used, 0, (size_t)(c->bytes - c->used));
}

const void* cudev_copy_awaited(const struct worker* w, const void* p, unsigned* thread) {
    const struct pending_copies* pending = w->pending_copies;
    for (unsigned t = 0; pending->used && t < MAX_THREADS; t++) {
        const struct queue* q = &pending->queue[t];
        for (unsigned i = q->first; i < q->end; i++) {
            const char* to = q->copy[i].to;
            if ((const char*)p < to || (const char*)p >= to + q->copy[i].bytes) continue;
            *thread = t;
            return q->copy[i].pc;
        }
    }
    return NULL;
}

// Nobody has waited for these: they land when the block is over, at the latest.
void cudev_async_copies_end(struct worker* w) {
    const struct pending_copies* pending = w->pending_copies;
    for (unsigned t = 0; pending->used && t < MAX_THREADS; t++) {
        const struct queue* q = &pending->queue[t];
        for (unsigned i = q->first; i < q->end; i++)
            cudev_watcher->copy_left(w, t, q->copy[i].to, q->copy[i].bytes, q->copy[i].pc);
    }
}

static void make_room(struct worker* w, struct queue* q) {
    if (q->first == 0 && q->room == MOST_COPIES)
        while (q->first < MOST_COPIES / 2) arrive(w, &q->copy[q->first++]);
    if (q->first > 0) {
        memmove(q->copy, q->copy + q->first, (q->end - q->first) * sizeof *q->copy);
        q->end -= q->first;
        q->first = 0;
        return;
    }
    unsigned room = q->room ? 2 * q->room : FIRST_COPIES;
    struct copy* copy = realloc(q->copy, room * sizeof *copy);
    if (!copy) {
        perror("CPU device: no memory for asynchronous copies");
        exit(EXIT_FAILURE);
    }
    q->copy = copy;
    q->room = room;
}

// ---- mistakes ----------------------------------------------------------------------------------

static void report(struct worker* w, const char* kind, const struct place* at, const char* text,
                   const char* next) {
    cudev_report_begin(kind, "%s %s at %s:%d in thread %s", at->what, text, at->file, at->line,
                       cudev_thread_name(w, cudev_current(w)));
    cudev_report_launch(w);
    if (!cudev_line_in_cu(at->file, at->line)) {  // a header is seldom wrong
        void* frames[MAX_FRAMES];
        cudev_report_frames(frames, cudev_unwind(frames, MAX_FRAMES));
    }
    cudev_report_add("  next: %s\n", next);
    cudev_report_end(EXIT_DIAGNOSIS);
}

static void report_space(struct worker* w, const struct place* at, const char* verb, const void* p,
                         const char* space, const char* next) {
    char text[400], what[300] = "a NULL pointer";
    // An array of that space is near: it is its index that is wrong.
    const bool is_past = (uintptr_t)p >= 4096 && cudev_describe_address(what, sizeof what, p);
    snprintf(text, sizeof text, "%s %p, which is not %s (%s),", verb, p, space, what);
    report(w, is_past ? "out_of_bounds" : "bad_address", at, text,
           is_past
               ? "which index gets there? the last block and the last tile are the usual suspects"
               : next);
}

bool cudev_in_global(const char* p) {
    if (p >= HEAP_BASE && p < HOST_BASE) return p < HEAP_BASE + cudev_heap.top;
    if (cudev_is_far(p)) return cudev_near(p, 1);
    return cudev_is_symbol(p) || cudev_allocation_at(p);
}

static void check(struct worker* w, const struct place* at, const void* to, const void* from,
                  unsigned bytes, unsigned used) {
    char text[100];
    if (used > bytes) {
        snprintf(text, sizeof text, "is to take %d bytes of %u", (int)used, bytes);
        report(w, "bad_address", at, text, "the last argument is at least 0 and at most the size");
    }
    if (!cudev_in_window(w, to, bytes))
        report_space(w, at, "writes to", to, "shared memory",
                     "the first argument is where the bytes go, in a __shared__ array; the second "
                     "is where they come from, in global memory");
    if (used && !cudev_in_global(from))
        report_space(w, at, "reads from", from, "global memory",
                     "the second argument is where the bytes come from, in memory of cudaMalloc()");
    bool source = used && (uintptr_t)from % bytes;
    if (!source && (uintptr_t)to % bytes == 0) return;
    snprintf(text, sizeof text, "%s, an address that is no multiple of %u,",
             source ? "reads from global memory" : "writes to shared memory", bytes);
    report(w, "misaligned", at, text,
           "both addresses have to be multiples of the size that is copied: is the length of a row "
           "one? does the array have __align__(16)?");
}

// ---- the instructions --------------------------------------------------------------------------

void cudev_copy_async(void* to, const void* from, unsigned bytes, unsigned used, const char* file,
                      int line) {
    const struct place at = {bytes == 4   ? "cp_async4()"
                             : bytes == 8 ? "cp_async8()"
                                          : "cp_async16()",
                             file, line};
    const void* pc = __builtin_return_address(0);
    struct worker* w = cudev_in_kernel(at.what);
    if (w->watch && used <= bytes) cudev_watcher->copy_issued(w, to, from, bytes, used, pc);
    w->met.copies++;
    check(w, &at, to, from, bytes, used);
    struct queue* q = own_queue(w);
    w->pending_copies->used = true;
    if (q->end == q->room) make_room(w, q);
    q->copy[q->end++] = (struct copy){to, from, pc, q->groups, (uint8_t)bytes, (uint8_t)used};
    memset(to, FRESH_BYTE, bytes);
}

void cudev_copy_commit(void) {
    own_queue(cudev_in_kernel("cp.async.commit_group"))->groups++;
}

void cudev_copy_wait(unsigned pending) {
    struct worker* w = cudev_in_kernel("cp.async.wait_group");
    struct queue* q = own_queue(w);
    while (q->first < q->end && q->copy[q->first].group + pending < q->groups)
        arrive(w, &q->copy[q->first++]);
    if (q->first == q->end) q->first = q->end = 0;
}
