// mistakes.h: what known mistakes of lesson 08 leave in Y, Z and dZ. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "layer.h"

// How a kernel differs from a right one. All 0: it does not.
struct twist {
    enum {
        BIAS_RIGHT,
        BIAS_MISSING,
        BIAS_BY_ROW,
        BIAS_TWICE,
        BIAS_AFTER_F,
        BIAS_OF_TILE,
        BIAS_OF_QUAD
    } bias;
    enum {
        F_RIGHT,
        F_OTHER_FORM,  // erf for tanh and tanh for erf
        F_MISSING,
        F_ALWAYS_ERF,  // also where none is asked for
        F_QUICK,       // z / (1 + exp(-1.702 z))
        F_TWICE,
        F_NO_CUBE,   // the cubic term is missing, or lacks a factor
        F_CUBE_3,    // 0.044715 taken three times
        F_NO_SQRT2,  // erf(z) for erf(z / sqrt(2))
        F_TANH_2,    // tanh of u / 2, or of 2 u
        F_TANH_HALF,
    } f;
    enum { SLOPE_RIGHT, SLOPE_PHI, SLOPE_DENSITY, SLOPE_F, SLOPE_NO_Z, SLOPE_NO_CUBE } slope;
    enum {
        SCALE_RIGHT,
        UNSCALED,
        SCALE_TWICE,
        SCALE_KEEP,  // times 1 - p
        SCALE_1_P,   // 1 / p
        SCALE_ALL,   // the dropped, too: they stay
    } scale;
    enum { ORDER_RIGHT, DROPPED_BEFORE_F, DROPPED_BEFORE_BIAS } order;
    enum { KEPT_RIGHT, KEPT_INVERTED, KEPT_ALL, KEPT_NONE } kept;
    enum {
        INDEX_RIGHT,
        INDEX_TURNED,   // e = j M + i
        INDEX_OF_TILE,  // in its tile, the same in all tiles: tiles of 16 x 16 and more
        INDEX_PADDED,   // rows as long as whole tiles
        INDEX_16,       // in 16 bits
        INDEX_ROW,      // i alone
        INDEX_COLUMN,   // j alone
        INDEX_OF_QUAD,  // of four neighbours, all of which count as one
        // the four neighbours that the same thread would have if it had neighbours of its own, in
        // place of some as far apart as the block has threads; and the other way round
        INDEX_BY_THREAD,
        INDEX_BY_ROUND,
        INDEX_OF_BLOCK,  // in its block, the same in all blocks
    } index;
    enum {
        WORD_RIGHT,
        WORD_CALL_EACH,    // call e, word 0
        WORD_CALL_EACH_4,  // call e, word e % 4
        WORD_FIRST,        // word 0 of call e / 4
        WORD_FIRST_TWO,    // word e % 2 of call e / 4
        WORD_PAIRS,        // word e % 2 of call e / 2
        WORD_BACKWARDS,    // word 3 - e % 4
    } word;
    enum {
        KEYS_RIGHT,
        NO_OFFSET,
        NO_SEED,
        OFFSET_LOW,    // its upper half is lost
        SEED_LOW,      // the same of the seed
        OFFSET_ADDED,  // to the call
        KEYS_CHANGED,  // offset as the key, seed in the counter
        SEED_ADDED,    // seed + offset as the key
        FIRST_CALL,    // the offset is that of the first call
    } keys;
    int rounds;      // of Philox, if not 10
    bool key_stays;  // in all rounds
    bool z_of_f;     // Z holds f(z), or what is left after dropout
    bool z_of_sum;   // Z lacks the bias
    bool z_of_Y;
};

// What a student's tile may be: 16, 32, ... 256 rows or columns.
enum { SIDES = 5 };

// What a student's block may be, of a kernel that is about elements alone: 64, 128, ... 1024
// threads, with 1, 2, 4 or 8 times four neighbours each.
enum { BLOCKS = 5, WORKS = 4 };

// Which elements are asked about in place of e, if it is a thread's other ones.
static int64_t element_of_thread(int64_t e, const struct twist* w, int variant) {
    const int64_t threads = 64 << variant / WORKS, each = 1 << variant % WORKS;
    const int64_t quad = e / 4, span = threads * each, in_block = quad % span;
    const int64_t other = w->index == INDEX_BY_THREAD
                              ? in_block % threads * each + in_block / threads
                              : in_block % each * threads + in_block / each;
    return (w->index == INDEX_OF_BLOCK ? in_block : quad - in_block + other) * 4 + e % 4;
}

