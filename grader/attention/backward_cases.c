// backward_cases.c: see backward_cases.h.
#include "attention/backward_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention/backward.h"
#include "attention/backward_mistakes.h"
#include "attention/forward.h"
#include "cpu/cards/cards.h"
#include "wall/arena.h"

// ---- the parts of a case -------------------------------------------------------------------

void backward_fill_rows(const struct problem* p, enum which a, double deviation) {
    struct tensor* t = p->array[a].tensor;
    for (int64_t e = 0; e < t->count; e++)
        t->value[e] = p->nan_gaps && a != ARRAY_O ? (double)NAN : 4 * check_normal(p->check);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t n = 0; n < rows_of(p, a); n++)
            for (int64_t h = 0; h < p->H; h += sharing(p, a))
                for (int64_t x = 0; x < p->d; x++)
                    row_of(p, a, b, h, n)[x] =
                        dtype_round(p->contract->dtype, deviation * check_normal(p->check));
}

void backward_fill(const struct problem* p) {
    backward_fill_rows(p, ARRAY_Q, 1);
    backward_fill_rows(p, ARRAY_K, 1);
    backward_fill_rows(p, ARRAY_V, 1);
    backward_fill_rows(p, ARRAY_dO, 1);
    backward_fill_rows(p, ARRAY_O, 0);
}

void backward_forward(const struct problem* p) {
    forward_reference(p, false, p->array[ARRAY_O].tensor->value, p->array[ARRAY_LSE].tensor->value);
}

// The mean distance of `value` from what is wanted, in units of each element's last place.
static double mean_ulps(const struct tensor* t, const double* value) {
    double sum = 0, count = 0;
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        sum += fabs(value[e] - t->want[e]) / dtype_ulp(t->dtype, t->want[e]);
        count++;
    }
    return sum / count;
}

// A result that is rounded, scaled and rounded again is 4/3 as far off as one that is rounded once.
// Over a thousand elements the mean distance varies by 2 %.
static void judge_rounding(const struct problem* p, const struct tensor* t,
                           const double* standard) {
    const double of_standard = mean_ulps(t, standard);
    char what[80];
    if (of_standard < 0.01) return;  // exact numbers
    snprintf(what, sizeof what, "mean error of %s, of that of a result rounded once", t->name);
    check_at_most(p->check, CAUSE_low_precision, what, mean_ulps(t, t->got) / of_standard, 1.12);
}

void backward_judge(const struct problem* p) {
    struct backward right = backward_right(p);
    double *want[GRADIENTS], *standard[GRADIENTS];
    for (int a = 0; a < GRADIENTS; a++) {
        struct tensor* t = p->array[ARRAY_dQ + a].tensor;
        want[a] = t->want;
        standard[a] = check_allocate(p->check, t->count, sizeof(double));
    }
    backward(p, &right, false, want);
    backward(p, &right, true, standard);
    for (int a = GRADIENTS - 1; a >= 0; a--) {
        struct tensor* t = p->array[ARRAY_dQ + a].tensor;
        for (int64_t e = 0; e < t->count; e++) t->untouched[e] = isnan(t->want[e]);
        struct budget budget = budget_from(t, standard[a]);
        check_compare(p->check, t, budget);
        if (p->rounded_once) judge_rounding(p, t, standard[a]);
        free(standard[a]);
    }
}

void backward_run(const struct problem* p) {
    backward_forward(p);
    check_run(p->check);
    backward_judge(p);
}

// ---- whole cases ---------------------------------------------------------------------------

void backward_case_named(struct problem p, enum layout layout, const char* what) {
    problem_begin(&p, layout, what);
    backward_fill(&p);
    backward_run(&p);
}

void backward_case_far(struct problem p) {
    if (check_can_be_far(p.check)) backward_case_named(p, FAR, "");
}

void backward_case(struct problem p) {
    backward_case_named(p, PACKED, "");
}

int64_t pick_ragged(struct check* c, int64_t low, int64_t high, int64_t of) {
    const int64_t n = check_pick(c, low, high);
    return n % of ? n : n - 1;
}

