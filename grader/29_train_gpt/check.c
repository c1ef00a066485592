// check.c: what lesson 29, train_gpt, is graded on.
//
// The wanted gradients are those of reference.h in double, from what the case says was kept; the
// tolerance is that of the same with each array rounded to bf16 where the contract rounds it. Items
// set one trap each: except for it there is one text and one head, and where W_out is 0, the MLP
// adds nothing to what reaches attention.
#include "check/arguments.h"
#include "mistakes.h"
#include "reach_cases.h"
#include "wall/arena.h"

// ---- a block

struct block {
    struct check* check;
    struct block_case c;
    struct described described;
};

static struct block block_of(struct check* c, int B, int N, int C, int H) {
    return (struct block){.check = c, .c = {.size = {B, N, C, H}}};
}

static struct tensor* input(struct check* c, const char* name, enum dtype dtype, int64_t rows,
                            int64_t cols) {
    return check_input(c, name, dtype, SHAPE(rows, cols));
}

static void declare_block(struct check* c, void* problem) {
    struct block* b = problem;
    struct block_case* k = &b->c;
    const int B = k->size.B, N = k->size.N, C = k->size.C, H = k->size.H;
    const int64_t rows = (int64_t)B * N;
    check_int(c, "adamw", 0);
    check_int(c, "B", B), check_int(c, "N", N), check_int(c, "C", C), check_int(c, "H", H);
    for (int i = 0; i < PARAMETERS; i++) {
        const int64_t count = parameter_count(i, C), cols = i == W_OUT  ? 4 * C
                                                            : i < B_QKV ? C
                                                                        : count;
        k->W[i] = input(c, names_W[i], BF16, count / cols, cols);
        k->dW[i] = check_output(c, names_dW[i], BF16, SHAPE(count / cols, cols));
    }
    k->X = input(c, "X", F32, rows, C);
    k->stats1 = input(c, "stats1", F32, rows, 2);
    k->QKV = input(c, "QKV", BF16, rows, 3 * C);
    k->O = input(c, "O", BF16, rows, C);
    k->LSE = check_input(c, "LSE", F32, SHAPE(B, H, N));
    k->X_mid = input(c, "X_mid", F32, rows, C);
    k->stats2 = input(c, "stats2", F32, rows, 2);
    k->Z = input(c, "Z", BF16, rows, 4 * C);
    k->dX = check_in_place(c, "dX", F32, SHAPE(rows, C));
    check_workspace(c, "workspace", (int64_t)train_gpt_block_workspace_bytes(B, N, C, H));
}

static void begin_block(struct block* b, const char* what) {
    struct block_size s = b->c.size;
    check_case(b->check, "%s: B = %d, N = %d, C = %d, H = %d", what, s.B, s.N, s.C, s.H);
    declare_block(b->check, b);
    b->described.block = &b->c;
    check_describe(b->check, &b->described);
}

// Parameters and X as in a model that has learnt something; what is kept, from them. zero: a matrix
// of zeros, or -1.
static void fill_block(struct block* b, int zero, int zero2) {
    struct check* c = b->check;
    struct block_case* k = &b->c;
    const double C = k->size.C;
    for (int i = 0; i < PARAMETERS; i++) {
        const double inputs = i == W_OUT ? 4 * C : C;
        const bool is_weight = i == NORM1 || i == NORM2;
        const double size = i >= B_QKV ? 0.4 : (i == W_QKV ? 2 : 1) / sqrt(inputs);
        fill_normal(c, k->W[i], is_weight ? 1 : 0, size);
        for (int64_t e = 0; e < k->W[i]->count; e++)
            k->W[i]->value[e] = i == zero || i == zero2 ? 0 : dtype_round(BF16, k->W[i]->value[e]);
    }
    fill_normal(c, k->X, 0.3, 1.5);
    fill_normal(c, k->dX, 0, 1);
    for (int64_t e = 0; e < k->X->count; e++) k->X->value[e] = dtype_round(F32, k->X->value[e]);
    struct block_arrays a = {.X = k->X->value,
                             .stats1 = k->stats1->value,
                             .QKV = k->QKV->value,
                             .O = k->O->value,
                             .LSE = k->LSE->value,
                             .X_mid = k->X_mid->value,
                             .stats2 = k->stats2->value,
                             .Z = k->Z->value};
    for (int i = 0; i < PARAMETERS; i++) a.W[i] = k->W[i]->value;
    block_forward(&a, k->size, NULL, true);
}

