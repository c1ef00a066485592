// tensor_cores.c: cases whose products must come from mma.sync, or from wgmma if the contract says
// so, each of them. Operands are large: in one more run both instructions take their products 2 to
// 7 times, and every output must be what follows from that (check_follows()). Large are inputs
// alone, of which all digits are known.
#include <stdlib.h>

#include "attention/backward_cases.h"
#include "attention/forward.h"
#include "wall/arena.h"

// How many pairs of a query and a key that it sees there are.
static double pairs_seen(const struct problem* p) {
    const struct block_mask blocks = blocks_of(p);
    double seen = 0;
    if (!p->index.used && !p->mask) {
        for (int64_t i = 0; i < p->N_q; i++) seen += (double)keys_seen(p, i);
        return seen * (double)(p->B * p->H);
    }
    FOR_EACH_QUERY(p, b, h, i)
    for (int64_t j = 0; j < p->N_k; j++) seen += pair_times(p, blocks, b, h, i, j) > 0;
    return seen;
}

void judge_mma_count(const struct problem* p, const struct arena_traffic* t) {
    const double products = p->contract->backward ? 5 : 2, of_an_mma = 16 * 8 * 16;
    const double seen = pairs_seen(p);
    const bool wgmma = p->contract->by_wgmma;
    double made = wgmma ? (double)t->wgmma_multiplications : (double)t->mma * of_an_mma;
    check_at_most(p->check, CAUSE_no_tensor_cores,
                  wgmma ? "part of the products not made by wgmma"
                        : "part of the products not made by mma.sync",
                  1 - made / (products * seen * (double)p->d), 0);
}

enum { UNIT = 8 };  // fill_digits(): 1024 and more

static void fill_large(const struct problem* p, enum which a) {
    fill_digits(p->check, p->array[a].tensor, p->array[a].tensor->count, UNIT);
}

// The scale that makes scores of products of large numbers: with it they have a deviation of 0.15,
// and of 0.7 if each counts 2 to 7 times.
static double scale_of_large(const struct problem* p) {
    const double mean_square = 3.8e4 * UNIT * UNIT;
    return (double)(float)(0.15 / (sqrt((double)p->d) * mean_square));
}

// A sum of products as an altered run makes it, and the sum of their sizes.
struct altered {
    double sum, size;
};

static void add_product(struct check* c, struct altered* to, double a, double b) {
    const double product = check_multiplied(c, a, b);
    to->sum += product;
    to->size += fabs(product);
}

static struct altered altered_dot(const struct problem* p, const double* x, const double* y) {
    struct altered sum = {0, 0};
    for (int64_t k = 0; k < p->d; k++) add_product(p->check, &sum, x[k], y[k]);
    return sum;
}

// Sums in float are off by so much of the sum of the sizes; what is rounded to bf16, P and dS, by
// half of 2^-8 of itself.
#define IN_FLOAT 0x1p-16
#define IN_BF16 0x1p-8

// What an altered run makes of an array, and how far from it the kernel may be.
struct follows {
    struct altered* of;  // its elements; size: their allowed errors, but for rounding the sum
    const struct tensor* tensor;
};

static struct follows new_follows(const struct problem* p, enum which a) {
    const struct tensor* t = p->array[a].tensor;
    return (struct follows){check_allocate(p->check, t->count, sizeof(struct altered)), t};
}

// Frees it.
static void judge_follows(const struct problem* p, struct follows f, const char* what) {
    const int64_t count = f.tensor->count;
    double* altered = check_allocate(p->check, 2 * count, sizeof *altered);
    for (int64_t e = 0; e < count; e++) {
        altered[e] = f.of[e].sum;
        altered[count + e] = f.of[e].size + dtype_ulp(f.tensor->dtype, fabs(f.of[e].sum));
    }
    check_follows(p->check, f.tensor, altered, altered + count, what);
    free(altered);
    free(f.of);
}

// to[x] += altered(factor, row[x]) * scale, where the factor is off by `error`.
static void add_row(const struct problem* p, struct altered* to, double factor, double error,
                    const double* row, double scale) {
    for (int64_t x = 0; x < p->d; x++) {
        to[x].sum += scale * check_multiplied(p->check, factor, row[x]);
        to[x].size += fabs(scale * check_altered(p->check, 1, row[x])) *
                      (error + (IN_BF16 + IN_FLOAT) * fabs(factor));
    }
}

// ---- forward

// LSE of query i of a head, and P of the keys that it sees. P is relative to any number: it is
// rounded by the same part.
static struct altered weigh_query(const struct problem* p, int64_t b, int64_t h, int64_t i,
                                  double* P) {
    const int64_t seen = keys_seen(p, i);
    double m = -INFINITY, l = 0, off = 0;
    for (int64_t j = 0; j < seen; j++) {
        struct altered S = altered_dot(p, row_of(p, ARRAY_Q, b, h, i), row_of(p, ARRAY_K, b, h, j));
        P[j] = p->scale * S.sum;
        m = fmax(m, P[j]);
        off = fmax(off, p->scale * S.size * IN_FLOAT);
    }
    for (int64_t j = 0; j < seen; j++) l += exp(P[j] - m);
    const struct altered LSE = {m + log(l), off + IN_FLOAT * (1 + fabs(m))};
    for (int64_t j = 0; j < seen; j++) P[j] = exp(P[j] - LSE.sum);
    return LSE;
}

double altered_weights(const struct problem* p, int64_t i, double* P) {
    return 2 * weigh_query(p, 0, 0, i, P).size;
}

