// index_mistakes.c: which mistake about a mask of indices gives exactly the outputs that a kernel
// gave: explain() of lesson 18.
#include <math.h>
#include <stdlib.h>

#include "attention/backward_mistakes.h"
#include "attention/forward_mistakes.h"

// The first one that fits is named.
static const struct {
    enum index_flaw flaw;
    enum cause cause;
} mistakes[] = {
    {WINDOW_MORE, CAUSE_window_off_by_one},
    {WINDOW_LESS, CAUSE_window_off_by_one},
    {WINDOW_ENDS_EARLY, CAUSE_window_off_by_one},
    {WINDOW_BEGINS_LATE, CAUSE_window_off_by_one},
    {WINDOW_IGNORED, CAUSE_window_ignored},
    {WINDOW_ONE_SIDED, CAUSE_window_symmetric},
    {WINDOW_BOTH_WAYS, CAUSE_window_symmetric},
    {WINDOW_OF_INDEX, CAUSE_mask_corner},
    {DIAGONAL_MORE, CAUSE_mask_off_by_one},
    {DIAGONAL_LESS, CAUSE_mask_off_by_one},
    {CAUSAL_IGNORED, CAUSE_causal_ignored},
    {TOP_LEFT, CAUSE_mask_corner},
    {DOCUMENT_OF_INDEX, CAUSE_document},
    {BOTTOM_RIGHT_ONLY_UP, CAUSE_mask_corner},
    {END_OF_LAST_KEY, CAUSE_tile_bounds},
    {SINKS_IGNORED, CAUSE_sinks},
    {SINKS_MORE, CAUSE_sinks},
    {SINKS_LESS, CAUSE_sinks},
    {SINKS_OF_SEQUENCE, CAUSE_sinks},
    {SINKS_OF_ALL, CAUSE_sinks},
    {SINKS_ABOVE, CAUSE_sinks},
    {SINKS_FROM_ZERO, CAUSE_sinks},
    {PREFIX_IGNORED, CAUSE_prefix},
    {PREFIX_MORE, CAUSE_prefix},
    {PREFIX_LESS, CAUSE_prefix},
    {PREFIX_OF_SEQUENCE, CAUSE_prefix},
    {PREFIX_OF_QUERIES, CAUSE_prefix},
    {PREFIX_INSIDE, CAUSE_prefix},
    {PREFIX_UNBOUNDED, CAUSE_prefix},
    {PREFIX_ALONE, CAUSE_prefix},
    {PREFIX_KEPT, CAUSE_prefix},
    {DOCUMENTS_OF_FIRST, CAUSE_batch_ignored},
    {DOCUMENTS_PACKED, CAUSE_batch_ignored},
    {DOCUMENTS_IGNORED, CAUSE_document},
    {DOCUMENTS_UNENDED, CAUSE_document},
    {DOCUMENTS_BEGIN_LATE, CAUSE_document},
    {DOCUMENTS_EMPTY, CAUSE_document},
    {DOCUMENTS_END_LATE, CAUSE_document},
    {DOCUMENTS_PADDED, CAUSE_document},
    {DOCUMENTS_FEW, CAUSE_document},
    {UNCAPPED, CAUSE_softcap},
    {CAPPED_BEFORE_SCALE, CAUSE_softcap},
    {SLOPE_LOST, CAUSE_softcap_slope},
    {SLOPE_HALF, CAUSE_softcap_slope},
    {SLOPE_OF_P, CAUSE_softcap_slope},
    {SLOPE_OF_PRODUCT, CAUSE_softcap_slope},
    {SLOPE_OF_SCORE, CAUSE_softcap_slope},
    {SLOPE_OF_INSIDE, CAUSE_softcap_slope},
    {SLOPE_OF_CAPPED, CAUSE_softcap_slope},
    {CAPPED_AFTER_MASK, CAUSE_softcap_late},
    {WALK_TOP_LEFT, CAUSE_mask_corner},
    {WALK_OF_KEYS_TOP_LEFT, CAUSE_mask_corner},
    {END_OF_FIRST, CAUSE_tile_bounds},
    {BEGIN_OF_LAST, CAUSE_tile_bounds},
    {END_OF_FIRST_KEY, CAUSE_tile_bounds},
    {BEGIN_OF_LAST_KEY, CAUSE_tile_bounds},
    {DOCUMENT_OF_FIRST, CAUSE_document},
    {DOCUMENT_OF_LAST, CAUSE_document},
    {DOCUMENT_OF_FIRST_KEY, CAUSE_document},
    {DOCUMENT_OF_LAST_KEY, CAUSE_document},
    {UNMASKED, CAUSE_part_unmasked},
    {LOW_EDGE_UNMASKED, CAUSE_part_unmasked},
    {HIGH_EDGE_UNMASKED, CAUSE_part_unmasked},
    {WHOLE_ROUNDED_DOWN, CAUSE_part_unmasked},
    {WHOLE_END_ROUNDED_UP, CAUSE_part_unmasked},
    {KEY_IN_TILE, CAUSE_place_in_tile},
    {ROW_IN_BLOCK, CAUSE_place_in_tile},
    {RANGE_OPEN, CAUSE_seen_hidden},
    {RANGE_REVERSED, CAUSE_seen_hidden},
    {RANGE_INVERTED, CAUSE_seen_hidden},
    {SINK_TILE_TWICE, CAUSE_tile_twice},
    {SINK_TILE_LOST, CAUSE_sinks},
    {SINK_TILE_UNMASKED, CAUSE_part_unmasked},
    {LOW_EDGE_OF_KEYS_UNMASKED, CAUSE_part_unmasked},
    {HIGH_EDGE_OF_KEYS_UNMASKED, CAUSE_part_unmasked},
    {LONGEST_OF_KEYS_WHOLE, CAUSE_part_unmasked},
    {DOCUMENTS_OF_KEYS_UNMASKED, CAUSE_part_unmasked},
    {WHOLE_OF_QUERIES_ROUNDED_DOWN, CAUSE_part_unmasked},
    {WHOLE_END_OF_QUERIES_ROUNDED_UP, CAUSE_part_unmasked},
    {KEYS_UNMASKED, CAUSE_part_unmasked},
    {QUERY_IN_TILE, CAUSE_place_in_tile},
    {KEY_IN_BLOCK, CAUSE_place_in_tile},
    {RANGE_OF_QUERIES_REVERSED, CAUSE_seen_hidden},
    {RANGE_OF_QUERIES_INVERTED, CAUSE_seen_hidden},
    {KEYS_BEHIND_DOCUMENTS, CAUSE_document},
    {LAST_TILE_LOST, CAUSE_tile_skipped},
    {FIRST_TILE_LOST, CAUSE_tile_skipped},
    {LAST_TILE_OF_QUERIES_LOST, CAUSE_tile_skipped},
    {FIRST_TILE_OF_QUERIES_LOST, CAUSE_tile_skipped},
    {END_ROUNDED_DOWN, CAUSE_tile_skipped},
    {BEGIN_ROUNDED_UP, CAUSE_tile_skipped},
    {END_OF_QUERIES_ROUNDED_DOWN, CAUSE_tile_skipped},
    {BEGIN_OF_QUERIES_ROUNDED_UP, CAUSE_tile_skipped},
};