// Compares the gradients of `count` parameters, and dX.
static void judge_block(struct block* b, const int* which, int count, bool with_dX) {
    struct block_case* k = &b->c;
    struct block_arrays want = arrays_of(k), standard = arrays_of(k);
    block_backward(&want, k->size, RIGHT, false);
    block_backward(&standard, k->size, RIGHT, true);
    for (int i = 0; i < PARAMETERS; i++)
        memcpy(k->dW[i]->want, want.dW[i], (size_t)k->dW[i]->count * sizeof(double));
    memcpy(k->dX->want, want.dX, (size_t)k->dX->count * sizeof(double));
    if (with_dX) check_compare(b->check, k->dX, budget_from(k->dX, standard.dX));
    for (int i = 0; i < count; i++) {
        struct tensor* t = k->dW[which[i]];
        check_compare(b->check, t, budget_from(t, standard.dW[which[i]]));
    }
    arrays_free(&want), arrays_free(&standard);
}

static const int of_mlp[] = {W_OUT, B_OUT, W_FC, B_FC, NORM2, NORM2_BIAS};
static const int of_attention[] = {W_PROJ, B_PROJ, W_QKV, B_QKV, NORM1, NORM1_BIAS};
static const int of_all[] = {W_OUT,  B_OUT,  W_FC,  B_FC,  NORM2, NORM2_BIAS,
                             W_PROJ, B_PROJ, W_QKV, B_QKV, NORM1, NORM1_BIAS};

static void run_all(struct block b, const char* what) {
    begin_block(&b, what);
    fill_block(&b, -1, -1);
    check_run(b.check);
    judge_block(&b, of_all, PARAMETERS, true);
}

// The same, of which dX alone is compared: gradients by parameters are for other items.
static void run_dX(struct block b, const char* what) {
    begin_block(&b, what);
    fill_block(&b, -1, -1);
    check_run(b.check);
    judge_block(&b, NULL, 0, true);
}

// ---- items on the block

static void mlp(struct check* c) {
    struct block b = block_of(c, 1, 24, 16, 1);
    begin_block(&b, "the MLP");
    fill_block(&b, -1, -1);
    check_run(c);
    judge_block(&b, of_mlp, 6, false);
}

// What reaches attention is dY: the MLP, whose W_out is 0, adds nothing.
static void attention(struct check* c) {
    struct block b = block_of(c, 1, 24, 16, 1);
    begin_block(&b, "attention, W_out = 0");
    fill_block(&b, W_OUT, -1);
    check_run(c);
    judge_block(&b, of_attention, 6, false);
}

// Nothing but the paths around: dX is dY, to the bit.
static void around(struct check* c) {
    struct block b = block_of(c, 1, 16, 16, 1);
    begin_block(&b, "W_out = 0 and W_proj = 0: dX is dY");
    fill_block(&b, W_OUT, W_PROJ);
    check_run(c);
    memcpy(b.c.dX->want, b.c.dX->value, (size_t)b.c.dX->count * sizeof(double));
    check_compare(c, b.c.dX, budget_exact());
}

static void together(struct check* c) {
    run_all(block_of(c, 1, 40, 32, 1), "all together");
    run_all(block_of(c, 1, (int)check_pick(c, 17, 33), 24, 1), "all together");
}

static void texts(struct check* c) {
    run_dX(block_of(c, 3, (int)check_pick(c, 9, 15), 16, 1), "several texts");
    run_dX(block_of(c, 5, 1, 16, 1), "texts of one token");
    block_reaches(c);
}

static void heads(struct check* c) {
    run_dX(block_of(c, 1, 16, 32, 2), "two heads");
    run_dX(block_of(c, 1, (int)check_pick(c, 9, 15), 24, 3), "three heads");
}

// ---- AdamW

struct adamw {
    struct check* check;
    struct adamw_case c;
    double larger;   // times as large: the gradients, and so m and sqrt(v); 0: 1
    bool with_copy;  // w_bf16 is judged beside w
    struct described described;
};

