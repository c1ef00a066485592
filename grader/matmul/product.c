// product.c: see product.h.
#include "matmul/product.h"

#include <math.h>
#include <stdio.h>

struct product product_of(struct check* c, const struct matmul* of, int64_t M, int64_t N,
                          int64_t K) {
    return (struct product){.check = c, .of = of, .M = M, .N = N, .K = K};
}

static struct matrix declare(const struct product* p, const char* name, bool output, int64_t rows,
                             int64_t cols, struct part part) {
    const bool transposed = name[0] == 'A' ? p->transpose_A : name[0] == 'B' && p->transpose_B;
    const int64_t stored_rows = transposed ? cols : rows, stored_cols = transposed ? rows : cols;
    const int64_t align = p->of->align > 0 ? p->of->align : 1;
    const int64_t step_of_row = CEIL_DIV(stored_cols + part.gap, align) * align;
    struct matrix m = {NULL, rows, cols, step_of_row, part.first, transposed};
    struct shape shape = SHAPE(stored_rows, m.stride);
    if (m.stride == stored_cols && part.first > 0)
        shape = SHAPE(part.first + stored_rows * stored_cols);
    char stride[] = "stride_?", first[] = "first_?";
    stride[7] = first[6] = name[0];
    m.t = output ? check_output(p->check, name, p->of->dtype, shape)
                 : check_input(p->check, name, p->of->dtype, shape);
    check_int(p->check, first, m.first);
    int64_t step[] = {m.stride, 0, 0};
    const int64_t count[] = {stored_rows, 1, 1};
    if (p->far) check_far(p->check, m.t, count, step);
    if (p->of->strides) check_int(p->check, stride, step[0]);
    return m;
}

// The arrays that the launcher gets, of which the case has the ends.
static void declare_ends(const struct product* p) {
    const int64_t M = p->before_M + p->M, N = p->before_N + p->N;
    if (p->before_M > 0 && p->K > 0) check_ends(p->check, p->A.t, 1, M * p->K);
    if (p->before_N > 0 && p->K > 0) check_ends(p->check, p->B.t, p->K, N);
    if (M * N > p->C.t->count) check_ends(p->check, p->C.t, 1, M * N);
}

void product_declare(struct product* p) {
    check_describe(p->check, p);
    check_int(p->check, "M", p->before_M + p->M);
    check_int(p->check, "N", p->before_N + p->N);
    check_int(p->check, "K", p->K);
    if (p->of->more) p->of->more(p->check);
    p->C = declare(p, "C", true, p->M, p->N, p->C_part);
    p->A = declare(p, "A", false, p->M, p->K, p->A_part);
    p->B = declare(p, "B", false, p->K, p->N, p->B_part);
    if (p->of->transposes) {
        check_int(p->check, "transpose_A", p->transpose_A);
        check_int(p->check, "transpose_B", p->transpose_B);
    }
    if (p->before_M + p->before_N > 0) declare_ends(p);
}

static void move(struct check* c, int round, struct matrix* m, const struct matrix* in,
                 bool strides, int64_t align) {
    char stride[] = "stride_?", first[] = "first_?";
    m->t = in->t;
    m->stride = CEIL_DIV(m->cols, align) * align;
    stride[7] = first[6] = in->t->name[0];
    check_vary(c, first, round, 0);
    if (strides) check_vary(c, stride, round, m->stride);
}

struct product product_smaller(const struct product* p, int round, int64_t M, int64_t N,
                               int64_t K) {
    struct check* c = p->check;
    struct product small = product_of(c, p->of, M, N, K);
    const int64_t align = p->of->align > 0 ? p->of->align : 1;
    small.C = (struct matrix){.rows = small.M, .cols = small.N};
    small.A = (struct matrix){.rows = small.M, .cols = small.K};
    small.B = (struct matrix){.rows = small.K, .cols = small.N};
    check_vary(c, "M", round, small.M);
    check_vary(c, "N", round, small.N);
    check_vary(c, "K", round, small.K);
    move(c, round, &small.C, &p->C, p->of->strides, align);
    move(c, round, &small.A, &p->A, p->of->strides, align);
    move(c, round, &small.B, &p->B, p->of->strides, align);
    return small;
}

void product_fill(const struct product* p, int64_t low, int64_t high) {
    fill_integers(p->check, p->A.t, low, high);
    fill_integers(p->check, p->B.t, low, high);
}

// C_i = sum_k A_ik B_k                              (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j]
static void want_row(const struct product* p, int64_t i) {
    double* C = p->C.t->want + place_in(&p->C, i, 0);
    for (int64_t j = 0; j < p->N; j++) C[j] = 0;
    for (int64_t k = 0; k < p->K; k++) {
        double a = p->A.t->value[place_in(&p->A, i, k)];
        const double* B = p->B.t->value + place_in(&p->B, k, 0);
        const int64_t step = p->B.transposed ? p->B.stride : 1;
        for (int64_t j = 0; j < p->N; j++) C[j] += a * B[j * step];
    }
    for (int64_t j = 0; p->of->dtype != F32 && j < p->N; j++)
        C[j] = dtype_round(p->of->dtype, C[j]);
}

// Does element e of the array lie before, between or behind the rows of the matrix?
static bool is_gap(const struct matrix* m, int64_t e) {
    const int64_t rows = m->transposed ? m->cols : m->rows;
    const int64_t cols = m->transposed ? m->rows : m->cols;
    const int64_t place = e - m->first;
    return place < 0 || place % m->stride >= cols || place / m->stride >= rows;
}

// Gaps: nobody may write them, and nobody has to read them.
static void mark_gaps(const struct matrix* m) {
    for (int64_t e = 0; e < m->t->count; e++) m->t->untouched[e] = is_gap(m, e);
}

void product_surround(const struct product* p) {
    const struct matrix* const of[] = {&p->A, &p->B};
    for (int i = 0; i < 2; i++)
        for (int64_t e = 0; e < of[i]->t->count; e++)
            if (is_gap(of[i], e) && e / of[i]->stride % 2 == 0) of[i]->t->value[e] = NAN;
}

void product_want(const struct product* p) {
    mark_gaps(&p->C);
    if (p->K > 0) mark_gaps(&p->A), mark_gaps(&p->B);
    for (int64_t i = 0; i < p->M; i++) want_row(p, i);
}

// sum_k a[k] * b[k * stride] over n elements in float, halving.
static float pairwise(const double* a, const double* b, int64_t stride, int64_t n) {
    if (n == 1) return (float)a[0] * (float)b[0];
    int64_t half = n / 2;
    return pairwise(a, b, stride, half) + pairwise(a + half, b + half * stride, stride, n - half);
}

void product_standard(const struct product* p, double* standard) {
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++)
            standard[place_in(&p->C, i, j)] =
                (double)pairwise(p->A.t->value + place_in(&p->A, i, 0),
                                 p->B.t->value + place_in(&p->B, 0, j), p->B.stride, p->K);
}

void product_compare(const struct product* p) {
    product_want(p);
    check_compare(p->check, p->C.t, budget_exact());
}
