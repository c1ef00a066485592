// low.h: one problem of lesson 27: X as bytes and scales, as they have to be to the bit; attention
// of such bytes, and how far O may be from what they say. Its arrays q, k and v, numbers times
// scales, are a struct problem of attention/, and so its reference and its mistakes serve here.
#ifndef LOW_H
#define LOW_H

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "27_low_precision/eight.h"
#include "attention/forward_mistakes.h"
#include "attention/sums.h"
#include "low_precision.h"
#include "wall/arena.h"

enum { TICKETS = 2, SIXTEEN = 16 };
enum which_call { CALL_ATTENTION, CALL_QUANTISE, CALL_BOTH };

// Which key of 16 has byte p of 16 in V^T.
static const int key_of_byte[SIXTEEN] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};

// ---- the step to eight bits --------------------------------------------------------------------

// What is asked of low_precision_quantise(), for an X of (B, N, H, d) with these strides.
struct step {
    int64_t B, N, H, d;
    struct strides stride;
    bool per_block, rotated, transposed;
    int64_t flag;  // what the launcher gets for each that is set; 0: 1
};

static int64_t blocks_of_rows(const struct step* s) {
    return CEIL_DIV(s->N, SCALE_BLOCK);
}
static int64_t count_of_scales(const struct step* s) {
    return s->per_block ? s->B * s->H * blocks_of_rows(s) : 1;
}
static int64_t count_of_bytes(const struct step* s) {
    return s->B * s->H * s->d * (s->transposed ? PADDED(s->N) : s->N);
}

// How a kernel makes its scales and bytes. All zero is right.
struct step_flaw {
    enum {
        AMAX_RIGHT,
        AMAX_SIGNED,     // the largest number, not the largest size
        AMAX_INFINITE,   // infinity counts
        AMAX_OF_NAN,     // NaN counts
        AMAX_OF_HEAD,    // of a head, or of a batch, not of a block
        AMAX_NO_FLOOR,   // may be 0
        AMAX_FIRST_ROW,  // of the first rows of the block alone
    } amax;
    float largest;  // what stands for 448; 0: it does
    enum {
        FACTOR_RIGHT,
        FACTOR_DIVIDES,  // x / scale
        FACTOR_OF_AMAX,  // 448 / amax, where a block has a scale of its own
    } factor;
    bool upside_down;
    int widths;  // steps of the rotation that are made; 0: all
    bool not_rotated, not_normalised;
    bool downwards;  // the rotation begins with the farthest pairs
    bool no_root;    // 1 / d in place of 1 / sqrt(d)
};

// Row n of batch b and head h, in fp32.
static void row_in_fp32(const struct step* s, const struct step_flaw* flaw, const double* X,
                        int64_t b, int64_t h, int64_t n, float* x) {
    const double* row = X + place(s->stride, b, h, n);
    for (int64_t i = 0; i < s->d; i++) x[i] = (float)row[i];
    if (!s->rotated || flaw->not_rotated) return;
    const float root = s->d == 64 ? 0.125f : 0.0883883461f;
    const float factor = flaw->not_normalised ? 1.0f : flaw->no_root ? root * root : root;
    hadamard(x, s->d, flaw->widths ? flaw->widths : 8, flaw->downwards, factor);
}

