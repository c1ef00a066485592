// by_wgmma.h: cases whose products must be made by wgmma of numbers of eight bits. For check.c; see
// attention/tensor_cores.c.
#ifndef BY_WGMMA_H
#define BY_WGMMA_H

#include "27_low_precision/low.h"

// In an altered run numbers of eight bits count as so many times as large: those from 320 on are
// large there. P is not, in registers, nor in shared memory if it is up to 2^8.
static const double EIGHT_TIMES = 3.5;

static double altered_product(struct check* c, double a, double b) {
    return check_multiplied(c, EIGHT_TIMES * a, EIGHT_TIMES * b) / (EIGHT_TIMES * EIGHT_TIMES);
}

// Large bytes, 320 to 448 of either sign, with the scale 1 for the whole array.
static void set_large(struct low* l, enum which a) {
    const struct step s = step_of(l, a);
    struct check* c = l->p.check;
    double* X = check_allocate(c, s.B * s.N * s.H * s.d, sizeof *X);
    for (int64_t e = 0; e < s.B * s.N * s.H * s.d; e++)
        X[e] = (double)(32 * check_pick(c, 10, 14) * (check_pick(c, 0, 1) ? 1 : -1));
    X[0] = 448;
    low_set(l, a, X);
    free(X);
}

// The case once more, with products of large numbers made otherwise: O and LSE must follow.
static void follow(struct low* l) {
    struct problem* p = &l->p;
    struct check* c = p->check;
    struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    double* want = check_allocate(c, 2 * (O->count + LSE->count), sizeof *want);
    double *of_O = want + 2 * LSE->count, *P = check_allocate(c, p->N_k, sizeof *P);
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t at = place_in(p, ARRAY_LSE, b, h, i), first = place_in(p, ARRAY_O, b, h, i);
        double m = -INFINITY, sum = 0, size = 0;
        for (int64_t j = 0; j < keys_seen(p, i); j++) {
            const double *q = row_of(p, ARRAY_Q, b, h, i), *k = row_of(p, ARRAY_K, b, h, j);
            double dot = 0, all = 0;
            for (int64_t x = 0; x < p->d; x++) {
                const double product = altered_product(c, q[x], k[x]);
                dot += product, all += fabs(product);
            }
            P[j] = p->scale * dot;
            m = fmax(m, P[j]), size = fmax(size, p->scale * all);
        }
        for (int64_t j = 0; j < keys_seen(p, i); j++) sum += exp(P[j] - m);
        const double off = (double)(p->d / 32) * CUT_OFF * size;
        want[at] = m + log(sum), want[LSE->count + at] = off + 0x1p-14 * (1 + fabs(m));
        // P is rounded by 2^-4 of itself, or by 2^-10 of 2^8.
        for (int64_t x = 0; x < p->d; x++) {
            double all = 0;
            of_O[first + x] = 0;
            for (int64_t j = 0; j < keys_seen(p, i); j++) {
                const double weight = exp(P[j] - want[at]);
                const double v = altered_product(c, 1, row_of(p, ARRAY_V, b, h, j)[x]);
                of_O[first + x] += weight * v;
                all += fabs(v) * weight * (0x1p-4 + 2 * off + 0x1p-12);
            }
            of_O[O->count + first + x] = all / 2 + dtype_ulp(BF16, fabs(of_O[first + x]));
        }
    }
    check_follows(c, LSE, want, want + LSE->count, "Q K^T");
    check_follows(c, O, of_O, of_O + O->count, "P V");
    check_given(c, "Q K^T or P V");
    free(want), free(P);
}

// A case whose products must be wgmma's, and its traffic.
static const struct arena_traffic* low_by_wgmma(struct low l) {
    struct check* c = l.p.check;
    check_watch(c, WATCH_PROFILE);
    l.p.scale = (double)(float)(0.15 / (sqrt((double)l.p.d) * 1.5e5));
    low_begin(&l, ", large numbers");
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) set_large(&l, (enum which)a);
    check_run(c);
    low_judge(&l, JUDGE_O | JUDGE_LSE);
    const struct arena_traffic* t = problem_traffic(&l.p);
    judge_mma_count(&l.p, t);
    follow(&l);
    return t;
}

#endif
