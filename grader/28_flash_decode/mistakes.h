// mistakes.h: what the student of lesson 28 most likely did: keys are looked for in wrong places,
// or the parts of a row are put together wrongly.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "28_flash_decode/cache.h"
#include "28_flash_decode/parts.h"
#include "check/hypothesis.h"

// ---- keys in wrong places ------------------------------------------------------------------

// A mistake changes the view of a sequence; false if this variant does not exist.
typedef bool twist(const struct decode* p, int64_t b, int variant, struct view* v);

static bool other_length(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b;
    v->keys = v->zeros_from = p->length[variant];
    return variant < p->B;
}

// Row `variant` of the table, or of Q, for all sequences.
static bool other_table(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b;
    if (variant >= p->B) return false;
    memcpy(v->page, p->page[variant], sizeof v->page);
    return true;
}

static bool other_queries(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b;
    v->queries_of = variant;
    return variant < p->B;
}

// Rows of the table as long as the sequences need, or as this one does, not as they are.
static bool packed_table(const struct decode* p, int64_t b, int variant, struct view* v) {
    int64_t first = 0;
    for (int64_t n = 0; n < b; n++) first += pages_used(p, variant ? b : n);
    for (int64_t n = 0; n < pages_used(p, b); n++) {
        int64_t at = first + n;
        v->page[n] = at < p->B * p->max_pages ? p->page[at / p->max_pages][at % p->max_pages] : -1;
    }
    return p->B > 1;
}

// No table: page n of the pool, or of the sequence's share of it.
static bool no_table(const struct decode* p, int64_t b, int variant, struct view* v) {
    for (int64_t n = 0; n < MOST_PAGES; n++) v->page[n] = variant * b * p->max_pages + n;
    return variant < 2;
}

// Pages of another size, by the same table; in memory, too, or there not.
static bool other_page_size(const struct decode* p, int64_t b, int variant, struct view* v) {
    static const int64_t size[] = {16, 32, 64, 128, 256};
    (void)b;
    v->page_size = size[variant / 2];
    if (variant % 2) v->slots = v->page_size;
    return v->page_size != p->page_size;
}

static bool other_layout(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b;
    v->heads = variant + 1;
    return p->H_k > 1;
}

// Slots as if the size were a power of two.
static bool masked_slots(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b, (void)variant;
    v->masked = true;
    return (p->page_size & (p->page_size - 1)) != 0;
}

static bool one_page_per_tile(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b;
    v->tile = 32 << variant;
    return p->page_size % v->tile != 0;
}

// The last page, or tile, that is not full is left out; or it is filled up with keys of zeros.
static bool tail_dropped(const struct decode* p, int64_t b, int variant, struct view* v) {
    const int64_t size[] = {16, 32, 64, 128, 256, p->page_size};
    v->keys = p->length[b] / size[variant] * size[variant];
    return true;
}

static bool tail_counts(const struct decode* p, int64_t b, int variant, struct view* v) {
    const int64_t size[] = {16, 32, 64, 128, 256, p->page_size};
    v->keys = CEIL_DIV(p->length[b], size[variant]) * size[variant];
    return true;
}

static bool no_mask(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)p, (void)b, (void)variant;
    v->causal = false;
    return p->N_q > 1;
}

// Each query sees a key less, or two.
static bool diagonal_off(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b;
    (void)p;
    v->keys = v->keys > 1 + variant ? v->keys - 1 - variant : 0;
    return true;
}

static bool diagonal_of_several(const struct decode* p, int64_t b, int variant, struct view* v) {
    return diagonal_off(p, b, variant, v) && p->N_q > 1;
}

// The cache is taken to end before the new queries' own keys.
static bool without_own(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)b, (void)variant;
    v->keys = v->keys > p->N_q ? v->keys - p->N_q : 0;
    v->causal = false;
    return true;
}