void pick_lengths(struct check* c, int64_t N_q[LENGTHS], int64_t N_k[LENGTHS]) {
    static const int64_t queries[LENGTHS] = {0, 0, 129, 1, 17}, keys[LENGTHS] = {0, 0, 129, 65, 2};
    for (int n = 2; n < LENGTHS; n++) N_q[n] = queries[n], N_k[n] = keys[n];
    N_q[0] = 72 + 16 * check_pick(c, 0, 1);
    N_q[1] = 64 + pick_ragged(c, 2, 31, 8);
    N_k[0] = 128 + 8 * check_pick(c, 1, 3);
    N_k[1] = 128 + pick_ragged(c, 2, 31, 8);
}

void backward_case_of_length(struct problem p) {
    p.nan_gaps = p.N_q == 17;
    if (p.N_q == 1) problem_set_d(&p, 128);
    backward_case_named(p, p.nan_gaps ? GAPS : PACKED, "");
}

void backward_accesses(struct problem p) {
    problem_begin(&p, PACKED, "");
    backward_fill(&p);
    backward_forward(&p);
    check_run(p.check);
}

void backward_misaligned(struct problem p) {
    const unsigned some = 1u << ARRAY_K | 1u << ARRAY_dO | 1u << ARRAY_dV;
    p.later = some;
    backward_case(p);
    p.later = ((1u << ARRAYS) - 1) & ~some;
    backward_case(p);
}

void backward_case_tested(struct problem p) {
    problem_begin(&p, PACKED, "");
    backward_fill(&p);
    backward_forward(&p);
    backward_test(&p);
    backward_run(&p);
}

void backward_case_empty(struct problem p) {
    problem_begin(&p, GAPS, "; arrays without elements are NULL");
    check_null_if_empty(p.check);
    check_expect(p.check, COURSE_OK, CAUSE_empty_input);
    backward_fill(&p);
    backward_run(&p);
}

void backward_cases_empty(struct problem p) {
    int64_t* const sizes[] = {&p.B, &p.N_q, &p.N_k};
    for (int n = 0; n < 3; n++) {
        int64_t size = *sizes[n];
        *sizes[n] = 0;
        backward_case_empty(p);
        struct problem masked = p;
        masked.causal = true;
        if (p.B > 0 && !p.index.used && !p.causal) backward_case_empty(masked);
        *sizes[n] = size;
    }
}

// Q has the columns before half alone, and K those behind: scores are 0, and so are half of dQ and
// of dK. dP is a whole number up to 32.
void backward_case_rounded_once(struct problem p) {
    const int64_t n = p.causal ? p.N_k - p.N_q : p.N_k, half = p.d / 2;
    p.rounded_once = true;
    p.scale = 3.0 / 32;
    problem_begin(&p, PACKED, ", sums that are exact");
    backward_fill(&p);
    FOR_EACH_QUERY(&p, b, h, i) {
        double *Q = row_of(&p, ARRAY_Q, b, h, i), *dO = row_of(&p, ARRAY_dO, b, h, i);
        for (int64_t x = 0; x < p.d; x++) {
            if (x >= half) Q[x] = 0;
            dO[x] = 0;
        }
        Q[0] = 8;
        for (int k = 0; k < 4; k++)
            dO[check_pick(p.check, 0, p.d - 1)] = check_pick(p.check, 0, 1) ? 1 : -1;
    }
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            for (int64_t j = 0; j < p.N_k; j++) {
                double *K = row_of(&p, ARRAY_K, b, h, j), *V = row_of(&p, ARRAY_V, b, h, j);
                for (int64_t x = 0; x < half; x++) K[x] = 0;
                if (j >= n) K[0] = -200 / (8 * p.scale);
                for (int64_t x = 0; x < p.d; x++)
                    V[x] = j < n / 2 ? (double)check_pick(p.check, -8, 8)
                           : j < n   ? -row_of(&p, ARRAY_V, b, h, j - n / 2)[x]
                                     : 0;
            }
    backward_run(&p);
}

void backward_case_alike(struct problem p) {
    const int64_t half = p.d / 2;
    problem_begin(&p, PACKED, ", all scores 0");
    backward_fill(&p);
    FOR_EACH_QUERY(&p, b, h, i)
    for (int64_t x = half; x < p.d; x++) row_of(&p, ARRAY_Q, b, h, i)[x] = 0;
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group)
            for (int64_t j = 0; j < p.N_k; j++)
                for (int64_t x = 0; x < half; x++) row_of(&p, ARRAY_K, b, h, j)[x] = 0;
    backward_run(&p);
}

