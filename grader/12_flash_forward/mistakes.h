// mistakes.h: what check.c knows of attention: the case that runs, the right answer in fp64, and what
// the known mistakes would give instead of it.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_N 128     // the largest N_q and N_k of a case
#define MAX_HEAD 256  // the largest d

// Where the rows of an argument are: element (b, n, x) is value[b * stride_b + n * stride_n + x].
struct array {
    struct tensor* tensor;
    int64_t stride_b, stride_n;
};

// The running case.
static struct {
    int64_t B, N_q, N_k, d;
    double scale;
    struct array O, LSE, Q, K, V;
    const double *first_Q, *first_K, *first_V;  // the first call's inputs; NULL while it is judged
} now;

static double* at(const struct array* a, int64_t b, int64_t n) {
    return a->tensor->value + b * a->stride_b + n * a->stride_n;
}

static double score(int64_t b, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t x = 0; x < now.d; x++) sum += at(&now.Q, b, i)[x] * at(&now.K, b, j)[x];
    return sum * now.scale;
}

// ---- the reference -------------------------------------------------------------------------

// Attention the plain way, two passes over the scores of a row. In fp64, or with every operation
// rounded to fp32 (a sum or product of floats, computed in fp64, rounds to what fp32 arithmetic gives):
// then it is the standard that sets the budget. Fills O and LSE, counted like their tensors.
static void attention(bool single, double* O, double* LSE) {
#define ROUND(x) (single ? (double)(float)(x) : (x))
    double S[MAX_N], sum[MAX_HEAD];
    for (int64_t row = 0; row < now.B * now.N_q; row++) {
        int64_t b = row / now.N_q, i = row % now.N_q;
        const double* q = at(&now.Q, b, i);
        double m = -INFINITY, l = 0;
        for (int64_t j = 0; j < now.N_k; j++) {
            const double* k = at(&now.K, b, j);
            double s = 0;
            for (int64_t x = 0; x < now.d; x++) s = ROUND(s + ROUND(q[x] * k[x]));
            S[j] = ROUND(now.scale * s);
            m = fmax(m, S[j]);
        }
        memset(sum, 0, sizeof sum);
        for (int64_t j = 0; j < now.N_k; j++) {
            double p = ROUND(exp(ROUND(S[j] - m)));
            l = ROUND(l + p);
            const double* v = at(&now.V, b, j);
            for (int64_t x = 0; x < now.d; x++) sum[x] = ROUND(sum[x] + ROUND(p * v[x]));
        }
        double* o = O + b * now.O.stride_b + i * now.O.stride_n;
        for (int64_t x = 0; x < now.d; x++) {
            o[x] = ROUND(sum[x] / l);
            if (single) o[x] = dtype_round(F16, o[x]);
        }
        LSE[b * now.LSE.stride_b + i] = ROUND(m + ROUND(log(l)));
    }
#undef ROUND
}

// ---- known mistakes ------------------------------------------------------------------------

// How a kernel finds the rows of one array.
struct view {
    const double* value;  // NULL for an output
    int64_t stride_b, stride_n;
};

// An attention kernel with something wrong; explain() tries them out. All zero in `flaw` is right.
struct mistake {
    int64_t keys, columns;  // how many keys it sees, how many columns its dot product has
    int64_t tile;           // keys per tile
    double scale;
    double m;  // first value of the running maximum
    struct flaw {
        double l;             // first value of the running sum
        bool l_kept, O_kept;  // not multiplied by alpha
        bool reversed;        // alpha is exp(m_new - m)
        bool unscaled_first;  // the first tile does not multiply by alpha at all
        bool m_kept;          // m stays what it was before the first tile
        bool half_products;   // Q K is multiplied in fp16
        enum { LARGEST, CONSTANT, FIRST_SCORE } subtracted;  // by exp; CONSTANT is the first m
        enum { AT_END, NEVER, IN_LOOP, IN_LOOP_AND_AT_END } divided;
    } flaw;
    struct view Q, K, V, O, LSE;
    int64_t rows;  // not 0: every so many rows of O, one is where it belongs again
};

