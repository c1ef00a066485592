// mistakes.h: what known mistakes of lesson 11 leave in loss, LSE and the gradient. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "parts.h"

// How a kernel differs from a right one. All 0: it does not.
struct twist {
    enum {
        BY_COUNT,
        BY_ROWS,
        BY_ONE,
        BY_ELEMENTS,
        BY_IGNORED
    } loss_by,
        gradient_by;  // the mean's divisor
    enum target {
        RIGHT_TARGET,
        OTHERS_ALONE,  // eps is spread over the V - 1 other tokens
        UNSMOOTHED,
        LABEL_WHOLE,  // the label keeps 1, and gets its share of eps
        LABEL_LESS,   // the label's share of eps is missing
        EPS_WHOLE,    // each token gets eps, not eps / V
        BY_STRIDE,    // or eps / stride
        NO_TARGET,    // nothing is taken away from softmax
    } loss_target,
        gradient_target;
    enum { LSE_RIGHT, LSE_BASE_2, LSE_NO_MAX, LSE_NO_LOG, EXP_BASE_2, SCORES_BASE_2 } lse;
    enum {
        L_RIGHT,
        FOLD_UNSCALED,   // l is not moved to the new maximum when a thread folds a piece
        MERGE_UNSCALED,  // or when states are merged
        FOLD_GROWING,    // ... to the largest logit so far, while a piece is folded
        FOLD_EACH,       // each logit of a piece moves l from the maximum before the piece
        FOLD_EACH_FULL,  // ... to that of the piece
        MERGE_FIRST,     // of two merged states the second one's l is not moved
        MERGE_SECOND,    // or the first one's
        MERGE_CROSSED,   // or each is moved by the other's factor
    } l;
    // what of the gradient is not divided by N
    enum { ALL_DIVIDED, HIT_WHOLE = 1, OTHERS_WHOLE = 2, SOFTMAX_WHOLE = 4 } whole;
    // where a label's place is like any other
    enum { NOWHERE, IN_PIECES, AT_EDGES, AT_FRONT, AT_BACK, FIRST_IN_PIECE, LAST_IN_PIECE } unhit;
    int unspread;           // likewise: where smoothing takes nothing off
    bool packed;            // rows are addressed without their stride
    bool half_labels;       // labels are read as numbers of 32 bits
    bool cut_labels;        // a label's upper 32 bits are lost
    bool cut_ignored;       // and those of ignore_index when the two are compared
    bool below_zero;        // rows with a label below 0 do not count, whatever ignore_index is
    bool ignored_taken;     // rows with a label that is a token count, also if it is ignore_index
    bool ignored_smoothed;  // rows that do not count add what smoothing makes of them to the loss
    bool bad_ignored;       // rows with a label that is none do not count
    bool bad_uncounted;     // they are not in N alone
    bool bad_clamped;       // such a label is taken for the last token
    bool bad_counted;       // such a row counts, with no label at all
    bool V_allowed;         // label V passes for a token
    bool finite_alone;      // the logits of tokens that are ruled out do not enter the loss
    bool late;              // the label's logit is read when the gradient stands there
    bool sum_whole;         // the sum of the logits is not divided by V
    bool late_in_first;     // that, of a label among a row's first: its reader has stored them
    bool NaN_of_nothing;    // 0 / 0 if no row counts
};

static struct weights weights_of(enum target target, double eps, double V) {
    const double others = eps / V, rest = eps / (V - 1);
    switch (target) {
    case OTHERS_ALONE:
        return (struct weights){rest, 1 - eps - rest};
    case UNSMOOTHED:
        return (struct weights){0, 1};
    case LABEL_WHOLE:
        return (struct weights){others, 1};
    case LABEL_LESS:
        return (struct weights){others, 1 - eps - others};
    case EPS_WHOLE:
        return (struct weights){eps, 1 - eps};
    case NO_TARGET:
        return (struct weights){0, 0};
    default:
        return (struct weights){others, 1 - eps};
    }
}