void backward_case_large_scores(struct problem p) {
    p = with_scale(p, NOT_OF_16_BITS);
    problem_begin(&p, PACKED, ", scores of 30 times the usual size");
    backward_fill(&p);
    struct tensor* Q = p.array[ARRAY_Q].tensor;
    for (int64_t e = 0; e < Q->count; e++) Q->value[e] = dtype_round(Q->dtype, 30 * Q->value[e]);
    backward_run(&p);
}

static void case_growing(struct problem p, double step, const char* what) {
    problem_begin(&p, PACKED, what);
    if (!p.contract->by_wgmma) check_mix_blocks(p.check);  // blocks that add to the same dQ
    backward_fill(&p);
    FOR_EACH_QUERY(&p, b, h, i)
    row_of(&p, ARRAY_Q, b, h, i)[0] = dtype_round(p.contract->dtype, 1 / p.scale);
    for (int64_t h = 0; h < p.H; h += p.group)
        for (int64_t j = 0; j < p.N_k; j++) row_of(&p, ARRAY_K, 0, h, j)[0] = (double)j * step;
    backward_run(&p);
}

void backward_case_growing(struct problem p) {
    case_growing(p, 1.0 / 16, ", scores that grow from key to key");
}

void backward_case_one_key_less(struct problem p) {
    case_growing(p, 0.5, ", one key less than whole tiles, which would weigh most");
}

void backward_case_level(struct problem p, double level) {
    const double k = 16;  // column 0 of Q and K alone gives a score of `level`
    char what[40];
    snprintf(what, sizeof what, ", scores near %g", level);
    problem_begin(&p, PACKED, what);
    backward_fill(&p);
    for (int64_t i = 0; i < p.N_q; i++)
        row_of(&p, ARRAY_Q, 0, 0, i)[0] = dtype_round(p.contract->dtype, level / (p.scale * k));
    for (int64_t j = 0; j < p.N_k; j++) row_of(&p, ARRAY_K, 0, 0, j)[0] = k;
    backward_run(&p);
}

void backward_case_lowest(struct problem p) {
    const double factor = 16;
    p.scale = 0x1p103 / (factor * factor);
    problem_begin(&p, PACKED, ", all scores -2^103");
    backward_fill(&p);
    fill_integers(p.check, p.array[ARRAY_Q].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_K].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_V].tensor, -4, 4);
    fill_integers(p.check, p.array[ARRAY_dO].tensor, -4, 4);
    set_column(&p, ARRAY_Q, 0, -factor);
    set_column(&p, ARRAY_K, 0, factor);
    backward_forward(&p);
    check_run(p.check);
    if (backward_is_zero(p.array[ARRAY_dV].tensor))
        check_fail(p.check, CAUSE_finite_lse, "dV is 0, and every query sees the key");
    backward_judge(&p);
}

// The gradient, rounded, is 0 or infinite.
static void judge_infinite(const struct problem* p, enum which a) {
    const double LARGEST_FP16 = 65504;
    struct tensor* t = p->array[a].tensor;
    const struct backward right = backward_right(p);
    double* gradient[GRADIENTS] = {NULL};
    gradient[a - ARRAY_dQ] = t->want;
    backward(p, &right, true, gradient);
    for (int64_t e = 0; e < t->count; e++)
        if (isinf(t->want[e]) && fabs(t->got[e]) == LARGEST_FP16)
            check_fail(p->check, CAUSE_clamped, "an element of %s is %g, expected %g", t->name,
                       t->got[e], t->want[e]);
    check_compare(p->check, t, budget_exact());
}

// Q and K have no column in common, so that all weights are 1 / N_k, and N_k is 2. V and K of the
// second key are those of the first with the other sign: O is 0.
void backward_case_too_large(struct problem p) {
    const double large = 0x1p15, small = 64;
    p.N_k = 2, p.scale = 1;
    problem_begin(&p, PACKED, ", gradients above 65504");
    backward_fill(&p);
    for (enum which a = ARRAY_Q; a <= ARRAY_V; a++) fill_integers(p.check, p.array[a].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_dO].tensor, 0, 0);
    set_column(&p, ARRAY_dO, 0, large);
    set_column(&p, ARRAY_Q, 1, small);
    for (int64_t j = 0; j < p.N_k; j++) {
        row_of(&p, ARRAY_K, 0, 0, j)[0] = j ? -small : small;
        row_of(&p, ARRAY_V, 0, 0, j)[0] = j ? -small : small;
    }
    backward_forward(&p);
    check_run(p.check);
    for (enum which a = ARRAY_dQ; a <= ARRAY_dV; a++) judge_infinite(&p, a);
}