// An element that several blocks wrote: any of them may have been the last.
#define DISPUTED 1e300

static struct view view_of(const struct array* a) {
    return (struct view){a->tensor->value, a->stride_b, a->stride_n};
}

static struct mistake no_mistake(void) {
    return (struct mistake){.keys = now.N_k,
                            .columns = now.d,
                            .tile = now.N_k,
                            .scale = now.scale,
                            .m = -INFINITY,
                            .Q = view_of(&now.Q),
                            .K = view_of(&now.K),
                            .V = view_of(&now.V),
                            .O = view_of(&now.O),
                            .LSE = view_of(&now.LSE)};
}

// exp with the range of fp32: overflows to infinity, underflows to 0.
static double exp32(double x) {
    return (double)(float)exp(x);
}

// What a kernel with this mistake writes for row i of batch b.
static void simulate_row(const struct mistake* w, int64_t b, int64_t i, double* O, double* LSE) {
    const struct flaw* f = &w->flaw;
    const double* q = w->Q.value + b * w->Q.stride_b + i * w->Q.stride_n;
    double m = w->m, l = f->l, acc[MAX_HEAD] = {0}, S[MAX_N];
    for (int64_t j0 = 0; j0 < w->keys; j0 += w->tile) {
        int64_t end = j0 + w->tile < w->keys ? j0 + w->tile : w->keys;
        double m_new = m, sum = 0;
        for (int64_t j = j0; j < end; j++) {
            const double* k = w->K.value + b * w->K.stride_b + j * w->K.stride_n;
            double s = 0;
            for (int64_t x = 0; x < w->columns; x++)
                s += f->half_products ? dtype_round(F16, q[x] * k[x]) : q[x] * k[x];
            S[j] = s * w->scale;
            if (f->subtracted == LARGEST || (f->subtracted == FIRST_SCORE && j == 0))
                m_new = fmax(m_new, S[j]);
        }
        double alpha = exp32(f->reversed ? m_new - m : m - m_new);
        if (f->unscaled_first && j0 == 0) alpha = 1;
        for (int64_t j = j0; j < end; j++) sum += exp32(S[j] - m_new);
        l = (f->l_kept ? 1 : alpha) * l + sum;
        for (int64_t x = 0; x < now.d; x++) acc[x] *= f->O_kept ? 1 : alpha;
        for (int64_t j = j0; j < end; j++) {
            const double* v = w->V.value + b * w->V.stride_b + j * w->V.stride_n;
            double p = exp32(S[j] - m_new);
            if (f->divided == IN_LOOP || f->divided == IN_LOOP_AND_AT_END) p /= l;
            for (int64_t x = 0; x < now.d; x++) acc[x] += p * v[x];
        }
        if (!f->m_kept) m = m_new;
    }
    bool divided = f->divided == AT_END || f->divided == IN_LOOP_AND_AT_END;
    int64_t first = w->rows ? i / w->rows * w->rows : 0;
    double* o = O + b * w->O.stride_b + first * now.O.stride_n + (i - first) * w->O.stride_n;
    for (int64_t x = 0; x < now.d; x++)
        o[x] = !isnan(o[x]) ? DISPUTED : divided ? acc[x] / l : acc[x];
    LSE[b * w->LSE.stride_b + i] = m + log(l);
}

// The output that explain() is asked about.
static struct {
    const struct tensor* tensor;
    struct budget budget;
} suspect;

