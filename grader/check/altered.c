// altered.c: which outputs came from the tensor cores. A kernel can let mma.sync multiply and
// compute elsewhere; then its outputs do not change with what mma.sync makes.
#include <math.h>
#include <stdlib.h>

#include "check/state.h"
#include "wall/arena.h"

// The instruction that multiplies wrongly.
static const char* instruction(void) {
    return lesson.by_wgmma ? "wgmma" : "mma.sync";
}

// How many of the elements that are wanted and not 0 are within a quarter of what is wanted; and
// how many there are.
static int64_t as_before(const struct tensor* t, int64_t first, int64_t count, int64_t* of) {
    const struct left* altered = &t->state->altered;
    int64_t round = t->got - t->state->got, same = 0;
    *of = 0;
    for (int64_t k = first; k < first + count; k++) {
        if (t->untouched[k] || t->want[k] == 0 || !isfinite(t->want[k])) continue;
        ++*of;
        same += !altered->poison[round + k] &&
                fabs(altered->got[round + k] - t->want[k]) <= 0.25 * fabs(t->want[k]);
    }
    return same;
}

void check_changes(struct check* c, const struct tensor* t, int64_t first, int64_t count,
                   const char* what) {
    int64_t of;
    if (!c->session->judges_costs) return;
    if (!c->judged) check_error(c, "check_changes() before check_compare()");
    trial_alter(c);
    // A sum of products that count 2 to 7 times is hardly ever within a quarter of what it was.
    // A sum that is computed elsewhere in bf16 is hardly ever a quarter away, except where a sum
    // cancels.
    const int64_t same = as_before(t, first, count, &of);
    if (of == 0) check_error(c, "all these elements of %s are 0", t->name);
    if (c->session->log)
        fprintf(c->session->log, "   %s, %s altered: %lld of %lld as before\n", t->name,
                instruction(), (long long)same, (long long)of);
    if (2 * same <= of) return;
    c->record->counted = true;
    check_fail(c, CAUSE_no_tensor_cores,
               "when %s makes other products, %lld of %lld elements of %s are what they were: "
               "%s is made elsewhere",
               instruction(), (long long)same, (long long)of, t->name, what);
}

double check_altered(struct check* c, double a, double b) {
    uint32_t class;
    return arena_altered(a, b, trial_products(c), &class);
}

void check_pairs(struct check* c) {
    trial_products(c)->by_both = true;
}

double check_multiplied(struct check* c, double a, double b) {
    uint32_t class;
    struct arena_products* how = trial_products(c);
    const double product = arena_altered(a, b, how, &class);
    how->given[class]++;
    return product;
}

// A kernel that does in the altered run what it does else moves as much. Branches that depend on
// the data may differ, which tile has the maximum of a row: that is less than a quarter, or `few`,
// what a block or two move.
static void check_moves_as_much(struct check* c, const char* what) {
    const struct arena_traffic *was = &c->answer.traffic[0], *is = &c->altered;
    const struct {
        const char* name;
        int64_t was, is, few;
    } moved[] = {
        {"bytes loaded from global memory", was->global_load_bytes, is->global_load_bytes, 8192},
        {"bytes stored there", was->global_store_bytes, is->global_store_bytes, 8192},
        {"wavefronts of shared memory", was->shared_load_wavefronts + was->shared_store_wavefronts,
         is->shared_load_wavefronts + is->shared_store_wavefronts, 512},
        {"mma.sync", was->mma, is->mma, 64},
        {"multiplications of wgmma", was->wgmma_multiplications, is->wgmma_multiplications,
         1 << 17},
        {"shuffles of lanes", was->shuffles, is->shuffles, 16384},
        {"launches", was->launches, is->launches, 0},
    };
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        const double apart = fabs((double)(moved[i].is - moved[i].was)), part = 0.25;
        if (c->session->log)
            fprintf(c->session->log, "   %s altered: %lld %s, %lld before\n", instruction(),
                    (long long)moved[i].is, moved[i].name, (long long)moved[i].was);
        if (apart <= (double)moved[i].few + part * (double)moved[i].was) continue;
        c->record->counted = true;
        check_fail(c, CAUSE_no_tensor_cores,
                   "when %s makes other products, there are %lld %s, and %lld when it does not: %s "
                   "is made in another way then",
                   instruction(), (long long)moved[i].is, moved[i].name, (long long)moved[i].was,
                   what);
    }
}

