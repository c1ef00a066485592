// mistakes.h: what is wrong with an output of lesson 27. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "27_low_precision/low.h"

// ---- bytes and scales --------------------------------------------------------------------------

// A case of low_precision_quantise(): check_description() of the case.
struct step_case {
    struct check* check;
    struct step s;
    bool is_counted;  // its traffic is what the case is about
    struct tensor *X, *to, *scales;
};

// What a kernel with this flaw leaves in t, of a case q.
static bool is_flaw(const struct tensor* t, const struct step_case* q, struct step_flaw flaw) {
    double* guess = check_allocate(q->check, t->count + 1, sizeof *guess);
    quantise(&q->s, &flaw, q->X->value, t == q->to ? guess : NULL, t == q->to ? NULL : guess);
    bool same = true, shown = false;
    for (int64_t e = 0; e < t->count && same; e++) {
        same = guess[e] == t->got[e] || (isnan(guess[e]) && isnan(t->got[e]));
        shown |= guess[e] != t->want[e];
    }
    free(guess);
    return same && shown;
}

static const struct {
    enum cause cause;
    struct step_flaw flaw;
} step_flaws[] = {
    {CAUSE_rotation, {.not_rotated = true}},
    {CAUSE_rotation, {.not_normalised = true}},
    {CAUSE_rotation, {.no_root = true}},
    {CAUSE_rotation, {.widths = 3}},
    {CAUSE_rotation, {.downwards = true}},
    {CAUSE_amax, {.amax = AMAX_SIGNED}},
    {CAUSE_amax, {.amax = AMAX_INFINITE}},
    {CAUSE_amax, {.amax = AMAX_OF_NAN}},
    {CAUSE_amax, {.amax = AMAX_OF_HEAD}},
    {CAUSE_amax, {.amax = AMAX_NO_FLOOR}},
    {CAUSE_amax, {.amax = AMAX_FIRST_ROW}},
    {CAUSE_amax, {.largest = 1}},
    {CAUSE_amax, {.largest = 240}},
    {CAUSE_amax, {.largest = 256}},
    {CAUSE_upside_down, {.upside_down = true}},
    {CAUSE_factor_of_scale, {.factor = FACTOR_DIVIDES}},
    {CAUSE_factor_of_scale, {.factor = FACTOR_OF_AMAX}},
};

// A byte that stands for a number beyond the largest, for NaN, and one next to another.
static bool is_beyond(double want, double got) {
    return ((int)want & 0x7f) == E4M3.largest && want != got &&
           ((int)got & 0x7f) != E4M3.largest - 1;
}
static bool is_next(double want, double got) {
    return (int)want / 0x80 == (int)got / 0x80 && fabs(want - got) == 1;
}

// All wrong bytes are of one kind, and what else there is is right.
static enum cause explain_bytes(const struct step_case* q) {
    const struct tensor* t = q->to;
    int64_t wrong = 0, beyond = 0, next = 0, nan = 0, small = 0, moved = 0, minus = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const double want = t->want[e], got = t->got[e];
        if (want == got) continue;
        wrong++;
        beyond += is_beyond(want, got);
        next += is_next(want, got);
        nan += want == E4M3_NAN;
        small += ((int)want & 0x7f) < 8;
        minus += want == 0x80 && got == 0;
    }
    // The bytes of 16 keys, or of 16 elements, in another order.
    for (int64_t e = 0; e + SIXTEEN <= t->count; e += SIXTEEN) {
        int64_t sum = 0;
        for (int n = 0; n < SIXTEEN; n++)
            sum += (int64_t)(t->want[e + n] * t->want[e + n] - t->got[e + n] * t->got[e + n]);
        for (int n = 0; n < SIXTEEN && sum == 0; n++) moved += t->want[e + n] != t->got[e + n];
    }
    if (wrong == 0) return CAUSE_NONE;
    if (10 * moved >= 9 * wrong && wrong > SIXTEEN) return CAUSE_fragment_order;
    if (nan == wrong) return CAUSE_nan_lost;
    if (minus == wrong) return CAUSE_minus_zero;
    if (beyond == wrong) return CAUSE_saturation;
    return next + small >= wrong - beyond - nan ? CAUSE_nearest_of_eight : CAUSE_NONE;
}