// True if the suspect is this hypothesis, which is counted like it. NaN in the hypothesis stands for NaN
// and for never written: both look the same in got.
static bool is_hypothesis(const double* hypothesis) {
    const struct tensor* t = suspect.tensor;
    double largest = 0, error = 0, unexplained = 0;
    bool differs = false;
    for (int64_t e = 0; e < t->count; e++)
        if (isfinite(hypothesis[e]) && hypothesis[e] != DISPUTED)
            largest = fmax(largest, fabs(hypothesis[e]));
    // A mistake may give far larger numbers than are wanted; their own rounding is no evidence.
    double slack = suspect.budget.max + largest * (t->dtype == F16 ? 0x1p-9 : 0x1p-20);
    for (int64_t e = 0; e < t->count; e++) {
        double got = t->got[e], guess = hypothesis[e], want = t->untouched[e] ? NAN : t->want[e];
        if (guess == DISPUTED) continue;
        if (isfinite(guess) ? !(fabs(got - guess) <= slack)
                            : !(got == guess || (isnan(got) && isnan(guess))))
            return false;
        if (isfinite(guess) && isfinite(want)) {
            error += fabs(got - want);
            unexplained += fabs(got - dtype_round(t->dtype, guess));
        } else {
            differs |= isnan(guess) != isnan(want) || isinf(guess) != isinf(want);
        }
    }
    // A mistake may also show by little more than the budget: what it leaves unexplained has to be
    // small beside the error itself.
    return differs || unexplained < error / 4;
}

// True if LSE is NaN in just the rows where the mistake makes it so.
static bool is_LSE_as_finite(const double* LSE) {
    for (int64_t row = 0; row < now.B * now.N_q; row++) {
        int64_t e = row / now.N_q * now.LSE.stride_b + row % now.N_q;
        if (isnan(now.LSE.tensor->got[e]) != isnan(LSE[e])) return false;
    }
    return true;
}

static bool is_it(const struct mistake* w) {
    int64_t n_O = now.O.tensor->count, n_LSE = now.LSE.tensor->count;
    double* O = malloc((size_t)(n_O + n_LSE) * sizeof *O);
    if (!O) abort();
    for (int64_t e = 0; e < n_O + n_LSE; e++) O[e] = NAN;  // what the kernel does not write
    for (int64_t row = 0; row < now.B * now.N_q; row++)
        simulate_row(w, row / now.N_q, row % now.N_q, O, O + n_O);
    bool yes = is_hypothesis(suspect.tensor == now.O.tensor ? O : O + n_O);
    // an O of NaN fits whatever makes NaN: then LSE has to fit as well
    if (yes && ((w->m < 0 && isfinite(w->m)) || w->flaw.half_products))
        yes = is_LSE_as_finite(O + n_O);
    free(O);
    return yes;
}

// True if every LSE is -infinity and O has no number but 0: the kernel saw no key at all.
static bool saw_nothing(void) {
    const struct tensor* O = now.O.tensor;
    for (int64_t e = 0; e < O->count; e++)
        if (!O->untouched[e] && !isnan(O->got[e]) && O->got[e] != 0) return false;
    for (int64_t row = 0; row < now.B * now.N_q; row++) {
        double got = now.LSE.tensor->got[row / now.N_q * now.LSE.stride_b + row % now.N_q];
        if (!(isinf(got) && got < 0)) return false;
    }
    return true;
}

// Mistakes that look different for every tile size: the student's is not known.
static enum cause explain_tile(int64_t tile) {
    static const struct {
        enum cause cause;
        struct flaw flaw;
    } known[] = {
        {CAUSE_no_rescale, {.l_kept = true}},
        {CAUSE_no_rescale_O, {.O_kept = true}},
        {CAUSE_no_rescale, {.l_kept = true, .O_kept = true}},
        {CAUSE_rescale_reversed, {.reversed = true}},
        {CAUSE_rescale_reversed, {.reversed = true, .unscaled_first = true}},
        {CAUSE_max_stale, {.m_kept = true}},
        {CAUSE_sum_init, {.l = 1, .unscaled_first = true}},
        {CAUSE_sum_init, {.l = 1, .l_kept = true}},
        {CAUSE_divided_early, {.divided = IN_LOOP}},
        {CAUSE_divided_early, {.divided = IN_LOOP_AND_AT_END}},
    };
    struct mistake w = no_mistake();
    w.keys = now.N_k / tile * tile;  // a last tile that is not full does not count
    if (w.keys > 0 && w.keys < now.N_k && is_it(&w)) return CAUSE_inner_tail;
    w.keys = now.N_k - tile;  // the last tile does not count
    if (w.keys > 0 && is_it(&w)) return CAUSE_inner_tail;
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        w = no_mistake();
        w.tile = tile;
        w.flaw = known[n].flaw;
        if (is_it(&w)) return known[n].cause;
    }
    return CAUSE_NONE;
}

