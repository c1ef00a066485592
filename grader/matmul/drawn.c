// drawn.c: see drawn.h.
#include "matmul/drawn.h"

#include <stdlib.h>
#include <string.h>

#include "check/reach.h"
#include "matmul/cases.h"
#include "wall/arena.h"

// Whole tiles of `low` to `high` elements together, or one more.
static int64_t whole_tiles_of(struct check* c, int64_t tile, int64_t low, int64_t high) {
    return tile * check_pick(c, CEIL_DIV(low, tile), CEIL_DIV(high, tile));
}

struct drawn drawn_product(struct check* c, const struct matmul* of, int64_t most_K,
                           int most_less) {
    enum { LOW = 130, HIGH = 256, LARGE = 1025, LARGEST = 1100, LONG = 4, SELDOM = 8 };
    const bool is_wide = check_pick(c, 0, 1);
    const int64_t M =
        whole_tiles_of(c, of->whole_M, is_wide ? LOW : LARGE, is_wide ? HIGH : LARGEST);
    const int64_t N =
        whole_tiles_of(c, of->whole_N, is_wide ? LARGE : LOW, is_wide ? LARGEST : HIGH);
    const int64_t times = check_pick(c, 1, SELDOM) == 1 ? LONG : 1;
    const int64_t K = whole_tiles_of(c, of->whole_K, times * most_K / 2, times * most_K);
    const int64_t less = check_pick(c, 0, 1) ? check_pick(c, 0, most_less) : 0;
    return (struct drawn){
        .p = product_of(c, of, M - less, N - less, K - less),
        .less = less,
    };
}

static double sum_of(const struct product* p, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < p->K; k++)
        sum += p->A.t->value[place_in(&p->A, i, k)] * p->B.t->value[place_in(&p->B, k, j)];
    return p->of->dtype == F32 ? sum : dtype_round(p->of->dtype, sum);
}

static void leave_out(const struct tensor* t) {
    memset(t->untouched, true, (size_t)t->count * sizeof *t->untouched);
}

// Of C only what the block has made is looked at, and of A and B what that needs: `column` is for
// these. Is something made, and right?
static bool looks_right(struct drawn* d, bool* column) {
    const struct product* p = &d->p;
    double made = 0, whole = 0;
    leave_out(p->C.t), leave_out(p->A.t), leave_out(p->B.t);
    for (int64_t i = 0; i < p->M; i++) {
        const double before = made, rows = i == p->M - 1 ? 1 + (double)d->less : 1;
        for (int64_t j = 0; j < p->N; j++) {
            const int64_t e = place_in(&p->C, i, j);
            if (!check_was_written(p->C.t, e)) continue;
            p->C.t->untouched[e] = false;
            p->C.t->want[e] = sum_of(p, i, j);
            if (p->C.t->got[e] != p->C.t->want[e]) return false;
            column[j] = true;
            made++;
            whole += j == p->N - 1 ? rows * (1 + (double)d->less) : rows;
        }
        for (int64_t k = 0; made > before && k < p->K; k++)
            p->A.t->untouched[place_in(&p->A, i, k)] = false;
    }
    for (int64_t k = 0; k < p->K; k++)
        for (int64_t j = 0; j < p->N; j++)
            if (column[j]) p->B.t->untouched[place_in(&p->B, k, j)] = false;
    d->made = made * (double)p->K;
    d->whole = whole * (double)(p->K + d->less);
    return made > 0;
}

static void begin(struct product* p, void (*fill)(const struct product* p), const char* blocks) {
    check_case(p->check, "M = %lld, N = %lld, K = %lld%s%s%s%s", (long long)p->M, (long long)p->N,
               (long long)p->K, p->transpose_A ? ", A is (K, M)" : "",
               p->transpose_B ? ", B is (N, K)" : "",
               p->A_part.gap ? ", rows with gaps between them" : "", blocks);
    product_declare(p);
    if (fill)
        fill(p);
    else
        product_fill(p, 1, p->of->largest);
}

static void run_all(struct product* p, void (*fill)(const struct product* p)) {
    begin(p, fill, "");
    check_long_launch(p->check);
    check_run(p->check);
    product_compare(p);
}

void drawn_run(struct drawn* d, void (*fill)(const struct product* p)) {
    struct check* c = d->p.check;
    const struct matmul* of = d->p.of;
    check_watch(c, WATCH_PROFILE);
    begin(&d->p, fill, ", one block of its grid");
    bool* column = check_allocate(c, d->p.N, sizeof *column);
    const bool right = check_run_one_block(c) && looks_right(d, column);
    free(column);
    if (right) {
        check_compare(c, d->p.C.t, budget_exact());
        return;
    }
    // Unwatched: there a stray access is a wrong number, too, which has a cause.
    struct product small = d->p;
    small.M = of->whole_M - d->less;
    small.N = 2 * of->whole_N - d->less;
    small.K = 3 * of->whole_K - d->less;
    check_watch(c, WATCH_NONE);
    run_all(&small, fill);
    check_watch(c, WATCH_PROFILE);
    run_all(&d->p, fill);
    d->made = (double)d->p.M * (double)d->p.N * (double)d->p.K;
    d->whole = d->made;
}

void drawn_loaded_once(const struct drawn* d) {
    struct check* c = d->p.check;
    if (d->less > 0) {
        multiplied_loaded_once(c, check_traffic(c));
        return;
    }
    check_loaded_once(c, "A");
    check_loaded_once(c, "B");
}

void drawn_stored_once(const struct drawn* d) {
    const struct arena_traffic* t = check_traffic(d->p.check);
    const double bytes = d->made / (double)d->p.K * (double)dtype_size(d->p.of->dtype);
    check_at_most(d->p.check, CAUSE_too_much_written, "times that each element of C is stored",
                  (double)(t->global_store_bytes + t->filled_bytes) / bytes, 1.01);
}
