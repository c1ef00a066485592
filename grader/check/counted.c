// counted.c: what the runner, and what the instrumented build counted in a case; the latter held
// against what it must and may be.
#include "base/dtype.h"
#include "check/state.h"

bool check_call_failed(const struct check* c) {
    return c->answer.failed[0];
}

bool check_error_left(const struct check* c) {
    return c->answer.error_left[0];
}

int64_t check_leaked(struct check* c) {
    return c->answer.leaked[c->round];
}

int64_t check_blocks(struct check* c) {
    return c->answer.blocks[c->round];
}

int64_t check_largest_grid(struct check* c) {
    return c->answer.largest_grid[c->round];
}

int64_t check_launches(struct check* c) {
    return c->answer.launches[c->round];
}

static int64_t bytes_of(const struct check* c, bool (*has)(uint32_t role)) {
    int64_t bytes = 0;
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor* t = &c->tensor[i];
        const bool* gap = t->state->untouched + t->state->per_round * c->round;
        if (!has(t->state->role)) continue;
        for (int64_t k = 0; k < t->count; k++) bytes += gap[k] ? 0 : dtype_size(t->dtype);
    }
    return bytes;
}

// An output that is right was written by kernels that were watched, but for what the launcher may
// have filled; and what they read was counted, unless all of it is what nothing adds up to.
void trial_demand(struct check* c, const struct tensor* t) {
    const struct arena_traffic* traffic = &c->answer.traffic[c->round];
    int64_t in = 0, out = 0;
    bool is_made = false;  // of inputs
    for (int i = 0; i < c->tensor_count; i++)
        if (arena_is_read(c->state[i].role)) in += c->tensor[i].count;
    for (int64_t k = 0; k < t->count; k++) {
        out += !t->untouched[k];
        is_made |= !t->untouched[k] && t->want[k] != 0 && t->want[k] != -INFINITY;
    }
    if (c->watch != WATCH_CHECK || c->expected != 0 || in == 0 || out == 0) return;
    if (traffic->launches < 1 || (is_made && traffic->unique_read_bytes < 1) ||
        traffic->unique_written_bytes < out * dtype_size(t->dtype) / 2)
        check_fail(c, CAUSE_no_traffic, "%lld kernels read %lld bytes and wrote %lld; %s has %lld",
                   (long long)traffic->launches, (long long)traffic->unique_read_bytes,
                   (long long)traffic->unique_written_bytes, t->name,
                   (long long)(out * dtype_size(t->dtype)));
}

// Bytes of the case's arrays for which one atomic is a ticket, a counter or a maximum of a block,
// and no way to move numbers.
enum { BYTES_PER_TICKET = 256 };

// An atomic reads and writes, like a load and a store of the same bytes: a kernel that moves
// numbers by atomics saves nothing. But sums have to begin somewhere: bytes that the launcher has
// filled and atomics add to are stored once; and so many tickets of 4 bytes stay free.
static void add_atomics(struct arena_traffic* t, int64_t tickets) {
    const int64_t most = t->filled_bytes + 4 * tickets;
    const int64_t begun = most < t->global_atomic_bytes ? most : t->global_atomic_bytes;
    t->global_load_bytes += t->global_atomic_bytes;
    t->global_load_requests += t->global_atomic_requests;
    t->global_load_sectors += t->global_atomic_sectors;
    t->global_load_excess_sectors += t->global_atomic_excess_sectors;
    t->global_store_bytes += t->global_atomic_bytes - begun;
    t->global_store_requests += t->global_atomic_requests;
    t->global_store_sectors += t->global_atomic_sectors;
    t->global_store_excess_sectors += t->global_atomic_excess_sectors;
    t->global_atomic_bytes = t->global_atomic_requests = 0;
    t->global_atomic_sectors = t->global_atomic_excess_sectors = 0;
    t->shared_load_bytes += t->shared_atomic_bytes;
    t->shared_load_requests += t->shared_atomic_requests;
    t->shared_load_wavefronts += t->shared_atomic_wavefronts;
    t->shared_load_conflicts += t->shared_atomic_conflicts;
    t->shared_store_requests += t->shared_atomic_requests;
    t->shared_store_wavefronts += t->shared_atomic_wavefronts;
    t->shared_store_conflicts += t->shared_atomic_conflicts;
    t->shared_atomic_bytes = t->shared_atomic_requests = 0;
    t->shared_atomic_wavefronts = t->shared_atomic_conflicts = 0;
}

const struct arena_traffic* check_traffic(struct check* c) {
    struct arena_traffic* t = &c->counted;
    int64_t in = bytes_of(c, arena_is_read), out = bytes_of(c, arena_is_written);
    if (c->watch != WATCH_PROFILE || !c->judged)
        check_error(c, "check_traffic() before check_watch(WATCH_PROFILE) and check_compare()");
    *t = c->answer.traffic[c->round];  // which stays as it is: an altered run is compared with it
    const int64_t tickets = (in + out) / BYTES_PER_TICKET;
    if (!lesson.adds_by_atomics && t->atomics > tickets) add_atomics(t, tickets);
    if (!c->session->judges_costs) return t;
    if (t->input_atomics > 0)
        check_fail(c, CAUSE_input_changed,
                   "%lld atomics on inputs, which belong to the caller: a load reads them",
                   (long long)t->input_atomics);
    if (t->launches < 1 || t->unique_read_bytes < in || t->unique_written_bytes < out)
        check_fail(c, CAUSE_no_traffic,
                   "%lld kernels read %lld of %lld bytes of input and wrote %lld of %lld of output",
                   (long long)t->launches, (long long)t->unique_read_bytes, (long long)in,
                   (long long)t->unique_written_bytes, (long long)out);
    return t;
}

void check_at_most(struct check* c, enum cause cause, const char* what, double value,
                   double limit) {
    if (c->session->log) fprintf(c->session->log, "   %s: %g, at most %g\n", what, value, limit);
    if (value <= limit || !c->session->judges_costs) return;
    c->record->counted = true;
    check_fail(c, cause, "%s: %.4g, at most %.4g", what, value, limit);
}