// All bytes are right, and the scales of the first head: the others were stored somewhere else.
static bool are_scales_of_first_head(const struct step_case* q) {
    const struct step* s = &q->s;
    const int64_t T = s->per_block ? q->scales->count / (s->B * s->H) : q->scales->count;
    for (int64_t e = 0; e < q->to->count; e++)
        if (q->to->got[e] != q->to->want[e]) return false;
    for (int64_t e = 0; e < q->scales->count; e++)
        if (e < T ? q->scales->got[e] != q->scales->want[e] : check_was_written(q->scales, e))
            return false;
    return T < q->scales->count;
}

// What is wrong with one of the two outputs of the first call.
static enum cause explain_step(const struct step_case* q, const struct tensor* t) {
    static const char* const flags[] = {"per_block", "rotated", "transposed", NULL};
    if (q->s.flag != 0 && check_is_right_with_ones(q->check, t, 0, flags)) return CAUSE_flag_value;
    if (t == q->scales && are_scales_of_first_head(q)) return CAUSE_never_written;
    for (size_t n = 0; n < sizeof step_flaws / sizeof step_flaws[0]; n++)
        if (is_flaw(t, q, step_flaws[n].flaw)) return step_flaws[n].cause;
    // Rows, or all, as if X were packed.
    const int64_t N = q->s.N, H = q->s.H, d = q->s.d;
    for (int all = 0; all < 2 && q->X->count >= q->s.B * N * H * d; all++) {
        struct step_case other = *q;
        other.s.stride.n = H * d;
        if (all) other.s.stride.h = d, other.s.stride.b = N * H * d;
        const int64_t last = place(other.s.stride, q->s.B - 1, H - 1, N - 1);
        if (last + d <= q->X->count && is_flaw(t, &other, (struct step_flaw){0}))
            return CAUSE_stride_ignored;
    }
    return t == q->to ? explain_bytes(q) : CAUSE_NONE;
}

// Where both calls are made: what is wrong with what the first has left for the second.
static enum cause explain_first_call(const struct low* l) {
    static const struct step_flaw right;
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) {
        const struct step_case q = {.check = l->p.check,
                                    .s = step_of(l, (enum which)a),
                                    .X = l->X[a],
                                    .to = l->bytes[a],
                                    .scales = l->scales[a]};
        struct tensor* const both[] = {q.scales, q.to};
        quantise(&q.s, &right, q.X->value, q.to->want, q.scales->want);
        for (int n = 0; n < 2; n++)
            for (int64_t e = 0; e < both[n]->count; e++)
                if (both[n]->got[e] != both[n]->want[e]) return explain_step(&q, both[n]);
    }
    return CAUSE_NONE;
}

// ---- scales in the attention -------------------------------------------------------------------

enum { WALK_ROWS = 16, WALK_Q = 128, MOST_KEYS = 256 };

// Keys of a block, as kernels may have it.
static const int keys_of_block[] = {128, 192, MOST_KEYS};

enum other_scale {
    MISSING,
    TWICE,
    OF_BLOCK_0,
    OF_NEXT_BLOCK,
    OF_BLOCK_BEFORE,
    OF_TILE,  // of the block of the first row of a tile of 192
    OF_192,   // of the block whose number that of a block of 192 keys is, or of 256
    OF_256,
    OF_BATCH_0,       // of the same head and block of the first batch
    OF_HEAD_0,        // of the same block of the batch's first head
    OF_WHOLE_BLOCKS,  // a head has as many as it has whole blocks
    COUNTED,          // of a walk's first block those of the last block of all, and so on
    FIRST_OF_ALL,
    OTHERS
};

