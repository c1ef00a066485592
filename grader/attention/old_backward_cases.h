// backward_cases.h: the cases of the backward lessons: arguments, places, data, and the comparison.
//
// A check.c defines what differs between the lessons, includes its contract, and then this once:
//     #define ELEMENT F16          // the type of the arrays
//     #define ROUNDED_WEIGHTS false  // are P and dS rounded to it for the products that they are in?
//     #define GAP 2                // elements; gaps between rows are multiples of it
//     #define WORKSPACE_BYTES (int64_t)...  // of the case in `now`
//     #define MORE_ARGUMENTS         // if its launcher has any: then it defines declare_more()
#ifndef BACKWARD_CASES_H
#define BACKWARD_CASES_H

#include "attention/old_backward.h"

// ---- cases ---------------------------------------------------------------------------------

static const struct {
    const char *name, *stride;  // as call.c asks for them
    int64_t gap;                // elements after each row where rows have gaps, in GAPs
} known_as[ARRAYS] = {{"Q", "q", 2},   {"K", "k", 3},   {"V", "v", 5},   {"O", "o", 6},
                      {"dO", "do", 1}, {"dQ", "dq", 7}, {"dK", "dk", 4}, {"dV", "dv", 8}};

enum layout {
    PACKED,         // (B, N, H, d)
    GAPS,           // the same, with gaps between heads and batches
    HEADS_OUTSIDE,  // (B, H, N, d)
    SHARED,         // (B, N, d): all heads read the same; outputs are PACKED
};

// One argument that is not what it should be: an int of this value, or a tensor that is NULL.
struct bad {
    const char* name;
    int64_t value;
    int status;  // what the launcher must return
};
static const struct bad none = {"", 0, COURSE_OK};

static void pass(struct check* c, const struct bad* bad, const char* name, int64_t value) {
    check_int(c, name, strcmp(bad->name, name) == 0 ? bad->value : value);
}

// The shape of an array, (B, N, H, d) or (B, H, N, d), and its strides. GAPS leaves elements after each
// head of a row and rows after each batch.
static struct shape lay_out(enum which a, enum layout layout) {
    int64_t N = rows_of(a), gap = layout == GAPS ? known_as[a].gap * GAP : 0;
    int64_t H = now.H / sharing(a);
    if (layout == HEADS_OUTSIDE) {
        now.array[a].stride = (struct strides){.b = H * N * now.d, .n = now.d, .h = N * now.d};
        return SHAPE(now.B, H, N, now.d);
    }
    if (layout == SHARED && a < ARRAY_dQ) {
        now.array[a].stride = (struct strides){.b = N * now.d, .n = now.d, .h = 0};
        return SHAPE(now.B, N, now.d);
    }
    int64_t width = now.d + gap;
    now.array[a].stride = (struct strides){.b = (N + gap) * H * width, .n = H * width, .h = width};
    return SHAPE(now.B, N + gap, H, width);
}

static void declare_array(struct check* c, enum which a, enum layout layout,
                          const struct bad* bad) {
    const char* name = known_as[a].name;
    struct shape shape = lay_out(a, layout);
    const struct strides s = now.array[a].stride;
    const int64_t steps[] = {s.b, s.n, s.h};
    now.array[a].tensor = NULL;
    if (strcmp(bad->name, name) == 0)
        check_null(c, name);
    else
        now.array[a].tensor = a >= ARRAY_dQ ? check_output(c, name, ELEMENT, shape)
                                            : check_input(c, name, ELEMENT, shape);
    for (int axis = 0; axis < 3; axis++) {
        char step[24];
        snprintf(step, sizeof step, "stride_%s.%c", known_as[a].stride, "bnh"[axis]);
        pass(c, bad, step, steps[axis]);
    }
}

#ifdef MORE_ARGUMENTS
// Declares the arguments that only this lesson has, one of them `bad` perhaps.
static void declare_more(struct check* c, const struct bad* bad);
#endif

// Declares all arguments of a case of the sizes in `now`.
static void declare(struct check* c, enum layout layout, const struct bad* bad) {
    for (int a = 0; a < ARRAYS; a++) declare_array(c, (enum which)a, layout, bad);
    now.LSE = NULL;
    if (strcmp(bad->name, "LSE") == 0)
        check_null(c, "LSE");
    else
        now.LSE = check_input(c, "LSE", F32, SHAPE(now.B, now.H, now.N_q));
    if (strcmp(bad->name, "workspace") == 0)
        check_null(c, "workspace");
    else
        check_workspace(c, "workspace", WORKSPACE_BYTES);
    pass(c, bad, "B", now.B);
    pass(c, bad, "N_q", now.N_q);
    pass(c, bad, "N_k", now.N_k);
    pass(c, bad, "H", now.H);
    pass(c, bad, "d", now.d);
    pass(c, bad, "causal", now.causal);
    check_real(c, "scale", now.scale);
#ifdef MORE_ARGUMENTS
    declare_more(c, bad);
#endif
}

