// backward_mistakes.c: the mistakes that any kernel for the gradients can make.
#include "attention/backward_mistakes.h"

#include <math.h>
#include <stdlib.h>

#include "attention/forward.h"

struct suspect backward_suspect(struct check* c, const struct tensor* t, struct budget budget) {
    const struct problem* p = problem_of_case(c);
    bool rounded = p->contract->rounded_weights;
    return (struct suspect){.tensor = t,
                            .budget = budget,
                            .slack = {.of_largest = rounded ? 0x1p-8 : 0x1p-14,
                                      .of_element = rounded ? 0x1p-7 : 0x1p-9,
                                      .nan_proves_nothing = true},
                            .problem = p};
}

bool backward_guess(const struct suspect* s, const struct backward* w, double* guess) {
    const struct problem* p = s->problem;
    double* gradient[GRADIENTS] = {NULL};
    for (int a = 0; a < GRADIENTS; a++)
        if (s->tensor == p->array[ARRAY_dQ + a].tensor) gradient[a] = guess;
    backward(p, w, backward_count_nonfinite(s->tensor) > 0, gradient);
    return true;
}

int64_t backward_count_nonfinite(const struct tensor* t) {
    int64_t bad = 0;
    for (int64_t e = 0; e < t->count; e++) bad += !t->untouched[e] && !isfinite(t->got[e]);
    return bad;
}

bool backward_is_zero(const struct tensor* t) {
    bool zeros = true;
    for (int64_t e = 0; e < t->count; e++) zeros &= t->untouched[e] || t->got[e] == 0;
    return zeros;
}

// ---- the equations -------------------------------------------------------------------------

// Other scales than the problem's, of the scores, dQ and dK.
enum scale { ONE, SCALE, SQUARE, USUAL, USUAL_SQUARE };
struct scales {
    enum scale scores, gradients;
};

static double number(const struct problem* p, enum scale scale) {
    double usual = (double)(float)(1 / sqrt((double)p->d));
    switch (scale) {
    case ONE:
        return 1;
    case SCALE:
        return p->scale;
    case SQUARE:
        return p->scale * p->scale;
    case USUAL:
        return usual;
    case USUAL_SQUARE:
        return 1.0 / (double)p->d;
    }
    return NAN;
}

static bool other_scales(const struct suspect* s, const struct hypothesis* h, int variant,
                         double* guess) {
    const struct problem* p = s->problem;
    const struct scales* scales = h->like;
    struct backward w = backward_right(p);
    (void)variant;
    w.scale = number(p, scales->scores);
    w.scale_dQ = w.scale_dK = number(p, scales->gradients);
    return backward_guess(s, &w, guess);
}

// The mistakes that change one thing, whatever the tiles are.
enum slip {
    DELTA,
    NO_LSE,
    LSE_OF_BASE_2,  // 2 to the power of S log2(e) - LSE
    POWER_OF_2,     // 2 to the power of S - LSE
    dV_OF_dS,
    FEWER_COLUMNS,
    OTHER_MASK,
    NO_MASK,
    CORNER,
    ONE_OFF,
    INTERLEAVED,
    LAST_HEAD_ONLY,
    DELTA_OF_FIRST_HEAD,
};

static bool set_slip(const struct problem* p, enum slip slip, int variant, struct backward* w) {
    const int64_t offset = p->N_k - p->N_q;
    const double deltas[] = {0, p->scale, -1, 1 / p->scale};
    const int64_t corners[] = {0, -offset, offset > 0 ? 0 : offset, offset < 0 ? 0 : offset};
    switch (slip) {
    case DELTA:
        w->delta = deltas[variant];
        return true;
    case NO_LSE:
        w->lse = 0;
        return true;
    case LSE_OF_BASE_2:
        w->lse = M_LN2;
        return true;
    case POWER_OF_2:
        w->base = M_LN2;
        return true;
    case dV_OF_dS:
        w->dV = OF_dS;
        return true;
    case FEWER_COLUMNS:
        w->columns = MAX_HEAD / 2 >> variant;
        return w->columns < p->d;
    case OTHER_MASK:
        w->mask = MASK;
        return !p->causal;
    case NO_MASK:
        w->mask = MASK_NOTHING;
        return p->causal;
    case CORNER:
        w->shift = corners[variant];
        return p->causal && w->shift != offset;
    case ONE_OFF:
        w->shift = offset + (variant == 0 ? -1 : 1);
        return p->causal;
    case INTERLEAVED:
        w->interleaved = true;
        return p->group > 1;
    case LAST_HEAD_ONLY:
        w->only_last_head = true;
        return p->group > 1;
    case DELTA_OF_FIRST_HEAD:
        w->first_delta = true;
        return p->group > 1;
    }
    return false;
}

