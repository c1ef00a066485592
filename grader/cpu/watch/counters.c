// The counters: which row a request belongs to.
#include "cpu/watch/counters.h"
#include <stdio.h>
#include "cpu/watch/array_names.h"

_Static_assert(sizeof(struct profile) <= OWN_SPACE, "the counters have 1 GiB of address space");
_Static_assert(ALL_ROWS < 2 * MAX_ROWS && ALL_ROWS < UINT16_MAX, "the table of hashes never fills");

static pthread_mutex_t new_row = PTHREAD_MUTEX_INITIALIZER;

// The place of a row in the table of hashes, or the free place where it belongs.
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

struct counts* cudev_counters_row(struct watch* watch, log_entry e) {
    struct profile* p = profile();
    struct worker_profile* own = &p->worker[watch->worker->number];
    struct row_cache* cache = &own->cache[log_site(e)];
    uint32_t offset = (uint32_t)e, what = (uint32_t)(e >> 32);
    if (cache->epoch == p->epoch + own->epoch && cache->what == what && offset >= cache->begin &&
        offset < cache->end)
        return &own->counts[cache->row];
    struct array_name n = {.name = "-", .end = UINT32_MAX};
    if (log_kind(e) != LOG_MMA && log_kind(e) != LOG_WGMMA)
        cudev_name_array(&n, watch->worker, offset, log_bytes(e));
    struct row want = {
        p->current, log_site(e), n.id, log_kind(e), log_bytes(e), offset >= WINDOW_OFFSET, ""};
    snprintf(want.name, sizeof want.name, "%.47s", n.name);
    unsigned row = find_row(&want);
    *cache =
        (struct row_cache){n.end ? (uint32_t)n.begin : offset, n.end ? (uint32_t)n.end : offset + 1,
                           p->epoch + own->epoch, what, row};
    return &own->counts[row];
}

struct kernel_counts* cudev_counters_kernel(struct watch* watch) {
    return &profile()->worker[watch->worker->number].kernel[profile()->current];
}