// What a twisted kernel takes for a row's label, and whether the row counts for it.
static int64_t twisted_label(const struct head* h, const struct twist* w, int64_t row,
                             bool* counted) {
    int64_t label = label_of(h, row);
    if (w->half_labels) {
        uint64_t whole = (uint64_t)label_of(h, row / 2);
        label = (int32_t)(uint32_t)(row % 2 ? whole >> 32 : whole);
    }
    if (w->cut_labels) label = (int32_t)(uint32_t)(uint64_t)label;
    *counted = label != h->ignore_index;
    if (w->cut_ignored) *counted = (uint32_t)label != (uint32_t)h->ignore_index;
    if (w->below_zero) *counted = label >= 0;
    if (w->ignored_taken) *counted |= is_token(h, label);
    if (w->bad_ignored) *counted &= is_token(h, label);
    if (w->bad_clamped && *counted && !is_token(h, label)) label = label < 0 ? 0 : h->V - 1;
    return label;
}

static double divisor(int by, double N, const struct head* h) {
    const double rows = (double)h->rows;
    if (by == BY_IGNORED) return rows - N;
    return by == BY_ROWS ? rows : by == BY_ONE ? 1 : by == BY_ELEMENTS ? N * (double)h->V : N;
}

static double twisted_LSE(const struct twist* w, struct sums s) {
    double LSE = s.m + log(s.l);
    switch (w->lse) {
    case LSE_BASE_2:
        return LSE / log(2);
    case LSE_NO_MAX:
        return log(s.l);
    case LSE_NO_LOG:
        return s.m + s.l;
    default:
        return LSE;
    }
}

// What a thread, and later a warp, knows of a row.
struct state {
    double m, l;
};

// Two states become one, by a mistake's way.
static struct state merged(const struct twist* w, struct state a, struct state b) {
    struct state both = {fmax(a.m, b.m), 0};
    if (both.m == -INFINITY) return both;
    const double of_a = exp(a.m - both.m), of_b = exp(b.m - both.m);
    const bool crossed = w->l == MERGE_CROSSED;
    both.l = a.l * (w->l == MERGE_SECOND ? 1
                    : crossed            ? of_b
                                         : of_a) +
             b.l * (w->l == MERGE_FIRST ? 1
                    : crossed           ? of_a
                                        : of_b);
    return both;
}

// Lane 0's state of a warp, whose lanes merge theirs with the lane 16, 8, 4, 2, 1 away.
enum { WARP = 32 };
static struct state merged_lanes(const struct twist* w, struct state s[WARP]) {
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        for (int lane = 0; lane < distance; lane++)
            s[lane] = merged(w, s[lane], s[lane + distance]);
    return s[0];
}

// l of a thread after a piece, by a mistake's way: m_new is the maximum with it, m that before.
static double folded(const struct twist* w, double l, double m, double m_new, const double* piece) {
    double run = m;
    if (w->l != FOLD_UNSCALED && w->l != FOLD_EACH && w->l != FOLD_EACH_FULL) l *= exp(m - m_new);
    if (w->l != FOLD_GROWING && w->l != FOLD_EACH && w->l != FOLD_EACH_FULL)
        return l + row_sum_exp(piece, PIECE, m_new);
    for (int e = 0; e < PIECE; e++) {
        run = fmax(run, piece[e]);
        const double to = w->l == FOLD_EACH_FULL ? m_new : run;
        if (to == -INFINITY) continue;
        if (w->l != FOLD_GROWING) l *= exp(m - to);
        l = (double)(float)(l + exp(piece[e] - to));  // what a float does not hold is 0
    }
    return l;
}

