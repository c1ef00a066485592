// The counters: which row a request belongs to, totals, and what a program can ask for.
#include "profile.h"
#include <string.h>
#include "finding.h"

_Static_assert(sizeof(struct profile) <= ROOM_SPACE, "profile.c has 1 GiB of address space");
_Static_assert(ALL_ROWS < 2 * MAX_ROWS && ALL_ROWS < UINT16_MAX, "the table of hashes never fills");

static pthread_mutex_t new_row = PTHREAD_MUTEX_INITIALIZER;

// ---- rows --------------------------------------------------------------------------------------

// The place of a row in the table of hashes, or where it belongs.
static uint16_t* place_of(const struct row* want) {
    struct profile* p = profile();
    uint32_t h = (want->site * 2654435761u ^ want->array * 40503u ^ want->kernel * 9176u ^
                  (unsigned)want->kind << 9 ^ want->bytes << 4 ^ want->shared);
    unsigned i = h % (4 * MAX_ROWS);
    for (; p->row_hash[i]; i = (i + 1) % (4 * MAX_ROWS)) {
        const struct row* r = &p->row[p->row_hash[i] - 1];
        if (r->site == want->site && r->array == want->array && r->kernel == want->kernel &&
            r->kind == want->kind && r->bytes == want->bytes && r->shared == want->shared)
            break;
    }
    return &p->row_hash[i];
}

static unsigned find_row(const struct row* want) {
    struct profile* p = profile();
    const struct row rest = {want->kernel, 0, 0, want->kind, 0, want->shared, "(more)"};
    pthread_mutex_lock(&new_row);
    uint16_t* place = place_of(want);
    if (!*place && p->rows >= MAX_ROWS) place = place_of(want = &rest);
    if (!*place) {
        p->row[p->rows++] = *want;
        *place = (uint16_t)p->rows;
    }
    unsigned found = *place;
    pthread_mutex_unlock(&new_row);
    return found - 1;
}

struct counts* cudev_profile_row(struct watch* k, log_entry e) {
    struct profile* p = profile();
    struct worker_profile* own = &p->worker[k->worker->number];
    struct row_cache* cache = &own->cache[log_site(e)];
    uint32_t offset = (uint32_t)e, what = (uint32_t)(e >> 32);
    if (cache->epoch == p->epoch + own->epoch && cache->what == what && offset >= cache->begin &&
        offset < cache->end)
        return &own->counts[cache->row];
    struct array_name n = {.name = "-", .end = UINT32_MAX};
    if (log_kind(e) != LOG_MMA) cudev_name_array(&n, k->worker, offset, log_bytes(e));
    struct row want = {
        p->current, log_site(e), n.id, log_kind(e), log_bytes(e), offset >= WINDOW_OFFSET, ""};
    snprintf(want.name, sizeof want.name, "%.47s", n.name);
    unsigned row = find_row(&want);
    *cache =
        (struct row_cache){n.end ? (uint32_t)n.begin : offset, n.end ? (uint32_t)n.end : offset + 1,
                           p->epoch + own->epoch, what, row};
    return &own->counts[row];
}

struct kernel_counts* cudev_profile_kernel(struct watch* k) {
    return &profile()->worker[k->worker->number].kernel[profile()->current];
}

// ---- events ------------------------------------------------------------------------------------

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

void cudev_profile_launch_ends(const struct launch* l, int workers) {
    (void)l;
    (void)workers;
    profile()->launches++;
    profile()->kernel[profile()->current].launches++;
}

void cudev_profile_block_begins(struct watch* k) {
    k->block_number++;
    cudev_profile_first_warp(k);
    profile()->worker[k->worker->number].placed_count = 0;
    cudev_profile_kernel(k)->blocks++;
}

void cudev_profile_block_ends(struct watch* k) {
    cudev_profile_merge_all(k);
}

void cudev_profile_barrier(struct watch* k) {
    cudev_profile_merge_all(k);
    cudev_profile_kernel(k)->barriers++;
}

// A warp multiplies matrices. Registers only: no request.
void cudev_profile_count_mma(struct watch* k, const void* pc) {
    struct counts* c = cudev_profile_row(k, log_entry_of(0, site_at(pc), LOG_MMA, 0));
    c->requests++;
    c->lanes += WARP_SIZE;
}

// An array of shared memory has got its place. Caches of rows hold as long as blocks agree on that.
void cudev_profile_shared_array(struct watch* k, const char* data, size_t bytes, unsigned id) {
    struct worker_profile* own = &profile()->worker[k->worker->number];
    uint64_t place = (uint64_t)(data - k->worker->window) << 32 ^ (uint64_t)bytes << 10 ^ id;
    uint64_t* last = &own->placed[own->placed_count++ % MAX_SHARED_ARRAYS];
    if (*last != place) own->epoch++;
    *last = place;
}

// ---- what a program can ask for ----------------------------------------------------------------

static void add(struct cudev_traffic* t, const struct row* r, const struct counts* c) {
    if (r->kind == LOG_MMA) {
        t->mma += c->requests;
    } else if (r->kind == LOG_ATOMIC) {
        t->atomics += c->lanes;
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
        t->global_load_requests += c->requests;
        t->global_load_sectors += c->sectors;
        t->global_load_ideal_sectors += c->ideal_sectors;
        t->block_read_bytes += 32 * c->block_sectors;
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
    for (int w = 0; w < MAX_WORKERS; w++) {
        const struct worker_profile* own = &p->worker[w];
        for (unsigned i = 0; i < p->rows; i++) add(t, &p->row[i], &own->counts[i]);
        for (unsigned i = 0; i < p->kernels; i++) {
            t->barriers += own->kernel[i].barriers;
            t->launch_read_sectors += own->kernel[i].read_sectors;
            t->launch_written_sectors += own->kernel[i].written_sectors;
        }
        t->unique_read_bytes += own->read_bytes;
        t->unique_written_bytes += own->written_bytes;
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
        p->worker[w].read_bytes = p->worker[w].written_bytes = 0;
    }
    memset(p->row_hash, 0, sizeof p->row_hash);
    p->rows = p->kernels = 0;
    p->launches = 0;
    p->epoch += 1u << 16;
    cudev_shadow_clear(TOTAL_TOUCHED, TOUCHED_SIZE);
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