// With fewer keys than queries, query 0 is taken to see none, and each later one a key more.
static bool corner_from_0(const struct decode* p, int64_t b, int variant, struct view* v) {
    (void)variant;
    if (p->length[b] < p->N_q - 1) v->keys = p->N_q - 1;
    return p->N_q > 1;
}

struct looks {
    twist* twist;
};

// NaN among the keys of a head of a view makes all its rows NaN, and their LSE, too.
static bool finds_NaN(const struct decode* p, const struct view* v, const double* K, int64_t g) {
    bool found = false;
    for (int64_t j = 0; j < v->keys && !found; j++)
        for (int64_t x = 0; x < p->d; x++) found |= isnan(K[(j * p->H_k + g) * p->d + x]);
    return found;
}

static bool is_LSE_NaN(const struct decode* p, int64_t b, int64_t g) {
    const int64_t rows = p->group * p->N_q;
    for (int64_t r = 0; r < rows; r++)
        if (!isnan(p->LSE->got[(b * p->H_k + g) * rows + r])) return false;
    return true;
}

// Puts NaN into what the guess has of sequence b and the query heads of key head g.
static void guess_NaN(const struct decode* p, bool is_LSE, int64_t b, int64_t g, double* guess) {
    const int64_t heads = heads_of(p), of_a_sequence = p->N_q * heads * (is_LSE ? 1 : p->d);
    double* of = guess + b * of_a_sequence;
    for (int64_t e = 0; e < of_a_sequence; e++)
        if ((is_LSE ? e / p->N_q : e / p->d % heads) / p->group == g) of[e] = NAN;
}

static bool by_view(const struct suspect* s, const struct hypothesis* h, int variant,
                    double* guess) {
    const struct decode* p = s->problem;
    const bool is_LSE = s->tensor == p->LSE;
    double* other = check_allocate(p->check, is_LSE ? p->O->count : p->LSE->count, sizeof *other);
    bool exists = true;
    for (int64_t b = 0; b < p->B && exists; b++) {
        struct view v = right_view(p, b);
        exists = ((const struct looks*)h->like)->twist(p, b, variant, &v) &&
                 (v.keys > 0 || p->length[b] == 0);
        if (!exists) break;
        double* K = rows_of_view(p, &v, p->K);
        bool all_NaN = true;
        for (int64_t g = 0; g < p->H_k && exists; g++) {
            const bool is_NaN = finds_NaN(p, &v, K, g);
            exists = is_NaN == is_LSE_NaN(p, b, g) && !(is_NaN && p->NaN_stays);
            all_NaN &= is_NaN;
        }
        if (exists && !all_NaN)
            attend(p, b, &v, false, is_LSE ? other : guess, is_LSE ? guess : other);
        for (int64_t g = 0; g < p->H_k && exists; g++)
            if (finds_NaN(p, &v, K, g)) guess_NaN(p, is_LSE, b, g, guess);
        free(K);
    }
    free(other);
    return exists;
}

#define LOOKS(cause, way, variants) \
    { cause, by_view, variants, LIKE(looks, way) }

static const struct hypothesis of_places[] = {
    LOOKS(CAUSE_causal_ignored, no_mask, 1),
    LOOKS(CAUSE_mask_off_by_one, diagonal_of_several, 2),
    LOOKS(CAUSE_inner_tail, tail_dropped, 6),
    LOOKS(CAUSE_inner_tail, tail_counts, 6),
    LOOKS(CAUSE_length_ignored, other_length, MOST_BATCHES),
    LOOKS(CAUSE_batch_ignored, other_table, MOST_BATCHES),
    LOOKS(CAUSE_batch_ignored, other_queries, MOST_BATCHES),
    LOOKS(CAUSE_page_table, packed_table, 2),
    LOOKS(CAUSE_page_table, no_table, 2),
    LOOKS(CAUSE_page_table, other_page_size, 10),
    LOOKS(CAUSE_page_table, masked_slots, 1),
    LOOKS(CAUSE_page_table, one_page_per_tile, 3),
    LOOKS(CAUSE_page_layout, other_layout, PLACES - 1),
    LOOKS(CAUSE_mask_off_by_one, diagonal_off, 2),
    LOOKS(CAUSE_mask_corner, without_own, 1),
    LOOKS(CAUSE_mask_corner, corner_from_0, 1),
    {0},
};

