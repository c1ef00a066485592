// backward_products.c: the mistakes that only a kernel with tensor cores can make, or one whose
// results have to be repeatable. The other mistakes (equations, mask, places) are in
// backward_mistakes.c.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/backward_mistakes.h"

// 2 to the power of S - log2(e) LSE, the scale without log2(e).
static const struct hypothesis in_exponent[] = {{CAUSE_exp2_base, FLAW(.scores = SCALE_LN_2)}, {0}};

// ---- operands that are taken from wrong places ---------------------------------------------

// An array in its first product, S or dP, or in its second; P or dS; or a gradient as it is stored.
enum operand {
    P_IN_dV,
    dS_IN_dK,
    dS_IN_dQ,
    P_AND_dS,
    FIRST,               // of 4 arrays
    SECOND = FIRST + 4,  // of 3 arrays
    RESULT = SECOND + 3,
    OPERANDS
};

static bool taken(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    static const enum which first[] = {ARRAY_Q, ARRAY_K, ARRAY_V, ARRAY_dO};
    static const enum which second[] = {ARRAY_Q, ARRAY_K, ARRAY_dO};
    const struct problem* p = s->problem;
    enum taken how = *(const enum taken*)h->like;
    struct backward w = backward_right(p);
    double* value = NULL;
    if (variant == P_IN_dV || variant == P_AND_dS) w.P_of_dV = how;
    if (variant == dS_IN_dK || variant == P_AND_dS) w.dS_of_dK = how;
    if (variant == dS_IN_dQ) w.dS_of_dQ = how;
    if (variant == RESULT) w.stored = how;
    if (variant >= FIRST && variant < RESULT) {
        enum which a = variant < SECOND ? first[variant - FIRST] : second[variant - SECOND];
        value = take(p, how, a, p->array[a].tensor->value);
        *(variant < SECOND ? &w.value[a] : &w.again[a]) = value;
    }
    backward_guess(s, &w, guess);
    free(value);
    return true;
}

#define TAKEN(x) taken, OPERANDS, (&(const enum taken){x})

static const struct hypothesis in_operands[] = {
    {CAUSE_swizzle, TAKEN(OTHER_PIECE)},     {CAUSE_transposed, TAKEN(TRANSPOSED)},
    {CAUSE_fragment_order, TAKEN(MATRICES)}, {CAUSE_fragment_order, TAKEN(ROWS)},
    {CAUSE_fragment_order, TAKEN(PAIRS)},    {0},
};

// P and dS in shared memory, in tiles of which all is 0 that does not exist.
static bool taken_of_tile(const struct suspect* s, const struct hypothesis* h, int variant,
                          double* guess) {
    struct backward w = backward_right(s->problem);
    const enum taken how = *(const enum taken*)h->like;
    w.zeros_outside = true;
    if (variant == P_IN_dV || variant == P_AND_dS) w.P_of_dV = how;
    if (variant == dS_IN_dK || variant == P_AND_dS) w.dS_of_dK = how;
    if (variant == dS_IN_dQ) w.dS_of_dQ = how;
    return backward_guess(s, &w, guess);
}

#define OF_TILE(x) taken_of_tile, FIRST, (&(const enum taken){x})

static const struct hypothesis in_tiles_of_P[] = {
    {CAUSE_transposed, OF_TILE(TILE_16)}, {CAUSE_transposed, OF_TILE(TILE_32)}, {0}};

// ---- LSE and delta of another query ---------------------------------------------------------

// Transposed for dK and dV, not for dQ. .like: of LSE (1), delta (2) or both.
static bool of_other_query(const struct suspect* s, const struct hypothesis* h, int variant,
                           double* guess) {
    const struct problem* p = s->problem;
    const int first = s->tensor == p->array[ARRAY_dQ].tensor ? ROW_BY_COLUMN : COLUMN_BY_ROW;
    struct backward w = backward_right(p);
    w.flaw.query = first + variant;
    w.flaw.query_of = *(const int*)h->like;
    return backward_guess(s, &w, guess);
}

#define OF_OTHER_QUERY(of) of_other_query, 3, (&(const int){of})

// delta alone comes first: where all LSE are alike, both are like it.
static const struct hypothesis in_lanes[] = {{CAUSE_delta, OF_OTHER_QUERY(2)},
                                             {CAUSE_fragment_order, OF_OTHER_QUERY(3)},
                                             {CAUSE_fragment_order, OF_OTHER_QUERY(1)},
                                             {0}};