// X as bytes, and its scales, for a kernel with this flaw. `to` and scales have the contract's
// order; either may be NULL.
static void quantise(const struct step* s, const struct step_flaw* flaw, const double* X,
                     double* to, double* scales) {
    const int64_t T = blocks_of_rows(s), padded = PADDED(s->N), count = s->B * s->H * T;
    float* scale = calloc(2 * (size_t)count + 1, sizeof *scale);
    float* largest = scale + count;  // amax of each block
    const struct numbers numbers = numbers_of(&E4M3);
    float x[MAX_HEAD], of_all = 0;
    if (!scale) abort();
    for (int64_t block = 0; block < count; block++) {
        float amax = flaw->amax == AMAX_NO_FLOOR ? 0.0f : SMALLEST_AMAX;
        const int64_t head = block / T, from = block % T * SCALE_BLOCK;
        const int64_t rows = flaw->amax == AMAX_FIRST_ROW ? SCALE_BLOCK / 8 : SCALE_BLOCK;
        for (int64_t n = from; n < from + rows && n < s->N; n++) {
            row_in_fp32(s, flaw, X, head / s->H, head % s->H, n, x);
            for (int64_t i = 0; i < s->d; i++) {
                const float size = flaw->amax == AMAX_SIGNED ? x[i] : fabsf(x[i]);
                if (flaw->amax == AMAX_OF_NAN && isnan(size)) amax = size;
                if (size <= FLT_MAX || (flaw->amax == AMAX_INFINITE && isinf(size)))
                    amax = size > amax ? size : amax;
            }
        }
        largest[block] = amax;
        scale[block] = amax / (flaw->largest > 0 ? flaw->largest : E4M3_LARGEST);
        of_all = scale[block] > of_all ? scale[block] : of_all;
    }
    for (int64_t block = 0; block < count && flaw->amax == AMAX_OF_HEAD; block++)
        for (int64_t other = block / T * T; other < block / T * T + T; other++)
            if (scale[other] > scale[block]) scale[block] = scale[other];
    for (int64_t e = 0; scales && e < count_of_scales(s); e++) {
        const float it = s->per_block ? scale[e] : of_all;
        scales[e] = (double)(flaw->upside_down ? 1.0f / it : it);
    }
    for (int64_t e = 0; to && e < count_of_bytes(s); e++) to[e] = 0;
    for (int64_t row = 0; to && row < s->B * s->H * s->N; row++) {
        const int64_t head = row / s->N, n = row % s->N;
        const int64_t block = head * T + n / SCALE_BLOCK;
        const float it = s->per_block ? scale[block] : of_all;
        const bool of_amax = flaw->factor == FACTOR_OF_AMAX && s->per_block;
        const float factor = of_amax ? E4M3_LARGEST / largest[block] : 1.0f / it;
        row_in_fp32(s, flaw, X, head / s->H, head % s->H, n, x);
        int64_t byte = n;  // of V^T: where its key stands
        for (int p = 0; p < SIXTEEN; p++)
            if (key_of_byte[p] == n % SIXTEEN) byte = n - n % SIXTEEN + p;
        for (int64_t i = 0; i < s->d; i++)
            to[s->transposed ? (head * s->d + i) * padded + byte : row * s->d + i] =
                e4m3_of(&numbers, flaw->factor == FACTOR_DIVIDES ? x[i] / it : x[i] * factor);
    }
    free(scale);
}

// ---- an attention problem ----------------------------------------------------------------------

struct low {
    struct problem p;  // first: check_description() is both. Q, K, V: numbers times scales
    enum which_call call;
    bool per_block, rotated;
    bool has_levels;  // each key has a score of its own: levels.h
    double spread;    // blocks of rows are up to 2^spread times larger or smaller than others
    struct tensor *bytes[3], *scales[3];  // of Q, K, V
    struct tensor* tickets;
    struct tensor* X[3];  // with CALL_BOTH: what is quantised
};

// A block's last thread may set them back.
static int64_t bytes_of_tickets(const struct problem* p) {
    (void)p;
    return TICKETS * (int64_t)sizeof(int);
}

static const struct contract low_contract = {.dtype = BF16,
                                             .rounded_weights = true,
                                             .any_heads = true,
                                             .by_wgmma = true,
                                             .d = 64,
                                             .more_bytes = bytes_of_tickets};

static struct low low_of(struct check* c, int64_t N_q, int64_t N_k, bool causal) {
    return (struct low){.p = problem_of(c, &low_contract, N_q, N_k, causal)};
}
static struct low all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return low_of(c, N_q, N_k, false);
}
static struct low causal(struct check* c, int64_t N_q, int64_t N_k) {
    return low_of(c, N_q, N_k, true);
}
static struct low of_d(struct low l, int64_t d) {
    problem_set_d(&l.p, d);
    return l;
}
static struct low of_heads(struct low l, int64_t B, int64_t H, int64_t group) {
    l.p.B = B, l.p.H = H, l.p.group = group;
    return l;
}
static struct low of_blocks(struct low l, double spread) {
    l.per_block = true, l.spread = spread;
    return l;
}