static bool slip(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    struct backward w = backward_right(s->problem);
    return set_slip(s->problem, *(const enum slip*)h->like, variant, &w) &&
           backward_guess(s, &w, guess);
}

#define SCALES(x, y) (&(const struct scales){x, y})
#define SLIP(x) (&(const enum slip){x})

const struct hypothesis backward_mistakes_in_equations[] = {
    {CAUSE_scale_missing, other_scales, .like = SCALES(ONE, SCALE)},
    {CAUSE_scale_missing, other_scales, .like = SCALES(ONE, ONE)},
    {CAUSE_scale_squared, other_scales, .like = SCALES(SQUARE, SCALE)},
    {CAUSE_scale_squared, other_scales, .like = SCALES(USUAL_SQUARE, SCALE)},
    {CAUSE_scale_ignored, other_scales, .like = SCALES(USUAL, USUAL)},
    {CAUSE_scale_ignored, other_scales, .like = SCALES(USUAL, SCALE)},
    {CAUSE_scale_ignored, other_scales, .like = SCALES(SCALE, USUAL)},
    {CAUSE_gradient_scale, other_scales, .like = SCALES(SCALE, ONE)},
    {CAUSE_gradient_scale, other_scales, .like = SCALES(SCALE, SQUARE)},
    {CAUSE_delta, slip, .variants = 4, .like = SLIP(DELTA)},
    {CAUSE_not_normalised, slip, .like = SLIP(NO_LSE)},
    {CAUSE_lse_base2, slip, .like = SLIP(LSE_OF_BASE_2)},
    {CAUSE_lse_base2, slip, .like = SLIP(POWER_OF_2)},
    {CAUSE_not_weighted, slip, .like = SLIP(dV_OF_dS)},
    {CAUSE_inner_tail, slip, .variants = 8, .like = SLIP(FEWER_COLUMNS)},
    {0},
};

// Heads that share keys.
static const struct hypothesis in_groups[] = {
    {CAUSE_head_mapping, slip, .like = SLIP(INTERLEAVED)},
    {CAUSE_group_not_summed, slip, .like = SLIP(LAST_HEAD_ONLY)},
    {CAUSE_head_ignored, slip, .like = SLIP(DELTA_OF_FIRST_HEAD)},
    {0},
};

const struct hypothesis backward_mistakes_in_mask[] = {
    {CAUSE_causal_ignored, slip, .like = SLIP(OTHER_MASK)},
    {CAUSE_causal_ignored, slip, .like = SLIP(NO_MASK)},
    {CAUSE_mask_corner, slip, .variants = 4, .like = SLIP(CORNER)},
    {CAUSE_mask_off_by_one, slip, .variants = 2, .like = SLIP(ONE_OFF)},
    {0},
};

// ---- blocks of S ---------------------------------------------------------------------------

static bool other_blocks(const struct suspect* s, const struct hypothesis* h, int variant,
                         double* guess) {
    struct backward w = backward_right(s->problem);
    (void)variant;
    w.blocks = *(const struct block_mask*)h->like;
    return backward_guess(s, &w, guess);
}

static enum cause explain_blocks(const struct suspect* s) {
    enum cause cause = CAUSE_NONE, of_mask;
    struct block_mask mask;
    for (int n = 0; !cause && mistake_mask(s->problem, n, &mask, &of_mask); n++) {
        const struct hypothesis list[] = {{of_mask, other_blocks, .like = &mask}, {0}};
        cause = hypothesis_search(s, list);
        free_mask(mask);
    }
    return cause;
}

// ---- tiles ---------------------------------------------------------------------------------

// The mistakes that look different for every tile size. The student's tile size is not known.
enum tile_slip {
    TILE_MAXIMUM,
    DIAGONAL_UNMASKED,
    dV_UNWEIGHTED,
    LAST_TILE_SHORT,    // the last tile of queries is left out, and not full
    LAST_TILE_SKIPPED,  // it is left out, and full
    LAST_TILE_TWICE,
    LAST_KEYS,
    START_SKIPPED,
    START_TWICE,
    FULL_START_SKIPPED,
    FULL_START_TWICE,
    EVERY_FIRST_SKIPPED,
};
static const int64_t tiles[] = {16, 32, 64, 128, 8};
enum { TILES = sizeof tiles / sizeof tiles[0] };