// Is there anything in the mask that can be mistaken so, in this pass?
static bool is_possible(const struct problem* p, enum index_flaw flaw) {
    const struct index_mask* m = &p->index;
    const bool backward = p->contract->backward;
    if (flaw >= WINDOW_MORE && flaw <= WINDOW_OF_INDEX && !m->window) return false;
    if (flaw >= WINDOW_ONE_SIDED && flaw <= WINDOW_BEGINS_LATE && m->causal) return false;
    if (flaw == WINDOW_BOTH_WAYS && !m->causal) return false;
    if (flaw >= DIAGONAL_MORE && flaw <= CAUSAL_IGNORED && !m->causal) return false;
    if (flaw == DOCUMENT_OF_INDEX && !m->documents) return false;
    if (flaw >= SINKS_IGNORED && flaw <= SINKS_FROM_ZERO && !(m->sinks && m->window)) return false;
    if (flaw == SINKS_OF_ALL && !m->documents) return false;
    const bool of_sinks = flaw >= SINK_TILE_TWICE && flaw <= SINK_TILE_UNMASKED;
    if (of_sinks && !(m->sinks && m->window)) return false;
    if (flaw >= PREFIX_IGNORED && flaw <= PREFIX_KEPT && !m->prefix) return false;
    if (flaw == PREFIX_ALONE && (m->causal || m->window)) return false;
    if (flaw == PREFIX_KEPT && !m->window) return false;
    if (flaw >= DOCUMENTS_IGNORED && flaw <= DOCUMENTS_FEW && !m->documents) return false;
    if (flaw == KEYS_BEHIND_DOCUMENTS && !m->documents) return false;
    if (flaw >= UNCAPPED && m->softcap == 0) return false;
    const bool is_shifted = p->N_q != p->N_k;
    if ((flaw == WALK_TOP_LEFT || flaw == WALK_OF_KEYS_TOP_LEFT) && !is_shifted) return false;
    return backward || !((flaw >= DOCUMENT_OF_FIRST_KEY && flaw < UNCAPPED) || flaw >= SLOPE_LOST);
}

