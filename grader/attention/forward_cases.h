// forward_cases.h: the cases of the lessons that compute attention with layout (B, N, H, d): sizes, places,
// arguments, comparison, and those that are the same in each lesson.
//
// A check.c defines what differs between the lessons, then includes this once:
//     #define ELEMENT F16                                            // the type of Q, K, V and O
//     enum { USUAL_D = 16, GAP_O = 4, GAP_Q = 8, GAP_K = 6, GAP_V = 10 };  // gaps in elements
//     #define MORE_ARGUMENTS      // if its launcher has any: then it defines declare_more() and judge_more()
#ifndef ATTENTION_FORWARD_CASES_H
#define ATTENTION_FORWARD_CASES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention/old_forward.h"

enum layout {
    PACKED,         // (B, N, H, d)
    GAPS,           // the same, with gaps between heads, rows and batches
    HEADS_OUTSIDE,  // (B, H, N, d)
    SHARED,         // K and V (B, N, d): all heads read the same
    LAYOUTS
};
static const char* const layout_names[LAYOUTS] = {
    [PACKED] = "",
    [GAPS] = ", gaps between heads, rows and batches",
    [HEADS_OUTSIDE] = ", arrays of (B, H, N, d)",
    [SHARED] = ", all heads share K and V: head stride 0",
};

// The shape of a tensor of N rows of H heads, and where its rows are.
static struct shape place(struct array* a, enum layout layout, int64_t N, int64_t H, int64_t gap) {
    if (layout == SHARED) H = 1;
    if (layout == HEADS_OUTSIDE) {
        a->s = (struct strides){.b = H * N * now.d, .n = now.d, .h = N * now.d};
        return SHAPE(now.B, H, N, now.d);
    }
    if (layout != GAPS) gap = 0;
    a->s.h = now.d + gap;
    a->s.n = H * a->s.h + 2 * gap;
    a->s.b = (N + gap) * a->s.n;
    int64_t row = a->s.n;
    if (layout == SHARED) a->s.h = 0;
    return gap ? SHAPE(now.B, N + gap, row) : SHAPE(now.B, N, H, now.d);
}

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

static void pass_strides(struct check* c, const struct bad* bad, char letter, struct strides s) {
    const int64_t value[3] = {s.b, s.n, s.h};
    for (int axis = 0; axis < 3; axis++) {
        char name[] = "stride_?.?";
        name[7] = letter;
        name[9] = "bnh"[axis];
        pass(c, bad, name, value[axis]);
    }
}

static struct tensor* array(struct check* c, const struct bad* bad, const char* name,
                            struct shape shape) {
    if (strcmp(bad->name, name) == 0) {
        check_null(c, name);
        return NULL;
    }
    if (strcmp(name, "O") == 0) return check_output(c, name, ELEMENT, shape);
    if (strcmp(name, "LSE") == 0) return check_output(c, name, F32, shape);
    return check_input(c, name, ELEMENT, shape);
}

#ifdef MORE_ARGUMENTS
// Declares the arguments that only this lesson has, one of them `bad` perhaps.
static void declare_more(struct check* c, const struct bad* bad);
// Compares the outputs among them, in every case that compares anything: now.O and now.LSE hold what is wanted.
static void judge_more(struct check* c);
#endif

// Declares all arguments of a case of now.B, now.N_q, ..., now.scale and now.causal. Arrays of no
// elements are passed as NULL.
static void declare(struct check* c, enum layout layout, const struct bad* bad) {
    enum layout of_O = layout == SHARED ? PACKED : layout;
    int64_t H = now.H, H_k = now.H / now.group;
    const struct bad no_keys = {"K", 0, COURSE_OK}, no_values = {"V", 0, COURSE_OK};
    now.LSE.s = (struct strides){.b = now.H * now.N_q, .h = now.N_q, .n = 1};
    now.O.tensor = array(c, bad, "O", place(&now.O, of_O, now.N_q, H, GAP_O));
    now.LSE.tensor = array(c, bad, "LSE", SHAPE(now.B, now.H, now.N_q));
    now.Q.tensor = array(c, bad, "Q", place(&now.Q, of_O, now.N_q, H, GAP_Q));
    now.K.tensor =
        array(c, now.N_k ? bad : &no_keys, "K", place(&now.K, layout, now.N_k, H_k, GAP_K));
    now.V.tensor =
        array(c, now.N_k ? bad : &no_values, "V", place(&now.V, layout, now.N_k, H_k, GAP_V));
    pass(c, bad, "B", now.B);
    pass(c, bad, "N_q", now.N_q);
    pass(c, bad, "N_k", now.N_k);
    pass(c, bad, "H", now.H);
    pass(c, bad, "d", now.d);
    pass_strides(c, bad, 'o', now.O.s);
    pass_strides(c, bad, 'q', now.Q.s);
    pass_strides(c, bad, 'k', now.K.s);
    pass_strides(c, bad, 'v', now.V.s);
    check_real(c, "scale", strcmp(bad->name, "scale") == 0 ? (double)bad->value : now.scale);
    check_int(c, "causal", now.causal);
#ifdef MORE_ARGUMENTS
    declare_more(c, bad);
#endif
}