// l, of the row that begins at element `at`, where a maximum that grows leaves it as it is: when a
// thread folds a piece, or when the threads' states are merged. The exercise says which pieces and
// which logit beside them a thread has, and who merges with whom.
static double unscaled_l(const struct head* h, const struct twist* w, int64_t at, double m) {
    enum { THREADS = 512, LINE = 8 };
    const double* x = h->logits->value + at;
    const int64_t head = head_of_row(h, at);
    const int64_t count = (h->V - head) / PIECE, shift = (at + head) / PIECE % LINE;
    struct state of_thread[THREADS], of_warp[WARP];
    double all = 0;
    for (int64_t t = 0; t < THREADS; t++) {
        const int64_t edge = t < head ? t : t + count * PIECE;
        double m_t = edge < h->V ? x[edge] : -INFINITY, l = m_t > -INFINITY ? 1 : 0;
        for (int64_t k = t < shift ? t - shift + THREADS : t - shift; k < count; k += THREADS) {
            const double* piece = x + head + k * PIECE;
            const double m_new = fmax(m_t, row_max(piece, PIECE));
            if (m_new == -INFINITY) continue;
            l = folded(w, l, m_t, m_new, piece);
            m_t = m_new;
        }
        of_thread[t] = (struct state){m_t, l};
        all += w->l == MERGE_UNSCALED || l == 0 ? l : (double)(float)(l * exp(m_t - m));
    }
    if (w->l < MERGE_FIRST) return all;
    for (int n = 0; n < WARP; n++)
        of_warp[n] = n < THREADS / WARP ? merged_lanes(w, of_thread + n * WARP)
                                        : (struct state){-INFINITY, 0};
    return merged_lanes(w, of_warp).l;
}

// Is logit j of the row at `at` there? An `unhit`, or an `unspread`.
static bool is_at(int place, const struct head* h, int64_t at, int64_t j) {
    if (place >= FIRST_IN_PIECE)
        return is_in_piece(h, at, j) &&
               (j - head_of_row(h, at)) % PIECE == (place == FIRST_IN_PIECE ? 0 : PIECE - 1);
    if (!place || is_in_piece(h, at, j)) return place == IN_PIECES;
    return place == AT_EDGES || place == (j < head_of_row(h, at) ? AT_FRONT : AT_BACK);
}

// What the kernel leaves. Any of the arrays may be NULL.
static void twisted(const struct head* h, const struct twist* w, double* loss, double* LSE,
                    double* gradient) {
    const double V = (double)h->V, eps = (double)(float)h->smoothing;
    const struct weights t = weights_of(w->loss_target, eps, V);
    const struct weights u = weights_of(w->gradient_target, eps,
                                        w->gradient_target == BY_STRIDE ? (double)h->stride : V);
    double sum = 0, N = 0;
    bool counted;
    for (int64_t row = 0; row < h->rows; row++) {
        int64_t label = twisted_label(h, w, row, &counted);
        N += counted && (is_token(h, label) || !w->bad_uncounted);
    }
    for (int64_t row = 0; row < h->rows; row++) {
        const int64_t stride = w->packed ? h->V : h->stride, at = h->first + row * stride;
        const double* x = h->logits->value + at;
        int64_t label = twisted_label(h, w, row, &counted);
        bool token = is_token(h, label);
        if (LSE) LSE[row] = 0;
        for (int64_t j = 0; j < h->V && gradient; j++) gradient[at + j] = 0;
        if (!counted && !w->ignored_smoothed) continue;
        struct sums s = sums_of(x, h->V);
        if (!counted) {
            sum += t.others * (V * (s.m + log(s.l)) - s.sum);
            continue;
        }
        if (w->l) s.l = unscaled_l(h, w, at, s.m);
        for (int64_t j = 0; j < h->V && w->finite_alone; j++) {
            if (j == 0) s.sum = 0;
            s.sum += isfinite(x[j]) ? x[j] : 0;
        }
        if (w->lse == EXP_BASE_2 || w->lse == SCORES_BASE_2) {
            s.l = 0;
            for (int64_t j = 0; j < h->V; j++) s.l += exp2(x[j] - s.m);
        }
        if (LSE) LSE[row] = twisted_LSE(w, s);
        double x_label = token ? x[label] : w->V_allowed && label == h->V ? ANYTHING : NAN;
        double g = token ? exp(x_label - s.m) / s.l - u.others - u.hit : 0;
        if (w->late || (w->late_in_first && label < PIECE))
            x_label = dtype_round(BF16, g / divisor(w->gradient_by, N, h));
        if (w->bad_counted && !token) x_label = s.m + log(s.l);
        const double spread = w->sum_whole ? V * s.sum : s.sum;
        sum += (t.others > 0 ? t.others * (V * (s.m + log(s.l)) - spread) : 0);
        if (t.hit > 0) sum += t.hit * (twisted_LSE(w, s) - x_label);
        for (int64_t j = 0; j < h->V && gradient; j++) {
            double p = w->lse == EXP_BASE_2 ? exp2(x[j] - s.m) / s.l : exp(x[j] - s.m) / s.l;
            const bool unhit = is_at(w->unhit, h, at, j),
                       known = token || w->bad_counted || w->V_allowed;
            const double by = divisor(w->gradient_by, N, h), hit = j == label && !unhit ? u.hit : 0;
            p /= w->whole & SOFTMAX_WHOLE ? 1 : by;
            if (!is_at(w->unspread, h, at, j)) p -= u.others / (w->whole & OTHERS_WHOLE ? 1 : by);
            p -= hit / (w->whole & HIT_WHOLE ? 1 : by);
            gradient[at + j] = known ? p : NAN;
        }
    }
    if (loss) *loss = N > 0 || w->NaN_of_nothing ? sum / divisor(w->loss_by, N, h) : 0;
}