// The n-th known mistake: its cause, and the problem with its mask. False if there is no more.
// *cause is CAUSE_NONE if that mistake cannot be one here.
static bool next_mistake(const struct problem* p, int n, struct problem* mistaken,
                         enum cause* cause) {
    static const int64_t tiles[][2] = {{128, 64}, {128, 48},  {64, 64}, {128, 32},
                                       {32, 128}, {32, 32},   {64, 32}, {32, 64},
                                       {64, 128}, {128, 128}, {16, 16}};
    enum { TILES = sizeof tiles / sizeof tiles[0] };
    const int count = (int)(sizeof mistakes / sizeof mistakes[0]);
    int kind = n / TILES, tile = n % TILES;
    if (kind >= count) return false;
    *cause = CAUSE_NONE;
    *mistaken = *p;
    mistaken->index.lines = NULL;
    enum index_flaw flaw = mistakes[kind].flaw;
    bool in_tiles = flaw == CAPPED_AFTER_MASK || (flaw >= UNMASKED && flaw < UNCAPPED);
    // A kernel for dK and dV looks up the document of a key.
    bool by_keys =
        tile == 1 && p->contract->backward && flaw >= DOCUMENTS_BEGIN_LATE && flaw <= DOCUMENTS_FEW;
    if ((tile > 0 && !in_tiles && !by_keys) || !is_possible(p, flaw)) return true;
    mistaken->index.flaw = flaw;
    mistaken->index.by_keys = by_keys;
    mistaken->index.tile_q = tiles[tile][0];
    mistaken->index.tile_k = tiles[tile][1];
    *cause = mistakes[kind].cause;
    return true;
}

// ---- both passes ---------------------------------------------------------------------------

// Does row n of the output, of batch b, depend on other pairs if the mask is mistaken so?
static bool has_other_pairs(const struct problem* right, const struct problem* mistaken,
                            bool is_of_keys, int64_t b, int64_t n) {
    for (int64_t m = 0; m < (is_of_keys ? right->N_q : index_keys(mistaken)); m++) {
        int64_t i = is_of_keys ? m : n, j = is_of_keys ? n : m;
        if (index_times(right, b, i, j) != index_times(mistaken, b, i, j)) return true;
    }
    return false;
}