static double other_scale(const struct low* l, enum which a, int64_t head, int64_t n,
                          enum other_scale how) {
    const int64_t block = n / SCALE_BLOCK;
    const struct step s = step_of(l, a);
    const int64_t T = l->per_block ? blocks_of_rows(&s) : 1;
    const double* scale = l->scales[a]->value + (l->per_block ? head * T : 0);
    const double own = scale[l->per_block ? block : 0];
    switch (how) {
    case MISSING:
        return 1;
    case TWICE:
        return own * own;
    case OF_BLOCK_0:
        return scale[0];
    case OF_NEXT_BLOCK:
        return scale[block + 1 < T ? block + 1 : block];
    case OF_TILE:
        return scale[n / 192 * 192 / SCALE_BLOCK % T];
    case OF_192:
        return scale[n / 192 % T];
    case OF_256:
        return scale[n / 256 % T];
    case OF_BATCH_0:
        return l->scales[a]->value[l->per_block ? head % s.H * T + block : 0];
    case OF_HEAD_0:
        return l->scales[a]->value[l->per_block ? head / s.H * s.H * T + block : 0];
    case OF_WHOLE_BLOCKS:
        return l->scales[a]->value[l->per_block ? head * (s.N / SCALE_BLOCK) + block : 0];
    case OF_BLOCK_BEFORE:
        return scale[block > 0 ? block - 1 : 0];
    default:
        return l->scales[a]->value[0];
    }
}

// The values of array a with other scales, but for block `own_of`; to be freed.
static double* with_other_scales(const struct low* l, enum which a, enum other_scale how,
                                 int64_t own_of) {
    const struct step s = step_of(l, a);
    const struct tensor* t = l->p.array[a].tensor;
    double* value = check_allocate(l->p.check, t->count + 1, sizeof *value);
    for (int64_t e = 0; e < t->count; e++) {
        const int64_t row = e / s.d, n = row / s.H % s.N, h = row % s.H, b = row / (s.N * s.H);
        const int64_t head = b * s.H + h, T = blocks_of_rows(&s);
        const double own = l->scales[a]->value[l->per_block ? head * T + n / SCALE_BLOCK : 0];
        const bool kept = how != COUNTED && n / SCALE_BLOCK == own_of;
        if (how == COUNTED && own_of >= 0) {  // the last block that is seen
            const int64_t back = T - 1 - (own_of - n / SCALE_BLOCK);
            const int64_t block = back < 0 ? 0 : back < T ? back : T - 1;
            value[e] = t->value[e] / own * l->scales[a]->value[l->per_block ? head * T + block : 0];
            continue;
        }
        value[e] = t->value[e] / own * (kept ? own : other_scale(l, a, head, n, how));
    }
    return value;
}

// How far what was found is from what the problem `other`, of the same arrays, has, and from what
// is wanted. Of rows all over the output: P is rounded by 2^-4 of itself, and so single rows prove
// nothing.
struct distance {
    double off, wrong;
};

// Adds that of the rows of one tile of queries; all: of all rows.
static void add_distance(const struct suspect* s, const struct problem* other, int64_t tile,
                         bool all, struct distance* sum) {
    enum { SAMPLES = 24 };
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    const enum which a = is_O(s) ? ARRAY_O : ARRAY_LSE;
    const int64_t rows = p->B * p->H * p->N_q, step = rows / SAMPLES + 1;
    double O[MAX_HEAD], LSE;
    for (int64_t row = 0; row < rows; row += step) {
        const int64_t i = row % p->N_q, h = row / p->N_q % p->H, b = row / (p->N_q * p->H);
        const int64_t first = place_in(p, a, b, h, i);
        if (!all && i / WALK_Q != tile) continue;
        forward_reference_row(other, false, b, h, i, O, &LSE);
        for (int64_t x = 0; x < width_of(p, a); x++) {
            if (t->got[first + x] == t->want[first + x]) continue;  // -infinity, too
            sum->off += fabs(t->got[first + x] - (is_O(s) ? O[x] : LSE));
            sum->wrong += fabs(t->got[first + x] - t->want[first + x]);
        }
    }
}

