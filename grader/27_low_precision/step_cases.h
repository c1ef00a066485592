// step_cases.h: cases of low_precision_quantise() and of both calls, and the items of the first.
// For check.c.
#ifndef STEP_CASES_H
#define STEP_CASES_H

#include "27_low_precision/mistakes.h"
#include "check/reach.h"

// ---- the step to eight bits --------------------------------------------------------------------

static struct step rows_of_X(int64_t B, int64_t N, int64_t H, int64_t d) {
    return (struct step){.B = B,
                         .N = N,
                         .H = H,
                         .d = d,
                         .stride = {.b = N * H * d, .n = H * d, .h = d},
                         .per_block = true};
}

static void declare_step(struct check* c, void* problem) {
    struct step_case* q = problem;
    const struct step* s = &q->s;
    check_int(c, "call", CALL_QUANTISE);
    check_int(c, "B", s->B);
    check_int(c, "N", s->N);
    check_int(c, "H", s->H);
    check_int(c, "d", s->d);
    check_int(c, "stride_x.b", s->stride.b);
    check_int(c, "stride_x.n", s->stride.n);
    check_int(c, "stride_x.h", s->stride.h);
    const int64_t set = s->flag ? s->flag : 1;
    check_int(c, "per_block", s->per_block ? set : 0);
    check_int(c, "rotated", s->rotated ? set : 0);
    check_int(c, "transposed", s->transposed ? set : 0);
    const int64_t rows = s->B * s->N * s->H;
    const int64_t count =
        rows ? (s->B - 1) * s->stride.b + (s->N - 1) * s->stride.n + (s->H - 1) * s->stride.h + s->d
             : 0;
    q->X = check_input(c, "X", BF16, SHAPE(count));
    // A byte of an output that nobody writes may be right by chance; of what is written in place
    // all are known before. But that counts as read, too, and where reads are counted scales alone
    // are compared.
    const struct shape shape =
        s->transposed ? SHAPE(s->B, s->H, s->d, PADDED(s->N)) : SHAPE(s->B, s->H, s->N, s->d);
    q->to = (q->is_counted ? check_output : check_in_place)(c, "to", U8, shape);
    q->scales = check_output(c, "scales", F32,
                             s->per_block ? SHAPE(s->B, s->H, blocks_of_rows(s)) : SHAPE(1));
    check_describe(c, q);
}

// Normal numbers, in each block times a number of its own; NaN where no element is.
static void fill_step(struct step_case* q) {
    const struct step* s = &q->s;
    struct check* c = q->check;
    double times = 1;
    for (int64_t e = 0; e < q->to->count && !q->is_counted; e++)
        q->to->value[e] = (double)check_pick(c, 0, 255);
    for (int64_t e = 0; e < q->X->count; e++) {
        q->X->value[e] = NAN;
        q->X->untouched[e] = true;
    }
    for (int64_t row = 0; row < s->B * s->H * s->N; row++) {
        const int64_t n = row % s->N, head = row / s->N;
        if (n % SCALE_BLOCK == 0) times = exp2(check_uniform(c, -6, 6));
        const int64_t at = place(s->stride, head / s->H, head % s->H, n);
        for (int64_t x = 0; x < s->d; x++) {
            q->X->value[at + x] = dtype_round(BF16, check_normal(c) * times);
            q->X->untouched[at + x] = false;
        }
        // 0 has a sign, in eight bits as well
        q->X->value[at + check_pick(c, 0, s->d - 1)] = -0.0;
    }
}

static struct step_case begin_step(struct check* c, struct step s, const char* what) {
    check_case(c, "B = %d, N = %d, H = %d, d = %d, %s%s%s%s", (int)s.B, (int)s.N, (int)s.H,
               (int)s.d, s.per_block ? "scales of blocks" : "one scale",
               s.rotated ? ", rotated" : "", s.transposed ? ", transposed" : "", what);
    return (struct step_case){.check = c, .s = s};
}

// Scales first: bytes follow from them.
static void judge_step(struct step_case* q) {
    static const struct step_flaw right;
    check_run(q->check);
    quantise(&q->s, &right, q->X->value, q->to->want, q->scales->want);
    check_compare(q->check, q->scales, budget_exact());
    if (!q->is_counted) check_compare(q->check, q->to, budget_exact());
}

static void step_of_normal(struct check* c, struct step s, const char* what) {
    struct step_case q = begin_step(c, s, what);
    declare_step(c, &q);
    fill_step(&q);
    judge_step(&q);
}