void backward_case_large_dP(struct problem p) {
    problem_begin(&p, PACKED, ", dO of 4000 and V of 16 times the usual size");
    backward_fill(&p);
    backward_fill_rows(&p, ARRAY_dO, 4000);
    backward_fill_rows(&p, ARRAY_V, 16);
    backward_fill_rows(&p, ARRAY_Q, 1.0 / 16);
    backward_fill_rows(&p, ARRAY_K, 1.0 / 16);
    backward_run(&p);
}

void backward_case_faint(struct problem p) {
    const int64_t above = p.N_k / 2 + 1;
    problem_begin(&p, PACKED, ", one score 20 above all others");
    backward_fill(&p);
    fill_integers(p.check, p.array[ARRAY_Q].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_V].tensor, -57344, 57344);
    fill_integers(p.check, p.array[ARRAY_dO].tensor, 1000, 3000);
    set_column(&p, ARRAY_Q, 0, 1);
    set_column(&p, ARRAY_K, 0, 0);
    const enum dtype dtype = p.contract->dtype;
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group) {
            row_of(&p, ARRAY_K, b, h, above)[0] = dtype_round(dtype, 20 / p.scale);
            for (int64_t x = 0; x < p.d; x++) row_of(&p, ARRAY_V, b, h, above)[x] = 0;
        }
    for (enum which a = ARRAY_V; a <= ARRAY_dO; a++)
        for (int64_t e = 0; e < p.array[a].tensor->count; e++)
            p.array[a].tensor->value[e] = dtype_round(dtype, p.array[a].tensor->value[e]);
    backward_run(&p);
}

void backward_spread_keys(struct problem* p, double common, double apart) {
    spread_keys(p, common, apart);
    for (enum which a = ARRAY_K; a <= ARRAY_V; a++)
        for (int64_t e = 0; e < p->array[a].tensor->count; e++) {
            double* value = &p->array[a].tensor->value[e];
            *value = dtype_round(p->contract->dtype, *value);
        }
}

void backward_case_cancel_keys(struct problem p, double common, double apart) {
    problem_begin(&p, PACKED, ", large values that cancel");
    backward_fill(&p);
    backward_spread_keys(&p, common, apart);
    backward_run(&p);
}

// For the first n queries of head 0, query i + shift of `head` gets the Q of query i, and a dO of
// the other sign. See backward_case_cancel().
static void oppose_queries(const struct problem* p, int64_t n, int64_t head, int64_t shift,
                           double common, double apart) {
    for (int64_t i = 0; i < n; i++) {
        double *first = row_of(p, ARRAY_dO, 0, 0, i),
               *second = row_of(p, ARRAY_dO, 0, head, i + shift);
        const double* from = row_of(p, ARRAY_Q, 0, 0, i);
        double* to = row_of(p, ARRAY_Q, 0, head, i + shift);
        for (int64_t x = 0; x < p->d; x++)
            to[x] = dtype_round(p->contract->dtype, from[x] + apart * check_normal(p->check));
        for (int64_t x = 0; x < p->d; x++) {
            first[x] = dtype_round(p->contract->dtype, first[x] + common);
            second[x] = dtype_round(p->contract->dtype, second[x] - common);
        }
    }
}

void backward_case_cancel(struct problem p, int64_t n, int64_t head, int64_t shift, double common,
                          double apart) {
    problem_begin(&p, PACKED, ", large dO that cancel");
    backward_fill(&p);
    oppose_queries(&p, n, head, shift, common, apart);
    backward_run(&p);
}

// All heads of outputs first .. dV have the same bits.
static void judge_heads_alike(const struct problem* p, enum which first) {
    for (enum which a = first; a <= ARRAY_dV; a++) {
        struct tensor* t = p->array[a].tensor;
        const int64_t width = p->H / sharing(p, a) * p->d;
        for (int64_t e = 0; e < t->count; e++)  // as in head 0
            t->want[e] = t->got[e / width * width + e % p->d];
        check_compare(p->check, t, budget_exact());
    }
}

void backward_case_heads_alike(struct problem p, int64_t tile) {
    problem_begin(&p, SHARED, ", dO that cancel");
    backward_fill(&p);
    oppose_queries(&p, tile, 0, tile, 64, 0);
    backward_run(&p);
    judge_heads_alike(&p, ARRAY_dK);
}

