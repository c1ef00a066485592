// fragments.h: mistakes that only a kernel with tensor cores can make, for explain(). What every kernel can
// get wrong (who sees which key, where rows lie) is in attention/forward_mistakes.h.
#ifndef FRAGMENTS_H
#define FRAGMENTS_H

#include "attention/old_forward_mistakes.h"
#include "attention/old_taken.h"

// ---- an operand whose elements are taken from the wrong places --------------------------------

// to, counted like `a`, holds what the kernel takes for it, NaN between the rows. Rows beyond N are zeros.
static void take(enum taken how, const struct array* a, const double* value, int64_t N,
                 double* to) {
    for (int64_t e = 0; e < a->tensor->count; e++) to[e] = NAN;
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t h = 0; h < now.H; h++)
            for (int64_t n = 0; n < N; n++)
                for (int64_t x = 0; x < now.d; x++) {
                    int64_t from_n = n, from_x = x;
                    taken_from(how, &from_n, &from_x);
                    to[place_of(a->s, b, n, h) + x] =
                        from_n < N ? value[place_of(a->s, b, from_n, h) + from_x] : 0;
                }
}

static enum cause explain_places_in_tiles(void) {
    const struct array* arrays[] = {&now.Q, &now.K, &now.V};
    enum cause cause = CAUSE_NONE;
    for (int a = 0; a < 3 && !cause && now.N_k > 0; a++) {
        double* value = malloc((size_t)arrays[a]->tensor->count * sizeof *value);
        if (!value) abort();
        for (int how = OTHER_PIECE; how < WAYS_TO_TAKE && !cause; how++) {
            struct mistake w = no_mistake();
            take(how, arrays[a], arrays[a]->tensor->value, a == 0 ? now.N_q : now.N_k, value);
            *(a == 0 ? &w.Q.value : a == 1 ? &w.K.value : &w.V.value) = value;
            if (is_it(&w)) cause = causes_of_taken[how];
        }
        free(value);
    }
    if (cause || suspect.tensor != now.O.tensor) return cause;
    double* O = malloc((size_t)now.O.tensor->count * sizeof *O);
    if (!O) abort();
    for (int how = OTHER_PIECE; how < WAYS_TO_TAKE && !cause; how++) {
        take(how, &now.O, now.O.tensor->want, now.N_q, O);
        if (is_hypothesis(O)) cause = causes_of_taken[how];
    }
    free(O);
    return cause;
}

// ---- a warp that walks over tiles ------------------------------------------------------------

// 16 rows of a warp, each shared by 4 lanes t, which hold the columns 2t and 2t + 1 of every 8.
struct walk {
    int64_t block_q, block_k;
    bool backwards;  // from the last tile to the first
    enum {
        LANE_MAX,        // each lane's maximum is of its own columns
        OTHER_ROWS_MAX,  // the maximum is over the lanes 4 and 8 apart: of other rows
        LANE_SUM,        // each lane divides by the sum of its own columns
        P_MATRICES,      // the fragment of P has its second and third register swapped
        MASK_BY_PAIRS,   // column 2t + 1 is hidden where 2t is
        L_KEPT,          // l is not rescaled
        O_KEPT,          // O is not rescaled
        MAX_FROM_ZERO,   // m starts at 0
        UNGUARDED,       // (-inf) - (-inf), while a row has seen nothing
        FLAWS
    } flaw;
};

// exp as exp2_approx() gives it: what is below the smallest normal number is 0.
static double exp_flushed(double x) {
    double y = exp32(x);
    return y < 0x1p-126 ? 0 : y;
}

static int lane_of(int64_t column) {
    return (int)(column % 8 / 2);
}

struct rows {
    double m[16][4], l[16][4], O[16][MAX_HEAD];
};

