// cases.h: the cases of the attention lessons with layout (B, N, H, d): sizes, places, arguments.
//
// A check.c defines what differs between the lessons, then includes this once:
//     #define ELEMENT F16                                            // the type of Q, K, V and O
//     enum { USUAL_D = 16, GAP_O = 4, GAP_Q = 8, GAP_K = 6, GAP_V = 10 };  // gaps in elements
#ifndef CASES_H
#define CASES_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "13_causal_ragged/attention.h"

enum layout {
    PACKED,         // (B, N, H, d)
    GAPS,           // the same, with gaps between heads, rows and batches
    HEADS_OUTSIDE,  // (B, H, N, d)
    SHARED,         // (B, N, d): all heads read the same
};

// The shape of a tensor of N rows, and where its rows are.
static struct shape place(struct array* a, enum layout layout, int64_t N, int64_t gap) {
    int64_t H = layout == SHARED ? 1 : now.H;
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
        char name[] = "stride_??";
        name[7] = letter;
        name[8] = "bnh"[axis];
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

// Declares all arguments of a case of now.B, now.N_q, ..., now.scale and now.causal. Arrays of no
// elements are passed as NULL.
static void declare(struct check* c, enum layout layout, const struct bad* bad) {
    enum layout of_O = layout == SHARED ? PACKED : layout;
    const struct bad no_keys = {"K", 0, COURSE_OK}, no_values = {"V", 0, COURSE_OK};
    now.LSE.s = (struct strides){.b = now.H * now.N_q, .h = now.N_q, .n = 1};
    now.O.tensor = array(c, bad, "O", place(&now.O, of_O, now.N_q, GAP_O));
    now.LSE.tensor = array(c, bad, "LSE", SHAPE(now.B, now.H, now.N_q));
    now.Q.tensor = array(c, bad, "Q", place(&now.Q, of_O, now.N_q, GAP_Q));
    now.K.tensor = array(c, now.N_k ? bad : &no_keys, "K", place(&now.K, layout, now.N_k, GAP_K));
    now.V.tensor = array(c, now.N_k ? bad : &no_values, "V", place(&now.V, layout, now.N_k, GAP_V));
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
}

static void set_d(int64_t d) {
    now.d = d;
    now.scale = (double)(float)(1.0 / sqrt((double)d));
}

// One batch of one head, packed, the usual d and scale: what a case does not change.
static void sizes(int64_t N_q, int64_t N_k, bool causal) {
    now.B = now.H = 1;
    now.N_q = N_q;
    now.N_k = N_k;
    now.causal = causal;
    set_d(USUAL_D);
}

// Starts the case of the sizes in `now`, with ordinary data.
static void begin(struct check* c, enum layout layout, const char* what) {
    char heads[48] = "";
    if (now.B * now.H > 1)
        snprintf(heads, sizeof heads, "B = %d, H = %d, ", (int)now.B, (int)now.H);
    check_case(c, "%sN_q = %d, N_k = %d, d = %d, %s%s", heads, (int)now.N_q, (int)now.N_k,
               (int)now.d, now.causal ? "causal" : "not causal", what);
    declare(c, layout, &none);
    fill_normal(c, now.Q.tensor, 0, 1);
    if (now.N_k == 0) return;
    fill_normal(c, now.K.tensor, 0, 1);
    fill_normal(c, now.V.tensor, 0, 1);
}

#endif