// Is row n of the output wrong in this head of batch b?
static bool is_row_of_head_wrong(const struct suspect* s, enum which a, int64_t b, int64_t h,
                                 int64_t n) {
    for (int64_t x = 0; x < width_of(s->problem, a); x++) {
        const int64_t e = place_in(s->problem, a, b, h, n) + x;
        const double got = s->tensor->got[e], want = s->tensor->want[e];
        if (got != want && !(fabs(got - want) <= s->budget.max)) return true;
    }
    return false;
}

// In some head?
static bool is_row_wrong(const struct suspect* s, enum which a, int64_t b, int64_t n) {
    const struct problem* p = s->problem;
    for (int64_t h = 0; h < p->H; h++)
        if (is_row_of_head_wrong(s, a, b, h, n)) return true;
    return false;
}

// Looked at first, since it is quick: a row that is wrong has to have other pairs than in p.
static bool can_be(const struct suspect* s, const struct problem* p,
                   const struct problem* mistaken) {
    const enum index_flaw flaw = mistaken->index.flaw;
    enum which a = ARRAY_Q;
    while (p->array[a].tensor != s->tensor) a++;
    if (flaw == (is_of_keys(a) ? WALK_TOP_LEFT : WALK_OF_KEYS_TOP_LEFT)) return false;
    if (flaw >= UNCAPPED && flaw != CAPPED_AFTER_MASK) return true;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t n = 0; n < rows_of(p, a); n++)
            if (is_row_wrong(s, a, b, n) && !has_other_pairs(p, mistaken, is_of_keys(a), b, n))
                return false;
    return true;
}

static bool reference_row(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i,
                          double* O, double* LSE) {
    (void)how;
    forward_reference_row(p, false, b, h, i, O, LSE);
    return true;
}

// What is wanted stands in the guess for each query whose row of O is right.
static void keep_right_rows(const struct suspect* s, const struct problem* p, double* O) {
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, ARRAY_O, b, h, i);
        bool right = true;
        for (int64_t e = first; e < first + p->d; e++)
            right &= fabs(s->tensor->got[e] - s->tensor->want[e]) <= s->budget.max;
        for (int64_t e = first; right && e < first + p->d; e++) O[e] = s->tensor->want[e];
    }
}

// Are the outputs those of the right kernel for this problem, which has another mask? some_rows: or
// is each row of O that is wrong?
static bool is_right_for(struct suspect s, const struct problem* mistaken, bool some_rows) {
    if (!mistaken->contract->backward) {
        int64_t count = mistaken->array[ARRAY_O].tensor->count;
        int64_t rows = mistaken->array[ARRAY_LSE].tensor->count;
        double* O = check_allocate(mistaken->check, count + rows, sizeof *O);
        for (int64_t e = 0; e < count + rows; e++) O[e] = NOT_WRITTEN;
        s.problem = mistaken;
        bool yes = forward_rows_fit(&s, reference_row, NULL);
        if (yes) forward_reference(mistaken, false, O, O + count);
        if (yes && some_rows) keep_right_rows(&s, mistaken, O);
        yes = yes && is_guess(&s, is_O(&s) ? O : O + count);
        free(O);
        return yes;
    }
    const struct backward_flaw none = {0};
    const struct hypothesis list[] = {{CAUSE_unknown, backward_flawed, .like = &none}, {0}};
    s.problem = mistaken;
    return hypothesis_search(&s, list) != CAUSE_NONE;
}

// What is hidden by an LSE of -infinity is infinite where it is not set to 0.
static bool has_empty_rows(const struct problem* p) {
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    for (int64_t e = 0; e < LSE->count; e++)
        if (LSE->value[e] == -INFINITY) return true;
    return false;
}

