// One block: its beginning, the end of its threads, and its end.
#include "cpu/device/worker.h"
#include <string.h>
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/scheduler.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/stacks.h"
#include "cpu/device/waiting.h"
#include "cpu/device/warp.h"
#include "cpu/device/watcher.h"

// Ends the program: no thread of the block can go on.
static void report_deadlock(struct worker* w) {
    cudev_warp_blame_mask(w);
    cudev_report_begin("deadlock", "deadlock: no thread of the block can go on%s",
                       w->running < w->launch->threads ? " (some have already returned)" : "");
    if (!w->hopper->used) cudev_named_barriers_blame(w);
    cudev_report_launch(w);
    cudev_report_threads(w);
    const bool begun = w->hopper->used && cudev_mbarriers_report(w);
    if (w->hopper->used) cudev_named_barriers_blame(w);
    cudev_named_barriers_report(w);
    if (w->hopper->used) {
        cudev_warpgroups_report(w);
        cudev_registers_report(w);
    }
    cudev_report_add(
        "  next: look at what the threads above wait for, and who should have come%s\n",
        begun ? ":\n        is an mbarrier's count the number of threads that arrive?" : "");
    cudev_report_end(EXIT_DIAGNOSIS);
}

void cudev_beyond_bounds(unsigned most) {
    struct worker* w = cudev_in_kernel("__launch_bounds__");
    cudev_report_begin(
        "bad_launch",
        "a block of %u threads: the kernel's __launch_bounds__ say %u at most, and a "
        "GPU refuses the launch",
        w->launch->of_block, most);
    cudev_report_launch(w);
    cudev_report_add("  next: launch as many threads as __launch_bounds__ say, or say more\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

static void nobody_ready(struct worker* w) {
    if (cudev_warp_settle(w) || cudev_mbarriers_settle(w) || cudev_resume_yielded(w)) return;
    report_deadlock(w);
}

int cudev_next_thread(void) {
    struct worker* w = cudev_self;
    struct launch* launch = w->launch;
    if (w->direct) {  // the end of a row; no thread has waited
        w->row += launch->site.block[0];
        if (w->row == launch->threads) return 0;
        threadIdx = launch->index[w->row];
        return 1;
    }
    unsigned t = w->current;
    w->live[t / WARP_SIZE] &= ~(1u << t % WARP_SIZE);
    const unsigned rank = cudev_rank_of(w, t);
    w->running--;
    w->running_of[rank]--;
    cudev_warp_lane_returned(w, t / WARP_SIZE);
    if (!w->live[t / WARP_SIZE]) cudev_named_barriers_warp_returned(w);
    if (w->next < launch->threads) {
        cudev_set_current(w, w->next++);
        return 1;
    }
    if (w->running == 0) return 0;
    if (w->running_of[rank] && w->waiting->barrier[rank].arrived == w->running_of[rank])
        cudev_barrier_abandoned(w, rank);
    cudev_leave(w);
}

// A thread made an access that no GPU survives: nothing is left of the block that ran.
static void forget_block(struct worker* w) {
    cudev_stacks_reset(w);
    cudev_waiting_reset(w);
    memset(w->ready, 0, sizeof w->ready);
    memset(w->yielded, 0, sizeof w->yielded);
}

void cudev_stop_launch(struct worker* w, cudaError_t error) {
    atomic_store(&w->launch->error, error);
    atomic_store(&w->launch->next_block, w->launch->blocks);
    cudev_abandon_threads(w);
}

static void begin_hopper(struct worker* w) {
    struct hopper* h = w->hopper;
    cudev_registers_begin(w);
    if (!h->used) return;
    h->used = false;
    h->mbarriers.count = 0;
    h->bulk.loads = h->bulk.stores = 0;
    memset(h->bulk.groups, 0, sizeof h->bulk.groups);
    cudev_warpgroups_begin(w);
}

void cudev_run_block(struct worker* w, uint64_t block) {
    struct launch* launch = w->launch;
    if (w->watch && launch->error) return;
    const unsigned* grid = launch->site.grid;
    block *= launch->cluster;
    blockIdx.x = w->block_x = (unsigned)(block % grid[0]);
    blockIdx.y = (unsigned)(block / grid[0] % grid[1]);
    blockIdx.z = (unsigned)(block / grid[0] / grid[1]);
    w->block = block;

    unsigned warps = (launch->threads + WARP_SIZE - 1) / WARP_SIZE;
    memset(w->live, 0xff, sizeof w->live[0] * warps);
    if (launch->threads % WARP_SIZE) w->live[warps - 1] = (1u << launch->threads % WARP_SIZE) - 1;
    for (unsigned i = warps; i < MAX_WARPS; i++) w->live[i] = 0;
    w->all_warps = (uint32_t)((1ull << warps) - 1);
    w->ready_warps = 0;
    cudev_async_copies_begin(w);
    cudev_named_barriers_begin(w);
    begin_hopper(w);
    // a watcher has to know which thread runs, and so has who asks for blockIdx in a cluster
    w->direct = !w->watch && launch->cluster == 1;
    w->row = 0;
    w->warp = w->turns = 0;
    w->lane = WARP_SIZE - 1;
    threadIdx = launch->index[0];
    cudev_row_end = launch->site.block[0];
    if (!w->direct) {
        cudev_row_end = 0;
        w->current = 0;
        w->next = 1;
        w->running = launch->threads;
        for (unsigned i = 0; i < launch->cluster; i++) w->running_of[i] = launch->of_block;
    }
    if (w->watch) cudev_watcher->block_begins(w);

    cudev_shared_begin(w);
    cudev_run_threads(w, nobody_ready);
    if (!launch->error && w->hopper->used) {
        cudev_warpgroups_end(w);
        cudev_bulk_end(w);
    }
    if (w->watch) {
        if (!launch->error) cudev_async_copies_end(w);
        cudev_watcher->block_ends(w);
        if (launch->error) {
            forget_block(w);
            return;
        }
    }
    cudev_stacks_learn(w);
    cudev_stack_release(w, w->stack);
    cudev_shared_end(w);
}