// A key more or less among many leaves little in O. LSE is asked as well, where it shows.
static const struct budget of_LSE = {.max = 1e-4};

// Does a view give this LSE, and an O that may be this one?
static enum cause explain_by_LSE(const struct suspect* s) {
    const struct decode* p = s->problem;
    struct suspect by_LSE = *s, by_O = *s;
    by_LSE.tensor = p->LSE, by_LSE.budget = of_LSE;
    by_O.tensor = p->O;
    double* guess = check_allocate(p->check, p->O->count + p->LSE->count, sizeof *guess);
    enum cause cause = CAUSE_NONE;
    for (const struct hypothesis* h = of_places; h->make && s->tensor == p->O && !cause; h++)
        for (int variant = 0; variant < h->variants && !cause; variant++)
            if (h->make(&by_LSE, h, variant, guess) &&
                hypothesis_fit(p->LSE, guess, of_LSE, s->slack) == FIT_SHOWN &&
                h->make(&by_O, h, variant, guess) &&
                hypothesis_fit(p->O, guess, s->budget, s->slack) != FIT_NONE)
                cause = h->cause;
    free(guess);
    return cause;
}

// ---- rows that see as many keys as their number in the tile says ------------------------------

// O and LSE of sequence b whose keys are filled up with keys of zeros to whole tiles. Row r, query
// i of a group's head, sees as many as query r would; or query r % 16, its number in its tile; or
// the query of row r % 16.
enum { AS_ROW, AS_ROW_OF_TILE, AS_QUERY_OF_TILE, PACKED_ROWS };
static void attend_packed(const struct decode* p, int64_t b, int64_t tile, int way, double* O,
                          double* LSE) {
    struct view v = right_view(p, b);
    v.keys = CEIL_DIV(v.keys, tile) * tile;
    struct sequence s;
    sequence_make(&s, p, b, &v);
    double* P = check_allocate(p->check, v.keys, sizeof *P);
    for (int64_t h = 0; h < heads_of(p); h++)
        for (int64_t i = 0; i < p->N_q; i++) {
            const int64_t r = i * p->group + h % p->group;
            const int64_t query = way == AS_ROW           ? r
                                  : way == AS_ROW_OF_TILE ? r % UNIT
                                                          : r % UNIT / p->group;
            int64_t seen = p->length[b] - p->N_q + 1 + query;
            seen = seen < 0 ? 0 : seen > v.keys ? v.keys : seen;
            double m = -INFINITY, l = 0;
            double* to = O + place_in(&s.problem, ARRAY_O, 0, h, i) + b * s.O.count;
            for (int64_t x = 0; x < p->d; x++) to[x] = 0;
            for (int64_t j = 0; j < seen; j++) m = fmax(m, P[j] = score(&s.problem, 0, h, i, j));
            for (int64_t j = 0; j < seen; j++) l += P[j] = exp(P[j] - m);
            for (int64_t j = 0; j < seen; j++)
                for (int64_t x = 0; x < p->d; x++)
                    to[x] += P[j] / l * row_of(&s.problem, ARRAY_V, 0, h, j)[x];
            LSE[b * s.LSE.count + h * p->N_q + i] = m + log(l);
        }
    free(P);
    sequence_free(&s);
}