static bool set_tile_slip(const struct problem* p, enum tile_slip slip, int64_t tile,
                          struct backward* w) {
    w->tile = w->keys_tile = tile;
    switch (slip) {
    case TILE_MAXIMUM:
        w->of_maximum = true;
        return true;
    case DIAGONAL_UNMASKED:
        w->mask = MASK_TILES;
        return p->causal;
    case dV_UNWEIGHTED:
        if (p->causal) w->mask = MASK_TILES;
        w->dV = OF_ONE;
        return true;
    case LAST_TILE_SHORT:
    case LAST_TILE_SKIPPED:
    case LAST_TILE_TWICE:
        w->from = (p->N_q - 1) / tile * tile;
        w->to = p->N_q;
        w->times = slip == LAST_TILE_TWICE ? 2 : 0;
        return slip == LAST_TILE_TWICE || (slip == LAST_TILE_SHORT) == (p->N_q % tile != 0);
    case LAST_KEYS:
        w->keys = p->N_k / tile * tile;
        return true;
    case START_SKIPPED:
        w->at_start = 0;
        return true;
    case START_TWICE:
        w->at_start = 2;
        return true;
    case FULL_START_SKIPPED:
        w->at_full_start = 0;
        return true;
    case FULL_START_TWICE:
        w->at_full_start = 2;
        return true;
    case EVERY_FIRST_SKIPPED:
        w->part_lacks_first = true;
        return true;
    }
    return false;
}

static bool tile_slip(const struct suspect* s, const struct hypothesis* h, int variant,
                      double* guess) {
    struct backward w = backward_right(s->problem);
    return set_tile_slip(s->problem, *(const enum tile_slip*)h->like, tiles[variant], &w) &&
           backward_guess(s, &w, guess);
}

#define IN_TILES(x) tile_slip, TILES, (&(const enum tile_slip){x})

static const struct hypothesis in_tiles[] = {
    {CAUSE_not_normalised, IN_TILES(TILE_MAXIMUM)},
    {CAUSE_diagonal_unmasked, IN_TILES(DIAGONAL_UNMASKED)},
    {CAUSE_not_weighted, IN_TILES(dV_UNWEIGHTED)},
    {CAUSE_inner_tail, IN_TILES(LAST_TILE_SHORT)},
    {CAUSE_tile_skipped, IN_TILES(LAST_TILE_SKIPPED)},
    {CAUSE_tile_twice, IN_TILES(LAST_TILE_TWICE)},
    {CAUSE_inner_tail, IN_TILES(LAST_KEYS)},
    {CAUSE_tile_skipped, IN_TILES(START_SKIPPED)},
    {CAUSE_tile_twice, IN_TILES(START_TWICE)},
    {CAUSE_tile_skipped, IN_TILES(FULL_START_SKIPPED)},
    {CAUSE_tile_twice, IN_TILES(FULL_START_TWICE)},
    {CAUSE_tile_skipped, IN_TILES(EVERY_FIRST_SKIPPED)},
    {0},
};

// ---- places --------------------------------------------------------------------------------

// All inputs, all gradients, or one array (in this order: see with_strides()) have other strides.
enum { OF_INPUTS, OF_GRADIENTS, OF_ONE_ARRAY, SETS = OF_ONE_ARRAY + ARRAY_LSE };
enum way { NO_BATCH, NO_HEAD, PACKED_ROWS, AS_OTHER_ARRAY };

static bool is_in(int set, enum which a) {
    if (set == OF_INPUTS) return a <= ARRAY_dO;
    if (set == OF_GRADIENTS) return a >= ARRAY_dQ;
    return (int)a == set - OF_ONE_ARRAY;
}

static bool other_strides(const struct suspect* s, const struct hypothesis* h, int variant,
                          double* guess) {
    const struct problem* p = s->problem;
    enum way way = *(const enum way*)h->like;
    struct backward w = backward_right(p);
    bool differs = false;
    for (enum which a = 0; a < ARRAY_LSE; a++) {
        struct strides* to = &w.stride[a];
        if (!is_in(variant % SETS, a)) continue;
        if (way == NO_BATCH) to->b = 0;
        if (way == NO_HEAD) to->h = 0;
        if (way == PACKED_ROWS) to->n = p->d;
        if (way == AS_OTHER_ARRAY) *to = p->array[variant / SETS].stride;
        if (!rows_fit(p, a, *to)) return false;
        differs |= !same_strides(*to, p->array[a].stride);
    }
    return differs && backward_guess(s, &w, guess);
}

// LSE of batch b and head h begins at (b * the first + h * the second) * N_q.
static bool other_place_of_LSE(const struct suspect* s, const struct hypothesis* h, int variant,
                               double* guess) {
    const struct problem* p = s->problem;
    const int64_t steps[][2] = {{0, 1},    {p->H, 0}, {0, 0},
                                {1, p->B}, {p->B, 1}, {p->H / p->group, 1}};
    const int64_t* step = steps[*(const int*)h->like + variant];
    struct backward w = backward_right(p);
    w.stride[ARRAY_LSE] = (struct strides){.b = step[0] * p->N_q, .n = 1, .h = step[1] * p->N_q};
    return rows_fit(p, ARRAY_LSE, w.stride[ARRAY_LSE]) && backward_guess(s, &w, guess);
}