static uint32_t twisted_word(const struct layer* l, const struct twist* w, int64_t i, int64_t j,
                             int variant) {
    const int64_t rows = 16 << variant / SIDES, cols = 16 << variant % SIDES;
    uint64_t seed = l->seed, offset = l->offset;
    int64_t e = i * l->N + j;
    if (w->index == INDEX_TURNED) e = j * l->M + i;
    if (w->index == INDEX_OF_TILE) e = i % rows * cols + j % cols;
    if (w->index == INDEX_PADDED) e = i * ((l->N + cols - 1) / cols * cols) + j;
    if (w->index == INDEX_16) e &= 0xffff;
    if (w->index == INDEX_ROW) e = i;
    if (w->index == INDEX_COLUMN) e = j;
    if (w->index == INDEX_OF_QUAD) e = e / 16 * 4 + e % 4;
    if (w->index >= INDEX_BY_THREAD) e = element_of_thread(e, w, variant);
    if (w->keys == NO_OFFSET) offset = 0;
    if (w->keys == FIRST_CALL) offset = l->first_offset;
    if (w->keys == NO_SEED) seed = 0;
    if (w->keys == OFFSET_LOW) offset = (uint32_t)offset;
    if (w->keys == SEED_LOW) seed = (uint32_t)seed;
    if (w->keys == SEED_ADDED) seed += offset, offset = 0;
    if (w->keys == KEYS_CHANGED) seed = l->offset, offset = l->seed;
    uint64_t call = (uint64_t)e / 4;
    int64_t of = e % 4;
    if (w->word == WORD_CALL_EACH || w->word == WORD_CALL_EACH_4) call = (uint64_t)e;
    if (w->word == WORD_CALL_EACH || w->word == WORD_FIRST) of = 0;
    if (w->word == WORD_FIRST_TWO || w->word == WORD_PAIRS) of = e % 2;
    if (w->word == WORD_PAIRS) call = (uint64_t)e / 2;
    if (w->word == WORD_BACKWARDS) of = 3 - of;
    if (w->keys == OFFSET_ADDED) call += offset, offset = 0;
    int rounds = w->rounds ? w->rounds : 10;
    return philox_of(call, offset, seed, rounds, !w->key_stays).word[of];
}

static bool twisted_kept(const struct layer* l, const struct twist* w, int64_t i, int64_t j,
                         int variant) {
    if (w->kept == KEPT_ALL) return true;
    if (w->kept == KEPT_NONE) return false;
    bool kept = (double)twisted_word(l, w, i, j, variant) >= ldexp(p_of(l), 32);
    return kept != (w->kept == KEPT_INVERTED);
}

static double twisted_f(const struct layer* l, const struct twist* w, double z) {
    const double u = sqrt(2 / acos(-1)) * (z + 0.044715 * z * z * z);
    int f = l->f;
    if (w->f == F_OTHER_FORM && f) f = FUSED_LINEAR_GELU + FUSED_LINEAR_GELU_TANH - f;
    if (w->f == F_ALWAYS_ERF) f = FUSED_LINEAR_GELU;
    if (w->f == F_MISSING) f = FUSED_LINEAR_NONE;
    if (w->f == F_QUICK && f) return z / (1 + exp(-1.702 * z));
    if (w->f == F_TWICE) z = f_of(f, z);
    if (w->f == F_NO_SQRT2 && f == FUSED_LINEAR_GELU) return 0.5 * z * (1 + erf(z));
    if (f == FUSED_LINEAR_GELU_TANH) {
        if (w->f == F_NO_CUBE) return 0.5 * z * (1 + tanh(sqrt(2 / acos(-1)) * z));
        if (w->f == F_CUBE_3)
            return 0.5 * z * (1 + tanh(sqrt(2 / acos(-1)) * (z + 3 * 0.044715 * z * z * z)));
        if (w->f == F_TANH_2) return 0.5 * z * (1 + tanh(2 * u));
        if (w->f == F_TANH_HALF) return 0.5 * z * (1 + tanh(u / 2));
    }
    return f_of(f, z);
}