static struct adamw adamw_of(struct check* c, int64_t n, int64_t step) {
    struct adamw_numbers s = {.n = n, .step = step, .steps = 1, .eps = 1e-4};
    s.lr = dtype_round(F32, 0.02), s.beta1 = dtype_round(F32, 0.9),
    s.beta2 = dtype_round(F32, 0.95);
    s.eps = dtype_round(F32, s.eps);
    return (struct adamw){.check = c, .c = {.numbers = s}};
}

static void declare_adamw(struct check* c, void* problem) {
    struct adamw* a = problem;
    const struct adamw_numbers* s = &a->c.numbers;
    check_int(c, "adamw", 1);
    check_int(c, "n", s->n), check_int(c, "n_decayed", s->n_decayed);
    check_int(c, "step", s->step), check_int(c, "steps", s->steps);
    check_real(c, "lr", s->lr), check_real(c, "beta1", s->beta1);
    check_real(c, "beta2", s->beta2), check_real(c, "eps", s->eps);
    check_real(c, "decay", s->decay);
    a->c.w = check_in_place(c, "w", F32, SHAPE(s->n));
    a->c.m = check_in_place(c, "m", F32, SHAPE(s->n));
    a->c.v = check_in_place(c, "v", F32, SHAPE(s->n));
    a->c.w_bf16 = check_output(c, "w_bf16", BF16, SHAPE(s->n));
    a->c.g = check_input(c, "g", BF16, SHAPE(s->steps, s->n));
}

static void begin_adamw(struct adamw* a, const char* what) {
    const struct adamw_numbers* s = &a->c.numbers;
    check_case(a->check, "%s: n = %lld, n_decayed = %lld, step = %lld", what, (long long)s->n,
               (long long)s->n_decayed, (long long)s->step);
    declare_adamw(a->check, a);
    a->described.adamw = &a->c;
    check_describe(a->check, &a->described);
}

// Gradients of the size of m and sqrt(v), and parameters of the size of a step.
static void fill_adamw(struct adamw* a) {
    struct check* c = a->check;
    fill_normal(c, a->c.w, 0, 0.1);
    fill_normal(c, a->c.m, 0, 1e-3);
    for (int64_t i = 0; i < a->c.v->count; i++) a->c.v->value[i] = check_uniform(c, 2e-7, 4e-6);
    fill_normal(c, a->c.g, 0, 2e-3);
    for (int64_t i = 0; i < a->c.g->count && a->larger > 0; i++) a->c.g->value[i] *= a->larger;
    for (int64_t i = 0; i < a->c.m->count && a->larger > 0; i++) {
        a->c.m->value[i] *= a->larger;
        a->c.v->value[i] *= a->larger * a->larger;
    }
    if (a->c.numbers.step > 1) return;
    for (int64_t i = 0; i < a->c.m->count; i++) a->c.m->value[i] = a->c.v->value[i] = 0;
}

// all: m, v and w_bf16 as well; they are an item's own.
static void judge_adamw(struct adamw* a, bool all) {
    const struct adamw_numbers* s = &a->c.numbers;
    struct tensor* const out[] = {a->c.w, a->c.m, a->c.v, a->c.w_bf16};
    double* standard[4];
    for (int t = 0; t < 4; t++) {
        standard[t] = numbers(s->n);
        simulate_adamw(&a->c, out[t], ADAMW_RIGHT, out[t]->want);
    }
    for (int64_t i = 0; i < s->n; i++) {
        float w = (float)a->c.w->value[i], m = (float)a->c.m->value[i], v = (float)a->c.v->value[i];
        for (int64_t k = 0; k < s->steps; k++)
            adamw_standard(s, s->step + k, i < s->n_decayed, (float)a->c.g->value[k * s->n + i], &w,
                           &m, &v);
        standard[0][i] = w, standard[1][i] = m, standard[2][i] = v;
        standard[3][i] = dtype_round(BF16, w);
    }
    const int order[] = {1, 2, 0, 3};  // m and v first: w is made of them
    for (int t = 0; t < 4; t++)
        if (all || order[t] == 0)
            check_compare(a->check, out[order[t]], budget_from(out[order[t]], standard[order[t]]));
    for (int t = 0; t < 4; t++) free(standard[t]);
}

