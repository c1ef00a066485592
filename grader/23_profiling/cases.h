// cases.h: one call of one of lesson 23's three launchers, and what it should leave.
#ifndef CASES_H
#define CASES_H

#include "check/check.h"
#include "profiling.h"

#include <math.h>
#include <stdlib.h>

// What call.c is asked for: a launcher, by its kernel; or what the file says of all of them.
enum function {
    SCORES = PROFILING_SCORES,
    DECAY = PROFILING_DECAY,
    FILTER = PROFILING_FILTER,
    ANSWERS = PROFILING_KERNELS,
};

// What the launchers call their sizes and arrays. `in` is K or x, (a, b); `small` is q or w.
static const struct names {
    const char *a, *b, *out, *in, *small;
} names[] = {
    {"N", "d", "S", "K", "q"},
    {"rows", "T", "h", "x", NULL},
    {"T", "C", "y", "x", "w"},
};

// The running case.
struct problem {
    enum function function;
    int64_t a, b;
    double decay;
    struct tensor *out, *in, *small;  // set by declare()
};

static struct problem problem_of(enum function function, int64_t a, int64_t b) {
    return (struct problem){.function = function, .a = a, .b = b, .decay = -1};
}

static void begin(struct check* c, const struct problem* p, const char* more) {
    const struct names* n = &names[p->function];
    if (p->function == DECAY)
        check_case(c, "decay: rows = %lld, T = %lld, decay = %.9g%s", (long long)p->a,
                   (long long)p->b, p->decay, more);
    else
        check_case(c, "%s: %s = %lld, %s = %lld%s", p->function == SCORES ? "scores" : "filter",
                   n->a, (long long)p->a, n->b, (long long)p->b, more);
}

// The problem has to live as long as the case.
static void declare(struct check* c, void* problem) {
    struct problem* p = problem;
    const struct names* n = &names[p->function];
    check_describe(c, p);
    check_int(c, "function", p->function);
    check_int(c, n->a, p->a);
    check_int(c, n->b, p->b);
    if (p->function == DECAY) check_real(c, "decay", p->decay);
    p->out = p->function == SCORES ? check_output(c, n->out, F32, SHAPE(p->a))
                                   : check_output(c, n->out, F32, SHAPE(p->a, p->b));
    p->in = check_input(c, n->in, F32, SHAPE(p->a, p->b));
    if (p->function == SCORES) p->small = check_input(c, n->small, F32, SHAPE(p->b));
    if (p->function == FILTER)
        p->small = check_input(c, n->small, F32, SHAPE(PROFILING_TAPS, p->b));
}

// Whole numbers. No weight is 0, so that no term is lost unseen.
static void fill(struct check* c, struct problem* p) {
    fill_integers(c, p->in, -8, 8);
    for (int64_t i = 0; p->small && i < p->small->count; i++)
        p->small->value[i] = (double)check_pick(c, 1, 8) * (check_pick(c, 0, 1) ? 1 : -1);
}

// ---- what is wanted

// Term number k of output i: x[k] * q[k], and so on; false if there is none.
static bool term(const struct problem* p, int64_t i, int64_t k, double* a, double* b) {
    if (p->function == SCORES) {
        if (k >= p->b) return false;
        *a = p->small->value[k], *b = p->in->value[i * p->b + k];
        return true;
    }
    int64_t row = i / p->b, column = i % p->b;
    if (k >= PROFILING_TAPS || k > row) return false;
    *a = p->small->value[k * p->b + column], *b = p->in->value[(row - k) * p->b + column];
    return true;
}

static double rounded(double x, bool in_float) {
    return in_float ? dtype_round(F32, x) : x;
}

// All outputs in double, or as a plain kernel computes them, in float.
static void compute(const struct problem* p, double* out, bool in_float) {
    if (p->function == DECAY) {
        for (int64_t i = 0; i < p->out->count; i++) {
            double before = i % p->b ? out[i - 1] : 0;
            out[i] = rounded(rounded(p->decay * before, in_float) + p->in->value[i], in_float);
        }
        return;
    }
    for (int64_t i = 0; i < p->out->count; i++) {
        double sum = 0, a, b;
        for (int64_t k = 0; term(p, i, k, &a, &b); k++)
            sum = rounded(sum + rounded(a * b, in_float), in_float);
        out[i] = sum;
    }
}

static void compare_exactly(struct check* c, const struct problem* p) {
    compute(p, p->out->want, false);
    check_compare(c, p->out, budget_exact());
}

static void compare_reals(struct check* c, const struct problem* p) {
    double* standard = check_allocate(c, p->out->count, sizeof *standard);
    compute(p, p->out->want, false);
    compute(p, standard, true);
    struct budget budget = budget_from(p->out, standard);
    free(standard);
    check_compare(c, p->out, budget);
}

// ---- whole cases

// Whole numbers; decay is -1, 0 or 1: every sum is exact.
static void run(struct check* c, struct problem p) {
    begin(c, &p, "");
    declare(c, &p);
    fill(c, &p);
    check_run(c);
    compare_exactly(c, &p);
}

// Only the accesses count; a result that a bad access spoils does not come first.
static void run_unjudged(struct check* c, struct problem p) {
    begin(c, &p, "");
    declare(c, &p);
    fill(c, &p);
    check_run(c);
}

#endif