static double twisted_slope(const struct layer* l, const struct twist* w, double z) {
    int f = l->f;
    if (!f && w->f != F_ALWAYS_ERF) return 1;
    if (w->f == F_OTHER_FORM) f = FUSED_LINEAR_GELU + FUSED_LINEAR_GELU_TANH - f;
    if (w->f == F_ALWAYS_ERF) f = FUSED_LINEAR_GELU;
    if (w->f == F_MISSING) return 1;
    double below = f == FUSED_LINEAR_GELU ? normal_below(z) : tanh_below(z);
    double density = z == 0 ? 0 : (slope_of(f, z) - below) / z;
    switch (w->slope) {
    case SLOPE_PHI:
        return below;
    case SLOPE_DENSITY:
        return z * density;
    case SLOPE_F:
        return f_of(f, z);
    case SLOPE_NO_Z:
        return below + density;
    case SLOPE_NO_CUBE:
        return f == FUSED_LINEAR_GELU ? slope_of(f, z)
                                      : below + z * below * (1 - below) * 2 * sqrt(2 / acos(-1));
    default:
        return slope_of(f, z);
    }
}

static double twisted_scale(const struct layer* l, const struct twist* w) {
    const double p = p_of(l), right = scale_of(l);
    return w->scale == UNSCALED      ? 1
           : w->scale == SCALE_TWICE ? right * right
           : w->scale == SCALE_KEEP  ? 1 - p
           : w->scale == SCALE_1_P   ? 1 / p
                                     : right;
}

static double twisted_z(const struct layer* l, const struct twist* w, int64_t i, int64_t j,
                        bool kept, int variant) {
    const int64_t side = 16 << variant % SIDES;
    const double scale = twisted_scale(l, w);
    double z = sum_of(l, i, j), b = l->bias->value[j];
    if (w->order == DROPPED_BEFORE_BIAS) z = kept ? z * scale : 0;
    if (w->bias == BIAS_MISSING || w->bias == BIAS_AFTER_F) b = 0;
    if (w->bias == BIAS_BY_ROW) b = i < l->N ? l->bias->value[i] : ANYTHING;
    if (w->bias == BIAS_TWICE) b *= 2;
    if (w->bias == BIAS_OF_TILE) b = l->bias->value[j % side];
    // one of four neighbours, or each of them, has the number of another
    const int64_t one = variant / 4, other = variant % 4;
    if (w->bias == BIAS_OF_QUAD && (j % 4 == one || one == 4))
        b = l->bias->value[j - j % 4 + other];
    return b == ANYTHING ? ANYTHING : z + b;
}

static double twisted_Y(const struct layer* l, const struct twist* w, int64_t i, int64_t j,
                        int variant) {
    bool kept = twisted_kept(l, w, i, j, variant);
    double z = twisted_z(l, w, i, j, kept, variant), scale = twisted_scale(l, w);
    if (z == ANYTHING) return kept ? ANYTHING : 0;
    if (w->order == DROPPED_BEFORE_BIAS) return twisted_f(l, w, z);
    if (w->order == DROPPED_BEFORE_F) return twisted_f(l, w, kept ? z * scale : 0);
    double y = twisted_f(l, w, z);
    if (w->bias == BIAS_AFTER_F) y += l->bias->value[j];
    return kept ? y * scale : w->scale == SCALE_ALL ? y : 0;
}

static double twisted_dZ(const struct layer* l, const struct twist* w, int64_t i, int64_t j,
                         int variant) {
    const int64_t e = i * l->N + j;
    bool kept = twisted_kept(l, w, i, j, variant);
    double y = l->dY->value[e] * twisted_slope(l, w, l->Z ? l->Z->value[e] : 0);
    return kept ? y * twisted_scale(l, w) : w->scale == SCALE_ALL ? y : 0;
}

// A hypothesis' make(): like is a struct twist.
static bool make_twisted(const struct suspect* s, const struct hypothesis* h, int variant,
                         double* guess) {
    const struct layer* l = s->problem;
    const struct twist* w = h->like;
    if (w->keys == FIRST_CALL && l->calls == 1) return false;
    for (int64_t i = 0; i < l->M; i++)
        for (int64_t j = 0; j < l->N; j++) {
            const int64_t e = i * l->N + j;
            if (s->tensor == l->Z) {
                double z = twisted_z(l, w, i, j, true, variant);
                if (w->z_of_sum) z = sum_of(l, i, j);
                if (w->z_of_f) z = f_of(l->f, z);
                if (w->z_of_Y) z = twisted_Y(l, w, i, j, variant);
                guess[e] = z == ANYTHING ? z : dtype_round(BF16, z);
            } else {
                guess[e] =
                    l->backward ? twisted_dZ(l, w, i, j, variant) : twisted_Y(l, w, i, j, variant);
            }
            if (hypothesis_refuted(s, e, guess[e])) return false;
        }
    return true;
}

