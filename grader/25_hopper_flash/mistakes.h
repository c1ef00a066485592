// mistakes.h: what is wrong with an output of lesson 25. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/forward_mistakes.h"

enum { TICKETS = 2 };

// Compares the tickets of the selected call: they have to be zeros again.
static void judge_tickets(struct check* c) {
    struct tensor* tickets = check_tensor(c, "tickets");
    for (int64_t e = 0; e < tickets->count; e++) tickets->untouched[e] = false;
    check_compare(c, tickets, budget_exact());
}

// ---- a walk from the last block of keys to the first, in which plain rounds have no maximum

enum { WALK_K = 128, WALK_ROWS = 64, WALK_Q = 128, WARP_ROWS = 16 };

struct lazy {
    enum {
        MASKED_O_KEPT,   // O is not rescaled in a masked round
        MASKED_L_KEPT,   // l is not
        MASKED_M_KEPT,   // m is not raised there
        AGAIN_O_KEPT,    // O is not rescaled where scores are computed again
        AGAIN_L_KEPT,    // l is not
        AGAIN_P_KEPT,    // O gets the weights from before
        SUM_OF_FIRST,    // l is that of the first block
        SUM_OF_MASKED,   // l lacks what plain rounds add
        V_OF_NEXT,       // the weights of a block multiply the values of the next one
        LAST_PV_LOST,    // the last block's product with V is left out
        FIRST_PV_TWICE,  // P is not new: the first block's weights multiply each V
        AGAIN_OF_HEAD,   // scores are computed again with the keys of head h, not h / group
        AGAIN_MODULO,    // with those of head h % H_k
        AGAIN_OF_FIRST,  // with those of head 0
        AGAIN_OF_BATCH,  // with those of batch 0
        AGAIN_OF_PLACE,  // with the block whose number is the place of the right one in its list
        LAZY_FLAWS
    } flaw;
};

static const double LARGEST_SUM = 4096;

// What a warp's rows have in the end; behind the last query there is none.
struct warp {
    double m[WARP_ROWS], l[WARP_ROWS], O[WARP_ROWS][MAX_HEAD];
    double first_P[WARP_ROWS][WALK_K];
};

// S_ij as it is computed again. NaN: not known.
static double score_again(const struct problem* p, int flaw, int64_t b, int64_t h, int64_t i,
                          int64_t j) {
    const struct array* K = &p->array[ARRAY_K];
    int64_t batch = flaw == AGAIN_OF_BATCH ? 0 : b, head = h / p->group;
    if (flaw == AGAIN_OF_HEAD) head = h;
    if (flaw == AGAIN_MODULO) head = h % (p->H / p->group);
    if (flaw == AGAIN_OF_FIRST) head = 0;
    const int64_t at = place(K->stride, batch, head, j);
    if (at + p->d > K->tensor->count) return NAN;
    return p->scale * dot(p, row_of(p, ARRAY_Q, b, h, i), K->tensor->value + at);
}

// Is the sum of some lane, which has 2 of every 8 keys of a row, too large for the row's m?
static bool is_outgrown_row(const double S[WALK_K], double m) {
    double sum[4] = {0};
    for (int64_t n = 0; n < WALK_K; n++)
        if (S[n] > -INFINITY) sum[n % 8 / 2] += exp(S[n] - m);
    for (int lane = 0; lane < 4; lane++)
        if (!(sum[lane] < LARGEST_SUM)) return true;
    return false;
}