// In parts of how far it is from what is wanted. The walk is from the last block that a tile sees:
// the scales of the block before are those of the next one, and that block has its own.
static double distance_with(const struct suspect* s, unsigned set, enum other_scale how) {
    const struct low* l = s->problem;
    const struct problem* p = &l->p;
    const bool by_tiles = p->causal && (how == OF_NEXT_BLOCK || how == COUNTED);
    struct distance sum = {0, 0};
    for (int64_t tile = 0; tile < (by_tiles ? CEIL_DIV(p->N_q, WALK_Q) : 1); tile++) {
        const int64_t last_row = (tile + 1) * WALK_Q < p->N_q ? (tile + 1) * WALK_Q : p->N_q;
        const int64_t last = by_tiles ? (keys_seen(p, last_row - 1) - 1) / SCALE_BLOCK : -1;
        struct problem other = *p;
        struct tensor tensor[3];
        for (int a = ARRAY_Q; a <= ARRAY_V; a++) {
            tensor[a] = *p->array[a].tensor;
            if (set >> a & 1) tensor[a].value = with_other_scales(l, (enum which)a, how, last);
            other.array[a].tensor = &tensor[a];
        }
        add_distance(s, &other, tile, !by_tiles, &sum);
        for (int a = ARRAY_Q; a <= ARRAY_V; a++)
            if (set >> a & 1) free(tensor[a].value);
    }
    return sum.wrong > 0 ? sum.off / sum.wrong : INFINITY;
}

static enum cause explain_scales(const struct suspect* s) {
    static const unsigned sets[] = {1, 2, 4, 6, 3, 7};  // of Q, K, V
    const struct low* l = s->problem;
    double nearest = INFINITY;
    if (l->p.N_k == 0) return CAUSE_NONE;
    for (size_t n = 0; n < sizeof sets / sizeof sets[0]; n++)
        for (int how = MISSING; how < OTHERS; how++)
            nearest = fmin(nearest, distance_with(s, sets[n], (enum other_scale)how));
    return nearest < 0.25 ? CAUSE_scale_of_block : CAUSE_NONE;
}

// ---- a walk from the last block of keys to the first --------------------------------------------

// How a kernel goes wrong in its rounds.
enum walk_flaw {
    KEYS_IN_ORDER,  // a word of P has four keys in a row
    INNER_SWAPPED,  // its bytes 1 and 2 are swapped; or both of each half; or the halves; or all
    BYTES_SWAPPED,
    HALVES_SWAPPED,
    BYTES_BACKWARDS,
    ROWS_MIXED,        // a word has two keys of either row
    WORDS_SWAPPED,     // the words of the second row and of the second half are swapped
    O_KEPT,            // O is not rescaled
    O_KEPT_IN_SECOND,  // only where one of the first 8 rows' maximum grows
    L_KEPT,            // l is not
    V_OF_NEXT,         // the weights of a block multiply the values of the next one
    LAST_PV_LOST,      // the last block's product with V is left out
    P_ONCE,            // P is at most 1 when it is rounded
    P_TO_16,           // it is up to 2^4
    P_TO_2,            // up to 2: with room of 2^3 above the largest weight so far
    M_WITHOUT_V,       // m is the maximum of scores alone
    P_TOO_LARGE,       // it is up to 2^10, and 448 stands for what is larger
    ROOM_FOR_ALL,      // where one row of a warp outgrows m, all its rows have a new one, with room
    P_CUT_OFF,         // in plain rounds m stays, whatever comes
    CUT_OFF_IN_SECOND,  // the weights of the first 8 rows alone are asked whether they outgrow m
    L_AND_O_KEPT,       // what outgrows m gets a new one, and l and O are those of the old one
    P_TO_16_ROOM,       // P_TO_16, and m stays, with room, as long as no weight outgrows it
    M_WITHOUT_V_ROOM,   // the same with M_WITHOUT_V
    M_SCALED_AGAIN,     // the same with an m that is scaled once more whenever a block raises it
    L_OF_PV,            // l sums P times the scale of V
    L_WITHOUT_FACTOR,   // l has not the factor that P has
    LSE_WITH_FACTOR,    // LSE has it
    WALK_FLAWS
};