#define TWISTS(cause, variants, ...) \
    { CAUSE_##cause, make_twisted, variants, LIKE(twist, __VA_ARGS__) }
#define TWIST(cause, ...) TWISTS(cause, 1, __VA_ARGS__)

// Of what happens to the numbers; the mask is right.
static const struct hypothesis of_numbers[] = {
    TWIST(pre_activation, .z_of_f = true),
    TWIST(pre_activation, .z_of_sum = true),
    TWIST(pre_activation, .z_of_Y = true),
    TWIST(bias, .bias = BIAS_MISSING),
    TWIST(bias, .bias = BIAS_BY_ROW),
    TWIST(bias, .bias = BIAS_TWICE),
    TWIST(bias, .bias = BIAS_AFTER_F),
    TWISTS(bias, SIDES, .bias = BIAS_OF_TILE),
    TWISTS(bias, 20, .bias = BIAS_OF_QUAD),
    TWIST(gelu_form, .f = F_OTHER_FORM),
    TWIST(gelu_form, .f = F_MISSING),
    TWIST(gelu_form, .f = F_ALWAYS_ERF),
    TWIST(gelu_form, .f = F_QUICK),
    TWIST(gelu_form, .f = F_TWICE),
    TWIST(gelu_form, .f = F_NO_CUBE),
    TWIST(gelu_form, .f = F_CUBE_3),
    TWIST(gelu_form, .f = F_NO_SQRT2),
    TWIST(gelu_form, .f = F_TANH_2),
    TWIST(gelu_form, .f = F_TANH_HALF),
    TWIST(gelu_slope, .slope = SLOPE_PHI),
    TWIST(gelu_slope, .slope = SLOPE_DENSITY),
    TWIST(gelu_slope, .slope = SLOPE_F),
    TWIST(gelu_slope, .slope = SLOPE_NO_Z),
    TWIST(gelu_slope, .slope = SLOPE_NO_CUBE),
    TWIST(drop_scale, .scale = UNSCALED),
    TWIST(drop_scale, .scale = SCALE_TWICE),
    TWIST(drop_scale, .scale = SCALE_KEEP),
    TWIST(drop_scale, .scale = SCALE_1_P),
    TWIST(drop_scale, .scale = SCALE_ALL),
    TWIST(drop_order, .order = DROPPED_BEFORE_F),
    TWIST(drop_order, .order = DROPPED_BEFORE_BIAS),
    {0},
};

// Of who is dropped.
static const struct hypothesis of_masks[] = {
    TWIST(mask_inverted, .kept = KEPT_INVERTED),
    TWIST(mask_inverted, .kept = KEPT_INVERTED, .scale = SCALE_1_P),
    TWIST(drop_missing, .kept = KEPT_ALL),
    TWIST(drop_missing, .kept = KEPT_ALL, .scale = UNSCALED),
    TWIST(drop_missing, .kept = KEPT_NONE),
    TWIST(word_of_call, .word = WORD_CALL_EACH),
    TWIST(word_of_call, .word = WORD_CALL_EACH_4),
    TWIST(word_of_call, .word = WORD_FIRST),
    TWIST(word_of_call, .word = WORD_FIRST_TWO),
    TWIST(word_of_call, .word = WORD_PAIRS),
    TWIST(word_of_call, .word = WORD_BACKWARDS),
    TWIST(stale_state, .keys = FIRST_CALL),
    TWIST(seed_offset, .keys = NO_OFFSET),
    TWIST(seed_offset, .keys = NO_SEED),
    TWIST(seed_offset, .keys = OFFSET_LOW),
    TWIST(seed_offset, .keys = SEED_LOW),
    TWIST(seed_offset, .keys = OFFSET_ADDED),
    TWIST(seed_offset, .keys = KEYS_CHANGED),
    TWIST(seed_offset, .keys = SEED_ADDED),
    TWIST(philox, .rounds = 7),
    TWIST(philox, .rounds = 9),
    TWIST(philox, .rounds = 11),
    TWIST(philox, .key_stays = true),
    TWIST(random_index, .index = INDEX_TURNED),
    TWIST(random_index, .index = INDEX_16),
    TWIST(random_index, .index = INDEX_ROW),
    TWIST(random_index, .index = INDEX_COLUMN),
    TWISTS(random_index, SIDES, .index = INDEX_PADDED),
    TWISTS(random_index, SIDES* SIDES, .index = INDEX_OF_TILE),
    TWIST(random_index, .index = INDEX_OF_QUAD),
    TWISTS(random_index, BLOCKS* WORKS, .index = INDEX_BY_THREAD),
    TWISTS(random_index, BLOCKS* WORKS, .index = INDEX_BY_ROUND),
    TWISTS(random_index, BLOCKS* WORKS, .index = INDEX_OF_BLOCK),
    {0},
};

// ---- what can be seen without a guess

// Elements that are 0 and should not be, or the other way round: how many, and of how many.
struct masks {
    int64_t other, of, near;  // near: whose word is close to p 2^32
};

static struct masks masks_of(const struct layer* l, const struct tensor* t) {
    struct masks m = {0};
    for (int64_t e = 0; e < t->count; e++) {
        double limit = ldexp(p_of(l), 32);
        bool other = (t->got[e] == 0) != (t->want[e] == 0);
        m.of += t->want[e] != 0 || !is_kept(l, e);
        m.other += other;
        m.near += other && fabs((double)word_of(l, e) - limit) <= 0x1p17;
    }
    return m;
}

// Are there NaN among the dropped elements, and are all others of them 0, and none of the kept?
static bool dropped_are_nan(const struct layer* l, const struct tensor* t) {
    int64_t any = 0;
    for (int64_t e = 0; e < l->M * l->N; e++) {
        double got = t->got[e], want = t->want[e];
        if (is_kept(l, e) ? got == 0 && fabs(want) > 1e-6 : got != 0 && !isnan(got)) return false;
        any += isnan(got) && !isnan(want);
    }
    return any > 0;
}

// Are there NaN that should not be, all of them of large Z?
static bool only_large_are_nan(const struct layer* l, const struct tensor* t) {
    int64_t any = 0;
    for (int64_t e = 0; e < l->M * l->N; e++) {
        double z = l->backward ? l->Z->value[e] : z_of(l, e / l->N, e % l->N);
        if (!isnan(t->got[e]) || isnan(t->want[e])) continue;
        if (!(fabs(z) > 8)) return false;
        any++;
    }
    return any > 0;
}

struct factor {
    double z, factor, by;  // of f'(z), or of f(z): what the kernel has made of z, give or take `by`
};

#define FAR 0.02  // of a slope: no arithmetic in fp32 or bf16 is off by that much

static int by_z(const void* a, const void* b) {
    const struct factor *one = a, *other = b;
    return (one->z > other->z) - (one->z < other->z);
}

// Is what was made of z a function of z alone? Elements with nearly the same z tell. A function of
// a mistaken kernel may have a step or two.
static bool is_of_z(struct factor* all, int64_t count) {
    enum { ENOUGH = 100, STEPS = 2, STEEPEST = 4 };
    const double near = 1e-3;
    int64_t pairs = 0, alike = 0;
    qsort(all, (size_t)count, sizeof *all, by_z);
    for (int64_t k = 1; k < count; k++) {
        const struct factor *one = &all[k - 1], *other = &all[k];
        const double apart = other->z - one->z;
        if (!(apart <= near)) continue;
        pairs++;
        alike += fabs(one->factor - other->factor) <= one->by + other->by + STEEPEST * apart;
    }
    return pairs >= ENOUGH && alike + STEPS >= pairs;
}

// Are all elements of dZ their dY times a function of their Z alone, though not f'?
static bool is_other_slope(const struct layer* l, const struct tensor* t) {
    struct factor* all = check_allocate(l->check, t->count, sizeof *all);
    int64_t count = 0, far = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const double by = l->dY->value[e] * scale_of(l);
        if (!is_kept(l, e) || !isfinite(t->got[e]) || by == 0) continue;
        far += fabs(t->got[e] - t->want[e]) > FAR * fabs(by);  // more than inexact
        all[count++] = (struct factor){l->Z->value[e], t->got[e] / by,
                                       (fabs(t->got[e]) * 0x1p-8 + 1e-6) / fabs(by)};
    }
    const bool yes = far > 0 && is_of_z(all, count);
    free(all);
    return yes;
}

