// Events of the device that are counted: launches, blocks, barriers, matrix instructions.
#include <stdio.h>
#include <string.h>
#include "cpu/device/far.h"
#include "cpu/device/shared_memory.h"
#include "cpu/watch/counters.h"
#include "cpu/watch/sites.h"

enum { SECTOR_BYTES = 1 << SECTOR_SHIFT };

void cudev_profile_launch_begins(const struct launch* l) {
    struct profile* p = profile();
    const struct cudev_launch_site* s = &l->site;
    unsigned i = 0;
    while (i < p->kernels &&
           (p->kernel[i].line != s->line || strcmp(p->kernel[i].name, s->name) != 0 ||
            strcmp(p->kernel[i].file, s->file) != 0))
        i++;
    if (i == MAX_PROFILED) i--;
    struct kernel* kernel = &p->kernel[i];
    if (i == p->kernels) {
        p->kernels++;
        snprintf(kernel->name, sizeof kernel->name, "%s", s->name);
        snprintf(kernel->file, sizeof kernel->file, "%s", s->file);
        kernel->line = s->line;
    }
    memcpy(kernel->grid, s->grid, sizeof kernel->grid);
    memcpy(kernel->block, s->block, sizeof kernel->block);
    p->current = i;
    p->epoch += 1u << 16;  // arrays may lie elsewhere now
    cudev_shadow_clear(LAUNCH_TOUCHED, TOUCHED_SIZE);
}

void cudev_profile_launch_ends(void) {
    struct profile* p = profile();
    uint64_t most = 0;
    for (int w = 0; w < MAX_WORKERS; w++) {
        struct worker_profile* own = &p->worker[w];
        if (own->most_block_sectors > most) most = own->most_block_sectors;
        if (own->most_block_sectors) own->most_block_sectors = 0;  // untouched pages stay so
    }
    p->serial_sectors += most;
    p->launches++;
    p->kernel[p->current].launches++;
}

// All warps are in the same part from now on.
static void parts_meet(struct parts* p) {
    if (p->stored) p->last++;
    p->stored = 0;
    for (int w = 0; w < MAX_WARPS; w++) p->now[w] = p->last;
}

void cudev_profile_block_begins(struct watch* watch) {
    watch->parts.stored = 0;
    watch->parts.first = ++watch->parts.last;
    parts_meet(&watch->parts);
    cudev_lockstep_block(watch);
    watch->block_stack = 0;
    profile()->worker[watch->worker->number].placed_count = 0;
    profile()->worker[watch->worker->number].shared_bytes = 0;
    profile()->worker[watch->worker->number].block_sectors = 0;
    cudev_counters_kernel(watch)->blocks += watch->worker->launch->cluster;
}

void cudev_profile_block_ends(struct watch* watch) {
    if (watch->block_stack > watch->most_block_stack) watch->most_block_stack = watch->block_stack;
    cudev_lockstep_merge_all(watch);
}

// Loads from now on come behind all loads of the block so far. The blocks of a cluster do not wait
// for each other here.
static void all_threads_meet(struct watch* watch) {
    cudev_lockstep_merge_all(watch);
    if (watch->worker->launch->cluster == 1) watch->parts.barriers++;
}

void cudev_profile_barrier(struct watch* watch) {
    all_threads_meet(watch);
    parts_meet(&watch->parts);
    cudev_counters_kernel(watch)->barriers++;
}

void cudev_profile_named_barrier(struct watch* watch, unsigned threads) {
    if (threads == watch->worker->launch->threads) all_threads_meet(watch);
    cudev_counters_kernel(watch)->barriers++;
}

void cudev_profile_exchange(struct watch* watch, unsigned words) {
    cudev_counters_kernel(watch)->shuffles += words;
}

// Registers only: no request.
void cudev_profile_count_mma(struct watch* watch, const void* pc) {
    struct counts* c = cudev_counters_row(watch, log_entry_of(0, site_at(pc), LOG_MMA, 0));
    c->requests++;
    c->lanes += WARP_SIZE;
}

void cudev_profile_count_wgmma(struct watch* watch, const void* pc, int n, int k) {
    struct counts* c = cudev_counters_row(watch, log_entry_of(0, site_at(pc), LOG_WGMMA, 0));
    c->requests++;
    c->lanes += WARP_SIZE * WARPGROUP;
    c->bytes += (uint64_t)n * 64 * (uint64_t)k;
}

// ---- copies by TMA -----------------------------------------------------------------------------

static void end_sector(struct watch* watch, const struct bulk_copy* c) {
    struct async_order* a = &watch->async;
    if (!a->sector_bytes) return;
    log_entry e = log_entry_of((uint64_t)a->sector << SECTOR_SHIFT, site_at(c->pc),
                               c->barrier ? LOG_TMA_LOAD : LOG_TMA_STORE, SECTOR_BYTES);
    cudev_request_sector(watch, e, a->sector, a->sector_bytes, c->thread / WARP_SIZE);
    a->sector_bytes = 0;
}

static void count_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                        unsigned skip, unsigned bytes) {
    struct async_order* a = &w->watch->async;
    (void)shared;
    if (!bytes) return;
    const char* near = cudev_near(global + skip, bytes);
    uint64_t offset = (uint64_t)(near - ARENA_BASE);
    if (!near || offset >= HOST_OFFSET) return;
    while (bytes) {
        uint32_t sector = (uint32_t)(offset >> SECTOR_SHIFT), at = offset % SECTOR_BYTES;
        unsigned part = bytes < SECTOR_BYTES - at ? bytes : SECTOR_BYTES - at;
        if (sector != a->sector) end_sector(w->watch, c);
        a->sector = sector;
        a->sector_bytes |= (uint32_t)(((uint64_t)1 << part) - 1) << at;
        offset += part;
        bytes -= part;
    }
}

void cudev_profile_bulk(struct watch* watch, const struct bulk_copy* c) {
    const char* begin = c->map.rank ? c->map.data : c->want.global;
    uint64_t offset =
        cudev_near(begin, 1) ? (uint64_t)((char*)cudev_near(begin, 1) - ARENA_BASE) : 0;
    log_entry e = log_entry_of(offset, site_at(c->pc), c->barrier ? LOG_TMA_LOAD : LOG_TMA_STORE,
                               SECTOR_BYTES);
    struct counts* counts = cudev_counters_row(watch, e);
    counts->requests++;
    counts->lanes++;
    watch->async.sector_bytes = 0;
    cudev_bulk_pieces(watch->worker, c, count_piece);
    end_sector(watch, c);
}

// Caches of rows hold as long as blocks agree on the places of arrays.
void cudev_profile_shared_array(struct watch* watch, const char* data, size_t bytes, unsigned id) {
    struct worker_profile* own = &profile()->worker[watch->worker->number];
    uint64_t place =
        (uint64_t)(data - watch->worker->shared->window) << 32 ^ (uint64_t)bytes << 10 ^ id;
    uint64_t* last = &own->placed[own->placed_count++ % MAX_SHARED_ARRAYS];
    if (*last != place) own->epoch++;
    *last = place;
    if (cudev_shared_around(watch->worker, data) == watch->worker->shared)
        own->shared_bytes += bytes;  // of the first block of a cluster
    if (own->shared_bytes > own->most_shared) own->most_shared = own->shared_bytes;
}