static const enum cause causes_of_walk[WALK_FLAWS] = {
    [INNER_SWAPPED] = CAUSE_fragment_order,
    [BYTES_SWAPPED] = CAUSE_fragment_order,
    [HALVES_SWAPPED] = CAUSE_fragment_order,
    [BYTES_BACKWARDS] = CAUSE_fragment_order,
    [KEYS_IN_ORDER] = CAUSE_fragment_order,
    [ROWS_MIXED] = CAUSE_fragment_order,
    [WORDS_SWAPPED] = CAUSE_fragment_order,
    [O_KEPT] = CAUSE_no_rescale_O,
    [O_KEPT_IN_SECOND] = CAUSE_no_rescale_O,
    [L_KEPT] = CAUSE_no_rescale,
    [V_OF_NEXT] = CAUSE_tile_skipped,
    [LAST_PV_LOST] = CAUSE_tile_skipped,
    [P_ONCE] = CAUSE_low_precision,
    [P_TO_16] = CAUSE_low_precision,
    [P_TO_2] = CAUSE_low_precision,
    [M_WITHOUT_V] = CAUSE_max_without_v,
    [P_TOO_LARGE] = CAUSE_saturation,
    [L_OF_PV] = CAUSE_scale_of_block,
    [L_WITHOUT_FACTOR] = CAUSE_weight_factor,
    [LSE_WITH_FACTOR] = CAUSE_weight_factor,
    [P_CUT_OFF] = CAUSE_saturation,
    [ROOM_FOR_ALL] = CAUSE_low_precision,
    [CUT_OFF_IN_SECOND] = CAUSE_saturation,
    [L_AND_O_KEPT] = CAUSE_no_rescale,
    [P_TO_16_ROOM] = CAUSE_low_precision,
    [M_WITHOUT_V_ROOM] = CAUSE_max_without_v,
    [M_SCALED_AGAIN] = CAUSE_max_scaled_again,
};

// Where the A of a product, of 16 rows and 32 keys, has the weight of its row and k from: sets the
// row and the key. A right one has key_of_byte[] of its own row.
static void weight_at(enum walk_flaw flaw, int* row, int* k) {
    const int half = *k / SIXTEEN, t = *k % SIXTEEN / 4, i = *k % 4, second = *row / 8,
              g = *row % 8;
    static const int other[WALK_FLAWS][4] = {[INNER_SWAPPED] = {0, 2, 1, 3},
                                             [BYTES_SWAPPED] = {1, 0, 3, 2},
                                             [HALVES_SWAPPED] = {2, 3, 0, 1},
                                             [BYTES_BACKWARDS] = {3, 2, 1, 0}};
    if (flaw >= INNER_SWAPPED && flaw <= BYTES_BACKWARDS) *k += other[flaw][i] - i;
    *k = half * SIXTEEN + key_of_byte[*k % SIXTEEN];
    if (flaw == KEYS_IN_ORDER) *k = half * SIXTEEN + 4 * t + i;
    if (flaw == ROWS_MIXED) {
        *row = g + i / 2 * 8;
        *k = 8 * (second + 2 * half) + 2 * t + i % 2;
    }
    if (flaw == WORDS_SWAPPED) {
        *row = g + 8 * half;
        *k = second * SIXTEEN + 2 * t + i % 2 + i / 2 * 8;
    }
}

struct walked {
    double O[WALK_ROWS][MAX_HEAD], l[WALK_ROWS], m[WALK_ROWS], LSE[WALK_ROWS];
};

static double rounded_weight(enum walk_flaw flaw, const struct numbers* n, double P) {
    if (flaw == P_ONCE) return few_bits_round(&E4M3, n, P / 256);
    if (flaw == P_TO_16 || flaw == P_TO_16_ROOM) return few_bits_round(&E4M3, n, P / 16) * 16;
    if (flaw == P_TO_2) return few_bits_round(&E4M3, n, P / 128) * 128;
    if (flaw == P_TOO_LARGE) return few_bits_round(&E4M3, n, P * 4);
    return few_bits_round(&E4M3, n, P);
}