static double upper_half_of(double w) {
    const float f = (float)w;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits &= 0xffff0000;
    return dtype_load(F32, &bits);
}

// Is w_bf16 the w that was stored, whatever that is? Rounded from more digits than a float has, it
// may be the neighbour.
static void judge_copy(struct adamw* a) {
    struct tensor *w = a->c.w, *copy = a->c.w_bf16;
    double largest = 0;
    for (int64_t i = 0; i < w->count; i++) {
        copy->want[i] = dtype_round(BF16, w->got[i]);
        largest = fmax(largest, fabs(w->got[i]));
    }
    const double ulp = dtype_ulp(BF16, largest);
    double apart = 0;
    bool is_cut_off = true;
    for (int64_t i = 0; i < w->count; i++) {
        apart += fabs(copy->got[i] - copy->want[i]);
        is_cut_off &= copy->got[i] == copy->want[i] || copy->got[i] == upper_half_of(w->got[i]);
    }
    if (is_cut_off && apart > ulp / 64 * (double)w->count)
        check_fail(a->check, CAUSE_cut_off, "numbers of w_bf16 are those of w, cut off\n");
    check_compare(a->check, copy, (struct budget){.max = ulp, .mean = ulp / 64});
}

static void run_adamw(struct adamw a, const char* what) {
    begin_adamw(&a, what);
    fill_adamw(&a);
    check_run(a.check);
    judge_adamw(&a, false);
    if (a.with_copy) judge_copy(&a);
}

// Far from the first step: 1 - beta^step is 1.
static void means(struct check* c) {
    struct adamw a = adamw_of(c, 1024, 2000);
    begin_adamw(&a, "m, v and w");
    fill_adamw(&a);
    check_run(c);
    judge_adamw(&a, true);
}

// The same step of two models, whose betas differ.
static void corrected_anew(struct check* c) {
    struct adamw a[2] = {adamw_of(c, 1024, check_pick(c, 2, 5))};
    a[1] = a[0];
    a[1].c.numbers.beta1 = dtype_round(F32, 0.8);
    a[1].c.numbers.beta2 = dtype_round(F32, 0.99);
    check_case(c, "step %lld of two models with other betas", (long long)a[0].c.numbers.step);
    check_rounds(c, 2);
    declare_adamw(c, &a[0]);
    check_vary_real(c, "beta1", 1, a[1].c.numbers.beta1);
    check_vary_real(c, "beta2", 1, a[1].c.numbers.beta2);
    a[1].c.w = a[0].c.w, a[1].c.m = a[0].c.m, a[1].c.v = a[0].c.v;
    a[1].c.w_bf16 = a[0].c.w_bf16, a[1].c.g = a[0].c.g;
    for (int call = 0; call < 2; call++) {
        check_round(c, call);
        fill_adamw(&a[call]);
    }
    check_run(c);
    for (int call = 0; call < 2; call++) {
        check_round(c, call);
        a[call].described.adamw = &a[call].c;
        check_describe(c, &a[call].described);
        judge_adamw(&a[call], false);
    }
}

static void corrected(struct check* c) {
    // At the first step v alone does not tell how it came about.
    corrected_anew(c);
    run_adamw(adamw_of(c, 1024, 1), "the first step");
    run_adamw(adamw_of(c, 1024, ((int64_t)1 << 32) + check_pick(c, 1, 3)), "a step of 33 bits");
    // 1 - beta2^step as a difference of floats is off by 5e-5 and 1e-4 at these steps.
    struct adamw a = adamw_of(c, 1024, check_pick(c, 2, 3));
    a.c.numbers.beta2 = dtype_round(F32, 0.9999);
    a.c.numbers.lr = 1;
    a.c.numbers.beta1 = 0;  // nothing is to be corrected there
    run_adamw(a, "beta1 = 0, beta2 near 1");
    a.c.numbers.beta1 = a.c.numbers.beta2;
    a.c.numbers.beta2 = dtype_round(F32, 0.95);
    run_adamw(a, "beta1 near 1");
}

static void decayed(struct check* c) {
    struct adamw a = adamw_of(c, 1024, 2000);
    a.c.numbers.decay = dtype_round(F32, 0.1);
    a.c.numbers.n_decayed = 1024;
    run_adamw(a, "all decay");
    a.c.numbers.decay = dtype_round(F32, -0.1);
    a.c.numbers.n_decayed = 4 * check_pick(c, 75, 175) + 2 * check_pick(c, 0, 1) + 1;
    run_adamw(a, "some decay, by -0.1");
}

