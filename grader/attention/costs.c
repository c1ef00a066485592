// costs.c: what a case of attention may read, store and keep, and its bank conflicts.
#include <math.h>

#include "attention/problem.h"
#include "wall/arena.h"

const struct arena_traffic* problem_traffic(const struct problem* p) {
    const struct arena_traffic* t = check_traffic(p->check);
    const double queries = (double)(p->B * p->H * p->N_q);
    const double outputs = queries * (double)(p->d * dtype_size(p->contract->dtype) + 4);
    // Local arrays for all of a query's scores: 4096 numbers of 2 bytes are more.
    check_kept(p->check, CAUSE_quadratic_memory, "query", queries, 4.0 * (double)p->d, 7000);
    int64_t elsewhere = t->allocated_bytes;  // what may be stored besides
    // A workspace may be cleared, filled and sorted.
    if (p->contract->workspace_bytes) elsewhere += 4 * p->contract->workspace_bytes(p);
    if (p->contract->more_bytes) elsewhere += p->contract->more_bytes(p);
    if (!p->contract->backward)
        check_at_most(p->check, CAUSE_too_much_written, "times that O and LSE are stored",
                      (double)(t->global_store_bytes + t->filled_bytes - elsewhere) / outputs, 1);
    return t;
}

struct problem with_drawn_heads(struct problem p) {
    const int64_t B = check_pick(p.check, 2, 3);
    const int64_t H_k = p.group > 1 ? 2 : check_pick(p.check, 3, B == 2 ? 5 : 3);
    return with_heads(p, B, p.group * H_k);
}

void problem_skips_unseen(const struct problem* p) {
    const bool backward = p->contract->backward;
    for (enum which a = ARRAY_Q; a < ARRAYS; a++) {
        struct tensor* t = p->array[a].tensor;
        const bool is_input = backward ? a <= ARRAY_dO || a == ARRAY_LSE : a <= ARRAY_V;
        for (int64_t e = 0; is_input && e < t->count; e++) t->untouched[e] = true;
    }
}

void judge_conflicts(struct check* c, double most) {
    const struct arena_traffic* t = check_traffic(c);
    double lost = (double)(t->shared_load_conflicts + t->shared_store_conflicts);
    double all = (double)(t->shared_load_wavefronts + t->shared_store_wavefronts);
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts lost to bank conflicts for each useful one",
                  all > lost ? lost / fmin(all - lost, most) : 0, 0.1);
    // Lanes that go one after another meet no conflict, and are no faster.
    check_at_most(c, CAUSE_idle_lanes,
                  "wavefronts of shared memory, for each that whole warps need",
                  (all - lost) / most, 1.5);
}

void judge_masked_reads(struct check* c, int64_t N, double masked, double more, double limit) {
    double of_a_key = (more - masked) / MORE_KEYS;
    check_at_most(c, CAUSE_masked_read,
                  "bytes read for each key with a mask, of those for a key that all queries see",
                  of_a_key > 0 ? masked / (double)N / of_a_key : INFINITY, limit);
}

void judge_unseen_reads(struct check* c, double few, double many) {
    check_at_most(c, CAUSE_masked_read,
                  "bytes read beside many queries that see no key, of those without such queries",
                  few > 0 ? many / few : INFINITY, 2.5);
}