// Do the queries whose rows of O are wrong, some of a tile maybe, see all of the tile of keys that
// one end of theirs lies in?
static bool are_edges_unmasked(const struct suspect* s) {
    static const int64_t tiles[] = {128, 64, 32};
    static const enum index_flaw flaws[] = {LOW_EDGE_UNMASKED, HIGH_EDGE_UNMASKED};
    const struct problem* p = s->problem;
    bool found = false;
    for (int n = 0; is_O(s) && n < 6 && !found; n++) {
        struct problem mistaken = *p;
        mistaken.index.lines = NULL, mistaken.index.flaw = flaws[n % 2];
        mistaken.index.tile_q = 1, mistaken.index.tile_k = tiles[n / 2];
        index_find_lines(&mistaken);
        found = can_be(s, p, &mistaken) && is_right_for(*s, &mistaken, true);
        index_free_lines(&mistaken);
    }
    return found;
}

// The cause of the first mistake that fits; nothing: of those that put the mask elsewhere.
static enum cause explain_pairs(const struct suspect* s, bool nothing) {
    struct problem right = *(const struct problem*)s->problem, mistaken;
    enum cause cause = CAUSE_NONE, found = CAUSE_NONE;
    index_find_lines(&right);
    for (int n = 0; !found && next_mistake(&right, n, &mistaken, &cause); n++) {
        if (!cause || (nothing && cause != CAUSE_mask_corner)) continue;
        index_find_lines(&mistaken);
        // Without `causal` nothing is said of a corner: what is below 0 is in no document.
        const bool below_0 = mistaken.index.flaw == BOTTOM_RIGHT_ONLY_UP && !right.index.causal;
        if (can_be(s, &right, &mistaken) && is_right_for(*s, &mistaken, false))
            found = below_0 && !nothing ? CAUSE_document : cause;
        index_free_lines(&mistaken);
    }
    if (!found && !nothing && !right.contract->backward && are_edges_unmasked(s))
        found = CAUSE_part_unmasked;
    index_free_lines(&right);
    bool unmasked = found == CAUSE_part_unmasked || found == CAUSE_causal_ignored ||
                    found == CAUSE_window_ignored;
    return unmasked && is_mask_of_one(s->problem, s->tensor) ? CAUSE_hidden_in_one : found;
}

// Is the first batch right, and wrong one with the same documents? Then theirs are not found.
static bool is_of_later_batches(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* cu_seqlens = p->index.cu_seqlens;
    const int64_t ends = p->index.documents + 1;
    bool alike = false;
    enum which a = ARRAY_Q;
    while (p->array[a].tensor != s->tensor) a++;
    for (int64_t b = 0; cu_seqlens && b < p->B; b++) {
        bool wrong = false, same = true;
        for (int64_t n = 0; n < ends; n++)
            same &= cu_seqlens->value[b * ends + n] == cu_seqlens->value[n];
        for (int64_t n = 0; n < rows_of(p, a) && !wrong; n++) wrong = is_row_wrong(s, a, b, n);
        if (wrong && b == 0) return false;
        alike |= wrong && same;
    }
    return alike;
}

// Is the first head of the first batch right, and another one wrong, which has the same documents?
static bool is_of_later_heads(const struct suspect* s) {
    const struct problem* p = s->problem;
    bool wrong = false;
    enum which a = ARRAY_Q;
    while (p->array[a].tensor != s->tensor) a++;
    for (int64_t n = 0; p->index.documents && n < rows_of(p, a); n++) {
        if (is_row_of_head_wrong(s, a, 0, 0, n)) return false;
        for (int64_t h = 1; h < p->H && !wrong; h++) wrong = is_row_of_head_wrong(s, a, 0, h, n);
    }
    return wrong;
}

// The output of s as the documents of batch `from` would make it in all batches. O and LSE, or the
// gradient, in `output`.
static void with_documents_of(const struct suspect* s, int64_t from, double* output) {
    struct problem p = *(const struct problem*)s->problem;
    const int64_t ends = p.index.documents + 1;
    struct tensor documents = *p.index.cu_seqlens;
    documents.value = check_allocate(p.check, p.B * ends, sizeof(double));
    for (int64_t e = 0; e < p.B * ends; e++)
        documents.value[e] = p.index.cu_seqlens->value[from * ends + e % ends];
    p.index.cu_seqlens = &documents;
    index_find_lines(&p);
    if (p.contract->backward) {
        const struct backward w = backward_right(&p);
        double* gradient[GRADIENTS] = {NULL};
        for (int a = 0; a < GRADIENTS; a++)
            if (s->tensor == p.array[ARRAY_dQ + a].tensor) gradient[a] = output;
        backward(&p, &w, false, gradient);
    } else {
        forward_reference(&p, false, output, output + p.array[ARRAY_O].tensor->count);
    }
    index_free_lines(&p);
    free(documents.value);
}

