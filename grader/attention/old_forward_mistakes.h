// forward_mistakes.h: what the known mistakes in attention would give instead of the right answer: explain().
#ifndef ATTENTION_FORWARD_MISTAKES_H
#define ATTENTION_FORWARD_MISTAKES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/old_forward.h"

// How a kernel finds the rows of one array.
struct view {
    const double* value;  // NULL for an output
    struct strides s;
};

// An attention kernel with something wrong; explain() tries them out.
struct mistake {
    bool causal;
    int64_t offset;            // query i sees the keys up to i + offset
    int64_t block_q, block_k;  // tiles, for what depends on them
    enum {
        NO_FLAW,
        TAIL_COUNTS,          // what the last tile has beyond N_k counts as keys of zeros
        LAST_TILE_DROPPED,    // the sweep of a block ends with its last whole tile
        DIAGONAL_UNMASKED,    // tiles up to the last row's last whole one are not masked
        END_UNMASKED,         // the mask is applied to no tile that is loaded
        PART_1_LOST,          // only the tiles from full_end on count
        MASKED_COUNT,         // masked keys count with the score `masked`
        MASKED_COUNT_TO_N_K,  // the same, without skipping tiles
        MASKED_IN_MAXIMUM,    // masked keys have no weight, but count for the maximum
    } flaw;
    double masked;
    double scale;
    struct view Q, K, V, O, LSE;
    struct block_mask blocks;
    // Where heads share keys (lesson 17): how query heads and rows of a packed tile are numbered.
    enum {
        NEIGHBOURS,       // no mistake: key head h / group
        INTERLEAVED,      // key head h % (H / group)
        POWERS_OF_TWO,    // row r is query r / n and head r % n, n the next power of two
        ROW_FOR_A_QUERY,  // the mask takes the packed row for the query
    } grouping;
};

static struct view view_of(const struct array* a) {
    return (struct view){a->tensor ? a->tensor->value : NULL, a->s};
}

static struct mistake no_mistake(void) {
    return (struct mistake){.causal = now.causal,
                            .offset = now.N_k - now.N_q,
                            .block_q = 16,
                            .block_k = 16,
                            .scale = now.scale,
                            .Q = view_of(&now.Q),
                            .K = view_of(&now.K),
                            .V = view_of(&now.V),
                            .O = view_of(&now.O),
                            .LSE = view_of(&now.LSE),
                            .blocks = block_mask()};
}

static int64_t round_up(int64_t n, int64_t tile) {
    return (n + tile - 1) / tile * tile;
}

// Which head of K and V query head h takes.
static int64_t key_head(const struct mistake* w, int64_t h) {
    return w->grouping == INTERLEAVED ? h % (now.H / now.group) : h / now.group;
}

// True if some packed row of a kernel with this mistake is query i of head h.
static bool has_a_row(const struct mistake* w, int64_t i, int64_t h) {
    int64_t n = 1, g = h % now.group;
    while (n < now.group) n *= 2;
    // In place of r % n such kernels have r & (group - 1), which leaves bits out.
    return w->grouping != POWERS_OF_TWO ||
           ((g & (now.group - 1)) == g && i * n + g < now.N_q * now.group);
}

static int64_t seen_by(const struct mistake* w, int64_t i) {
    int64_t seen = w->causal ? i + 1 + w->offset : now.N_k;
    return seen < 0 ? 0 : seen > now.N_k ? now.N_k : seen;
}

// exp with the range of fp32: overflows to infinity, underflows to 0.
static double exp32(double x) {
    return (double)(float)exp(x);
}

