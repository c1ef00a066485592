// Things that only Hopper GPUs have: the state of a block, and the checks that all its instructions
// share.
#include "cpu/device/hopper.h"
#include <stdio.h>
#include <string.h>
#include "cpu/device/allocations.h"
#include "cpu/device/report.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/watcher.h"

void cudev_hopper_create(struct worker* w) {
    w->hopper = cudev_worker_memory(sizeof *w->hopper);
}

struct worker* cudev_in_hopper(const char* what, const char* file, int line) {
    struct worker* w = cudev_in_kernel(what);
    if (w->hopper->used) return w;
    const struct known_card* card = cudev_card();
    if (card->major != 9) {
        cudev_report_begin("unsupported",
                           "%s at %s:%d is an instruction of Hopper GPUs (compute capability 9.0), "
                           "and this is an %s (%d.%d)",
                           what, file, line, card->name, card->major, card->minor);
        cudev_report_launch(w);
        cudev_report_add("  next: pose as another card: CARD=h200 or CARD=h100\n");
        cudev_report_end(EXIT_DIAGNOSIS);
    }
    if (w->watch && w->launch->threads > MAX_THREADS - WARP_SIZE)
        cudev_not_here("in a checked run, Hopper's instructions in a block of more than 992 "
                       "threads",
                       "use fewer", file, line);
    w->hopper->used = true;
    return w;
}

void cudev_hopper_mistake(struct worker* w, const char* kind, const struct place* at,
                          const char* text, const char* next) {
    cudev_report_begin(kind, "%s at %s:%d in thread %s %s", at->what, at->file, at->line,
                       cudev_thread_name(w, cudev_current(w)), text);
    cudev_report_launch(w);
    cudev_report_add("  next: %s\n", next);
    cudev_report_end(EXIT_DIAGNOSIS);
}

void cudev_check_shared(struct worker* w, const struct place* at, const void* p, unsigned bytes,
                        unsigned alignment) {
    char text[500], what[300] = "a NULL pointer";
    if (!cudev_in_window(w, p, bytes)) {
        if ((uintptr_t)p >= 4096) cudev_describe_address(what, sizeof what, p);
        snprintf(text, sizeof text, "uses %p, which is not shared memory (%s)", p, what);
        cudev_hopper_mistake(w, "bad_address", at, text,
                             "which argument is the one in shared "
                             "memory?");
    }
    if ((uintptr_t)p % alignment == 0) return;
    cudev_shared_name(w, p, what, sizeof what);
    snprintf(text, sizeof text, "uses %s, whose address is no multiple of %u", what, alignment);
    cudev_hopper_mistake(w, "misaligned", at, text,
                         "give the array __align__(1024), and begin each tile and panel in it at a "
                         "multiple of that");
}

// ---- launches that overlap: the one before has ended, and a watcher asks who has waited ---------

void cudev_grid_wait(const char* file, int line) {
    struct worker* w = cudev_in_hopper("griddep_wait()", file, line);
    if (w->watch) cudev_watcher->grid_awaited(w);
}

void cudev_grid_launch(const char* file, int line) {
    (void)cudev_in_hopper("griddep_launch()", file, line);
}

// ---- clusters ----------------------------------------------------------------------------------

unsigned cudev_cluster_rank(const char* file, int line) {
    struct worker* w = cudev_in_hopper("cluster_rank()", file, line);
    return cudev_rank_of(w, cudev_current(w));
}

void* cudev_cluster_shared(const void* p, unsigned rank, const char* file, int line) {
    const struct place at = {"the shared memory of another block", file, line};
    struct worker* w = cudev_in_hopper(at.what, file, line);
    cudev_check_shared(w, &at, p, 1, 1);
    if (rank >= w->launch->cluster)
        cudev_hopper_mistake(w, "bad_address", &at,
                             "is asked for, and the cluster has no such "
                             "block",
                             "ranks are below the size of the cluster: __cluster_dims__()");
    if (w->running_of[rank] == 0 && rank != cudev_rank_of(w, cudev_current(w)))
        cudev_hopper_mistake(w, "bad_address", &at,
                             "is asked for, and all threads of that block "
                             "have returned",
                             "a cluster_sync() comes before the end: nobody leaves before the "
                             "others are done with its memory");
    const size_t in = (size_t)((const char*)p - w->shared->window) % cudev_window_of_block(w);
    return w->shared[rank].window + in;
}