// Would a weight of one of the rows from i0 on be cut off, in block j, or have they no m yet?
static bool has_outgrown(const struct problem* p, int64_t b, int64_t h, int64_t i0, int rows,
                         int64_t j, int keys, double v, const struct walked* w) {
    const double largest = log2(440) - 8;  // half a step below 448
    for (int64_t i = i0; i < i0 + rows && i < p->N_q; i++)
        for (int64_t key = j * keys; key < (j + 1) * keys && key < keys_seen(p, i); key++)
            if (score(p, b, h, i, key) / M_LN2 + log2(v) - w->m[i - i0] > largest) return true;
    return false;
}

static double exp2_in_fp32(double x) {
    return (double)(float)exp2(x);
}

// Rows i0 and the 15 behind it, of a tile of 128 rows, by blocks of `keys`.
static void walk_rows(const struct low* l, enum walk_flaw flaw, int keys, int64_t b, int64_t h,
                      int64_t i0, struct walked* w) {
    const struct problem* p = &l->p;
    const struct numbers numbers = numbers_of(&E4M3);
    double P[WALK_ROWS][MOST_KEYS], v = 1;
    const int64_t tile_end = i0 / WALK_Q * WALK_Q + WALK_Q - 1;
    const int64_t last = keys_seen(p, tile_end < p->N_q ? tile_end : p->N_q - 1) - 1;
    // In the first block, and until 64 rows have seen half of one, rows have their maximum, and
    // behind the last such block room for the plain ones.
    const int64_t half_seen = keys_seen(p, i0 / 64 * 64) - keys / 2;
    int64_t plain_to = half_seen > 0 ? half_seen / keys : 0;
    if (plain_to > last / keys) plain_to = last / keys;
    const bool has_plain =
        flaw == P_CUT_OFF || (flaw >= CUT_OFF_IN_SECOND && flaw <= M_SCALED_AGAIN);
    memset(w, 0, sizeof *w);
    for (int r = 0; r < WALK_ROWS; r++) w->m[r] = -INFINITY;
    for (int64_t j = last / keys; last >= 0 && j >= 0; j--) {
        v = scale_of_V(l, b, h, j * keys);
        double alphas[WALK_ROWS];
        bool first_rows_grow = false;
        bool outgrown = flaw == ROOM_FOR_ALL && has_outgrown(p, b, h, i0, WALK_ROWS, j, keys, v, w);
        const bool is_plain = has_plain && j < plain_to;
        const bool without_v = flaw == M_WITHOUT_V || flaw == M_WITHOUT_V_ROOM;
        const double again = scale_of_scores(l, b, h, i0, j * keys);
        if (is_plain && flaw != P_CUT_OFF) {
            const int rows = flaw == CUT_OFF_IN_SECOND ? WALK_ROWS / 2 : WALK_ROWS;
            const double left = flaw == P_TO_16_ROOM ? v / 16 : v;  // what P is rounded as
            outgrown = has_outgrown(p, b, h, i0, rows, j, keys, left, w);
        }
        const bool keeps = is_plain && flaw == L_AND_O_KEPT;
        for (int r = 0; r < WALK_ROWS; r++) {
            double m = w->m[r], sum = 0;
            if (flaw == M_SCALED_AGAIN) m = again * m + log2(v);
            for (int n = 0; n < keys; n++) {
                const int64_t key = j * keys + n, i = i0 + r;
                const bool sees = i < p->N_q && key < keys_seen(p, i) && key < p->N_k;
                P[r][n] = sees ? score(p, b, h, i, key) / M_LN2 + log2(v) : -INFINITY;
                m = fmax(m, P[r][n] - (without_v ? log2(v) : 0));
            }
            if (flaw == ROOM_FOR_ALL) m = outgrown ? m + 3 : w->m[r];
            if (has_plain && j == plain_to && j > 0) m += 3;
            if (is_plain) m = outgrown && m > w->m[r] ? m + 3 : w->m[r];
            const double alpha = m > -INFINITY ? exp2_in_fp32(w->m[r] - m) : 1;
            w->m[r] = m;
            for (int n = 0; n < keys; n++) {
                P[r][n] = P[r][n] > -INFINITY ? exp2_in_fp32(P[r][n] - m + 8) : 0;
                sum += P[r][n];
                P[r][n] = rounded_weight(flaw, &numbers, P[r][n]);
            }
            if (flaw != L_KEPT && !keeps) w->l[r] *= alpha;
            w->l[r] += flaw == L_OF_PV ? sum : sum / v;
            alphas[r] = alpha;
            first_rows_grow |= r < WALK_ROWS / 2 && alpha != 1;
        }
        const bool kept = keeps || flaw == O_KEPT || (flaw == O_KEPT_IN_SECOND && !first_rows_grow);
        for (int r = 0; r < WALK_ROWS && !kept; r++)
            for (int64_t x = 0; x < p->d; x++) w->O[r][x] *= alphas[r];
        const int64_t of_V = flaw == V_OF_NEXT && j > 0 ? j - 1 : j;
        const double v_there = scale_of_V(l, b, h, of_V * keys);
        for (int r = 0; r < WALK_ROWS; r++)
            for (int n = 0; n < keys && !(flaw == LAST_PV_LOST && j == 0); n++) {
                int row = r, k = n % 32;
                const int64_t key =
                    of_V * keys + n / 32 * 32 + k / SIXTEEN * SIXTEEN + key_of_byte[k % SIXTEEN];
                weight_at(flaw, &row, &k);
                const double weight = P[row][n / 32 * 32 + k];
                if (key >= p->N_k || weight == 0) continue;
                const double* value = row_of(p, ARRAY_V, b, h, key);
                for (int64_t x = 0; x < p->d; x++) w->O[r][x] += weight * value[x] / v_there;
            }
    }
    for (int r = 0; r < WALK_ROWS; r++) {
        const double factor = flaw == P_ONCE ? 256 : flaw == P_TOO_LARGE ? 0.25 : 1;
        const double sum = flaw == L_WITHOUT_FACTOR ? w->l[r] / 256 : w->l[r];
        for (int64_t x = 0; x < p->d; x++) w->O[r][x] = sum > 0 ? w->O[r][x] * factor / sum : 0;
        w->LSE[r] =
            sum > 0 ? (w->m[r] - (flaw == LSE_WITH_FACTOR ? 0 : 8) + log2(sum)) * M_LN2 : -INFINITY;
    }
}