static enum cause explain_arithmetic(void) {
    struct mistake w = no_mistake();
    double usual = (double)(float)(1 / sqrt((double)now.d));
    const struct {
        enum cause cause;
        double scale;
    } scales[] = {
        {CAUSE_scale_missing, 1},
        {CAUSE_scale_squared, now.scale * now.scale},
        {CAUSE_scale_squared, 1.0 / (double)now.d},
        {CAUSE_scale_ignored, usual},
    };
    for (size_t n = 0; n < sizeof scales / sizeof scales[0]; n++) {
        w.scale = scales[n].scale;
        if (w.scale != now.scale && is_it(&w)) return scales[n].cause;
    }
    w = no_mistake();
    w.flaw.half_products = true;
    if (is_it(&w)) return CAUSE_low_precision;
    w = no_mistake();
    w.flaw.divided = NEVER;
    if (is_it(&w)) return CAUSE_not_divided;
    w = no_mistake();
    w.flaw.subtracted = FIRST_SCORE;
    if (is_it(&w)) return CAUSE_overflow;
    w.flaw.subtracted = CONSTANT;
    w.m = 0;
    if (is_it(&w)) return CAUSE_overflow;
    w = no_mistake();
    for (w.m = -1e5; w.m < -1; w.m /= 10)
        if (is_it(&w)) return CAUSE_max_init;
    w.m = 0;
    if (is_it(&w)) return CAUSE_max_init;
    w = no_mistake();
    for (w.columns = now.d / 2; w.columns >= 16; w.columns /= 2)
        if (is_it(&w)) return CAUSE_inner_tail;
    w = no_mistake();
    w.keys = now.N_q;
    return now.N_q < now.N_k && is_it(&w) ? CAUSE_swapped_sizes : CAUSE_NONE;
}

// True if all rows of a view lie within the tensor.
static bool fits(const struct view* v, int64_t N, const struct tensor* t) {
    return (now.B - 1) * v->stride_b + (N - 1) * v->stride_n + now.d <= t->count;
}

// Tries a mistake with each set of arrays: bit 0 is Q, 1 K, 2 V, 3 O.
static bool is_it_in_some(const struct view other[4]) {
    for (int set = 1; set < 16; set++) {
        struct mistake w = no_mistake();
        struct view* views[] = {&w.Q, &w.K, &w.V, &w.O};
        const struct array* arrays[] = {&now.Q, &now.K, &now.V, &now.O};
        bool possible = true;
        for (int a = 0; a < 4; a++) {
            if (!(set >> a & 1)) continue;
            possible &= memcmp(views[a], &other[a], sizeof other[a]) != 0 &&
                        fits(&other[a], a == 0 || a == 3 ? now.N_q : now.N_k, arrays[a]->tensor);
            *views[a] = other[a];
        }
        if (possible && is_it(&w)) return true;
    }
    return false;
}

// Rows looked for in the wrong place, or those of an earlier call.
static enum cause explain_places(void) {
    const struct array* arrays[] = {&now.Q, &now.K, &now.V, &now.O};
    const double* first[] = {now.first_Q, now.first_K, now.first_V, NULL};
    struct mistake w = no_mistake();
    w.O.stride_n = now.d;
    for (w.rows = 8; w.rows <= 128; w.rows *= 2)  // queries per block
        if (is_it(&w)) return CAUSE_stride_ignored;
    enum { FIRST_BATCH, FIRST_CALL, ROWS, BATCHES, BOTH, AS_Q, AS_K, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct view other[4];
        for (int a = 0; a < 4; a++) {
            int64_t N = a == 0 || a == 3 ? now.N_q : now.N_k;
            other[a] = view_of(arrays[a]);
            if (way == FIRST_BATCH && a < 3) other[a].stride_b = 0;
            if (way == FIRST_CALL && first[a]) other[a].value = first[a];
            if (way == ROWS || way == BOTH) other[a].stride_n = now.d;
            if (way == BATCHES || way == BOTH) other[a].stride_b = N * other[a].stride_n;
            if (way == AS_Q || way == AS_K)
                other[a].stride_n = way == AS_Q ? now.Q.stride_n : now.K.stride_n;
        }
        if (is_it_in_some(other))
            return way == FIRST_BATCH  ? CAUSE_batch_ignored
                   : way == FIRST_CALL ? CAUSE_stale_state
                                       : CAUSE_stride_ignored;
    }
    return CAUSE_NONE;
}