enum mask { ALL_KEYS, CAUSAL };

static void sizes(int64_t B, int64_t H, int64_t N_q, int64_t N_k, int64_t d, enum mask mask) {
    now.B = B;
    now.H = H;
    now.group = 1;
    now.N_q = N_q;
    now.N_k = N_k;
    now.d = d;
    now.causal = mask == CAUSAL;
    now.scale = (double)(float)(1.0 / sqrt((double)d));
}

// The usual case: one head, packed arrays, the usual scale.
static void begin(struct check* c, int64_t N_q, int64_t N_k, int64_t d, enum mask mask,
                  const char* what) {
    sizes(1, 1, N_q, N_k, d, mask);
    check_case(c, "N_q = %d, N_k = %d, d = %d%s%s", (int)N_q, (int)N_k, (int)d,
               now.causal ? ", causal" : "", what);
    declare(c, PACKED, &none);
}

// ---- data ----------------------------------------------------------------------------------

// Random rows. What lies between them is NaN, or in O just wrong: delta would be NaN for every mistake.
static void fill_rows(struct check* c, enum which a, double deviation) {
    struct tensor* t = now.array[a].tensor;
    for (int64_t e = 0; e < t->count; e++)
        t->value[e] = a == ARRAY_O ? 16 * check_normal(c) : (double)NAN;
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t n = 0; n < rows_of(a); n++)
            for (int64_t h = 0; h < now.H; h += sharing(a))
                for (int64_t x = 0; x < now.d; x++)
                    row_of(a, b, h, n)[x] = dtype_round(ELEMENT, deviation * check_normal(c));
}

static void fill(struct check* c) {
    fill_rows(c, ARRAY_Q, 1);
    fill_rows(c, ARRAY_K, 1);
    fill_rows(c, ARRAY_V, 1);
    fill_rows(c, ARRAY_dO, 1);
    fill_rows(c, ARRAY_O, 0);
}

// Multiplies Q, and with it all scores.
static void grow_scores(double factor) {
    struct tensor* Q = now.array[ARRAY_Q].tensor;
    for (int64_t e = 0; e < Q->count; e++) Q->value[e] = dtype_round(ELEMENT, factor * Q->value[e]);
}

// Adds about the same number to all scores of head 0: column 0 of Q and K is set.
static void shift_scores(double by) {
    const double k = 16;
    for (int64_t i = 0; i < now.N_q; i++)
        row_of(ARRAY_Q, 0, 0, i)[0] = dtype_round(ELEMENT, by / (now.scale * k));
    for (int64_t j = 0; j < now.N_k; j++) row_of(ARRAY_K, 0, 0, j)[0] = k;
}

// For the first n queries of head 0: query i + shift of `head` is query i again, with another sign in what its dO
// has in common with all others. Their shares of dV are large, and cancel.
static void cancel(int64_t n, int64_t head, int64_t shift, double common) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t x = 0; x < now.d; x++) {
            double *first = row_of(ARRAY_dO, 0, 0, i),
                   *second = row_of(ARRAY_dO, 0, head, i + shift);
            row_of(ARRAY_Q, 0, head, i + shift)[x] = row_of(ARRAY_Q, 0, 0, i)[x];
            first[x] = dtype_round(ELEMENT, first[x] + common);
            second[x] = dtype_round(ELEMENT, second[x] - common);
        }
}

// ---- judging -------------------------------------------------------------------------------

// Compares the gradients of the selected call.
static void judge(struct check* c) {
    struct mistake right = no_mistake();
    double *want[3], *standard[3];
    for (int a = 0; a < 3; a++) {
        struct tensor* t = now.array[ARRAY_dQ + a].tensor;
        want[a] = t->want;
        standard[a] = must_allocate(t->count, sizeof(double));
    }
    backward(&right, false, want);
    backward(&right, true, standard);
    for (int a = 2; a >= 0; a--) {
        struct tensor* t = now.array[ARRAY_dQ + a].tensor;
        for (int64_t e = 0; e < t->count; e++) t->untouched[e] = isnan(t->want[e]);
        struct budget budget = budget_from(t, standard[a]);
        free(standard[a]);
        check_compare(c, t, budget);
    }
}

static void run_and_judge(struct check* c) {
    forward();
    check_run(c);
    judge(c);
}

static void fill_run_and_judge(struct check* c) {
    fill(c);
    run_and_judge(c);
}

#endif