struct walk_of {
    const struct low* l;
    enum walk_flaw flaw;
    int keys;
};

static bool rows_of_walk(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i0,
                         double* O, double* LSE) {
    const struct walk_of* of = how;
    struct walked w;
    walk_rows(of->l, of->flaw, of->keys, b, h, i0, &w);
    for (int r = 0; r < WALK_ROWS; r++) memcpy(O + r * p->d, w.O[r], (size_t)p->d * sizeof *O);
    memcpy(LSE, w.LSE, sizeof w.LSE);
    return true;
}

// Where each LSE is right, l is.
static bool is_LSE_right(const struct problem* p) {
    const double rounding = 0.02;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    for (int64_t e = 0; e < LSE->count; e++) {
        if (LSE->untouched[e] || !isfinite(LSE->want[e])) continue;
        if (!check_was_written(LSE, e) || !(fabs(LSE->got[e] - LSE->want[e]) <= rounding))
            return false;
    }
    return true;
}

static enum cause explain_walk(const struct suspect* s, enum walk_flaw first, enum walk_flaw end) {
    const struct low* l = s->problem;
    const bool is_l_right = is_LSE_right(&l->p);
    for (size_t n = 0; n < sizeof keys_of_block / sizeof *keys_of_block; n++)
        for (int flaw = (int)first; flaw < (int)end; flaw++) {
            const struct walk_of of = {l, (enum walk_flaw)flaw, keys_of_block[n]};
            if (flaw == L_KEPT && is_l_right) continue;
            // of one block nothing is left, and zeros are near to whatever is small
            if (flaw == LAST_PV_LOST && l->p.N_k <= of.keys) continue;
            if (forward_is_made_of_tiles(s, WALK_ROWS, rows_of_walk, &of))
                return causes_of_walk[flaw];
        }
    return CAUSE_NONE;
}