static enum cause explain_packed(const struct suspect* s) {
    const double MOST_WORK = 2e7;  // multiplications; more take too long
    const struct decode* p = s->problem;
    double* O = check_allocate(p->check, p->O->count, sizeof *O);
    double *LSE = check_allocate(p->check, p->LSE->count, sizeof *LSE), work = 0;
    bool found = false;
    for (int64_t b = 0; b < p->B; b++) work += (double)(p->O->count / p->B * p->length[b]);
    for (int64_t tile = UNIT; tile <= 128 && p->N_q * p->group > 1 && work < MOST_WORK && !found;
         tile *= 2)
        for (int way = AS_ROW; way < PACKED_ROWS && !found; way++) {
            for (int64_t b = 0; b < p->B; b++) attend_packed(p, b, tile, way, O, LSE);
            found = hypothesis_fit(p->LSE, LSE, of_LSE, s->slack) == FIT_SHOWN &&
                    hypothesis_fit(s->tensor, s->tensor == p->LSE ? LSE : O, s->budget, s->slack) !=
                        FIT_NONE;
        }
    free(O);
    free(LSE);
    return found ? CAUSE_packed_row : CAUSE_NONE;
}

// ---- all of it -----------------------------------------------------------------------------

// Is LSE infinite in some row without large scores, and a number or infinite in all that see a key?
// Then a part's weight is relative to the M of before, which is -infinity at first.
static bool is_M_of_before(const struct decode* p) {
    const double large = 60;
    bool any = false;
    for (int64_t e = 0; e < p->LSE->count; e++) {
        const double got = p->LSE->got[e], want = p->LSE->want[e];
        if (want == -INFINITY || !check_was_written(p->LSE, e)) continue;
        if (isnan(got)) return false;
        any |= got == INFINITY && want < large;
    }
    return any;
}

// Is exp too large for fp32 in all rows whose LSE is no number, and are there any?
static bool are_scores_large(const struct decode* p) {
    double lowest = INFINITY;
    for (int64_t e = 0; e < p->LSE->count; e++)
        if (!isfinite(p->LSE->got[e])) lowest = fmin(lowest, p->LSE->want[e]);
    return lowest > 88 && lowest < INFINITY;
}

// Some rows are NaN: what have they in common? They see no key; they are those of the sequences
// whose last 16 keys are not all there, which NaN follows; or else a part of them is empty.
static enum cause explain_NaN(const struct suspect* s) {
    const struct decode* p = s->problem;
    const struct tensor* t = s->tensor;
    const int64_t of_a_sequence = t->count / p->B;
    bool any = false, all_empty = true, all_tails = !p->zero_tail && !p->NaN_stays;
    for (int64_t e = 0; e < t->count; e++) {
        if (!isnan(t->got[e]) || !check_was_written(t, e)) continue;
        any = true;
        all_empty &= t->want[e] == 0 || t->want[e] == -INFINITY;
        all_tails &= p->length[e / of_a_sequence] % UNIT != 0;
    }
    if (!any) return CAUSE_NONE;
    if (is_M_of_before(p)) return CAUSE_max_before;
    if (are_scores_large(p)) return CAUSE_overflow;
    return all_empty ? CAUSE_masked_row : all_tails ? CAUSE_nan_leak : CAUSE_empty_part;
}

// O is 0 and LSE -infinity everywhere: no key was seen, or none had a weight. If all scores are so
// low that exp of them is 0, the maximum was not subtracted.
static enum cause explain_nothing(const struct decode* p) {
    bool is_low = true;
    for (int64_t e = 0; e < p->O->count; e++)
        if (p->O->got[e] != 0) return CAUSE_NONE;
    for (int64_t e = 0; e < p->LSE->count; e++) {
        if (p->LSE->got[e] != -INFINITY) return CAUSE_NONE;
        is_low &= p->LSE->want[e] < -90;
    }
    if (is_low) return CAUSE_max_init;
    return p->length[0] == 0 ? CAUSE_length_ignored : CAUSE_all_zero;  // all are as the first is
}

// Sums of large values that cancel are off by no more than one rounding of these values to bf16.
static bool is_rounded_early(const struct decode* p, const struct tensor* t) {
    double largest = 0;
    for (int64_t e = 0; e < p->V->count; e++)
        if (isfinite(p->V->value[e])) largest = fmax(largest, fabs(p->V->value[e]));
    for (int64_t e = 0; e < t->count; e++)
        if (!(fabs(t->want[e]) < largest / 8 && fabs(t->got[e] - t->want[e]) < largest / 256))
            return false;
    return t == p->O && largest > 64;
}