void check_given(struct check* c, const char* what) {
    const double few = 0.02;  // of which a factor is rounded to 0
    if (!c->session->judges_costs) return;
    trial_alter(c);
    const uint32_t *wanted = trial_products(c)->given, *given = arena_given(&c->arena);
    double all = 0, missing = 0;
    for (int i = 0; i < ARENA_CLASSES; i++) {
        all += wanted[i];
        if (given[i] < wanted[i]) missing += wanted[i] - given[i];
    }
    if (all == 0) check_error(c, "check_given() without check_multiplied()");
    if (c->session->log)
        fprintf(c->session->log, "   %s, %s altered: %.4f of %.0f products were not given\n", what,
                instruction(), missing / all, all);
    if (missing > few * all) {
        c->record->counted = true;
        check_fail(c, CAUSE_no_tensor_cores,
                   "of the products that %s is made of, the tensor cores were given no more than "
                   "%.0f of 100: the others are made elsewhere",
                   what, floor(100 * (1 - missing / all)));
    }
    check_moves_as_much(c, what);
}

// Is in no column of t the better part off? A product of elsewhere takes part in each element of a
// column, or in the rows of a tile, which are more than a few.
static bool are_scattered(const struct tensor* t, const bool* off) {
    int64_t rows, columns;
    bool scattered = true;
    tensor_matrix(t, &rows, &columns);
    for (int64_t j = 0; j < columns && scattered; j++) {
        int64_t of_column = 0;
        for (int64_t i = 0; i < rows; i++) of_column += off[i * columns + j];
        scattered = 2 * of_column < rows;
    }
    return scattered;
}

void check_follows(struct check* c, const struct tensor* t, const double* altered,
                   const double* allowed, const char* what) {
    enum { FEW = 100, NEAR = 32 };
    int64_t off = 0, round = t->got - t->state->got;
    double most = 0, change = 0;
    if (!c->session->judges_costs) return;
    if (!c->judged) check_error(c, "check_follows() before check_compare()");
    trial_alter(c);
    const struct left* left = &t->state->altered;
    bool* is_off = check_allocate(c, t->count, sizeof *is_off);
    for (int64_t k = 0; k < t->count; k++) {
        const double apart = fabs(left->got[round + k] - altered[k]);
        if (!t->untouched[k]) change = fmax(change, fabs(altered[k] - t->want[k]));
        if (t->untouched[k] || (!left->poison[round + k] && apart <= allowed[k])) continue;
        off++, is_off[k] = true;
        most = left->poison[round + k] || isnan(apart) ? INFINITY : fmax(most, apart);
    }
    if (c->session->log)
        fprintf(c->session->log,
                "   %s, %s altered: %lld elements are not made of it, off by %.3g, a change is "
                "up to %.3g\n",
                t->name, instruction(), (long long)off, most, change);
    const bool few = FEW * off <= t->count, scattered = few && are_scattered(t, is_off);
    free(is_off);
    if (off == 0) return;
    // Nor does it change anything.
    if (NEAR * most <= change && few)
        check_fail(c, CAUSE_low_precision,
                   "when %s makes other products, which change %s by up to %.2g, %lld elements "
                   "are off by up to %.2g",
                   instruction(), t->name, change, (long long)off, most);
    // Other products are larger numbers: a mistake that did not show may show there.
    if (scattered)
        check_fail(c, CAUSE_unknown,
                   "when %s makes other products, %lld elements of %s are not what follows "
                   "from them, and all others are: is anything wrong with larger numbers?\n",
                   instruction(), (long long)off, t->name);
    c->record->counted = true;
    check_fail(c, CAUSE_no_tensor_cores,
               "when %s makes other products, %lld elements of %s are not the sums of them: "
               "%s is made elsewhere, if only in part",
               instruction(), (long long)off, t->name, what);
}