// The mask asks about another pair than the one in the register: that of .like, or a later one.
static bool asked_elsewhere(const struct suspect* s, const struct hypothesis* h, int variant,
                            double* guess) {
    static const int64_t tiles[] = {128, 64, 32, 48};
    enum { TILES = sizeof tiles / sizeof tiles[0] };
    const struct problem* p = s->problem;
    struct backward w = backward_right(p);
    w.flaw.asked = (enum asked)(*(const int*)h->like + variant / TILES);
    w.flaw.asked_of_keys = s->tensor != p->array[ARRAY_dQ].tensor;
    w.tile = w.keys_tile = tiles[variant % TILES];
    if (w.flaw.asked < OF_FIRST_8 && variant % TILES > 0) return false;
    return (p->causal || p->index.used) && backward_guess(s, &w, guess);
}

static const struct hypothesis in_mask_of_lanes[] = {
    {CAUSE_fragment_order, asked_elsewhere, 4 * (OF_FIRST_16 - 1), (&(const int){OWN_PAIR + 1})},
    {CAUSE_place_in_tile, asked_elsewhere, 4 * 2, (&(const int){OF_FIRST_16})},
    {0}};

// ---- an array in the place of another array ------------------------------------------------

// Both arrays have as many rows. The mistake is in the array's first product, in its second, or in
// both.
static bool other_array(const struct suspect* s, const struct hypothesis* h, int variant,
                        double* guess) {
    static const enum which pairs[][2] = {{ARRAY_dO, ARRAY_O}, {ARRAY_dO, ARRAY_Q},
                                          {ARRAY_Q, ARRAY_dO}, {ARRAY_O, ARRAY_Q},
                                          {ARRAY_K, ARRAY_V},  {ARRAY_V, ARRAY_K}};
    const struct problem* p = s->problem;
    enum which a = pairs[variant / 3][0], other = pairs[variant / 3][1];
    int where = variant % 3 + 1;
    struct backward w = backward_right(p);
    double* value = check_allocate(p->check, p->array[a].tensor->count, sizeof *value);
    (void)h;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t head = 0; head < p->H; head++)
            for (int64_t n = 0; n < rows_of(p, a); n++)
                memcpy(value + place_in(p, a, b, head, n), row_of(p, other, b, head, n),
                       (size_t)p->d * sizeof *value);
    if (where & 1) w.value[a] = value;
    if (where & 2) w.again[a] = value;
    backward_guess(s, &w, guess);
    free(value);
    return true;
}

static const struct hypothesis in_arrays[] = {{CAUSE_wrong_array, other_array, 3 * 6, NULL}, {0}};

// delta is a sum of O times O, or of dO times dO.
static bool delta_of_one_array(const struct suspect* s, const struct hypothesis* h, int variant,
                               double* guess) {
    struct backward w = backward_right(s->problem);
    (void)h;
    if (variant == 0) w.dO_of_delta = w.value[ARRAY_O];
    if (variant == 1) w.value[ARRAY_O] = w.value[ARRAY_dO];
    return backward_guess(s, &w, guess);
}

static const struct hypothesis in_delta[] = {{CAUSE_delta, delta_of_one_array, 2, NULL}, {0}};

enum cause backward_explain_operands(const struct suspect* s) {
    const struct hypothesis* const lists[] = {in_delta, in_tiles_of_P, in_arrays};
    enum cause cause = CAUSE_NONE;
    for (size_t n = 0; n < sizeof lists / sizeof lists[0] && !cause; n++)
        cause = hypothesis_search(s, lists[n]);
    return cause;
}

// ---- queries of another head ---------------------------------------------------------------

// dK and dV of a walk that takes tiles of queries, with all that belongs to them, from the first
// head of all: the last tile, with which it begins; all others; or all.
enum { TILE_SIZES = 4, TILE_SETS = 3 };