// Mistakes in LSE alone.
static enum cause explain_LSE(void) {
    int64_t count = now.LSE.tensor->count;
    enum { NO_MAX, UNSCALED, BASE2, BASE2_OF_L, BASE2_OF_M, LOG10, ROWS, WAYS };
    static const enum cause causes[WAYS] = {
        CAUSE_lse_no_max, CAUSE_lse_unscaled, CAUSE_lse_base2,     CAUSE_lse_base2,
        CAUSE_lse_base2,  CAUSE_lse_base2,    CAUSE_stride_ignored};
    double* guess = malloc((size_t)count * sizeof *guess);
    if (!guess) abort();
    for (int way = 0; way < WAYS; way++) {
        for (int64_t e = 0; e < count; e++) guess[e] = NAN;
        for (int64_t row = 0; row < now.B * now.N_q; row++) {
            int64_t b = row / now.N_q, i = row % now.N_q, e = b * now.LSE.stride_b + i;
            double m = -INFINITY, lse = now.LSE.tensor->want[e];
            for (int64_t j = 0; j < now.N_k; j++) m = fmax(m, score(b, i, j));
            switch (way) {
            case NO_MAX:
                guess[e] = lse - m;
                break;
            case UNSCALED:
                guess[e] = m / now.scale + (lse - m);
                break;
            case BASE2:
                guess[e] = lse / log(2);
                break;
            case BASE2_OF_L:
                guess[e] = m + (lse - m) / log(2);
                break;
            case BASE2_OF_M:
                guess[e] = m / log(2) + (lse - m);
                break;
            case LOG10:
                guess[e] = m + (lse - m) / log(10);
                break;
            case ROWS:
                guess[row] = lse;
                break;
            }
        }
        if (is_hypothesis(guess)) {
            free(guess);
            return causes[way];
        }
    }
    free(guess);
    return CAUSE_NONE;
}

// True if the errors of O are small beside the values that were summed, which are large and cancel:
// rounding is relative to the sums on the way, not to the result.
static bool is_rounding(void) {
    const struct tensor* V = now.V.tensor;
    double largest = 0, worst = 0;
    for (int64_t e = 0; e < V->count; e++) largest = fmax(largest, fabs(V->value[e]));
    for (int64_t e = 0; e < suspect.tensor->count; e++)
        if (!suspect.tensor->untouched[e])
            worst = fmax(worst, fabs(suspect.tensor->got[e] - suspect.tensor->want[e]));
    return suspect.tensor == now.O.tensor && largest > 32 && worst < 0.02 * largest;
}

// What the student most likely did, for check_compare().
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    static const int64_t tiles[] = {16, 32, 64, 128, 1};
    (void)c;
    suspect.tensor = t;
    suspect.budget = budget;
    enum cause cause = t == now.LSE.tensor ? explain_LSE() : CAUSE_NONE;
    if (!cause) cause = explain_arithmetic();
    if (!cause && saw_nothing()) cause = CAUSE_inner_tail;
    for (size_t n = 0; n < sizeof tiles / sizeof tiles[0] && !cause; n++)
        if (tiles[n] <= now.N_k) cause = explain_tile(tiles[n]);
    if (!cause) cause = explain_places();
    return !cause && is_rounding() ? CAUSE_low_precision : cause;
}

#endif