#define WAY(x) (&(const enum way){x})
#define FROM_STEP(n) (&(const int){n})

static const struct hypothesis in_places[] = {
    {CAUSE_batch_ignored, other_strides, SETS, WAY(NO_BATCH)},
    {CAUSE_head_ignored, other_strides, SETS, WAY(NO_HEAD)},
    {CAUSE_stride_ignored, other_strides, SETS, WAY(PACKED_ROWS)},
    {CAUSE_stride_ignored, other_strides, SETS* ARRAY_LSE, WAY(AS_OTHER_ARRAY)},
    {CAUSE_batch_ignored, other_place_of_LSE, 1, FROM_STEP(0)},
    {CAUSE_head_ignored, other_place_of_LSE, 2, FROM_STEP(1)},
    {CAUSE_batch_ignored, other_place_of_LSE, 3, FROM_STEP(3)},
    {0},
};

// ---- what no guess reproduces --------------------------------------------------------------

// The first cause that a NaN can have. dQ is compared last: P and dS are right if only dQ is NaN.
static enum cause explain_sums(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *t = s->tensor, *LSE = p->array[ARRAY_LSE].tensor;
    double highest = -INFINITY;
    int64_t bad = backward_count_nonfinite(t);
    if (t != p->array[ARRAY_dQ].tensor || bad == 0) return CAUSE_NONE;
    for (int64_t e = 0; e < LSE->count; e++) highest = fmax(highest, LSE->value[e]);
    if (highest < -88) return CAUSE_nan_leak;  // exp(0 - LSE) of a key that does not exist
    return bad == p->B * p->H * p->N_q * p->d ? CAUSE_workspace_uncleared : CAUSE_NONE;
}

// The last causes: one NaN makes many.
static enum cause explain_nonfinite(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    double lowest = INFINITY, highest = -INFINITY, largest = 0;  // of LSE; of |dP|
    if (backward_count_nonfinite(s->tensor) == 0) return CAUSE_NONE;
    for (int64_t e = 0; e < LSE->count; e++) {
        if (isinf(LSE->value[e])) return CAUSE_masked_row;
        lowest = fmin(lowest, LSE->value[e]);
        highest = fmax(highest, LSE->value[e]);
    }
    for (int64_t i = 0; i < p->N_q; i++)
        for (int64_t j = 0; j < p->N_k; j++)
            largest = fmax(largest,
                           fabs(dot(p, row_of(p, ARRAY_dO, 0, 0, i), row_of(p, ARRAY_V, 0, 0, j))));
    if (lowest < -88 || highest > 88) return CAUSE_overflow;
    return largest > 65504 ? CAUSE_low_precision : CAUSE_NONE;
}

// True if every error is small beside the sizes of the terms that were summed for its element:
// rounding is relative to the sums on the way, not to the result.
static bool is_rounding(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    struct backward sizes = backward_right(p);
    double* terms = check_allocate(p->check, t->count, sizeof *terms);
    bool yes = true;
    sizes.absolute = true;
    sizes.delta = -1;  // dP + delta
    backward_guess(s, &sizes, terms);
    for (int64_t e = 0; e < t->count; e++)
        yes &= t->untouched[e] || fabs(t->got[e] - t->want[e]) <= 0x1p-8 * terms[e];
    free(terms);
    return yes;
}

enum cause backward_explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct suspect s = backward_suspect(c, t, budget);
    bool zeros = backward_is_zero(t);
    enum cause cause = explain_sums(&s);
    if (!cause && !zeros) cause = hypothesis_search(&s, backward_mistakes_in_equations);
    if (!cause) cause = explain_blocks(&s);
    if (!cause && !zeros) cause = hypothesis_search(&s, in_groups);
    if (!cause && !zeros) cause = hypothesis_search(&s, backward_mistakes_in_mask);
    if (!cause) cause = hypothesis_search_variants(&s, in_tiles);
    if (!cause) cause = hypothesis_search(&s, in_places);
    if (!cause) cause = explain_nonfinite(&s);
    return !cause && is_rounding(&s) ? CAUSE_low_precision : cause;
}

enum cause backward_or_forward_explain(struct check* c, const struct tensor* t,
                                       struct budget budget) {
    bool backward = problem_of_case(c)->contract->backward;
    return backward ? backward_explain(c, t, budget) : forward_explain(c, t, budget);
}