static bool tiles_of_first_head(const struct suspect* s, const struct hypothesis* h, int variant,
                                double* guess) {
    static const enum which arrays[] = {ARRAY_Q, ARRAY_O, ARRAY_dO, ARRAY_LSE};
    enum { OF_QUERIES = sizeof arrays / sizeof arrays[0] };
    const struct problem* p = s->problem;
    const int64_t tile = 16 << variant / TILE_SETS, last = (p->N_q - 1) / tile * tile;
    const int set = variant % TILE_SETS;
    double* value[OF_QUERIES] = {NULL};
    struct backward w = backward_right(p);
    (void)h;
    if (s->tensor == p->array[ARRAY_dQ].tensor) return false;
    for (int n = 0; n < OF_QUERIES; n++) {
        const struct tensor* t = p->array[arrays[n]].tensor;
        const size_t row = (size_t)width_of(p, arrays[n]) * sizeof(double);
        value[n] = check_allocate(p->check, t->count, sizeof(double));
        memcpy(value[n], t->value, (size_t)t->count * sizeof(double));
        FOR_EACH_QUERY(p, b, head, i) {
            if (set != TILE_SETS - 1 && (i >= last) != (set == 0)) continue;
            memcpy(value[n] + place_in(p, arrays[n], b, head, i), row_of(p, arrays[n], 0, 0, i),
                   row);
        }
    }
    w.value[ARRAY_Q] = w.again[ARRAY_Q] = value[0];
    w.value[ARRAY_O] = value[1];
    w.value[ARRAY_dO] = w.again[ARRAY_dO] = w.dO_of_delta = value[2];
    w.LSE = value[3];
    const bool known = backward_guess(s, &w, guess);
    for (int n = 0; n < OF_QUERIES; n++) free(value[n]);
    return known;
}

// dQ of queries that meet the keys of whatever head: each row has those that suit it best. Where
// blocks are dealt in an order of their own, two ways to find the head differ so.
static bool keys_of_any_head(const struct suspect* s, const struct hypothesis* h, int variant,
                             double* guess) {
    const struct problem* p = s->problem;
    const int64_t key_heads = p->H / p->group, count = s->tensor->count;
    (void)h, (void)variant;
    if (s->tensor != p->array[ARRAY_dQ].tensor || p->B * key_heads < 2) return false;
    double* of_head = check_allocate(p->check, count, sizeof *of_head);
    for (int64_t head = 0; head < p->B * key_heads; head++) {
        struct backward w = backward_right(p);
        for (enum which a = ARRAY_K; a <= ARRAY_V; a++) {
            const int64_t first = place(w.stride[a], head / key_heads, head % key_heads, 0);
            w.stride[a].b = w.stride[a].h = 0;
            w.value[a] += first, w.again[a] += first;
        }
        backward(p, &w, false, (double* const[GRADIENTS]){of_head});
        FOR_EACH_QUERY(p, b, q, i) {
            const int64_t row = place_in(p, ARRAY_dQ, b, q, i);
            double off = 0, best = 0;
            for (int64_t e = row; e < row + p->d; e++) {
                off += fabs(s->tensor->got[e] - of_head[e]);
                best += fabs(s->tensor->got[e] - guess[e]);  // NaN at first
            }
            if (!(off >= best)) memcpy(guess + row, of_head + row, (size_t)p->d * sizeof *guess);
        }
    }
    free(of_head);
    return true;
}

// dK that is multiplied by the scale after each head of the group; once more at the end, or not.
static bool scaled_after_each_head(const struct suspect* s, const struct hypothesis* h, int variant,
                                   double* guess) {
    const struct problem* p = s->problem;
    const int64_t count = s->tensor->count;
    (void)h;
    if (s->tensor != p->array[ARRAY_dK].tensor || p->group < 2) return false;
    double* first = check_allocate(p->check, 2 * count, sizeof *first);  // of the first heads
    double* before = first + count;                                      // of one less
    for (int64_t e = 0; e < count; e++) guess[e] = 0;
    for (int64_t head = 0; head < p->group; head++) {
        struct backward w = backward_right(p);
        w.flaw.summed = FIRST_HEADS;
        w.flaw.first_heads = head + 1;
        backward(p, &w, false, (double* const[GRADIENTS]){[ARRAY_dK - ARRAY_dQ] = first});
        for (int64_t e = 0; e < count; e++) {
            guess[e] = p->scale * guess[e] + first[e] - before[e];
            before[e] = first[e];
        }
    }
    for (int64_t e = 0; e < count && variant; e++) guess[e] *= p->scale;
    free(first);
    return true;
}