// The step for array a, packed as (B, N, H, d).
static struct step step_of(const struct low* l, enum which a) {
    const struct problem* p = &l->p;
    const int64_t H = p->H / sharing(p, a), N = rows_of(p, a);
    return (struct step){.B = p->B,
                         .N = N,
                         .H = H,
                         .d = p->d,
                         .stride = {.b = N * H * p->d, .n = H * p->d, .h = p->d},
                         .per_block = l->per_block,
                         .rotated = l->rotated && a != ARRAY_V,
                         .transposed = a == ARRAY_V};
}

static const char* const bytes_names[] = {"Q", "K", "Vt"};
static const char* const scales_names[] = {"Q_scales", "K_scales", "V_scales"};
static const char* const value_names[] = {"values of Q", "values of K", "values of V"};
static const char* const X_names[] = {"X_q", "X_k", "X_v"};

static void needless(struct tensor* t) {
    for (int64_t e = 0; t && e < t->count; e++) t->untouched[e] = true;
}

// Declares the outputs, and what both calls share. stride: of O; packed if .n is 0.
static void declare_outputs(struct low* l, struct strides stride) {
    struct problem* p = &l->p;
    struct check* c = p->check;
    check_int(c, "call", l->call);
    check_int(c, "B", p->B);
    check_int(c, "N_q", p->N_q);
    check_int(c, "N_k", p->N_k);
    check_int(c, "H", p->H);
    check_int(c, "H_k", p->H / p->group);
    check_int(c, "d", p->d);
    check_real(c, "scale", p->scale);
    check_int(c, "causal", p->causal ? (p->flag ? p->flag : 1) : 0);
    check_int(c, "per_block", l->per_block ? (p->flag ? p->flag : 1) : 0);
    check_int(c, "rotated", l->rotated);
    if (stride.n == 0)
        stride = (struct strides){.b = p->N_q * p->H * p->d, .n = p->H * p->d, .h = p->d};
    check_int(c, "stride_o.b", stride.b);
    check_int(c, "stride_o.n", stride.n);
    check_int(c, "stride_o.h", stride.h);
    const int64_t rows = p->B * p->N_q * p->H;
    int64_t count =
        rows ? (p->B - 1) * stride.b + (p->N_q - 1) * stride.n + (p->H - 1) * stride.h + p->d : 0;
    const bool packed = count == rows * p->d;
    p->array[ARRAY_O].tensor =
        check_output(c, "O", BF16, packed ? SHAPE(p->B, p->N_q, p->H, p->d) : SHAPE(count));
    p->array[ARRAY_O].stride = stride;
    p->array[ARRAY_LSE].tensor = check_output(c, "LSE", F32, SHAPE(p->B, p->H, p->N_q));
    p->array[ARRAY_LSE].stride = (struct strides){.b = p->H * p->N_q, .n = 1, .h = p->N_q};
    if (p->later >> ARRAY_LSE & 1) check_begin_later(p->array[ARRAY_LSE].tensor, 1);
    l->tickets = check_in_place(c, "tickets", I32, SHAPE(TICKETS));
    for (int64_t e = 0; l->tickets && e < TICKETS; e++) l->tickets->untouched[e] = true;
    check_describe(c, p);
}

// Declares all arguments of low_precision(). p has to live as long as the case.
static void low_declare(struct low* l, struct strides stride) {
    struct problem* p = &l->p;
    struct check* c = p->check;
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) {
        const struct step s = step_of(l, (enum which)a);
        const bool none = a != ARRAY_Q && p->N_k == 0;
        p->array[a].stride = s.stride;
        p->array[a].tensor = check_input(c, value_names[a], F32, SHAPE(s.B, s.N, s.H, s.d));
        needless(p->array[a].tensor);
        if (none) {
            check_null(c, bytes_names[a]), check_null(c, scales_names[a]);
            l->bytes[a] = l->scales[a] = NULL;
            continue;
        }
        l->bytes[a] = check_input(c, bytes_names[a], U8,
                                  s.transposed ? SHAPE(s.B, s.H, s.d, PADDED(s.N))
                                               : SHAPE(s.B, s.H, s.N, s.d));
        l->scales[a] = check_input(c, scales_names[a], F32,
                                   s.per_block ? SHAPE(s.B, s.H, blocks_of_rows(&s)) : SHAPE(1));
        if (l->scales[a]) check_begin_later(l->scales[a], p->later >> ARRAYS & 1);
    }
    declare_outputs(l, stride);
}