// Row r in a round: block j of keys, with the scores S.
static void round_of_row(const struct problem* p, int flaw, int64_t b, int64_t h, int64_t j, int r,
                         const double S[WALK_K], bool is_first, bool masked, bool again,
                         struct warp* w) {
    double alpha = 1, largest = w->m[r], m_before = w->m[r], P[WALK_K], sum = 0;
    for (int64_t n = 0; n < WALK_K; n++) largest = fmax(largest, S[n]);
    if (is_first || again || (masked && flaw != MASKED_M_KEPT)) {
        alpha = largest > -INFINITY ? exp(w->m[r] - largest) : 1;
        w->m[r] = largest;
    }
    if (!(masked && flaw == MASKED_L_KEPT) && !(again && flaw == AGAIN_L_KEPT)) w->l[r] *= alpha;
    bool O_kept = (masked && flaw == MASKED_O_KEPT) || (again && flaw == AGAIN_O_KEPT);
    for (int64_t x = 0; x < p->d && !O_kept; x++) w->O[r][x] *= alpha;
    for (int64_t n = 0; n < WALK_K; n++) {
        P[n] = S[n] > -INFINITY ? exp(S[n] - w->m[r]) : 0;
        sum += P[n];
        if (again && flaw == AGAIN_P_KEPT && S[n] > -INFINITY) P[n] = exp32(S[n] - m_before);
        if (is_first) w->first_P[r][n] = P[n];
    }
    bool added = is_first || (flaw != SUM_OF_FIRST && !(flaw == SUM_OF_MASKED && !masked));
    if (added) w->l[r] += sum;
    if (flaw == LAST_PV_LOST && j == 0) return;
    for (int64_t n = 0; n < WALK_K; n++) {
        const int64_t key = (flaw == V_OF_NEXT && j > 0 ? j - 1 : j) * WALK_K + n;
        const double weight = flaw == FIRST_PV_TWICE ? w->first_P[r][n] : P[n];
        if (key >= p->N_k || weight == 0) continue;
        const double* v = row_of(p, ARRAY_V, b, h, key);
        for (int64_t x = 0; x < p->d; x++) w->O[r][x] += weight * v[x];
    }
}

// The warp whose first row is i0. Keys of a block that a row does not see weigh nothing. Scores are
// computed again for all its rows if one of them asks for it. False: not known.
static bool walk_warp(const struct problem* p, int flaw, int64_t b, int64_t h, int64_t i0,
                      struct warp* w) {
    const int64_t tile_end = i0 / WALK_Q * WALK_Q + WALK_Q - 1;
    const int64_t last = keys_seen(p, tile_end < p->N_q ? tile_end : p->N_q - 1) - 1;
    const int64_t whole = (keys_seen(p, i0 / WALK_ROWS * WALK_ROWS) - 1) / WALK_K;
    const int64_t blocks = CEIL_DIV(p->N_k, WALK_K), lists = CEIL_DIV(p->N_q, MASK_BLOCK);
    const double* list =
        p->mask ? p->mask->value + ((b * p->H + h) * lists + i0 / MASK_BLOCK) * blocks : NULL;
    const int rows = (int)(p->N_q - i0 < WARP_ROWS ? p->N_q - i0 : WARP_ROWS);
    memset(w, 0, sizeof *w);
    for (int r = 0; r < rows; r++) w->m[r] = -INFINITY;
    bool is_first = true;
    for (int64_t j = last / WALK_K; last >= 0 && j >= 0; j--) {
        if (list && list[j] == 0) continue;
        const bool masked = j >= whole && !is_first && !list;
        int64_t place = 0;  // in the list
        for (int64_t n = 0; n < j; n++) place += !list || list[n] != 0;
        double S[WARP_ROWS][WALK_K];
        bool again = false;
        for (int r = 0; r < rows; r++) {
            for (int64_t n = 0; n < WALK_K; n++) {
                const int64_t key = j * WALK_K + n;
                bool seen = key < keys_seen(p, i0 + r) && key < p->N_k;
                S[r][n] = seen ? score(p, b, h, i0 + r, key) : -INFINITY;
            }
            again |= !is_first && !masked && is_outgrown_row(S[r], w->m[r]);
        }
        for (int r = 0; r < rows; r++) {
            for (int64_t n = 0; n < WALK_K && again && flaw >= AGAIN_OF_HEAD; n++) {
                const int64_t block = flaw == AGAIN_OF_PLACE ? place : j;
                S[r][n] = score_again(p, flaw, b, h, i0 + r, block * WALK_K + n);
                if (isnan(S[r][n])) return false;
            }
            round_of_row(p, flaw, b, h, j, r, S[r], is_first, masked, again, w);
        }
        is_first = false;
    }
    return true;
}

static void row_of_warp(const struct problem* p, const struct warp* w, int64_t r, double* O,
                        double* LSE) {
    for (int64_t x = 0; x < p->d; x++) O[x] = w->l[r] > 0 ? w->O[r][x] / w->l[r] : 0;
    *LSE = w->l[r] > 0 ? w->m[r] + log(w->l[r]) : -INFINITY;
}

static bool rows_of_lazy(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i0,
                         double* O, double* LSE) {
    struct warp w;
    if (!walk_warp(p, ((const struct lazy*)how)->flaw, b, h, i0, &w)) return false;
    for (int64_t r = 0; r < WARP_ROWS; r++) row_of_warp(p, &w, r, O + r * p->d, LSE + r);
    return true;
}