static const struct hypothesis in_walks[] = {
    {CAUSE_gradient_scale, scaled_after_each_head, 2, NULL},
    {CAUSE_other_head, tiles_of_first_head, TILE_SIZES* TILE_SETS, NULL},
    {CAUSE_other_head, keys_of_any_head, 1, NULL},
    {0}};

enum cause backward_explain_walks(const struct suspect* s) {
    const struct problem* p = s->problem;
    return p->H * p->B > 1 && p->N_q > 0 ? hypothesis_search(s, in_walks) : CAUSE_NONE;
}

// ---- the diagonal --------------------------------------------------------------------------

// Tiles of queries and of keys have different sizes here, 16 to 128.
static bool flawed_at_diagonal(const struct suspect* s, const struct hypothesis* h, int variant,
                               double* guess) {
    const struct problem* p = s->problem;
    struct backward w = backward_right(p);
    w.flaw = ((const struct backward_flaw*)h->like)[variant / 16];
    w.tile = 16 << variant / 4 % 4;
    w.keys_tile = 16 << variant % 4;
    if (w.flaw.first_head_masked && p->group < 2) return false;
    return p->causal && backward_guess(s, &w, guess);
}

static const struct backward_flaw unmasked_tiles[] = {{.mask = MASK_TILES},
                                                      {.mask = MASK_NOT_IN_LAST}};
// A walk over the heads of a group asks for the mask in the first one alone.
static const struct backward_flaw later_heads[] = {{.mask = MASK_TILES, .first_head_masked = true}};
static const struct backward_flaw lost_tiles[] = {{.at_start = SKIPPED},
                                                  {.late_start = BY_LAST_KEY}};

static const struct hypothesis in_diagonal[] = {
    {CAUSE_diagonal_unmasked, flawed_at_diagonal, 32, unmasked_tiles},
    {CAUSE_diagonal_unmasked, flawed_at_diagonal, 16, later_heads},
    {CAUSE_tile_skipped, flawed_at_diagonal, 32, lost_tiles},
    {0}};

// ---- all -----------------------------------------------------------------------------------

// dP - delta is NaN all over some heads, of the others nowhere, and dV, which needs no delta, is
// right: delta was read, but never written.
static bool is_without_delta(const struct suspect* s) {
    const struct problem* p = s->problem;
    bool any = false;
    if (s->tensor != p->array[ARRAY_dK].tensor) return false;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h += sharing(p, ARRAY_dK)) {
            int64_t bad = 0;
            for (int64_t j = 0; j < p->N_k; j++)
                for (int64_t x = 0; x < p->d; x++)
                    bad += !isfinite(s->tensor->got[place_in(p, ARRAY_dK, b, h, j) + x]);
            if (bad != 0 && bad != p->N_k * p->d) return false;
            any |= bad != 0;
        }
    return any;
}

enum cause backward_explain_products(struct check* c, const struct tensor* t,
                                     struct budget budget) {
    // in_exponent comes first: of scores of 30 times the usual size a wrong base leaves little of
    // P, and other scales leave as little.
    const struct hypothesis* const lists[] = {in_exponent,
                                              backward_mistakes_in_equations,
                                              backward_mistakes_in_mask,
                                              in_operands,
                                              in_lanes,
                                              in_arrays,
                                              in_diagonal,
                                              in_mask_of_lanes};
    const struct suspect s = backward_suspect(c, t, budget);
    enum cause cause = CAUSE_NONE;
    if (are_small_weights_lost(&s)) return CAUSE_small_weights;
    if (budget.max == 0 && backward_count_nonfinite(t) == 0) return CAUSE_not_repeatable;
    if (backward_count_nonfinite(t) == 0 && !backward_is_zero(t))
        for (size_t n = 0; n < sizeof lists / sizeof lists[0] && !cause; n++)
            cause = backward_of_one(&s, hypothesis_search(&s, lists[n]));
    if (!cause) cause = backward_explain(c, t, budget);
    // What a first call wrote and a later one does not has been kept.
    const struct tensor* Q = problem_of_case(c)->array[ARRAY_Q].tensor;
    const bool later = check_values_of(Q, 0) != Q->value;
    if (!cause && is_without_delta(&s)) return later ? CAUSE_stale_state : CAUSE_delta;
    return cause;
}