static void walk_tile(const struct walk* w, int64_t b, int64_t h, int64_t i0, int64_t j0,
                      struct rows* s) {
    enum { WIDEST = 128 };
    static double S[16][WIDEST], P[16][WIDEST];
    double own[16][4];
    for (int r = 0; r < 16; r++) {
        for (int t = 0; t < 4; t++) own[r][t] = -INFINITY;
        for (int64_t j = 0; j < w->block_k; j++) {
            int64_t key = w->flaw == MASK_BY_PAIRS ? (j0 + j) / 2 * 2 : j0 + j;
            bool seen = key < keys_seen(i0 + r) && key < now.N_k;
            S[r][j] = seen ? 0 : -INFINITY;
            if (!seen || i0 + r >= now.N_q) continue;
            const double *q = at(&now.Q, b, i0 + r, h), *k = at(&now.K, b, j0 + j, h);
            for (int64_t x = 0; x < now.d && j0 + j < now.N_k; x++) S[r][j] += q[x] * k[x];
            S[r][j] *= now.scale;
            own[r][lane_of(j)] = fmax(own[r][lane_of(j)], S[r][j]);
        }
    }
    for (int r = 0; r < 16; r++) {
        double alpha[4];
        for (int t = 0; t < 4; t++) {
            double m = s->m[r][t];
            for (int other = 0; other < 4; other++)
                m = fmax(m, w->flaw == LANE_MAX         ? own[r][t]
                            : w->flaw == OTHER_ROWS_MAX ? own[r ^ other][t]
                                                        : own[r][other]);
            bool guarded = m == -INFINITY && w->flaw != UNGUARDED;
            double change = s->m[r][t] - (guarded ? 0 : m);
            alpha[t] = exp_flushed(change);
            s->m[r][t] = m;
            if (w->flaw != L_KEPT) s->l[r][t] *= alpha[t];
        }
        for (int64_t j = 0; j < w->block_k; j++) {
            double m = s->m[r][lane_of(j)];
            P[r][j] = exp_flushed(S[r][j] - (m == -INFINITY && w->flaw != UNGUARDED ? 0 : m));
            s->l[r][lane_of(j)] += P[r][j];
        }
        for (int64_t x = 0; x < now.d && w->flaw != O_KEPT; x++) s->O[r][x] *= alpha[lane_of(x)];
    }
    for (int r = 0; r < 16; r++)
        for (int64_t j = 0; j < w->block_k && j0 + j < now.N_k; j++) {
            int64_t row = r, key = j;
            if (w->flaw == P_MATRICES) taken_from(MATRICES, &row, &key);
            const double* v = at(&now.V, b, j0 + j, h);
            for (int64_t x = 0; x < now.d; x++) s->O[r][x] += P[row][key] * v[x];
        }
}

// What a kernel with this mistake writes; O and LSE are counted like their tensors.
static void walk(const struct walk* w, double* O, double* LSE) {
    static struct rows s;
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t h = 0; h < now.H; h++)
            for (int64_t i0 = 0; i0 < now.N_q; i0 += 16) {
                memset(&s, 0, sizeof s);
                for (int r = 0; r < 16; r++)
                    for (int t = 0; t < 4; t++)
                        s.m[r][t] = w->flaw == MAX_FROM_ZERO ? 0 : -INFINITY;
                int64_t last_row = i0 / w->block_q * w->block_q + w->block_q - 1;
                int64_t end = keys_seen(last_row < now.N_q ? last_row : now.N_q - 1);
                int64_t tiles = round_up(end, w->block_k) / w->block_k;
                for (int64_t n = 0; n < tiles; n++)
                    walk_tile(w, b, h, i0, (w->backwards ? tiles - 1 - n : n) * w->block_k, &s);
                for (int r = 0; r < 16 && i0 + r < now.N_q; r++) {
                    double* o = O + place_of(now.O.s, b, i0 + r, h);
                    double all = s.l[r][0] + s.l[r][1] + s.l[r][2] + s.l[r][3];
                    for (int64_t x = 0; x < now.d; x++) {
                        double l = w->flaw == LANE_SUM ? s.l[r][lane_of(x)] : all;
                        o[x] = l == 0 ? 0 : s.O[r][x] / l;
                    }
                    LSE[place_of(now.LSE.s, b, i0 + r, h)] =
                        s.m[r][0] + log(w->flaw == LANE_SUM ? s.l[r][0] : all);
                }
            }
}