// A hypothesis' make(): like is a struct twist.
static bool make_twisted(const struct suspect* s, const struct hypothesis* h, int variant,
                         double* guess) {
    const struct head* head = s->problem;
    const struct twist* w = h->like;
    (void)variant;
    if (w->packed && head->stride == head->V) return false;
    // The gradient of one logit is 0, whatever the mean divides it by.
    if (w->gradient_by && head->V == 1) return false;
    if (s->tensor == head->logits)
        for (int64_t e = 0; e < s->tensor->count; e++)
            if (w->packed || s->tensor->untouched[e]) guess[e] = ANYTHING;
    twisted(head, w, s->tensor == head->loss ? guess : NULL, s->tensor == head->LSE ? guess : NULL,
            s->tensor == head->logits ? guess : NULL);
    // A gradient that by chance is the logit it takes the place of looks like none.
    for (int64_t e = 0; s->tensor == head->logits && e < s->tensor->count; e++)
        if (!check_was_written(head->logits, e) &&
            fabs(guess[e] - head->logits->value[e]) <= 0x1p-8 * fabs(guess[e]))
            guess[e] = NOT_WRITTEN;
    return true;
}

#define TWIST(cause, ...) \
    { CAUSE_##cause, make_twisted, 1, LIKE(twist, __VA_ARGS__) }

static const struct hypothesis mistakes[] = {
    TWIST(stride_ignored, .packed = true),
    TWIST(no_rescale, .l = FOLD_UNSCALED),
    TWIST(no_rescale, .l = MERGE_UNSCALED),
    TWIST(no_rescale, .l = FOLD_GROWING),
    TWIST(rescale_repeated, .l = FOLD_EACH),
    TWIST(rescale_repeated, .l = FOLD_EACH_FULL),
    TWIST(rescale_crossed, .l = MERGE_FIRST),
    TWIST(rescale_crossed, .l = MERGE_SECOND),
    TWIST(rescale_crossed, .l = MERGE_CROSSED),
    TWIST(target_missing, .unhit = IN_PIECES),
    TWIST(target_missing, .unhit = AT_EDGES),
    TWIST(target_missing, .unhit = AT_FRONT),
    TWIST(target_missing, .unhit = AT_BACK),
    TWIST(target_missing, .unhit = FIRST_IN_PIECE),
    TWIST(target_missing, .unhit = LAST_IN_PIECE),
    TWIST(label_late, .late = true),
    TWIST(label_late, .late_in_first = true),
    TWIST(label_late, .late = true, .gradient_target = NO_TARGET),
    TWIST(smoothing, .unspread = IN_PIECES),
    TWIST(smoothing, .unspread = AT_EDGES),
    TWIST(mean_divisor, .loss_by = BY_ROWS, .gradient_by = BY_ROWS),
    TWIST(mean_divisor, .loss_by = BY_ONE, .gradient_by = BY_ONE),
    TWIST(mean_divisor, .loss_by = BY_ELEMENTS, .gradient_by = BY_ELEMENTS),
    TWIST(mean_divisor, .loss_by = BY_IGNORED, .gradient_by = BY_IGNORED),
    TWIST(mean_divisor, .whole = HIT_WHOLE),
    TWIST(mean_divisor, .whole = HIT_WHOLE, .gradient_target = LABEL_WHOLE),
    TWIST(mean_divisor, .whole = HIT_WHOLE, .gradient_target = UNSMOOTHED),
    TWIST(mean_divisor, .whole = OTHERS_WHOLE),
    TWIST(mean_divisor, .whole = HIT_WHOLE | OTHERS_WHOLE),
    TWIST(mean_divisor, .whole = SOFTMAX_WHOLE),
    TWIST(smoothing, .loss_target = OTHERS_ALONE, .gradient_target = OTHERS_ALONE),
    TWIST(smoothing, .loss_target = UNSMOOTHED, .gradient_target = UNSMOOTHED),
    TWIST(smoothing, .loss_target = LABEL_WHOLE, .gradient_target = LABEL_WHOLE),
    TWIST(smoothing, .loss_target = LABEL_LESS, .gradient_target = LABEL_LESS),
    TWIST(smoothing, .loss_target = EPS_WHOLE, .gradient_target = EPS_WHOLE),
    TWIST(smoothing, .finite_alone = true),
    TWIST(smoothing, .sum_whole = true),
    TWIST(smoothing, .gradient_target = BY_STRIDE),
    TWIST(ignore_index, .ignored_smoothed = true),
    TWIST(target_missing, .gradient_target = NO_TARGET, .loss_target = NO_TARGET),
    TWIST(lse_base2, .lse = LSE_BASE_2),
    TWIST(lse_no_max, .lse = LSE_NO_MAX),
    TWIST(lse_no_log, .lse = LSE_NO_LOG),
    TWIST(exp2_base, .lse = EXP_BASE_2),
    TWIST(exp2_base, .lse = SCORES_BASE_2),
    TWIST(label_bits, .half_labels = true),
    TWIST(label_bits, .cut_labels = true),
    TWIST(label_bits, .cut_ignored = true),
    TWIST(ignore_index, .below_zero = true),
    TWIST(ignore_index, .below_zero = true, .bad_ignored = true),
    TWIST(ignore_index, .ignored_taken = true),
    TWIST(label_range, .bad_ignored = true),
    TWIST(label_range, .bad_uncounted = true),
    TWIST(label_range, .bad_clamped = true),
    TWIST(label_range, .bad_counted = true),
    TWIST(label_range, .V_allowed = true),
    TWIST(none_count, .NaN_of_nothing = true),
    {0},
};

// Rows that do not count: is their LSE or gradient other than 0, and nothing else wrong, but rows
// whose label is ignore_index cut to an int?
static bool ignored_are_wrong(const struct head* h, const struct tensor* t, double allowed) {
    bool any = false;
    for (int64_t row = 0; row < h->rows; row++) {
        const bool one = t == h->LSE;
        const int64_t at = one ? row : place_of(h, row, 0);
        for (int64_t j = 0; j < (one ? 1 : h->V); j++) {
            if (!differs(t->got[at + j], t->want[at + j], allowed)) continue;
            if (counts(h, row) && label_of(h, row) != (int32_t)h->ignore_index) return false;
            any = true;
        }
    }
    return any;
}

// The largest and the smallest maximum of rows that have a wrong element, and whether all of these
// are NaN or infinite, or 0.
struct wrong_rows {
    double high, low;
    bool lost, any, right, ruled_out;  // ruled_out: all of these rows hold -inf
    bool infinite;                     // one is NaN or infinite
};

static struct wrong_rows wrong_rows_of(const struct head* h, const struct tensor* t,
                                       double allowed) {
    struct wrong_rows w = {.high = -INFINITY, .low = INFINITY, .lost = true, .ruled_out = true};
    for (int64_t row = 0; row < h->rows; row++) {
        const bool one = t == h->LSE;
        const int64_t at = one ? row : place_of(h, row, 0);
        double m = row_max(logits_of(h, row), h->V);
        bool wrong = false;
        for (int64_t j = 0; j < (one ? 1 : h->V); j++) {
            double got = t->got[at + j];
            if (!differs(got, t->want[at + j], allowed)) continue;
            wrong = true;
            w.lost &= !isfinite(got) || got == 0;
            w.infinite |= !isfinite(got);
        }
        bool infinite = false;
        for (int64_t j = 0; j < h->V; j++) infinite |= logits_of(h, row)[j] == -INFINITY;
        if (wrong) w.ruled_out &= infinite;
        w.any |= wrong;
        w.right |= !wrong && counts(h, row);
        if (wrong) w.high = fmax(w.high, m), w.low = fmin(w.low, m);
    }
    return w;
}

// Is the gradient of every row that counts NaN or infinite, the loss, too, or 0, and LSE right? So
// exp has not overflowed: the number that both are divided by is 0.
static bool is_divided_by_0(const struct head* h, const struct tensor* t) {
    const double loss = h->loss->got[0], want = h->loss->want[0];
    bool any = false;
    if (t != h->logits || want == 0) return false;
    if (isfinite(want) && isfinite(loss) && loss != 0) return false;
    for (int64_t row = 0; row < h->rows; row++) {
        if (!counts(h, row)) continue;
        if (!(fabs(h->LSE->got[row] - h->LSE->want[row]) <= 1e-3 * (1 + fabs(h->LSE->want[row]))))
            return false;
        for (int64_t j = 0; j < h->V; j++)
            if (isfinite(t->got[place_of(h, row, j)])) return false;
        any = true;
    }
    return any;
}

// Is the gradient of every row that counts off by one factor, and LSE right? That factor is the
// mean's, where no smoothing makes a label's part smaller.
static bool is_divided_alike(const struct head* h, const struct tensor* t, double allowed,
                             double* factor) {
    double low = INFINITY, high = 0, most = 0;
    if (t != h->logits || h->smoothing > 0) return false;
    for (int64_t row = 0; row < h->rows; row++) {
        if (differs(h->LSE->got[row], h->LSE->want[row], 1e-3 * (1 + fabs(h->LSE->want[row]))))
            return false;
        for (int64_t j = 0; j < h->V; j++) {
            const int64_t e = place_of(h, row, j);
            const double got = t->got[e], want = t->want[e];
            if (!isfinite(got) || !isfinite(want)) return false;
            most = fmax(most, fabs(want));
            if (!(fabs(want) > 64 * allowed)) continue;
            low = fmin(low, got / want), high = fmax(high, got / want);
        }
    }
    if (!(low > 0 && high - low <= 0x1p-6 * high) || fabs(high - 1) < 0x1p-5) return false;
    *factor = high;
    for (int64_t row = 0; row < h->rows; row++)
        for (int64_t j = 0; j < h->V; j++) {
            const int64_t e = place_of(h, row, j);
            if (differs(t->got[e], t->want[e] * (low + high) / 2, allowed + 0x1p-6 * most * high))
                return false;
        }
    return true;
}

// Is LSE wrong in rows whose label is no token, and in no other?
static bool is_wrong_without_token(const struct head* h, double allowed) {
    bool any = false;
    for (int64_t row = 0; row < h->rows; row++) {
        if (!differs(h->LSE->got[row], h->LSE->want[row], allowed)) continue;
        if (!counts(h, row) || is_token(h, label_of(h, row))) return false;
        any = true;
    }
    return any;
}

// Is LSE in each wrong row what it is where l is not rescaled? That may be little more than
// rounding, where a thread has few logits: so it has to be much nearer to that than to what is
// wanted.
static bool is_unscaled(const struct head* h, double allowed) {
    bool fits = false;
    for (int l = FOLD_UNSCALED; l <= MERGE_UNSCALED && !fits; l++) {
        const struct twist w = {.l = l};
        int64_t wrong = 0;
        fits = true;
        for (int64_t row = 0; row < h->rows && fits; row++) {
            if (!counts(h, row)) continue;
            const double got = h->LSE->got[row], off = fabs(got - h->LSE->want[row]);
            if (!isfinite(off)) return false;  // l lost all its terms
            struct sums s = sums_of(logits_of(h, row), h->V);
            s.l = unscaled_l(h, &w, place_of(h, row, 0), s.m);
            const double left = fabs(got - twisted_LSE(&w, s));
            fits = left <= (off > allowed ? off / 4 : allowed);
            wrong += off > allowed;
        }
        fits &= wrong > 0;
    }
    return fits;
}

// Logits at the end of rows still stand where the gradient belongs. Those behind the last whole
// piece may be another thread's.
static enum cause from_unwritten(const struct head* h) {
    int64_t most = 0, before = 0;
    for (int64_t row = 0; row < h->rows; row++) {
        int64_t n = 0, end = h->V;
        while (end > h->V - PIECE + 1 && end > 0 &&
               check_was_written(h->logits, place_of(h, row, end - 1)))
            end--;
        while (n < end && !check_was_written(h->logits, place_of(h, row, end - 1 - n))) n++;
        most = n > most ? n : most;
        for (int64_t j = 0; j < end - n; j++)
            before += !check_was_written(h->logits, place_of(h, row, j));
    }
    return most > 0 && most < h->V && before == 0 ? CAUSE_inner_tail : CAUSE_NONE;
}

// Every wrong element is the next bf16 towards 0, or every one towards -infinity, and so on: not
// the nearest. What is wrong at labels alone was rounded before the label's share was taken off.
static bool is_cut_off(const struct head* h, double allowed) {
    int64_t wrong = 0;
    for (int64_t row = 0; row < h->rows; row++)
        for (int64_t j = 0; j < h->V; j++) {
            const int64_t e = place_of(h, row, j);
            double want = h->logits->want[e], off = fabs(h->logits->got[e] - want);
            if (!(off <= 1.01 * dtype_ulp(BF16, fabs(want)) + allowed)) return false;
            if (j == label_of(h, row)) continue;
            wrong += off > 0.51 * dtype_ulp(BF16, fabs(want)) + allowed;
        }
    return wrong > 0;
}

static enum cause explain_within(const struct head* h, const struct tensor* t, struct budget budget,
                                 double share) {
    const struct suspect s = {
        .tensor = t, .budget = budget, .slack = {.of_element = share}, .problem = h};
    if (rows_that_count(h) == 0 && isnan(t->got[t == h->logits ? h->first : 0]))
        return CAUSE_none_count;
    if (t == h->loss && is_loss_alone(h)) return CAUSE_workspace_uncleared;
    enum cause cause = hypothesis_search(&s, mistakes);
    if (cause) return cause;
    if (t == h->loss) {
        bool near = fabs(t->got[0] - t->want[0]) <= 0.02 * fabs(t->want[0]);
        if (near) return is_sum_short(h) ? CAUSE_smoothing : CAUSE_low_precision;
        if (isnan(t->got[0]) && isfinite(t->want[0])) return CAUSE_nan_leak;
        return CAUSE_NONE;
    }
    if (ignored_are_wrong(h, t, budget.max)) return CAUSE_ignore_index;
    double factor = 1;
    if (is_divided_by_0(h, t)) return CAUSE_mean_divisor;
    if (is_divided_alike(h, t, budget.max, &factor))
        return is_no_count(h, factor) ? CAUSE_workspace_uncleared : CAUSE_mean_divisor;
    struct wrong_rows w = wrong_rows_of(h, t, budget.max);
    if (w.any && w.lost && w.ruled_out) return CAUSE_empty_state;
    if (w.any && w.lost && w.infinite && w.high > 80.0) return CAUSE_overflow;
    if (w.any && w.lost && w.right && w.high < -80.0) return CAUSE_max_init;
    if (t == h->LSE && is_unscaled(h, budget.max)) return CAUSE_no_rescale;
    if (t == h->LSE && is_wrong_without_token(h, budget.max)) return CAUSE_label_range;
    if (t == h->LSE) {
        cause = from_LSE(h, budget.max);
        return cause == CAUSE_merge_lost && from_unwritten(h) ? CAUSE_inner_tail : cause;
    }
    cause = from_unwritten(h);
    return cause ? cause : is_cut_off(h, 0) ? CAUSE_cut_off : CAUSE_NONE;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    return explain_within(check_description(c), t, budget, t->dtype == BF16 ? 0x1p-7 : 0x1p-20);
}

#endif