void backward_case_repeatable(struct problem p) {
    struct problem watched = p;
    watched.H = p.group;
    problem_begin(&watched, PACKED, "");
    check_watch(p.check, WATCH_PROFILE);
    check_crowd_blocks(p.check);  // watched, that asks for an order of what blocks add
    backward_fill(&watched);
    backward_run(&watched);
    const struct arena_traffic* t = check_traffic(p.check);
    const double elements = (double)(watched.H * p.N_q * p.d);
    check_at_most(p.check, CAUSE_not_repeatable, "atomic operations for each element of dQ",
                  (double)(t->atomics - t->shared_atomics) / elements, 0.1);
    // In shared memory a maximum or a counter of each row is no sum. And 0 + a + b is 0 + b + a.
    check_at_most(p.check, CAUSE_not_repeatable, "atomics in shared memory for each element of dQ",
                  (double)t->shared_atomics / elements, 2);
    check_watch(p.check, WATCH_NONE);
    problem_begin(&p, SHARED, "");
    backward_fill(&p);
    backward_spread_keys(&p, 512, 0);
    check_crowd_blocks(p.check);
    backward_run(&p);
    judge_heads_alike(&p, ARRAY_dQ);
}

void backward_kept(struct problem p) {
    enum { MANY = 1041 };
    int64_t* const sizes[] = {&p.N_k, &p.N_q};
    problem_set_d(&p, 7);
    check_watch(p.check, WATCH_PROFILE);
    for (int n = 0; n < 2; n++) {
        int64_t size = *sizes[n];
        *sizes[n] = MANY;
        backward_case(p);
        problem_traffic(&p);
        *sizes[n] = size;
    }
}

void backward_case_again(struct problem p, int calls,
                         void (*change)(const struct problem* p, int round)) {
    problem_name(&p, PACKED, ", new data in the same arrays");
    check_rounds(p.check, calls);
    problem_declare(&p, PACKED);
    for (int r = 0; r < calls; r++) {
        check_round(p.check, r);
        if (change) change(&p, r);
        backward_fill(&p);
        backward_forward(&p);
    }
    check_run(p.check);
    for (int r = 0; r < calls; r++) {
        check_round(p.check, r);
        backward_judge(&p);
    }
}

static void fill_all(struct problem* p) {
    backward_fill(p);
    backward_forward(p);
}

static void fill_call(struct problem* p, int round) {
    (void)round;
    fill_all(p);
}

static void judge_all(struct problem* p) {
    backward_judge(p);
}

void backward_case_moved(struct problem p) {
    enum { CALLS = 2 };
    struct problem packed = p;
    struct problem* const calls[CALLS] = {&packed, &p};
    problem_name(&p, GAPS, ", after a call with packed arrays");
    check_rounds(p.check, CALLS);
    problem_declare(&p, GAPS);
    problem_call_first(&packed, &p, 0);
    problem_run_calls(calls, CALLS, fill_call, judge_all);
}

void backward_on_two_devices(struct problem p, const char* first, int status) {
    const bool of_any_kind = !p.contract->by_wgmma;
    // On a GPU of another kind a launcher may have other kernels, for more batches than heads, too.
    if (of_any_kind) p.B = 2, p.H = p.group = 1;
    problem_on_two_devices(p, first, status, fill_all, judge_all);
    if (of_any_kind) p.B = 1, problem_on_two_devices(p, CARD_NEWER, status, fill_all, judge_all);
}

void backward_case_after(struct problem p, struct problem first) {
    enum { CALLS = 4 };
    char what[80];
    snprintf(what, sizeof what, ", after calls with B = %d, H = %d, N_q = %d, N_k = %d, d = %d",
             (int)first.B, (int)first.H, (int)first.N_q, (int)first.N_k, (int)first.d);
    struct problem as_wide = first, alike;
    problem_set_d(&as_wide, p.d);
    alike = as_wide;
    alike.causal = p.causal;
    struct problem* const calls[CALLS] = {&first, &as_wide, &alike, &p};
    // What is wrong in a first call, too, is not left of another.
    for (int r = 0; r < CALLS; r++) backward_case(*calls[r]);
    problem_name(&p, PACKED, what);
    check_rounds(p.check, CALLS);
    problem_declare(&p, PACKED);
    for (int r = 0; r < CALLS - 1; r++) problem_call_first(calls[r], &p, r);
    problem_run_calls(calls, CALLS, fill_call, judge_all);
}