static struct step of_all(struct step s) {
    s.per_block = false;
    return s;
}
static struct step rotated(struct step s) {
    s.rotated = true;
    return s;
}
static struct step transposed(struct step s) {
    s.transposed = true;
    return s;
}

static struct step with_flag_of(struct step s, int64_t flag) {
    s.flag = flag;
    return s;
}

static void scale_of_each_block(struct check* c) {
    step_of_normal(c, rows_of_X(1, 128, 1, 64), "");
    step_of_normal(c, rows_of_X(2, 256, 3, 64), "");
    step_of_normal(c, with_flag_of(rows_of_X(1, 384, 2, 128), -65536), ", per_block = -65536");
}

// Wherever the largest number is, and called again: the scale of the call before is no lower bound.
static void scale_of_all(struct check* c) {
    step_of_normal(c, of_all(rows_of_X(1, 128, 1, 64)), "");
    step_of_normal(c, of_all(rows_of_X(2, 256, 2, 64)), "");
    step_of_normal(c, of_all(rows_of_X(1, 256, 2, 128)), "");
    struct step_case q = begin_step(c, of_all(rows_of_X(1, 256, 1, 64)), ", twice");
    check_rounds(c, 2);
    declare_step(c, &q);
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        fill_step(&q);
        for (int64_t e = 0; e < q.X->count; e++) q.X->value[e] *= r ? 1.0 / 64 : 1;
    }
    check_run(c);
    for (int r = 0; r < 2; r++) {
        static const struct step_flaw right;
        check_round(c, r);
        quantise(&q.s, &right, q.X->value, q.to->want, q.scales->want);
        check_compare(c, q.scales, budget_exact());
        check_compare(c, q.to, budget_exact());
    }
}

static void step_transposed(struct check* c) {
    step_of_normal(c, transposed(rows_of_X(1, 128, 1, 64)), "");
    step_of_normal(c, with_flag_of(transposed(rows_of_X(1, 256, 1, 128)), 2), ", flags of 2");
    step_of_normal(c, transposed(rows_of_X(1, 128 + check_pick(c, 1, 15), 1, 64)), "");
    step_of_normal(c, transposed(rows_of_X(1, check_pick(c, 17, 31), 1, 128)), "");
    step_of_normal(c, of_all(rotated(transposed(rows_of_X(1, 64, 2, 64)))), "");  // all at once
}

static void step_rotated(struct check* c) {
    step_of_normal(c, rotated(rows_of_X(1, 128, 1, 64)), "");
    step_of_normal(c, with_flag_of(rotated(rows_of_X(1, 256, 1, 128)), 2), ", flags of 2");
    step_of_normal(c, rotated(of_all(rows_of_X(1, 128, 1, 64))), "");
    // Of numbers of all sizes the sums are rounded, and it shows in what order they are made.
    struct step_case q =
        begin_step(c, rotated(rows_of_X(1, 1024, 1, 64)), ", numbers of all sizes");
    declare_step(c, &q);
    fill_step(&q);
    for (int64_t e = 0; e < q.X->count; e++)
        q.X->value[e] = ldexp(q.X->value[e], (int)check_pick(c, -24, 0));
    judge_step(&q);
}

// The launcher is told of N rows, of which the case has the last ones, from a whole block on.
static bool rows_reached(struct check* c, const void* d, int64_t N) {
    static const struct step_flaw right;
    const int64_t shown = N > 4096 ? 256 + N % SCALE_BLOCK : N;
    const struct step s = rows_of_X(1, shown, 1, *(const int64_t*)d);
    struct step_case q = {.check = c, .s = s, .is_counted = true};
    check_case(c, "the last of %lld rows, d = %lld", (long long)N, (long long)s.d);
    declare_step(c, &q);
    fill_step(&q);
    if (shown < N) {
        check_vary(c, "N", 0, N);
        check_ends(c, q.X, 1, N * s.d);
        check_ends(c, q.to, 1, N * s.d);
        check_ends(c, q.scales, 1, CEIL_DIV(N, SCALE_BLOCK));
    }
    check_run_few_blocks(c);
    check_run(c);
    quantise(&s, &right, q.X->value, q.to->want, q.scales->want);
    return check_end_is_right(q.to) && check_end_is_right(q.scales);
}