static void ten_steps(struct check* c) {
    struct adamw a = adamw_of(c, 512, 1);
    a.c.numbers.steps = 10;
    a.c.numbers.lr = -a.c.numbers.lr;
    run_adamw(a, "ten steps, lr below 0");
}

static void any_count(struct check* c) {
    const int64_t n[] = {4 * check_pick(c, 256, 262) + check_pick(c, 1, 3),
                         4 * check_pick(c, 1024, 1050) + check_pick(c, 1, 3), check_pick(c, 2, 7),
                         1};
    for (int i = 0; i < 4; i++) {
        // All decay or none, to the end: which ones is the trap of decayed().
        struct adamw a = adamw_of(c, n[i], 2000);
        a.c.numbers.decay = dtype_round(F32, 0.1);
        a.c.numbers.n_decayed = i == 1 ? 0 : n[i];
        if (i == 0) a.larger = 0x1p10;
        if (i == 3) a.c.numbers.beta1 = a.c.numbers.beta2 = 0;  // m is g, v is g^2
        a.with_copy = true;
        run_adamw(a, "any n");
    }
    // What is made of g, and how w moves, is no matter here; but m, v and w_bf16 are stored, too. A
    // NaN is one in all of them.
    struct adamw a = adamw_of(c, 4 * check_pick(c, 256, 270) + check_pick(c, 1, 3), 2000);
    a.c.numbers.lr = 0;
    begin_adamw(&a, "any n, lr and g are 0");
    fill_adamw(&a);
    for (int64_t i = 0; i < a.c.g->count; i++) a.c.g->value[i] = 0;
    a.c.g->value[check_pick(c, 0, a.c.g->count - 1)] = NAN;
    check_run(c);
    judge_adamw(&a, true);
    adamw_reaches(c);
}

// ---- arguments

static void sizes_of_0(struct check* c) {
    static const struct idle_call none[] = {
        {COURSE_OK, {{"B", 0}, {"X", 0}, {"W_fc", 0}, {"dW_out", 0}}},
        {COURSE_OK, {{"N", 0}, {"dX", 0}, {"workspace", 0}}},
        {0}};
    static const struct idle_call no_parameters[] = {
        {COURSE_OK, {{"n", 0}, {"m", 0}, {"v", 0}, {"w_bf16", 0}}},
        {COURSE_OK, {{"n", 0}, {"w", 0}, {"g", 0}}},
        {0}};
    check_ordinary(c);
    run_adamw(adamw_of(c, 1024, 2000), "good arguments");
    struct block b = block_of(c, 1, 8, 16, 1);
    check_idle_calls(c, none, declare_block, &b);
    struct adamw a = adamw_of(c, 64, 1);
    check_idle_calls(c, no_parameters, declare_adamw, &a);
}

// Each pointer of the block's alone is NULL.
static void no_null(struct check* c, struct block* b) {
    static const char* const kept[] = {"X", "stats1", "QKV", "O", "LSE", "X_mid", "stats2", "Z"};
    enum { KEPT = 8, POINTERS = 2 * PARAMETERS + KEPT };
    struct idle_call null[POINTERS + 1] = {{0}};
    for (int i = 0; i < POINTERS; i++) {
        const char* name = i < PARAMETERS       ? names_W[i]
                           : i < 2 * PARAMETERS ? names_dW[i - PARAMETERS]
                                                : kept[i - 2 * PARAMETERS];
        null[i] = (struct idle_call){COURSE_BAD_ARGUMENT, {{name, 0}}};
    }
    check_idle_calls(c, null, declare_block, b);
}