// Has each row the documents of some batch, whichever suits it best? Where blocks are dealt in an
// order of their own, two ways to find the batch differ so. Of LSE nothing is said.
static bool is_of_any_batch(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *t = s->tensor, *LSE = p->array[ARRAY_LSE].tensor;
    enum which a = ARRAY_Q;
    while (p->array[a].tensor != t) a++;
    if (!p->index.cu_seqlens || p->B < 2 || a == ARRAY_LSE) return false;
    double* guess = check_allocate(p->check, 2 * t->count + LSE->count, sizeof *guess);
    double* of_batch = guess + t->count;
    for (int64_t e = 0; e < t->count; e++) guess[e] = NAN;
    for (int64_t from = 0; from < p->B; from++) {
        with_documents_of(s, from, of_batch);
        for (int64_t row = 0; row < p->B * p->H * rows_of(p, a); row++) {
            const int64_t n = row % rows_of(p, a), head = row / rows_of(p, a);
            const int64_t first = place_in(p, a, head / p->H, head % p->H, n);
            double off = 0, best = 0;
            for (int64_t e = first; e < first + p->d; e++)
                off += fabs(t->got[e] - of_batch[e]), best += fabs(t->got[e] - guess[e]);
            for (int64_t e = first; e < first + p->d && !(off >= best); e++) guess[e] = of_batch[e];
        }
    }
    const bool yes = hypothesis_fit(t, guess, s->budget, s->slack) == FIT_SHOWN;
    free(guess);
    return yes;
}

// Is LSE off by no more than scores of 11 bits make it? Other scores move it farther.
static bool is_LSE_near(const struct tensor* t) {
    for (int64_t e = 0; e < t->count; e++) {
        const bool like = t->untouched[e] || t->got[e] == t->want[e];
        if (!like && !(fabs(t->got[e] - t->want[e]) <= 0x1p-12 * fabs(t->want[e]))) return false;
    }
    return true;
}

// Does an empty document begin at this row?
static bool is_at_empty_document(const struct problem* p, enum which a, int64_t b, int64_t row) {
    const int64_t documents = p->index.documents, at = row + (is_of_keys(a) ? 0 : p->N_k - p->N_q);
    const double* begin = p->index.cu_seqlens->value + b * (documents + 1);
    for (int64_t n = 0; n < documents; n++)
        if (begin[n] == begin[n + 1] && (int64_t)begin[n] == at) return true;
    return false;
}

// Has the row at a position where an empty document begins nothing of what it should have, and the
// next row has? Then the empty one was taken for its document. Other rows of O are right then.
static bool is_empty_document_taken(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *t = s->tensor, *cu_seqlens = p->index.cu_seqlens;
    const int64_t documents = p->index.documents;
    enum which a = ARRAY_Q;
    while (p->array[a].tensor != t) a++;
    if (a == ARRAY_LSE || !cu_seqlens) return false;
    for (int64_t b = 0; a == ARRAY_O && b < p->B; b++)
        for (int64_t row = 0; row < p->N_q; row++)
            if (is_row_of_head_wrong(s, a, b, 0, row) && !is_at_empty_document(p, a, b, row))
                return false;
    for (int64_t n = 0; n < p->B * documents; n++) {
        const int64_t b = n / documents;
        const double* begin = cu_seqlens->value + b * (documents + 1) + n % documents;
        const int64_t row = (int64_t)begin[0] - (is_of_keys(a) ? 0 : p->N_k - p->N_q);
        if (begin[0] != begin[1] || row < 0 || row + 1 >= rows_of(p, a)) continue;
        const double* got = t->got + place_in(p, a, b, 0, row);
        const double* next = t->got + place_in(p, a, b, 0, row + 1);
        bool lost = is_row_of_head_wrong(s, a, b, 0, row), has_next = false;
        for (int64_t x = 0; x < p->d; x++) {
            lost &= got[x] == 0;
            has_next |= next[x] != 0;
        }
        if (lost && has_next) return true;
    }
    return false;
}