// The launcher is told of `heads` heads of a few rows, of which the case has the last ones.
static bool heads_of_X_reached(struct check* c, const void* d, int64_t heads) {
    enum { ROWS = 2, SHOWN = 2 };
    static const struct step_flaw right;
    struct step s = rows_of_X(1, ROWS, SHOWN, *(const int64_t*)d);
    s.stride = (struct strides){.b = SHOWN * ROWS * s.d, .n = s.d, .h = ROWS * s.d};
    struct step_case q = {.check = c, .s = s, .is_counted = true};
    check_case(c, "the last of %d heads of %d rows, d = %d", (int)heads, ROWS, (int)s.d);
    declare_step(c, &q);
    fill_step(&q);
    check_vary(c, "H", 0, heads);
    check_vary(c, "stride_x.b", 0, heads * ROWS * s.d);
    check_ends(c, q.X, 1, heads * ROWS * s.d);
    check_ends(c, q.to, 1, heads * ROWS * s.d);
    check_ends(c, q.scales, 1, heads);
    check_run_few_blocks(c);
    check_run(c);
    quantise(&s, &right, q.X->value, q.to->want, q.scales->want);
    return check_end_is_right(q.to) && check_end_is_right(q.scales);
}

static void any_rows(struct check* c) {
    enum { HEADS = 70000, FEWER = 1 << 12 };  // more than a grid has in y or z
    static const int64_t d = 64;
    step_of_normal(c, rows_of_X(1, check_pick(c, 1, 15), 1, 64), "");
    step_of_normal(c, rows_of_X(1, 128 + check_pick(c, 1, 100), 1, 128), "");
    struct step s = rows_of_X(2, 140, 2, 64);
    s.stride = (struct strides){.b = 160 * 152 + 8, .n = 152, .h = 72};
    struct step_case q = begin_step(c, s, ", gaps; X and `to` begin 16 bytes later");
    declare_step(c, &q);
    check_begin_later(q.X, 8);
    check_begin_later(q.to, 16);
    fill_step(&q);
    judge_step(&q);
    s.stride = (struct strides){.b = 2 * 140 * 72, .n = 72, .h = 140 * 72};
    step_of_normal(c, s, ", heads outside");
    step_of_normal(c, transposed(s), ", heads outside");
    s.stride.b = 0;
    step_of_normal(c, s, ", all batches the same");
    // Strides that lead nowhere may be any: X does not come by TMA.
    s = rows_of_X(1, 16, 1, 64);
    s.stride.b = s.stride.h = (int64_t)1 << 40;
    step_of_normal(c, s, ", one head of one batch, strides of 2^40 to others");
    check_reaches(c, INT32_MAX - check_pick(c, 0, 9), rows_reached, &d);
    check_most(c, HEADS, FEWER, heads_of_X_reached, &d);
}

// Halves, on their way to the even one of both; what is subnormal in e4m3; zeros of both signs. A
// scale that is a power of 2 changes no digit.
static void set_exact(struct step_case* q) {
    struct check* c = q->check;
    for (int64_t e = 0; e < q->X->count; e++) {
        const double size = ldexp((double)check_pick(c, 8, 31), (int)check_pick(c, -16, 3));
        q->X->value[e] = copysign(size, check_normal(c));
        if (e % 16 == 5) q->X->value[e] = copysign(0, check_normal(c));
        if (e % 16 == 9)
            q->X->value[e] = copysign(ldexp((double)check_pick(c, 0, 16), -10), check_normal(c));
    }
    q->X->value[77] = 448;
}

// A block of numbers 2^-n times `number`, and one that is larger than all of them.
static void multiples_of(struct check* c, int largest, int number) {
    char what[60];
    snprintf(what, sizeof what, ", the largest %d, and %d 2^-n", largest, number);
    struct step_case q = begin_step(c, rows_of_X(1, 128, 1, 64), what);
    declare_step(c, &q);
    fill_step(&q);
    const int64_t first = number > largest ? -1 : 0;
    for (int64_t e = 0; e < q.X->count; e++)
        q.X->value[e] = ldexp(number, (int)check_pick(c, -9, first));
    q.X->value[check_pick(c, 0, q.X->count - 1)] = largest;
    judge_step(&q);
}

static void not_finite(struct check* c, struct step s) {
    struct step_case q = begin_step(c, s, ", NaN and infinity");
    declare_step(c, &q);
    fill_step(&q);
    for (int n = 0; n < 12; n++) {
        const int64_t e = check_pick(c, 0, q.X->count - 1);
        const double nan = copysign(NAN, n % 2 ? -1 : 1);  // of either sign
        q.X->value[e] = n % 3 == 0 ? nan : n % 3 == 1 ? INFINITY : -INFINITY;
    }
    judge_step(&q);
}