static enum cause explain_lazy(const struct suspect* s) {
    static const enum cause causes[LAZY_FLAWS] = {
        [MASKED_O_KEPT] = CAUSE_no_rescale_O,   [MASKED_L_KEPT] = CAUSE_no_rescale,
        [MASKED_M_KEPT] = CAUSE_max_stale,      [AGAIN_O_KEPT] = CAUSE_no_rescale_O,
        [AGAIN_L_KEPT] = CAUSE_no_rescale,      [AGAIN_P_KEPT] = CAUSE_max_before,
        [SUM_OF_FIRST] = CAUSE_sum_short,       [SUM_OF_MASKED] = CAUSE_sum_short,
        [V_OF_NEXT] = CAUSE_tile_skipped,       [LAST_PV_LOST] = CAUSE_tile_skipped,
        [FIRST_PV_TWICE] = CAUSE_tile_twice,    [AGAIN_OF_HEAD] = CAUSE_head_mapping,
        [AGAIN_MODULO] = CAUSE_head_mapping,    [AGAIN_OF_FIRST] = CAUSE_head_ignored,
        [AGAIN_OF_BATCH] = CAUSE_batch_ignored, [AGAIN_OF_PLACE] = CAUSE_place_in_list,
    };
    const struct problem* p = s->problem;
    for (int flaw = p->mask ? AGAIN_OF_PLACE : 0; flaw < LAZY_FLAWS; flaw++) {
        const struct lazy lazy = {flaw};
        // One weight that outgrew the shift is all of O: it was rounded, and then O.
        struct suspect of = *s;
        if (flaw == AGAIN_P_KEPT) of.slack.of_largest *= 2;
        if (forward_is_made_of_tiles(&of, WARP_ROWS, rows_of_lazy, &lazy)) return causes[flaw];
    }
    return CAUSE_NONE;
}

static bool row_of_other_Q(const struct problem* p, const void* how, int64_t b, int64_t h,
                           int64_t i, double* O, double* LSE) {
    (void)p;
    forward_reference_row(how, false, b, h, i, O, LSE);
    return true;
}

// All warpgroups of a block multiply its first 64 rows of Q, and have other rows of O.
static bool are_first_rows(const struct suspect* s) {
    const struct problem* p = s->problem;
    struct problem other = *p;
    struct tensor Q = *p->array[ARRAY_Q].tensor;
    double* value = check_allocate(p->check, Q.count, sizeof *value);
    bool found = false;
    Q.value = value;
    other.array[ARRAY_Q].tensor = &Q;
    for (int64_t rows = 2 * WALK_ROWS; rows <= 3 * WALK_ROWS && !found; rows += WALK_ROWS) {
        memcpy(value, p->array[ARRAY_Q].tensor->value, (size_t)Q.count * sizeof *value);
        FOR_EACH_QUERY(p, b, h, i)
        memcpy(value + place_in(p, ARRAY_Q, b, h, i),
               row_of(p, ARRAY_Q, b, h, i - i % rows + i % WALK_ROWS),
               (size_t)p->d * sizeof *value);
        found = p->N_q > WALK_ROWS && forward_is_made_of_rows(s, row_of_other_Q, &other);
    }
    free(value);
    return found;
}

// ---- a mask that takes every lane's columns of a fragment for those of lane 0

static bool sees(const struct problem* p, int64_t b, int64_t i, int64_t key) {
    return key < p->N_k && key < keys_seen(p, i) && index_times(p, b, i, key) > 0;
}

// The keys [from, to) that query i sees; none: 0, 0.
struct seen {
    int64_t from, to;
};

static struct seen seen_by(const struct problem* p, int64_t b, int64_t i) {
    struct seen s = {0, p->N_k};
    if (i >= p->N_q) i = p->N_q - 1;
    while (s.to > 0 && !sees(p, b, i, s.to - 1)) s.to--;
    while (s.from < s.to && !sees(p, b, i, s.from)) s.from++;
    return s;
}