static void low_name(const struct low* l, const char* what) {
    const struct problem* p = &l->p;
    char heads[64] = "";
    if (p->B * p->H > 1)
        snprintf(heads, sizeof heads, "B = %d, H_q = %d, H_k = %d, ", (int)p->B, (int)p->H,
                 (int)(p->H / p->group));
    check_case(p->check, "%sN_q = %d, N_k = %d, d = %d%s%s%s%s", heads, (int)p->N_q, (int)p->N_k,
               (int)p->d, p->causal ? ", causal" : "", l->per_block ? ", scales of blocks" : "",
               l->rotated ? ", rotated" : "", what);
    if (p->card) check_pose_as(p->check, p->card);
}

// Puts X, rows of array a as (B, N, H, d), into the case: bytes, scales, and what they stand for.
static void low_set(struct low* l, enum which a, const double* X) {
    static const struct step_flaw right;
    const struct step s = step_of(l, a);
    if (!l->bytes[a]) return;
    quantise(&s, &right, X, l->bytes[a]->value, l->scales[a]->value);
    double* value = l->p.array[a].tensor->value;
    for (int64_t row = 0; row < s.B * s.N * s.H; row++) {
        const int64_t b = row / (s.N * s.H), n = row / s.H % s.N, h = row % s.H, head = b * s.H + h;
        const double scale =
            l->scales[a]->value[s.per_block ? head * blocks_of_rows(&s) + n / SCALE_BLOCK : 0];
        int64_t byte = n;
        for (int p = 0; p < SIXTEEN; p++)
            if (key_of_byte[p] == n % SIXTEEN) byte = n - n % SIXTEEN + p;
        for (int64_t x = 0; x < s.d; x++) {
            const int64_t at =
                s.transposed ? (head * s.d + x) * PADDED(s.N) + byte : (head * s.N + n) * s.d + x;
            value[row * s.d + x] = scale * e4m3_value((int)l->bytes[a]->value[at]);
        }
    }
}

enum { EVEN_AMAX = 4 };

// Normal random rows for array a, in bf16; those of each block times a power of two of its own.
// With scales of blocks, and no such powers, all blocks have the same largest number, and so the
// same scale: who takes another block's is not found out there.
static double* low_normal(const struct low* l, enum which a) {
    struct check* c = l->p.check;
    const struct step s = step_of(l, a);
    const int64_t T = blocks_of_rows(&s);
    double* X = check_allocate(c, s.B * s.N * s.H * s.d + 1, sizeof *X);
    double* times = check_allocate(c, s.B * s.H * T + 1, sizeof *times);
    const int most = (int)(a == ARRAY_V ? l->spread : l->spread / 3);
    // Neighbours always differ.
    for (int64_t e = 0, n = 0; e < s.B * s.H * T; e++) {
        n += most > 0 ? check_pick(c, 1, 2 * most) : 0;
        times[e] = ldexp(1, (int)(n % (2 * most + 1)) - most);
    }
    // One scale of V is not about that of K.
    for (int64_t e = 0; e < s.B * s.H * T && a == ARRAY_V && !l->per_block; e++) times[e] *= 16;
    for (int64_t e = 0; e < s.B * s.N * s.H * s.d; e++) {
        const int64_t row = e / s.d, n = row / s.H % s.N, h = row % s.H, b = row / (s.N * s.H);
        X[e] = dtype_round(BF16, check_normal(c) * times[(b * s.H + h) * T + n / SCALE_BLOCK]);
        if (!l->per_block || l->spread > 0) continue;
        X[e] = fmax(-3.5, fmin(X[e], 3.5));
        if (n % SCALE_BLOCK == 0 && e % s.d == 1) X[e] = copysign(EVEN_AMAX, X[e]);
    }
    free(times);
    return X;
}

static void low_fill(struct low* l) {
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) {
        double* X = low_normal(l, (enum which)a);
        low_set(l, (enum which)a, X);
        free(X);
    }
}

static void low_begin_with(struct low* l, const char* what, struct strides stride) {
    low_name(l, what);
    low_declare(l, stride);
    low_fill(l);
}

static void low_begin(struct low* l, const char* what) {
    low_begin_with(l, what, (struct strides){0});
}

// ---- how far O and LSE may be ------------------------------------------------------------------