// In all rows LSE is off by 2^8, once or twice, to the same side: P has that factor and LSE does
// not take it out, or LSE does and P has it not. What O is then depends on what is left of P.
static bool is_factor_in_LSE(const struct problem* p) {
    const double factor = 8 * M_LN2, rounding = 0.02;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    double times = 0;
    for (int64_t e = 0; e < LSE->count; e++) {
        if (LSE->untouched[e] || !isfinite(LSE->want[e])) continue;
        const double off = LSE->got[e] - LSE->want[e], here = rint(off / factor);
        if (!check_was_written(LSE, e) || !(fabs(off - here * factor) < rounding)) return false;
        if (here == 0 || fabs(here) > 2 || (times != 0 && here != times)) return false;
        times = here;
    }
    return times != 0;
}

// No element of O is wrong by itself, but all are too large, or too small, by the same share, less
// than half a step of e4m3: weights that are alike were all rounded to the same side, and l has
// them as they were.
static bool are_weights_rounded_alike(const struct suspect* s) {
    const double least = 0.002, most = 0x1p-4, rounding = 0.02;  // rounding: what bf16 leaves
    const struct tensor* t = s->tensor;
    double both = 0, square = 0, off = 0;
    if (!is_O(s)) return false;
    for (int64_t e = 0; e < t->count; e++) {
        if (!(fabs(t->got[e] - t->want[e]) <= s->budget.max)) return false;
        both += t->got[e] * t->want[e], square += t->want[e] * t->want[e];
    }
    const double factor = both / square;
    for (int64_t e = 0; e < t->count; e++) off += pow(t->got[e] - factor * t->want[e], 2);
    return fabs(factor - 1) > least && fabs(factor - 1) < most &&
           off < rounding * rounding * square;
}

// Rows of zeros behind the last key count, in l as well. Such a factor of O may be about that of a
// scale.
static bool are_zeros_counted(const struct suspect* s) {
    const struct low* l = s->problem;
    if (is_O(s) && is_LSE_right(&l->p)) return false;
    struct forward_mistake w = forward_right(&l->p);
    w.flaw = TAIL_COUNTS;
    for (size_t n = 0; n < sizeof keys_of_block / sizeof *keys_of_block; n++) {
        w.block_k = keys_of_block[n];
        if (l->p.N_k > 0 && is_forward(s, &w)) return true;
    }
    return false;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    if (t == check_tensor(c, "tickets")) return CAUSE_ticket_kept;
    if (t == check_tensor(c, "to") || t == check_tensor(c, "scales"))
        return explain_step(check_description(c), t);
    const struct suspect s = forward_suspect(c, t, budget);
    const struct low* l = s.problem;
    enum cause cause = CAUSE_NONE;
    if (l->call == CALL_BOTH) cause = explain_first_call(l);
    if (!cause && are_zeros_counted(&s)) return CAUSE_mask_value;
    if (l->call == CALL_ATTENTION && is_factor_in_LSE(&l->p)) return CAUSE_weight_factor;
    // A walk that makes these very numbers says more than scales that come near; but many scales
    // may do what a walk does; but for weights that outgrow m.
    const bool is_walk = l->call == CALL_ATTENTION && l->p.N_k > 0;
    if (is_walk && !l->per_block) cause = explain_walk(&s, 0, WALK_FLAWS);
    if (is_walk && l->per_block)  // what is cut off has been summed
        cause = is_LSE_right(&l->p) ? explain_walk(&s, P_CUT_OFF, L_AND_O_KEPT)
                                    : explain_walk(&s, L_AND_O_KEPT, L_OF_PV);
    if (!cause && l->call == CALL_ATTENTION) cause = explain_scales(&s);
    if (!cause && is_walk && l->per_block) cause = explain_walk(&s, 0, WALK_FLAWS);
    if (!cause && are_weights_rounded_alike(&s)) return CAUSE_low_precision;
    if (!cause) cause = fragment_explain(c, t, budget);
    return !cause && are_rows_scaled(&s) ? CAUSE_other_sum : cause;
}

#endif