// A block of zeros beside others; numbers so small that 448 of their sizes is none; some that are
// not finite; 175 / (196 / 448) is a half, but not 175 (1 / (196 / 448)); nor is 207 (448 / 138)
// what 207 (1 / (138 / 448)) is.
static void no_ordinary_numbers(struct check* c) {
    struct step_case q = begin_step(c, rows_of_X(1, 128, 1, 64), ", halves and subnormal numbers");
    declare_step(c, &q);
    fill_step(&q);
    set_exact(&q);
    judge_step(&q);
    multiples_of(c, 196, 175);
    multiples_of(c, 138, 207);

    q = begin_step(c, rows_of_X(1, 384, 1, 64), ", the second block all 0, the third tiny");
    declare_step(c, &q);
    fill_step(&q);
    for (int64_t e = 128 * 64; e < q.X->count; e++)
        q.X->value[e] = e < 256 * 64 ? copysign(0, q.X->value[e]) : ldexp(q.X->value[e], -120);
    judge_step(&q);

    not_finite(c, rows_of_X(1, 256, 1, 128));
    not_finite(c, of_all(rows_of_X(1, 256, 1, 64)));
    q = begin_step(c, of_all(rows_of_X(1, 128, 1, 64)), ", all 0");
    declare_step(c, &q);
    fill_step(&q);
    for (int64_t e = 0; e < q.X->count; e++) q.X->value[e] = copysign(0, q.X->value[e]);
    judge_step(&q);
}

// ---- both calls --------------------------------------------------------------------------------

// X of both calls, with 8 times as much in one column of Q and K; what comes out is compared with
// what numbers of bf16 make. What the first call leaves is an
// output that explain() looks at.
static void both_calls(struct check* c, struct low l, const char* what) {
    struct problem* p = &l.p;
    double* X[3];
    l.call = CALL_BOTH;
    low_name(&l, what);
    struct low bytes = l;  // the same problem, as the second call has it
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) {
        const struct step s = step_of(&l, (enum which)a);
        l.X[a] = check_input(c, X_names[a], BF16, SHAPE(s.B, s.N, s.H, s.d));
        l.bytes[a] = check_output(c, bytes_names[a], U8,
                                  s.transposed ? SHAPE(s.B, s.H, s.d, PADDED(s.N))
                                               : SHAPE(s.B, s.H, s.N, s.d));
        l.scales[a] = check_output(c, scales_names[a], F32, SHAPE(count_of_scales(&s)));
        p->array[a].stride = s.stride;
        p->array[a].tensor = l.X[a];
        X[a] = low_normal(&l, (enum which)a);
        const int64_t outlier = a == ARRAY_V ? -1 : 11;
        for (int64_t e = 0; e < l.X[a]->count; e++)
            l.X[a]->value[e] = X[a][e] * (e % s.d == outlier ? 8 : 1);
        free(X[a]);
    }
    declare_outputs(&l, (struct strides){0});
    check_run(c);
    // What the standard makes of the right bytes.
    struct tensor value[3], byte[3], scale[3];
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) {
        const struct step s = step_of(&l, (enum which)a);
        value[a] = *l.X[a];
        value[a].value = check_allocate(c, value[a].count, sizeof(double));
        byte[a].value = check_allocate(c, count_of_bytes(&s), sizeof(double));
        scale[a].value = check_allocate(c, count_of_scales(&s), sizeof(double));
        bytes.bytes[a] = &byte[a], bytes.scales[a] = &scale[a];
        bytes.p.array[a] = (struct array){&value[a], s.stride};
        low_set(&bytes, (enum which)a, l.X[a]->value);
    }
    bytes.p.scale = p->scale;
    bytes.p.array[ARRAY_O] = p->array[ARRAY_O], bytes.p.array[ARRAY_LSE] = p->array[ARRAY_LSE];
    struct tensor* O = p->array[ARRAY_O].tensor;
    struct forward_budgets budgets = low_want(&bytes);
    double off = 0, mean = 0;
    double* of_bytes = check_allocate(c, O->count, sizeof *of_bytes);
    memcpy(of_bytes, O->want, (size_t)O->count * sizeof *of_bytes);
    double* LSE = check_allocate(c, p->array[ARRAY_LSE].tensor->count, sizeof *LSE);
    forward_reference(p, false, O->want, LSE);
    for (int64_t e = 0; e < O->count; e++) {
        off = fmax(off, fabs(of_bytes[e] - O->want[e]));
        mean += fabs(of_bytes[e] - O->want[e]) / (double)O->count;
    }
    free(of_bytes), free(LSE);
    for (int a = ARRAY_Q; a <= ARRAY_V; a++)
        free(value[a].value), free(byte[a].value), free(scale[a].value);
    check_compare(
        c, O,
        (struct budget){.max = budgets.O.max + 1.5 * off, .mean = budgets.O.mean + 1.25 * mean});
}

#endif