const struct arena_traffic* forward_by_mma(struct problem p) {
    check_watch(p.check, WATCH_PROFILE);
    p.scale = scale_of_large(&p);
    forward_begin(&p, PACKED, "");
    for (enum which a = ARRAY_Q; a <= ARRAY_V; a++) fill_large(&p, a);
    forward_run(&p, JUDGE_O | JUDGE_LSE);
    const struct arena_traffic* t = problem_traffic(&p);
    judge_mma_count(&p, t);
    struct follows O = new_follows(&p, ARRAY_O), LSE = new_follows(&p, ARRAY_LSE);
    double* P = check_allocate(p.check, p.N_k, sizeof *P);
    FOR_EACH_QUERY(&p, b, h, i) {
        struct altered* of_row = LSE.of + place_in(&p, ARRAY_LSE, b, h, i);
        *of_row = weigh_query(&p, b, h, i, P);
        for (int64_t j = 0; j < keys_seen(&p, i); j++)
            add_row(&p, O.of + place_in(&p, ARRAY_O, b, h, i), P[j], P[j] * 2 * of_row->size,
                    row_of(&p, ARRAY_V, b, h, j), 1);
    }
    free(P);
    judge_follows(&p, LSE, "Q K^T");
    judge_follows(&p, O, "P V");
    check_given(p.check, "Q K^T or P V");
    if (p.contract->follow_more) p.contract->follow_more(&p);
    return t;
}

// ---- backward

// Adds to the gradients what the pair of query i of a head and key j gives. delta, LSE and O are as
// in the run before: they are inputs, or made of them without a product of matrices.
static void follow_pair(const struct problem* p, int64_t b, int64_t h, int64_t i, int64_t j,
                        struct altered delta, const struct follows gradient[3]) {
    const double *Q = row_of(p, ARRAY_Q, b, h, i), *K = row_of(p, ARRAY_K, b, h, j),
                 *dO = row_of(p, ARRAY_dO, b, h, i), *V = row_of(p, ARRAY_V, b, h, j);
    const double LSE = *row_of(p, ARRAY_LSE, b, h, i);
    const struct altered S = altered_dot(p, Q, K), dP = altered_dot(p, dO, V);
    const double P = exp(p->scale * S.sum - LSE), dS = P * (dP.sum - delta.sum);
    const double off = IN_FLOAT * (fabs(p->scale) * S.size + fabs(LSE) + 1);  // of P, a part of it
    const double dS_off = P * IN_FLOAT * (dP.size + delta.size) + fabs(dS) * off;
    struct altered* to[3];
    for (int a = 0; a < 3; a++) {
        enum which array = (enum which)(ARRAY_dQ + a);
        to[a] = gradient[a].of + place_in(p, array, b, h, array == ARRAY_dQ ? i : j);
    }
    add_row(p, to[0], dS, dS_off, K, p->scale);
    add_row(p, to[1], dS, dS_off, Q, p->scale);
    add_row(p, to[2], P, P * off, dO, 1);
}

static void judge_gradients(const struct problem* p, const char* const what[3]) {
    struct follows gradient[3];
    for (int a = 0; a < 3; a++) gradient[a] = new_follows(p, (enum which)(ARRAY_dQ + a));
    FOR_EACH_QUERY(p, b, h, i) {
        const double *dO = row_of(p, ARRAY_dO, b, h, i), *O = row_of(p, ARRAY_O, b, h, i);
        struct altered delta = {0, 0};
        for (int64_t x = 0; x < p->d; x++) {
            delta.sum += dO[x] * O[x];
            delta.size += fabs(dO[x] * O[x]);
        }
        for (int64_t j = 0; j < keys_seen(p, i); j++) follow_pair(p, b, h, i, j, delta, gradient);
    }
    for (int a = 2; a >= 0; a--) judge_follows(p, gradient[a], what[a]);
    check_given(p->check, what[0]);
}

const struct arena_traffic* backward_by_mma(struct problem p) {
    static const char* const what[3] = {"Q K^T or dS K", "Q K^T or dS^T Q", "Q K^T"};
    check_watch(p.check, WATCH_PROFILE);
    p.scale = scale_of_large(&p);
    problem_begin(&p, PACKED, "");
    backward_fill(&p);
    fill_large(&p, ARRAY_Q);
    fill_large(&p, ARRAY_K);
    backward_run(&p);
    const struct arena_traffic* t = problem_traffic(&p);
    judge_mma_count(&p, t);
    judge_gradients(&p, what);
    return t;
}

// All but the first key have e^-20 of its weight, and its V is 0: so dP is large, and dS is not.
void backward_by_mma_of_dO(struct problem p) {
    static const char* const what[3] = {"dO V^T", "dO V^T", "P^T dO"};
    const double q = 4, level = 20;
    check_watch(p.check, WATCH_PROFILE);
    problem_begin(&p, PACKED, ", large dO and V");
    backward_fill(&p);
    fill_large(&p, ARRAY_dO);
    fill_large(&p, ARRAY_V);
    set_column(&p, ARRAY_Q, 0, q);
    set_column(&p, ARRAY_K, 0, 0);
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t h = 0; h < p.H; h += p.group) {
            row_of(&p, ARRAY_K, b, h, 0)[0] = dtype_round(p.contract->dtype, level / (p.scale * q));
            for (int64_t x = 0; x < p.d; x++) row_of(&p, ARRAY_V, b, h, 0)[x] = 0;
        }
    backward_run(&p);
    judge_mma_count(&p, check_traffic(p.check));
    judge_gradients(&p, what);
}