// A row of such a kernel. The first block of a tile has a mask of its own, which is right, and
// plain blocks have none. Behind the last key stand zeros.
static bool row_of_lane_0(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i,
                          double* O, double* LSE) {
    const int64_t tile = i / WALK_Q * WALK_Q, group = i / WALK_ROWS * WALK_ROWS;
    const int64_t first = seen_by(p, b, tile).from / WALK_K;
    const int64_t last = (seen_by(p, b, tile + WALK_Q - 1).to - 1) / WALK_K;
    const int64_t plain_to = (seen_by(p, b, group).to - 1) / WALK_K;
    const int64_t plain_from = CEIL_DIV(seen_by(p, b, group + WALK_ROWS - 1).from, WALK_K);
    double m = -INFINITY, l = 0;
    (void)how;
    for (int64_t x = 0; x < p->d; x++) O[x] = 0;
    for (int64_t key = first * WALK_K; key < (last + 1) * WALK_K; key++) {
        const int64_t j = key / WALK_K;
        const bool masked = j < last && (j >= plain_to || j < plain_from);
        if (!sees(p, b, i, masked ? key / 8 * 8 + key % 2 : key)) continue;
        const double S = key < p->N_k ? score(p, b, h, i, key) : 0, m_new = fmax(m, S);
        const double alpha = exp(m - m_new), weight = exp(S - m_new);
        m = m_new, l = alpha * l + weight;
        for (int64_t x = 0; x < p->d; x++)
            O[x] = alpha * O[x] + (key < p->N_k ? weight * row_of(p, ARRAY_V, b, h, key)[x] : 0);
    }
    for (int64_t x = 0; x < p->d; x++) O[x] = l > 0 ? O[x] / l : 0;
    *LSE = l > 0 ? m + log(l) : -INFINITY;
    return true;
}

// All wrong rows are not finite, or 0 as l is infinite, and have scores far above those of the last
// keys: their weights outgrew the shift, and nobody took another.
static bool is_outgrown(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    const enum which a = is_O(s) ? ARRAY_O : ARRAY_LSE;
    const double far = 40;  // with values of 2^80 fp32 overflows 48 ln 2 above the shift
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t seen = keys_seen(p, i), first = place_in(p, a, b, h, i);
        bool finite = true, zero = is_O(s);
        for (int64_t e = first; e < first + width_of(p, a); e++) {
            finite &= isfinite(t->got[e]) != 0;
            zero &= t->got[e] == 0 && t->want[e] != 0;
        }
        if (finite && !zero) continue;
        double last = -INFINITY, all = -INFINITY;
        for (int64_t j = 0; j < seen; j++) {
            all = fmax(all, score(p, b, h, i, j));
            if (j >= (seen - 1) / WALK_K * WALK_K) last = fmax(last, score(p, b, h, i, j));
        }
        if (!(all > last + far)) return false;
        any = true;
    }
    return any;
}

// All that is wrong is NaN, in rows that see nothing of the block with which their tile begins.
static bool is_NaN_of_late_rows(const struct suspect* s, int64_t tile) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    const enum which a = is_O(s) ? ARRAY_O : ARRAY_LSE;
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, a, b, h, i), last_row = i / tile * tile + tile - 1;
        bool wrong = false;
        for (int64_t e = first; e < first + width_of(p, a); e++) {
            if (fabs(t->got[e] - t->want[e]) <= s->budget.max || t->got[e] == t->want[e]) continue;
            if (!isnan(t->got[e])) return false;
            wrong = true;
        }
        if (wrong && seen_by(p, b, i).to > (seen_by(p, b, last_row).to - 1) / WALK_K * WALK_K)
            return false;
        any |= wrong;
    }
    return any;
}

// Without a key all of O is zeros. Some stand between the rows, and some rows have none: as if they
// were packed.
static bool are_zeros_packed(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    bool between = false, missing = false;
    for (int64_t e = 0; e < t->count; e++)
        if (t->untouched[e])
            between |= check_was_written(t, e);
        else
            missing |= !check_was_written(t, e);
    return is_O(s) && p->N_k == 0 && between && missing;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    if (t == check_tensor(c, "tickets")) return CAUSE_ticket_kept;
    const struct suspect s = forward_suspect(c, t, budget);
    const struct problem* p = s.problem;
    if (are_zeros_packed(&s)) return CAUSE_stride_ignored;
    if (is_outgrown(&s)) return CAUSE_overflow;
    if (are_first_rows(&s)) return CAUSE_sums_moved;
    enum cause cause = CAUSE_NONE;
    if (!p->index.used && p->N_k > WALK_K) cause = explain_lazy(&s);
    if (!cause && !p->mask && forward_is_made_of_rows(&s, row_of_lane_0, NULL))
        return CAUSE_fragment_order;
    if (!cause) cause = index_explain(c, t, budget);
    for (int64_t tile = 2 * WALK_ROWS; tile <= 3 * WALK_ROWS && !cause; tile += WALK_ROWS)
        if (is_NaN_of_late_rows(&s, tile)) cause = CAUSE_empty_state;
    return !cause && are_rows_scaled(&s) ? CAUSE_other_sum : cause;
}

#endif
