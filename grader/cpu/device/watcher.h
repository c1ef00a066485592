// The events that the device reports to its watchers: the only way from device/ to watch/. The
// device calls these functions at launches, blocks, barriers, allocations and copies. The accesses
// of kernels to memory do not come this way: the compiler's callbacks for them lie in watch/.
#ifndef CUDEV_WATCHER_H
#define CUDEV_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocation;
struct bulk_copy;
struct cudev_clock;
struct cudev_launch_site;
struct launch;
struct mbarrier;
struct product;
struct worker;

struct cudev_watcher {
    bool finds;  // the checks are on: guard bytes need no look, and one worker runs all blocks

    // Kernels and copies may touch device memory from `open` to `close`.
    void (*open)(void);
    void (*close)(void);
    void (*allocated)(const struct allocation* a);
    void (*freed)(const struct allocation* a);
    // Bytes are about to be copied; src is NULL for a fill.
    void (*copies)(const char* function, const void* dst, const void* src, size_t bytes);

    // Pointer argument number `index` of a launch that has not begun; see cudev_check_argument().
    void (*argument)(const struct cudev_launch_site* site, int index, const void* p, size_t bytes);
    // `workers` workers run the launch. Sets and clears worker->watch.
    void (*launch_begins)(struct launch* l, int workers);
    void (*launch_ends)(struct launch* l, int workers);

    // The functions below are called by the worker w, and only if w->watch is set.
    void (*block_begins)(struct worker* w);
    void (*block_ends)(struct worker* w);
    // The shared array that was declared last has got its place. The first call in a block is for
    // the block's dynamic shared memory.
    void (*shared_array)(struct worker* w, const char* data, size_t bytes);
    void (*barrier)(struct worker* w);  // __syncthreads() opens
    void (*warp_barrier)(struct worker* w, unsigned warp, uint32_t lanes);
    // release: lanes come to a named barrier. named_opens: it opens for `threads` that wait.
    // acquire: lanes leave it.
    void (*release)(struct worker* w, struct cudev_clock* clock, unsigned warp, uint32_t lanes);
    void (*named_opens)(struct worker* w, unsigned threads);
    void (*acquire)(struct worker* w, const struct cudev_clock* clock, unsigned warp,
                    uint32_t lanes);
    // The running thread issues a copy at pc, which arrives later: see cudev_copy_async().
    void (*copy_issued)(struct worker* w, const void* to, const void* from, unsigned bytes,
                        unsigned used, const void* pc);
    void (*copy_arrives)(struct worker* w, const void* to, const void* from, unsigned bytes,
                         unsigned used, const void* pc);
    // The block is over, and nobody has waited for the copy of this thread.
    void (*copy_left)(struct worker* w, unsigned thread, const void* to, unsigned bytes,
                      const void* pc);
    // In a shuffle the thread reads a lane that takes no part in it: its result is undefined.
    void (*reads_nobody)(struct worker* w, unsigned thread, unsigned lane);
    // Lanes of a warp get so many words of 4 bytes, together, that are made of each other's.
    void (*exchanged)(struct worker* w, unsigned words);
    // The running lane loads a row of a matrix; its warp multiplies.
    void (*matrix_row)(struct worker* w, const void* row, const void* pc);
    void (*multiplies)(struct worker* w, const void* pc);
    // The same for a row that it stores.
    void (*matrix_row_stored)(struct worker* w, const void* row, const void* pc);

    // The instructions of Hopper GPUs, see hopper.h.
    // The 8 bytes at bar become a barrier, or memory again; the running thread, or TMA on its
    // behalf, uses the barrier.
    void (*mbarrier_made)(struct worker* w, void* bar, const void* pc);
    void (*mbarrier_used)(struct worker* w, const struct mbarrier* b, const void* pc, bool by_tma);
    // A copy by TMA is issued (returns the time); a load lands; a store reads shared memory, writes
    // global memory; the block ends, and a load has not landed or a store not read.
    uint64_t (*bulk_issued)(struct worker* w, const struct bulk_copy* c);
    void (*bulk_lands)(struct worker* w, const struct bulk_copy* c);
    void (*bulk_reads)(struct worker* w, const struct bulk_copy* c);
    void (*bulk_writes)(struct worker* w, const struct bulk_copy* c);
    void (*bulk_left)(struct worker* w, const struct bulk_copy* c);
    // The running thread calls fence.proxy.async.
    void (*proxy_fence)(struct worker* w, bool global);
    // The running thread has added to a flag; it looks at one: see cudev_flag_is_late().
    void (*flag_added)(struct worker* w, const int* flag, int before, int more);
    bool (*flag_is_late)(struct worker* w, const int* flag, int* value);
    // A warp issues a product, the first of its warpgroup or not; unfenced: a wgmma_fence() is
    // missing. A product is computed. A warp has waited for
    // the products up to `last`. Registers of D or A have changed while
    // the product ran.
    void (*product_issued)(struct worker* w, struct product* p, unsigned warp, bool first,
                           bool unfenced);
    void (*product_computed)(struct worker* w, struct product* p);
    void (*products_waited)(struct worker* w, unsigned warp, const struct product* last);
    void (*touched)(struct worker* w, const struct product* p, bool is_D);
    // The block ends, and a warp has not waited for the product, its last one.
    void (*product_left)(struct worker* w, const struct product* p);

    // The running thread calls griddep_wait().
    void (*grid_awaited)(struct worker* w);

    void (*report)(void);  // a diagnosis is about to end the program: prints all findings
};

// NULL unless the program is instrumented and CUDEV_WATCH is set.
extern const struct cudev_watcher* cudev_watcher;

#endif