static void bad_arguments(struct check* c) {
    static const struct idle_call of_block[] = {
        {COURSE_BAD_ARGUMENT, {{"B", -1}}},
        {COURSE_BAD_ARGUMENT, {{"B", 0}, {"N", -1}}},
        {COURSE_BAD_ARGUMENT, {{"C", 0}}},
        {COURSE_BAD_ARGUMENT, {{"C", -16}}},
        {COURSE_BAD_ARGUMENT, {{"H", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H", 0}}},
        {COURSE_BAD_ARGUMENT, {{"H", 3}}},
        {COURSE_UNSUPPORTED, {{"C", 12}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"H", 4}}},
        {COURSE_UNSUPPORTED, {{"B", 1 << 20}, {"N", 1 << 20}}},
        {COURSE_BAD_ARGUMENT, {{"dX", 0}}},
        {COURSE_BAD_ARGUMENT, {{"dnorm2_bias", 0}}},
        {COURSE_BAD_ARGUMENT, {{"W_qkv", 0}}},
        {COURSE_BAD_ARGUMENT, {{"Z", 0}}},
        {COURSE_BAD_ARGUMENT, {{"workspace", 0}}},
        {0},
    };
    static const struct idle_call of_adamw[] = {
        {COURSE_BAD_ARGUMENT, {{"n", -1}}},
        {COURSE_BAD_ARGUMENT, {{"n_decayed", -1}}},
        {COURSE_BAD_ARGUMENT, {{"n_decayed", 65}}},
        {COURSE_BAD_ARGUMENT, {{"step", 0}}},
        {COURSE_BAD_ARGUMENT, {{"step", -1}}},
        {COURSE_BAD_ARGUMENT, {{"w", 0}}},
        {COURSE_BAD_ARGUMENT, {{"m", 0}}},
        {COURSE_BAD_ARGUMENT, {{"v", 0}}},
        {COURSE_BAD_ARGUMENT, {{"w_bf16", 0}}},
        {COURSE_BAD_ARGUMENT, {{"g", 0}}},
        {COURSE_BAD_ARGUMENT, {{"beta1", -0.5}}},
        {COURSE_BAD_ARGUMENT, {{"beta1", 1}}},
        {COURSE_BAD_ARGUMENT, {{"beta1", NAN}}},
        {COURSE_BAD_ARGUMENT, {{"beta2", -0.5}}},
        {COURSE_BAD_ARGUMENT, {{"beta2", 1}}},
        {COURSE_BAD_ARGUMENT, {{"beta2", NAN}}},
        {COURSE_BAD_ARGUMENT, {{"eps", -1e-4}}},
        {COURSE_BAD_ARGUMENT, {{"eps", NAN}}},
        {COURSE_BAD_ARGUMENT, {{"lr", NAN}}},
        {COURSE_BAD_ARGUMENT, {{"decay", NAN}}},
        {COURSE_BAD_ARGUMENT, {{"eps", 0}}},
        {COURSE_BAD_ARGUMENT, {{"n", 0}, {"step", 0}}},
        {COURSE_BAD_ARGUMENT, {{"n", 0}, {"eps", 0}}},
        {COURSE_BAD_ARGUMENT, {{"n", 0}, {"n_decayed", 1}}},
        {0},
    };
    // Of a block that is legal whatever the layers can: heads of any width.
    static const struct idle_call wide[] = {
        {COURSE_CUDA_ERROR, {{"C", 136}, {"H", 1}}},
        {COURSE_CUDA_ERROR, {{"C", 4104}, {"H", 1}}},
        {0},
    };
    check_ordinary(c);
    run_adamw(adamw_of(c, 1024, 2000), "good arguments");
    struct block b = block_of(c, 1, 8, 16, 1);
    check_idle_calls(c, of_block, declare_block, &b);
    check_large_calls(c, wide, "launch", declare_block, &b);
    no_null(c, &b);
    struct adamw a = adamw_of(c, 64, 7);
    check_idle_calls(c, of_adamw, declare_adamw, &a);
    check_launches_fail(c, declare_adamw, &a);
    // What it gives is no matter: of these NaN alone is refused.
    a.c.numbers.lr = a.c.numbers.eps = INFINITY;
    a.c.numbers.decay = -INFINITY;
    begin_adamw(&a, "lr, eps and decay are infinite");
    fill_adamw(&a);
    check_expect(c, COURSE_OK, CAUSE_wrong_status);
    check_run(c);
}

// Attention's layer cannot do heads so wide.
static void attention_refuses(struct check* c, struct block* b) {
    enum { WIDE = 4104 };
    check_case(c, "C = %d, H = 1: layer_attention_backward() returns COURSE_UNSUPPORTED", WIDE);
    declare_block(c, b);
    check_vary(c, "C", 0, WIDE);
    check_status_alone(c, COURSE_UNSUPPORTED);
}

// Each launch of each layer fails once; the layers after it are not called.
static void layers_fail(struct check* c) {
    check_ordinary(c);
    run_adamw(adamw_of(c, 1024, 2000), "good arguments");
    struct block b = block_of(c, 1, 8, 16, 1);
    check_launches_stop(c, declare_block, &b);
    attention_refuses(c, &b);
}

// ---- looking inside

// Of AdamW only the accesses count.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    run_dX(block_of(c, 1, (int)check_pick(c, 9, 17), 16, 1), "accesses");
    struct adamw a = adamw_of(c, 4 * check_pick(c, 256, 262) + check_pick(c, 1, 3), 2000);
    begin_adamw(&a, "accesses");
    fill_adamw(&a);
    check_run(c);
}

// What the layers store if each is called once, and dX is added to in place. In bytes of a token
// and channel: round 2, GELU 8, dH 8, dZ 8, norm 2, dn 2, dX 4; round 2, dO 2, dQKV 6, norm 2, dn
// 2, dX 4; and delta. Of parameters: 24 C of matrices, 26 of vectors, and their partial sums.
static double stored_by_layers(struct block_size s) {
    const double rows = (double)s.B * s.N, C = s.C, chunks = ceil(rows / 128);
    return rows * (52 * C + 4 * s.H) + 24 * C * C + 26 * C + chunks * 4 * (13 * C);
}

static void block_moves(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    struct block b = block_of(c, 1, 48, 16, 1);
    begin_block(&b, "what is stored");
    fill_block(&b, -1, -1);
    check_run(c);
    judge_block(&b, NULL, 0, true);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_computed_again, "times what the layers store if each is called once",
                  (double)(t->global_store_bytes + t->filled_bytes) / stored_by_layers(b.c.size),
                  1.005);
}