// The scale of V for key j, of batch b and query head h.
static double scale_of_V(const struct low* l, int64_t b, int64_t h, int64_t j) {
    const struct step s = step_of(l, ARRAY_V);
    const int64_t block = (b * s.H + h / l->p.group) * blocks_of_rows(&s) + j / SCALE_BLOCK;
    return l->scales[ARRAY_V]->value[l->per_block ? block : 0];
}

// What the product of the bytes of query i and key j is multiplied by, in base 2.
static double scale_of_scores(const struct low* l, int64_t b, int64_t h, int64_t i, int64_t j) {
    const struct step q = step_of(l, ARRAY_Q), k = step_of(l, ARRAY_K);
    const int64_t of_q = (b * q.H + h) * blocks_of_rows(&q) + i / SCALE_BLOCK;
    const int64_t of_k = (b * k.H + h / l->p.group) * blocks_of_rows(&k) + j / SCALE_BLOCK;
    return l->p.scale / M_LN2 * l->scales[ARRAY_Q]->value[l->per_block ? of_q : 0] *
           l->scales[ARRAY_K]->value[l->per_block ? of_k : 0];
}

// Row i as a standard implementation makes it: P times the scale of V, relative to the largest of
// these products, is 2^8 at most and rounded to e4m3; O is rounded to bf16. With whole, relative to
// the power of 2 above: then none of them is exact. *size: what the sizes of all |P v| say. *exact:
// the largest |P v| / l of the key whose product is that 2^8, an e4m3. keys: K of the head, as
// turn_rows() makes it.
static void standard_row(const struct low* l, const struct numbers* numbers,
                         const union turned* keys, int64_t b, int64_t h, int64_t i, bool whole,
                         double* o, double* size, double* exact) {
    const struct problem* p = &l->p;
    const struct operations fp64 = {.rounded = false};
    const int64_t seen = keys_seen(p, i);
    double* t = check_allocate(p->check, seen + 1, sizeof *t);
    double m = -INFINITY, sum = 0, of_block[SUMS];
    int64_t largest = 0;
    for (int64_t x = 0; x < p->d; x++) o[x] = 0;
    for (int64_t j = 0; j < seen; j++) {
        if (j % SUMS == 0)
            sums_of_products(fp64, p->d, row_of(p, ARRAY_Q, b, h, i), keys + j / SUMS * p->d,
                             of_block);
        t[j] = p->scale * of_block[j % SUMS] / M_LN2 + log2(scale_of_V(l, b, h, j));
        if (t[j] > m) m = t[j], largest = j;
    }
    if (whole) m = ceil(m);
    for (int64_t j = 0; j < seen; j++) {
        const double P = exp2(t[j] - m + 8), v = scale_of_V(l, b, h, j);
        const double rounded = few_bits_round(&E4M3, numbers, P);
        const double* row = row_of(p, ARRAY_V, b, h, j);
        sum += P / v;
        if (rounded > 0) add_multiple(fp64, p->d, o, rounded / v, row);
    }
    for (int64_t x = 0; x < p->d; x++) o[x] = seen > 0 ? dtype_round(BF16, o[x] / sum) : 0;
    *size = *exact = 0;
    for (int64_t x = 0; x < p->d && seen > 0; x++)
        *exact = fmax(*exact, exp2(8) / scale_of_V(l, b, h, largest) / sum *
                                  fabs(row_of(p, ARRAY_V, b, h, largest)[x]));
    for (int64_t j = 0; j < seen; j++) {
        const double* row = row_of(p, ARRAY_V, b, h, j);
        *size += exp2(t[j] - m + 8) / scale_of_V(l, b, h, j) / sum * fabs(row[j % p->d]);
    }
    free(t);
}

// The largest sum of |q k| scale of a few rows.
static double size_of_scores(const struct problem* p) {
    double most = 0;
    for (int64_t n = 0; n < 64 && p->N_k > 0; n++) {
        const int64_t i = n * 7919 % p->N_q, j = n * 104729 % p->N_k, h = n % p->H, b = n % p->B;
        const double *q = row_of(p, ARRAY_Q, b, h, i), *k = row_of(p, ARRAY_K, b, h, j);
        double sum = 0;
        for (int64_t x = 0; x < p->d; x++) sum += fabs(q[x] * k[x]);
        most = fmax(most, p->scale * sum);
    }
    return most;
}