// Are all elements of Y another function of their Z than f?
static bool is_other_f(const struct layer* l, const struct tensor* t) {
    struct factor* all = check_allocate(l->check, t->count, sizeof *all);
    int64_t count = 0, far = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const double y = t->got[e] / scale_of(l), want = t->want[e] / scale_of(l);
        if (!is_kept(l, e) || !isfinite(y)) continue;
        far += fabs(y - want) > FAR * (1 + fabs(want));
        all[count++] = (struct factor){z_of(l, e / l->N, e % l->N), y, fabs(y) * 0x1p-8 + 1e-6};
    }
    const bool yes = far > 0 && is_of_z(all, count);
    free(all);
    return yes;
}

// No element is larger than what is wanted, and some are smaller by more than a rounding.
static bool is_cut_off(const struct tensor* t) {
    int64_t smaller = 0;
    for (int64_t e = 0; e < t->count; e++) {
        double want = fabs(t->want[e]), got = fabs(t->got[e]);
        if (!isfinite(want) || !isfinite(got)) continue;
        const double slack = want * 0x1p-12 + 1e-6;
        if (got > want + slack || got < want - dtype_ulp(BF16, want) - slack) return false;
        smaller += got < want - 0.51 * dtype_ulp(BF16, want);
    }
    return smaller > 0;
}