static void adamw_moves(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    const double n = 4096;
    struct adamw a = adamw_of(c, (int64_t)n, 2000);
    begin_adamw(&a, "what is moved");
    fill_adamw(&a);
    check_run(c);
    judge_adamw(&a, false);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_too_much_read, "bytes loaded for each parameter",
                  (double)t->global_load_bytes / n, 14.1);
    check_at_most(c, CAUSE_too_much_written, "bytes stored for each parameter",
                  (double)(t->global_store_bytes + t->filled_bytes) / n, 14.1);
    // Of eight parameters a thread, two loads of 16 bytes side by side: the second one finds its
    // sectors in L1.
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                  32 * (double)t->global_load_sectors / (double)t->global_load_bytes, 2);
}

// A slip may leave larger numbers than are wanted, with roundings of their own.
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct suspect s = {.tensor = t,
                              .budget = budget,
                              .slack = {.of_largest = 1e-5, .of_element = 1e-4},
                              .problem = check_description(c)};
    return s.problem ? hypothesis_search(&s, mistakes) : CAUSE_NONE;
}

static const struct item items[] = {
    {11, "the MLP: W_out, GELU, W_fc and the second norm", mlp},
    {11, "attention: W_proj, attention, W_qkv and the first norm", attention},
    {8, "the paths around: dX is dY where layers are 0", around},
    {12, "all gradients together", together},
    {4, "several texts", texts},
    {4, "several heads", heads},
    {6, "AdamW: m, v and w", means},
    {6, "AdamW: bias correction", corrected},
    {6, "AdamW: decoupled decay, of the first n_decayed", decayed},
    {4, "AdamW: ten steps", ten_steps},
    {4, "AdamW: any n", any_count},
    {2, "sizes of 0", sizes_of_0},
    {2, "bad arguments are refused", bad_arguments},
    {3, "a layer that fails is told", layers_fail},
    {5, "no races, no stray accesses", safe},
    {6, "each layer once: nothing is computed or stored twice", block_moves},
    {6, "AdamW: 14 bytes in, 14 bytes out", adamw_moves},
    {0},
};

const struct lesson lesson = {
    .name = "29_train_gpt",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "the right answer: gradients from what was kept, each layer called once",
             .paid_by = {mlp, attention, around, together, block_moves}},
    .explain = explain};