// Is no score of the first head above -10000? Who begins with a maximum of that sees nothing.
static bool are_scores_far_below_0(const struct problem* p) {
    double most = -INFINITY;
    for (int64_t i = 0; i < p->N_q; i++)
        for (int64_t j = 0; j < p->N_k; j++) most = fmax(most, score(p, 0, 0, i, j));
    return most < -10000;
}

// Is each number near what is wanted? Another document's numbers are not.
static bool is_near(const struct tensor* t) {
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] && !(fabs(t->got[e] - t->want[e]) < 0x1p-4)) return false;
    return true;
}

enum cause index_explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct problem* p = problem_of_case(c);
    bool backward = p->contract->backward;
    struct suspect s = backward ? backward_suspect(c, t, budget) : forward_suspect(c, t, budget);
    const struct index_mask* m = &p->index;
    const bool finite = !backward || backward_count_nonfinite(t) == 0;
    // With smaller numbers it was right: these cases come last. But an edge that lies in a tile may
    // show in no earlier one.
    if (m->window == INT32_MAX || m->sinks == INT32_MAX || m->prefix == INT32_MAX)
        return finite && explain_pairs(&s, false) == CAUSE_part_unmasked ? CAUSE_part_unmasked
                                                                         : CAUSE_wrapped_index;
    // with 1 in its place it was right just before
    if (m->causal && m->window > 0 && p->flag != 1) return CAUSE_causal_ignored;
    if (!backward && saw_nothing(p) && are_scores_far_below_0(p)) return CAUSE_max_init;
    if (backward ? backward_is_zero(t) : saw_nothing(p))
        return p->index.used && explain_pairs(&s, true) ? CAUSE_mask_corner : CAUSE_seen_hidden;
    if (backward && budget.max == 0 && backward_count_nonfinite(t) == 0)
        return CAUSE_not_repeatable;  // equal inputs, and outputs that are compared with each other
    // With fewer documents it was right: this case comes last. Of single keys dS is 0, so that an
    // inexact delta shows.
    if (p->index.documents > 1 << 16)
        return backward && t != p->array[ARRAY_dV].tensor && is_near(t) ? CAUSE_low_precision
                                                                        : CAUSE_document;
    if (!finite && is_mask_of_one(p, t) && has_empty_rows(p)) return CAUSE_hidden_in_one;
    enum cause cause = finite && p->index.used ? explain_pairs(&s, false) : CAUSE_NONE;
    s.slack.of_few = true;
    if (!cause && finite && p->index.used) cause = explain_pairs(&s, false);
    if (cause) return cause;
    s.slack.of_few = false;
    if (is_of_later_batches(&s)) return CAUSE_batch_ignored;
    if (is_of_later_heads(&s) || is_of_any_batch(&s)) return CAUSE_document_of_head;
    if (is_empty_document_taken(&s)) return CAUSE_document;
    // with ordinary numbers it was right: these cases come last
    if (p->index.softcap > 0 && p->scale == 0) return CAUSE_softcap;
    if (p->index.softcap > 100) return CAUSE_low_precision;
    if (p->index.softcap > 0 && t == p->array[ARRAY_LSE].tensor)
        return is_LSE_near(t) ? CAUSE_low_precision : CAUSE_softcap;
    return backward ? backward_explain_products(c, t, budget) : fragment_explain(c, t, budget);
}