// What wgmma may cut off in each of its steps of 32: 14 bits of its largest sum are left.
#define CUT_OFF 0x1p-13

// The most by which e4m3 rounds, as a share: half of a step above the middle between two numbers.
#define OF_ROUNDED (1.0 / 17)

// Sets want, and returns the budgets: three times the largest error of a standard and twice its
// mean, as budget_from() has it in 16 bits; half of its mean to one side, or half as much again as
// it is off to that side; and what the tensor cores of a GPU cut off. There are two standards: m as
// it is, and as the power of 2 above. The first one knows the largest weight of a row before it
// rounds one, and that weight is exact. A kernel that goes by a maximum from before rounds it, too,
// and it may be most of a row. (Where keys have levels, the second standard shows that.)
static struct forward_budgets low_want(struct low* l) {
    struct problem* p = &l->p;
    struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    double* standard = check_allocate(p->check, O->count + LSE->count + 1, sizeof *standard);
    const struct numbers numbers = numbers_of(&E4M3);
    double most = 0, all = 0, worst = 0, mean[2] = {0}, aside[2] = {0}, largest = 0, rounded = 0,
           size, exact;
    union turned* keys = check_allocate(p->check, CEIL_DIV(p->N_k, SUMS) * p->d, sizeof *keys);
    guard_gaps(p, ARRAY_O);
    forward_reference(p, false, O->want, LSE->want);
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t at = place_in(p, ARRAY_O, b, h, i);
        if (i == 0 && h % p->group == 0)
            turn_rows((struct operations){.rounded = false}, p->d, p->N_k,
                      row_of(p, ARRAY_K, b, h, 0), p->array[ARRAY_K].stride.n, keys);
        for (int whole = 0; whole < 2; whole++) {
            standard_row(l, &numbers, keys, b, h, i, whole, standard + at, &size, &exact);
            if (!whole) most = fmax(most, size), all += size;
            double of_row = 0;
            for (int64_t e = at; e < at + p->d; e++) {
                of_row = fmax(of_row, fabs(standard[e] - O->want[e]));
                mean[whole] += fabs(standard[e] - O->want[e]);
                aside[whole] += (standard[e] - O->want[e]) * (O->want[e] > 0 ? 1 : -1);
                largest = fmax(largest, fabs(O->want[e]));
            }
            worst = fmax(worst, of_row);
            if (!l->has_levels) rounded = fmax(rounded, of_row + OF_ROUNDED * exact);
        }
    }
    double off = fmax(mean[0], mean[1]), side = fmax(fabs(aside[0]), fabs(aside[1]));
    for (int64_t e = 0; e < LSE->count; e++) standard[O->count + e] = (double)(float)LSE->want[e];
    struct forward_budgets budgets = {.LSE = budget_from(LSE, standard + O->count)};
    free(standard), free(keys);
    const double rows = fmax(1, (double)(p->B * p->H * p->N_q)), ulp = dtype_ulp(BF16, largest);
    const double of_S = (double)(p->d / 32) * CUT_OFF * size_of_scores(p);
    const double cut = (double)CEIL_DIV(p->N_k, 32) * CUT_OFF + 2 * of_S;
    off /= rows * (double)p->d, side /= rows * (double)p->d, all /= rows;
    budgets.O.max = fmax(3 * worst, rounded) + ulp + cut * most;
    budgets.O.mean = 2 * off + ulp / 32 + cut / 4 * all;
    budgets.O.bias = fmax((0.5 + 4 / sqrt(rows)) * off, 1.5 * side) + ulp / 64 + cut / 4 * all;
    budgets.LSE.max += of_S + 0x1p-20;
    budgets.LSE.mean += of_S / 2 + 0x1p-21;
    return budgets;
}

static void low_judge(struct low* l, int what) {
    struct problem* p = &l->p;
    struct forward_budgets budgets = low_want(l);
    if (what & JUDGE_O) check_compare(p->check, p->array[ARRAY_O].tensor, budgets.O);
    if (what & JUDGE_LSE) check_compare(p->check, p->array[ARRAY_LSE].tensor, budgets.LSE);
}

static void low_case(struct low l, const char* what, int judged) {
    low_begin(&l, what);
    check_run(l.p.check);
    low_judge(&l, judged);
}

#endif