// Are all elements what is wanted times the same number, and not 1?
static bool is_other_scale(const struct tensor* t) {
    double times = 1;
    int64_t count = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const double want = t->want[e], got = t->got[e];
        if (!isfinite(want) || !isfinite(got) || (want == 0) != (got == 0)) return false;
        if (want == 0) continue;
        if (count++ == 0) times = got / want;
        if (fabs(got - times * want) > 0x1p-6 * fabs(got)) return false;
    }
    return count > 1 && fabs(times - 1) > 0x1p-5;
}

// Are all numbers that Z is made of finite?
static bool is_plain(const struct layer* l) {
    for (int64_t j = 0; !l->backward && j < l->N; j++)
        if (!isfinite(l->bias->value[j])) return false;
    return true;
}

// Is every element what it is without dropout?
static bool is_undropped(const struct layer* l, const struct tensor* t) {
    for (int64_t e = 0; e < l->M * l->N; e++) {
        const double z = l->backward ? (l->f ? l->Z->value[e] : 0) : z_of(l, e / l->N, e % l->N);
        const double y = l->backward ? l->dY->value[e] * slope_of(l->f, z) : f_of(l->f, z);
        if (!(fabs(t->got[e] - y) <= 0x1p-7 * fabs(y))) return false;
    }
    return true;
}

// Elements are of very different size: what is allowed for the largest would excuse much of the
// others. Errors of a mistaken kernel's own are a rounding to bf16, and f's.
static enum cause explain_layer(const struct layer* l, const struct tensor* t) {
    const struct suspect s = {
        .tensor = t, .budget = {.max = 1e-5}, .slack = {.of_element = 0x1p-7}, .problem = l};
    for (int64_t e = 0; e < l->M * l->N; e++)
        if (!check_was_written(t, e)) return CAUSE_NONE;  // what is seen without us
    // without a sum, to drop before bias is not to drop
    const bool is_plain_to_see = l->p == 1 || (l->p > 0 && l->K == 0);
    if (is_plain_to_see && t != l->Z && is_undropped(l, t)) return CAUSE_drop_missing;
    if (l->p == 1 && t != l->Z) return is_plain(l) ? CAUSE_drop_all : CAUSE_drop_chosen;
    if (l->p > 0 && t != l->Z && dropped_are_nan(l, t)) return CAUSE_drop_chosen;
    const bool of_f = l->f && t != (l->backward ? NULL : l->Z);
    if (of_f && only_large_are_nan(l, t)) return CAUSE_gelu_range;
    const struct masks m = t == l->Z ? (struct masks){0} : masks_of(l, t);
    const bool is_limit = m.other > 0 && m.other == m.near;
    if (is_limit && l->p > 0 && 1000 * m.other < m.of) return CAUSE_drop_limit;
    enum cause cause = hypothesis_search(&s, of_numbers);
    if (!cause && l->p > 0 && t != l->Z) cause = hypothesis_search(&s, of_masks);
    if (cause) return cause;
    if (t != l->Z) {
        if (is_limit) return CAUSE_drop_limit;
        // words agree by chance alone
        if (l->p > 0 && 20 * m.other > m.of) return CAUSE_other_words;
    }
    if (l->p > 0 && t != l->Z && is_other_scale(t)) return CAUSE_drop_scale;
    if (is_cut_off(t)) return CAUSE_cut_off;
    if (!l->f || t == l->Z) return CAUSE_NONE;
    if (!l->backward) return is_other_f(l, t) ? CAUSE_gelu_form : CAUSE_NONE;
    return is_other_slope(l, t) ? CAUSE_gelu_slope : CAUSE_NONE;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    (void)budget;
    return explain_layer(check_description(c), t);
}

#endif
