// The counters as a program sees them: cudev_get_traffic() and its neighbours in cudev.h.
#include <string.h>
#include "cpu/device/allocations.h"
#include "cpu/device/memory.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"
#include "cpu/watch/counters.h"

static void add(struct cudev_traffic* t, const struct row* r, const struct counts* c) {
    if (r->kind == LOG_TMA_LOAD) {
        t->tma_load_requests += c->requests;
        t->tma_load_bytes += c->bytes;
    } else if (r->kind == LOG_TMA_STORE) {
        t->tma_store_requests += c->requests;
        t->tma_store_bytes += c->bytes;
    }
    if (r->kind == LOG_MMA) {
        t->mma += c->requests;
    } else if (r->kind == LOG_WGMMA) {
        t->wgmma += c->requests;
        t->wgmma_multiplications += c->bytes;
    } else if (r->kind == LOG_ATOMIC) {
        t->atomics += c->lanes;
        if (r->shared) {
            t->shared_atomics += c->lanes;
            t->shared_atomic_bytes += c->bytes;
            t->shared_atomic_requests += c->requests;
            t->shared_atomic_wavefronts += c->wavefronts;
            t->shared_atomic_conflicts += c->wavefronts - c->ideal_wavefronts;
        } else {
            t->global_atomic_bytes += c->bytes;
            t->global_atomic_requests += c->requests;
            t->global_atomic_sectors += c->sectors;
            t->global_atomic_ideal_sectors += c->ideal_sectors;
        }
    } else if (r->shared && log_loads(r->kind)) {
        t->shared_load_bytes += c->bytes;
        t->shared_load_requests += c->requests;
        t->shared_load_wavefronts += c->wavefronts;
        t->shared_load_conflicts += c->wavefronts - c->ideal_wavefronts;
    } else if (r->shared) {
        t->shared_store_bytes += c->bytes;
        t->shared_store_requests += c->requests;
        t->shared_store_wavefronts += c->wavefronts;
        t->shared_store_conflicts += c->wavefronts - c->ideal_wavefronts;
    } else if (log_loads(r->kind)) {
        t->global_load_bytes += c->bytes;
        t->global_load_distinct_bytes += r->kind == LOG_LOAD ? c->distinct : c->bytes;
        t->global_load_requests += c->requests;
        t->global_load_sectors += c->sectors;
        t->global_load_ideal_sectors += c->ideal_sectors;
        t->block_read_bytes += 32 * c->block_sectors;
        t->loaded_again_bytes += c->again;
    } else {
        t->global_store_bytes += c->bytes;
        t->global_store_requests += c->requests;
        t->global_store_sectors += c->sectors;
        t->global_store_ideal_sectors += c->ideal_sectors;
    }
}

void cudev_get_traffic(struct cudev_traffic* t) {
    memset(t, 0, sizeof *t);
    if (!cudev_watcher) return;
    cudev_lock();
    cudev_memory_open();
    const struct profile* p = profile();
    t->launches = p->launches;
    t->serial_read_bytes = 32 * p->serial_sectors;
    for (int w = 0; w < MAX_WORKERS; w++) {
        const struct worker_profile* own = &p->worker[w];
        for (unsigned i = 0; i < p->rows; i++) add(t, &p->row[i], &own->counts[i]);
        for (unsigned i = 0; i < p->kernels; i++) {
            t->barriers += own->kernel[i].barriers;
            t->shuffles += own->kernel[i].shuffles;
            t->launch_read_sectors += own->kernel[i].read_sectors;
            t->launch_written_sectors += own->kernel[i].written_sectors;
        }
        uint32_t deepest = watch_state()->watch[w].deepest;
        if (deepest > t->local_bytes_per_thread) t->local_bytes_per_thread = deepest;
        const uint64_t of_block = watch_state()->watch[w].most_block_stack;
        if (of_block > t->local_bytes_per_block) t->local_bytes_per_block = of_block;
        t->static_bytes += own->static_bytes;
        t->read_only_atomics += own->read_only_atomics;
        if (own->most_shared > t->shared_bytes_per_block)
            t->shared_bytes_per_block = own->most_shared;
        t->unique_read_bytes += own->read_bytes;
        t->unique_written_bytes += own->written_bytes;
    }
    cudev_memory_close();
    cudev_unlock();
}

unsigned long long cudev_loaded_again(const void* p) {
    if (!cudev_watcher) return 0;
    unsigned long long bytes = 0;
    cudev_lock();
    cudev_memory_open();
    const struct allocation* a = watch_state()->profile ? cudev_allocation_at(p) : NULL;
    uint64_t begin = a ? (uint64_t)(a->data - ARENA_BASE) : 0, end = a ? begin + a->bytes : 0;
    for (uint64_t page = begin >> PAGE_SHIFT; page << PAGE_SHIFT < end; page++)
        bytes += LOADED_AGAIN[page];
    cudev_memory_close();
    cudev_unlock();
    return bytes;
}

void cudev_set_results(const struct cudev_array* array, unsigned count) {
    if (!cudev_watcher) return;
    cudev_lock();
    cudev_memory_open();
    struct profile* p = profile();
    p->results = 0;
    for (unsigned i = 0; i < count && i < MAX_RESULTS; i++) {
        const uint64_t offset = (uint64_t)((const char*)array[i].p - ARENA_BASE);
        if (offset >= WATCHED_BYTES) continue;
        p->result[p->results++] = (struct result_array){offset, offset + array[i].bytes};
    }
    cudev_memory_close();
    cudev_unlock();
}

void cudev_reset_traffic(void) {
    if (!cudev_watcher) return;
    cudev_lock();
    cudev_memory_open();
    struct profile* p = profile();
    for (int w = 0; w < MAX_WORKERS; w++) {
        memset(p->worker[w].counts, 0, p->rows * sizeof p->worker[w].counts[0]);
        memset(p->worker[w].kernel, 0, p->kernels * sizeof p->worker[w].kernel[0]);
        p->worker[w].read_bytes = p->worker[w].written_bytes = p->worker[w].static_bytes = 0;
        p->worker[w].read_only_atomics = 0;
        p->worker[w].most_shared = 0;
        watch_state()->watch[w].deepest = 0;
        watch_state()->watch[w].most_block_stack = 0;
    }
    memset(p->row_hash, 0, sizeof p->row_hash);
    p->rows = p->kernels = 0;
    p->launches = p->serial_sectors = 0;
    p->epoch += 1u << 16;
    cudev_shadow_clear(TOTAL_TOUCHED, TOUCHED_SIZE);
    cudev_shadow_clear(LOADED_AGAIN, LOADED_AGAIN_SIZE);
    cudev_memory_close();
    cudev_unlock();
}

void cudev_write_profile(FILE* out, const char* format) {
    bool csv = strcmp(format, "csv") == 0;
    if (!csv && strcmp(format, "table") != 0) {
        fprintf(stderr, "==CPU device== a profile is written as \"table\" or \"csv\", not \"%s\"\n",
                format);
        return;
    }
    if (!cudev_watcher) {
        fprintf(stderr, "==CPU device== there is no profile: compile with cxxflags-watched, run "
                        "with CUDEV_WATCH=profile\n");
        return;
    }
    cudev_lock();
    cudev_memory_open();
    cudev_profile_write(out, csv);
    cudev_memory_close();
    cudev_unlock();
}