// What a kernel with this mistake writes for one row: it sees the keys [first, visible), and those of
// [visible, loaded) as the flaw says.
static void simulate_row(const struct mistake* w, int64_t b, int64_t i, int64_t h, double* O,
                         double* LSE) {
    static double S[MAX_N];
    if (!has_a_row(w, i, h)) return;
    int64_t kh = key_head(w, h);
    if (w->grouping == ROW_FOR_A_QUERY) i = i * now.group + h % now.group;
    int64_t first_row = i / w->block_q * w->block_q, last_row = first_row + w->block_q - 1;
    int64_t first = 0, visible = seen_by(w, i), loaded = visible, end = seen_by(w, last_row);
    switch (w->flaw) {
    case NO_FLAW:
        break;
    case TAIL_COUNTS:
        visible = loaded = w->causal ? visible : round_up(now.N_k, w->block_k);
        break;
    case LAST_TILE_DROPPED:
        end = end / w->block_k * w->block_k;
        visible = loaded = visible < end ? visible : end;
        break;
    case DIAGONAL_UNMASKED:
        end = end / w->block_k * w->block_k;
        visible = loaded = visible > end ? visible : end;
        break;
    case END_UNMASKED:
        visible = loaded = round_up(end, w->block_k);
        break;
    case PART_1_LOST:
        first = seen_by(w, first_row) / w->block_k * w->block_k;
        if (first >= end) first = 0;  // there is no part 2
        break;
    case MASKED_COUNT:
    case MASKED_IN_MAXIMUM:
        loaded = round_up(end, w->block_k);
        break;
    case MASKED_COUNT_TO_N_K:
        loaded = round_up(now.N_k, w->block_k);
        break;
    }
    if (w->grouping == ROW_FOR_A_QUERY) i /= now.group;
    const double* q = w->Q.value + place_of(w->Q.s, b, i, h);
    double m = -INFINITY, l = 0, acc[MAX_HEAD] = {0};
    for (int64_t j = first; j < loaded; j++) {
        S[j] = 0;
        const double* k = w->K.value + place_of(w->K.s, b, j, kh);
        for (int64_t x = 0; x < now.d && j < now.N_k; x++) S[j] += q[x] * k[x];
        S[j] *= w->scale;
        if (!is_active(w->blocks, b, h, i, j)) S[j] = -INFINITY;
        if (j >= visible && w->flaw != MASKED_IN_MAXIMUM) S[j] = w->masked;
        m = fmax(m, S[j]);
    }
    for (int64_t j = first; j < (w->flaw == MASKED_IN_MAXIMUM ? visible : loaded); j++) {
        double p = S[j] == -INFINITY ? 0 : exp32(S[j] - m);
        l += p;
        const double* v = w->V.value + place_of(w->V.s, b, j, kh);
        for (int64_t x = 0; x < now.d && j < now.N_k; x++) acc[x] += p * v[x];
    }
    double* o = O + place_of(w->O.s, b, i, h);
    for (int64_t x = 0; x < now.d; x++) o[x] = l > 0 ? acc[x] / l : 0;
    LSE[place_of(w->LSE.s, b, i, h)] = m + log(l);
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
        if (isfinite(hypothesis[e])) largest = fmax(largest, fabs(hypothesis[e]));
    // A mistake may give far larger numbers than are wanted; their own rounding is no evidence.
    double slack = suspect.budget.max + largest * (t->dtype == F16    ? 0x1p-9
                                                   : t->dtype == BF16 ? 0x1p-8
                                                                      : 0x1p-20);
    for (int64_t e = 0; e < t->count; e++) {
        double got = t->got[e], guess = hypothesis[e], want = t->untouched[e] ? NAN : t->want[e];
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

static bool is_it(const struct mistake* w) {
    int64_t n_O = now.O.tensor->count, n_LSE = now.LSE.tensor->count;
    double* O = malloc((size_t)(n_O + n_LSE) * sizeof *O);
    if (!O) abort();
    for (int64_t e = 0; e < n_O + n_LSE; e++) O[e] = NAN;  // what the kernel does not write
    FOR_EACH_ROW(b, i, h) simulate_row(w, b, i, h, O, O + n_O);
    bool yes = is_hypothesis(suspect.tensor == now.O.tensor ? O : O + n_O);
    free(O);
    return yes;
}

// Mistakes about blocks of S (lesson 19): other masks than the right one.
static enum cause explain_blocks(void) {
    enum cause cause = CAUSE_NONE;
    struct mistake w = no_mistake();
    for (int n = 0; !cause && mistake_mask(n, now.B, now.N_q, now.N_k, &w.blocks); n++) {
        if (is_it(&w)) cause = mask_mistakes[n].cause;
        w.blocks = free_mask(w.blocks, block_mask());
    }
    return cause;
}

// Mistakes about which heads share keys, and which row of a tile is which query.
static enum cause explain_group(void) {
    static const struct {
        enum cause cause;
        int grouping;
    } known[] = {
        {CAUSE_head_mapping, INTERLEAVED},
        {CAUSE_head_mapping, POWERS_OF_TWO},
        {CAUSE_packed_row, ROW_FOR_A_QUERY},
    };
    for (size_t n = 0; n < sizeof known / sizeof known[0] && now.group > 1; n++) {
        struct mistake w = no_mistake();
        w.grouping = known[n].grouping;
        if (is_it(&w)) return known[n].cause;
    }
    return CAUSE_NONE;
}

// Mistakes about who sees what, whatever the tiles are.
static enum cause explain_mask(void) {
    struct mistake w = no_mistake();
    w.causal = !now.causal;
    if (is_it(&w)) return CAUSE_causal_ignored;
    if (!now.causal) return CAUSE_NONE;
    int64_t right = now.N_k - now.N_q;
    const struct {
        enum cause cause;
        int64_t offset;
    } offsets[] = {
        {CAUSE_mask_off_by_one, right - 1},
        {CAUSE_mask_off_by_one, right + 1},
        {CAUSE_mask_corner, 0},
        {CAUSE_mask_corner, -right},
    };
    w = no_mistake();
    for (size_t n = 0; n < sizeof offsets / sizeof offsets[0]; n++) {
        w.offset = offsets[n].offset;
        if (w.offset != right && is_it(&w)) return offsets[n].cause;
    }
    return CAUSE_NONE;
}

// Mistakes that look different for every tile size: the student's is not known.
static enum cause explain_tiles(int64_t block_q, int64_t block_k) {
    const struct {
        enum cause cause;
        struct mistake like;
    } known[] = {
        {CAUSE_mask_value, {.flaw = TAIL_COUNTS}},
        {CAUSE_inner_tail, {.flaw = LAST_TILE_DROPPED}},
        {CAUSE_diagonal_unmasked, {.flaw = DIAGONAL_UNMASKED}},
        {CAUSE_diagonal_unmasked, {.flaw = END_UNMASKED}},
        {CAUSE_merge_lost, {.flaw = PART_1_LOST}},
        {CAUSE_mask_late, {.flaw = MASKED_IN_MAXIMUM}},
        {CAUSE_mask_value, {.flaw = MASKED_COUNT, .masked = 0}},
        {CAUSE_mask_value, {.flaw = MASKED_COUNT_TO_N_K, .masked = 0}},
        {CAUSE_mask_value, {.flaw = MASKED_COUNT, .masked = -1e4}},
        {CAUSE_mask_value, {.flaw = MASKED_COUNT, .masked = -1e5}},
        {CAUSE_mask_value, {.flaw = MASKED_COUNT, .masked = -1e6}},
        {CAUSE_mask_value, {.flaw = MASKED_COUNT_TO_N_K, .masked = -1e4}},
        {CAUSE_mask_value, {.flaw = MASKED_COUNT_TO_N_K, .masked = -1e6}},
    };
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        struct mistake w = no_mistake();
        w.block_q = block_q;
        w.block_k = block_k;
        w.flaw = known[n].like.flaw;
        w.masked = known[n].like.masked;
        if (is_it(&w)) return known[n].cause;
    }
    return CAUSE_NONE;
}

// True if all rows of a view lie within the tensor.
static bool fits(const struct view* v, int64_t N, int64_t H, const struct tensor* t) {
    return place_of(v->s, now.B - 1, N - 1, H - 1) + now.d <= t->count;
}

// Rows looked for in the wrong place: some set of the arrays (bit 0 is Q, 1 K, 2 V, 3 O) has the wrong
// strides, the same way.
static enum cause explain_places(void) {
    const struct array* arrays[] = {&now.Q, &now.K, &now.V, &now.O};
    enum {
        FIRST_HEAD,
        FIRST_BATCH,
        ROWS,
        PACKED_ROWS,
        AS_Q,
        ROWS_AS_Q = AS_Q + 4,
        WAYS = ROWS_AS_Q + 4
    };
    if (now.N_k == 0) return CAUSE_NONE;
    for (int way = 0; way < WAYS; way++)
        for (int set = 1; set < 16; set++) {
            struct mistake w = no_mistake();
            struct view* views[] = {&w.Q, &w.K, &w.V, &w.O};
            bool possible = true;
            for (int a = 0; a < 4; a++) {
                if (!(set >> a & 1)) continue;
                bool of_keys = a == 1 || a == 2;
                int64_t N = of_keys ? now.N_k : now.N_q, H = of_keys ? now.H / now.group : now.H;
                struct strides* s = &views[a]->s;
                if (way == FIRST_HEAD) s->h = 0;
                if (way == FIRST_BATCH) s->b = 0;
                if (way == ROWS) s->n = now.d;
                if (way == PACKED_ROWS) *s = (struct strides){N * H * now.d, H * now.d, now.d};
                if (way >= AS_Q && way < ROWS_AS_Q) *s = arrays[way - AS_Q]->s;
                if (way >= ROWS_AS_Q) s->n = arrays[way - ROWS_AS_Q]->s.n;
                possible &= memcmp(s, &arrays[a]->s, sizeof *s) != 0 &&
                            fits(views[a], N, H, arrays[a]->tensor);
            }
            if (possible && is_it(&w))
                return way == FIRST_HEAD    ? CAUSE_head_ignored
                       : way == FIRST_BATCH ? CAUSE_batch_ignored
                                            : CAUSE_stride_ignored;
        }
    return CAUSE_NONE;
}

// True if query i sees no key.
static bool sees_nothing(int64_t b, int64_t h, int64_t i) {
    for (int64_t j = 0; j < keys_seen(i); j++)
        if (is_active(block_mask(), b, h, i, j)) return false;
    return true;
}

// All that is wrong is in rows that see no key.
static enum cause explain_empty_rows(void) {
    const struct tensor* t = suspect.tensor;
    bool is_O = t == now.O.tensor, inside = false, outside = false, all_NaN = true;
    bool* empty = calloc((size_t)t->count, sizeof *empty);
    if (!empty) abort();
    FOR_EACH_ROW(b, i, h) {
        const struct array* a = is_O ? &now.O : &now.LSE;
        int64_t first = place_of(a->s, b, i, h);
        for (int64_t e = first; e < first + (is_O ? now.d : 1); e++)
            empty[e] = sees_nothing(b, h, i);
    }
    for (int64_t e = 0; e < t->count; e++) {
        double got = t->got[e], want = t->want[e];
        if (t->untouched[e] || got == want || fabs(got - want) <= suspect.budget.max) continue;
        if (empty[e]) inside = true;
        if (!empty[e]) outside = true;
        all_NaN &= isnan(got);
    }
    free(empty);
    if (outside || !inside) return CAUSE_NONE;
    return !is_O && all_NaN ? CAUSE_empty_state : CAUSE_masked_row;
}

// O is NaN in rows whose LSE is right: it came with V, where a weight of 0 met it.
static bool came_with_V(void) {
    bool any = false;
    FOR_EACH_ROW(b, i, h) {
        double o = now.O.tensor->got[place_of(now.O.s, b, i, h)];
        double lse = now.LSE.tensor->got[place_of(now.LSE.s, b, i, h)];
        double want = now.LSE.tensor->want[place_of(now.LSE.s, b, i, h)];
        if (isnan(o) && !(fabs(lse - want) < 1e-3)) return false;
        any |= isnan(o);
    }
    return any;
}

// Mistakes in LSE alone.
static enum cause explain_LSE(void) {
    int64_t count = now.LSE.tensor->count;
    enum { BASE2, BASE2_OF_L, NO_MAX, ROWS_OUTSIDE, WAYS };
    static const enum cause causes[WAYS] = {CAUSE_lse_base2, CAUSE_lse_base2, CAUSE_lse_no_max,
                                            CAUSE_transposed};
    double* guess = malloc((size_t)count * sizeof *guess);
    if (!guess) abort();
    enum cause cause = CAUSE_NONE;
    for (int way = 0; way < WAYS && !cause; way++) {
        for (int64_t e = 0; e < count; e++) guess[e] = NAN;
        FOR_EACH_ROW(b, i, h) {
            int64_t e = place_of(now.LSE.s, b, i, h);
            double m = -INFINITY, lse = now.LSE.tensor->want[e];
            for (int64_t j = 0; j < keys_seen(i) && way != ROWS_OUTSIDE; j++) {
                double s = 0;
                for (int64_t x = 0; x < now.d; x++)
                    s += at(&now.Q, b, i, h)[x] * at(&now.K, b, j, h / now.group)[x];
                m = fmax(m, s * now.scale);
            }
            switch (way) {
            case BASE2:
                guess[e] = lse / log(2);
                break;
            case BASE2_OF_L:
                guess[e] = m + (lse - m) / log(2);
                break;
            case NO_MAX:
                guess[e] = lse - m;
                break;
            case ROWS_OUTSIDE:  // (B, N_q, H), like O
                guess[(b * now.N_q + i) * now.H + h] = lse;
                break;
            }
        }
        if (is_hypothesis(guess)) cause = causes[way];
    }
    free(guess);
    return cause;
}

// What the student most likely did, for check_compare().
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    static const int64_t tiles[] = {16, 32, 64, 128};
    (void)c;
    suspect.tensor = t;
    suspect.budget = budget;
    enum cause cause = t == now.LSE.tensor ? explain_LSE() : CAUSE_NONE;
    if (!cause) cause = explain_blocks();
    if (!cause) cause = explain_group();
    if (!cause) cause = explain_mask();
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 4 && !cause; k++)
            if (q == 0 || tiles[q - 1] < now.N_q) cause = explain_tiles(tiles[q], tiles[k]);
    if (!cause) cause = explain_empty_rows();
    if (!cause) cause = explain_places();
    return !cause && came_with_V() ? CAUSE_nan_leak : cause;
}

#endif