static enum cause explain_walk(int64_t block_q, int64_t block_k, bool backwards) {
    static const enum cause causes[FLAWS] = {
        [LANE_MAX] = CAUSE_merge_lost,          [OTHER_ROWS_MAX] = CAUSE_merge_lost,
        [LANE_SUM] = CAUSE_merge_lost,          [P_MATRICES] = CAUSE_fragment_order,
        [MASK_BY_PAIRS] = CAUSE_fragment_order, [L_KEPT] = CAUSE_no_rescale,
        [O_KEPT] = CAUSE_no_rescale_O,          [MAX_FROM_ZERO] = CAUSE_max_init,
        [UNGUARDED] = CAUSE_empty_state,
    };
    // Only there does it matter which tiles a block leaves out.
    int first = block_q == 64 ? 0 : UNGUARDED;
    int64_t n_O = now.O.tensor->count, n_LSE = now.LSE.tensor->count;
    double* O = malloc((size_t)(n_O + n_LSE) * sizeof *O);
    if (!O) abort();
    enum cause cause = CAUSE_NONE;
    for (int flaw = first; flaw < FLAWS && !cause; flaw++) {
        struct walk w = {block_q, block_k, backwards, flaw};
        for (int64_t e = 0; e < n_O + n_LSE; e++) O[e] = NAN;  // what the kernel does not write
        walk(&w, O, O + n_O);
        if (is_hypothesis(suspect.tensor == now.O.tensor ? O : O + n_O)) cause = causes[flaw];
    }
    free(O);
    return cause;
}

// ---- all of it -----------------------------------------------------------------------------

// Scores that are wrong all over.
static enum cause explain_scores(void) {
    struct mistake w = no_mistake();
    w.scale = now.scale * log(2);  // 2^(S - m)
    if (is_it(&w)) return CAUSE_exp2_base;
    w.scale = 1 / sqrt((double)now.d);
    if (is_it(&w)) return CAUSE_scale_ignored;
    if (now.d == 64 || now.N_k == 0) return CAUSE_NONE;
    double* Q = malloc((size_t)now.Q.tensor->count * sizeof *Q);  // the first 64 columns only
    if (!Q) abort();
    memcpy(Q, now.Q.tensor->value, (size_t)now.Q.tensor->count * sizeof *Q);
    FOR_EACH_ROW(b, i, h)
    for (int64_t x = 64; x < now.d; x++) Q[place_of(now.Q.s, b, i, h) + x] = 0;
    w = no_mistake();
    w.Q.value = Q;
    bool half = is_it(&w);
    free(Q);
    return half ? CAUSE_inner_tail : CAUSE_NONE;
}

// Where O is NaN, is LSE as it should be? Then m and l are right, and so are Q and K.
static bool LSE_is_right_beside_NaN(void) {
    bool any = false;
    if (suspect.tensor != now.O.tensor) return false;
    FOR_EACH_ROW(b, i, h) {
        int64_t e = place_of(now.LSE.s, b, i, h);
        double got = now.LSE.tensor->got[e], want = now.LSE.tensor->want[e];
        if (!isnan(now.O.tensor->got[place_of(now.O.s, b, i, h)])) continue;
        if (got != want && !(fabs(got - want) < 1e-3)) return false;
        any = true;
    }
    return any;
}

// What the student most likely did, for check_compare().
static enum cause explain_fragments(struct check* c, const struct tensor* t, struct budget budget) {
    suspect.tensor = t;
    suspect.budget = budget;
    enum cause cause = explain_scores();
    if (!cause) cause = explain_places_in_tiles();
    // 0 / 0 in rows that see no key; or V, used before its copy arrived.
    if (!cause && LSE_is_right_beside_NaN()) {
        cause = explain_empty_rows();
        return cause ? cause : CAUSE_uninitialised;
    }
    for (int64_t block_k = 128; block_k >= 16 && !cause; block_k /= 2)
        for (int backwards = 1; backwards >= 0 && !cause; backwards--)
            for (int64_t block_q = 128; block_q >= 32 && !cause; block_q /= 2)
                cause = explain_walk(block_q, block_k, backwards);
    return cause ? cause : explain(c, t, budget);
}

#endif