static void set_d(int64_t d) {
    now.d = d;
    now.scale = (double)(float)(1.0 / sqrt((double)d));
}

// One batch of one head, packed, the usual d and scale: what a case does not change.
static void sizes(int64_t N_q, int64_t N_k, bool causal) {
    now.B = now.H = now.group = 1;
    now.N_q = N_q;
    now.N_k = N_k;
    now.causal = causal;
    set_d(USUAL_D);
}

// Starts the case of the sizes in `now`, with ordinary data.
static void begin(struct check* c, enum layout layout, const char* what) {
    char heads[64] = "";
    if (now.group > 1)
        snprintf(heads, sizeof heads, "B = %d, H_q = %d, H_k = %d, ", (int)now.B, (int)now.H,
                 (int)(now.H / now.group));
    else if (now.B * now.H > 1)
        snprintf(heads, sizeof heads, "B = %d, H = %d, ", (int)now.B, (int)now.H);
    check_case(c, "%sN_q = %d, N_k = %d, d = %d, %s%s%s", heads, (int)now.N_q, (int)now.N_k,
               (int)now.d, now.causal ? "causal" : "not causal", layout_names[layout], what);
    declare(c, layout, &none);
    fill_normal(c, now.Q.tensor, 0, 1);
    if (now.N_k == 0) return;
    fill_normal(c, now.K.tensor, 0, 1);
    fill_normal(c, now.V.tensor, 0, 1);
}

// Puts a score of its own size into column 0 of K, where Q holds a 1.
static void set_level(int64_t j, double level) {
    at(&now.K, 0, j, 0)[0] = level / now.scale;
}

// ---- judging -------------------------------------------------------------------------------

enum { JUDGE_O = 1, JUDGE_LSE = 2 };

// Compares outputs of the selected call with the right ones. The budgets come from the same precision the
// plain way: see attention().
static void judge(struct check* c, int what) {
    struct tensor *O = now.O.tensor, *LSE = now.LSE.tensor;
    for (int64_t e = 0; e < O->count; e++) O->untouched[e] = true;
    FOR_EACH_ROW(b, i, h) {
        bool* row = O->untouched + place_of(now.O.s, b, i, h);
        for (int64_t x = 0; x < now.d; x++) row[x] = false;
    }
    double* standard_O = calloc((size_t)O->count, sizeof *standard_O);
    double* standard_LSE = calloc((size_t)LSE->count, sizeof *standard_LSE);
    if (!standard_O || !standard_LSE) abort();
    attention(false, O->want, LSE->want);
    attention(true, standard_O, standard_LSE);
    struct budget budget_O = budget_from(O, standard_O);
    struct budget budget_LSE = budget_from(LSE, standard_LSE);
    free(standard_O);
    free(standard_LSE);
    if (what & JUDGE_O) check_compare(c, O, budget_O);
    if (what & JUDGE_LSE) check_compare(c, LSE, budget_LSE);
#ifdef MORE_ARGUMENTS
    judge_more(c);
#endif
}

static void run_and_judge(struct check* c, int what) {
    check_run(c);
    judge(c, what);
}

// ---- cases that are the same in each lesson --------------------------------------------------

static void judge_no_keys(struct check* c) {
    sizes(16, 0, false);
    check_case(c, "N_q = 16, N_k = 0, K and V are NULL");
    declare(c, PACKED, &none);
    fill_normal(c, now.Q.tensor, 0, 1);
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    run_and_judge(c, JUDGE_O | JUDGE_LSE);
}

// N queries and keys: all is well; nothing to do; and each of the `bad` arguments, which end with {0}.
static void judge_arguments(struct check* c, int64_t N, const struct bad* bad) {
    sizes(N, N, false);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);

    static const char* const empty[] = {"N_q", "H", "B"};
    for (int n = 0; n < 3; n++) {
        sizes(n == 0 ? 0 : N, N, false);
        if (n == 1) now.H = 0;
        if (n == 2) now.B = 0;
        check_case(c, "%s = 0", empty[n]);
        declare(c, PACKED, &none);
        check_expect(c, COURSE_OK, CAUSE_empty_input);
        check_run(c);
    }

    for (; bad->name; bad++) {
        sizes(N, N, false);
        check_case(c, "%s = %lld must be refused", bad->name, (long long)bad->value);
        declare(c, PACKED, bad);
        check_expect(c, bad->status, CAUSE_argument_check);
        check_run(c);
    }
}

#endif