// Is O NaN somewhere, and is it so, too, with numbers where there is no key?
static bool stays_NaN(struct check* c, const struct decode* p) {
    struct tensor* const pages[] = {p->K, p->V};
    bool any = false;
    for (int64_t e = 0; e < p->O->count; e++)
        any |= isnan(p->O->got[e]) && check_was_written(p->O, e);
    if (!any) return false;
    const int64_t count = p->K->count;
    double* kept = check_allocate(p->check, 2 * count, sizeof *kept);
    for (int64_t e = 0; e < 2 * count; e++) {
        const struct tensor* of = pages[e / count];
        kept[e] = of->value[e % count];
        if (of->untouched[e % count]) of->value[e % count] = 0;
    }
    const bool stays = !check_has_numbers(c, p->O);
    for (int64_t e = 0; e < 2 * count; e++) pages[e / count]->value[e % count] = kept[e];
    free(kept);
    return stays;
}

// Is something written of sequence b?
static bool is_begun(const struct decode* p, int64_t b) {
    const int64_t n = p->O->count / p->B;
    for (int64_t e = b * n; e < (b + 1) * n; e++)
        if (check_was_written(p->O, e)) return true;
    return false;
}

// Is nothing written of some sequence's O, beside a ticket of its own that has been drawn, and not
// put back?
static bool is_ticket_never_last(const struct decode* p) {
    const int64_t tickets = p->tickets->count / p->B;
    for (int64_t b = 0; b < p->B; b++) {
        bool drawn = false;
        for (int64_t e = b * tickets; e < (b + 1) * tickets; e++) drawn |= p->tickets->got[e] > 0;
        if (drawn && !is_begun(p, b)) return true;
    }
    return false;
}

static enum cause explain_nothing_written(struct check* c, const struct tensor* t) {
    const struct decode* p = check_description(c);
    (void)t;
    return p && is_ticket_never_last(p) ? CAUSE_last_ticket : CAUSE_NONE;
}

// A sequence by itself, its keys one behind the other: the mistakes of any kernel.
static enum cause explain_sequence(struct check* c, const struct suspect* s, int64_t b) {
    struct decode* p = check_description(c);
    struct view v = right_view(p, b);
    struct sequence of;
    sequence_make(&of, p, b, &v);
    check_describe(c, &of.problem);
    enum cause cause = forward_explain(c, s->tensor == p->LSE ? &of.LSE : &of.O, s->budget);
    check_describe(c, p);
    sequence_free(&of);
    return cause;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    struct decode* p = check_description(c);
    const struct suspect s = {.tensor = t, .budget = budget, .problem = p};
    if (!p) return CAUSE_NONE;
    if (p->is_mixed) return CAUSE_block_order;  // the same was right before
    if (is_ticket_never_last(p)) return CAUSE_last_ticket;
    if (t == p->tickets) return CAUSE_ticket_kept;
    if (check_is_only_unwritten(t, budget)) return CAUSE_NONE;
    p->NaN_stays = stays_NaN(c, p);
    enum cause cause = explain_nothing(p);
    if (!cause) cause = explain_packed(&s);
    if (!cause) cause = explain_by_LSE(&s);
    if (!cause) cause = hypothesis_search(&s, of_places);
    if (!cause) cause = explain_NaN(&s);
    for (int64_t b = 0; b < p->B && !cause; b++)
        if (p->length[b] > 0 && p->length[b] < 3 * LONG) cause = explain_merge(&s, b);
    for (int64_t b = 0; b < p->B && !cause; b++)
        if (p->length[b] > 0 && p->length[b] < LONG && is_begun(p, b))
            cause = explain_sequence(c, &s, b);
    return !cause && is_rounded_early(p, t) ? CAUSE_low_precision : cause;
}

#endif
