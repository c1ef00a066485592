// mistakes.c: see mistakes.h.
#include "matmul/mistakes.h"

#include <math.h>

static double rounded(const struct product* p, double sum) {
    return p->of->dtype == F32 ? sum : dtype_round(p->of->dtype, sum);
}

static double sum_of(const struct product* p, const struct sum* sum, const struct extent* e,
                     int64_t i, int64_t j) {
    double total = 0;
    for (int64_t k = 0; k < e->terms; k++) {
        total += sum->term(p, (struct term){e->size, i, k, j});
        if (e->round_every > 0 && (k + 1) % e->round_every == 0) total = rounded(p, total);
    }
    return rounded(p, total);
}

bool make_sum(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    const struct product* p = s->problem;
    const struct sum* sum = h->like;
    struct extent e = {.terms = p->K};
    if (!sum->extent(p, sum, variant, &e)) return false;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            int64_t at = place_in(&p->C, i, j);
            guess[at] = sum_of(p, sum, &e, i, j);
            if (hypothesis_refuted(s, at, guess[at])) return false;
        }
    return true;
}

// ---- extents

static int64_t tile_of(const struct product* p, int variant) {
    return p->of->smallest_tile << variant;
}

static int64_t round_up(int64_t n, int64_t tile) {
    return CEIL_DIV(n, tile) * tile;
}

bool all_terms(const struct product* p, const struct sum* sum, int variant, struct extent* e) {
    (void)p, (void)sum, (void)variant, (void)e;
    return true;
}

bool whole_tiles(const struct product* p, const struct sum* sum, int variant, struct extent* e) {
    (void)sum;
    e->terms -= p->K % tile_of(p, variant);
    return true;
}

bool all_tiles(const struct product* p, const struct sum* sum, int variant, struct extent* e) {
    (void)sum;
    e->size = tile_of(p, variant);
    e->terms = round_up(p->K, e->size);
    return true;
}

bool tiles_back(const struct product* p, const struct sum* sum, int variant, struct extent* e) {
    all_tiles(p, sum, variant, e);
    e->size *= sum->back;
    return e->size <= p->K;
}

bool beyond_a_tile(const struct product* p, const struct sum* sum, int variant, struct extent* e) {
    (void)sum;
    e->size = tile_of(p, variant);
    return e->size < p->K;
}

static int64_t another(const struct product* p, int variant) {
    const int64_t sizes[SIZES] = {p->M, p->N, p->K, p->C.stride, p->A.stride, p->B.stride};
    return sizes[variant];
}

bool size_of_another(const struct product* p, const struct sum* sum, int variant,
                     struct extent* e) {
    (void)sum;
    e->size = another(p, variant);
    return true;
}

bool terms_of_another(const struct product* p, const struct sum* sum, int variant,
                      struct extent* e) {
    (void)sum;
    e->terms = another(p, variant);
    return true;
}

// ---- elements

double in_tile(const struct matrix* m, int64_t row, int64_t col) {
    return row < m->rows && col < m->cols ? m->t->value[place_in(m, row, col)] : 0;
}

double in_memory(const struct matrix* m, int64_t distance) {
    int64_t at = m->first + distance;
    return at < m->t->count ? m->t->value[at] : NAN;
}

// ---- terms

double right_term(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k, at.j);
}

double nonzero_term(const struct product* p, struct term at) {
    double a = in_tile(&p->A, at.i, at.k), b = in_tile(&p->B, at.k, at.j);
    return a == 0 || b == 0 ? 0 : a * b;
}

double later_term(const struct product* p, struct term at) {
    return at.k < at.size ? 0 : right_term(p, at);
}

double stale_tail(const struct product* p, struct term at) {
    if (at.k >= p->K) at.k -= at.size;
    return right_term(p, at);
}

double A_row_length(const struct product* p, struct term at) {
    return in_memory(&p->A, at.i * at.size + at.k) * in_tile(&p->B, at.k, at.j);
}

double B_row_length(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_memory(&p->B, at.k * at.size + at.j);
}

double A_turned(const struct product* p, struct term at) {
    int64_t y = at.i % at.size, x = at.k % at.size;
    return in_tile(&p->A, at.i - y + x, at.k - x + y) * in_tile(&p->B, at.k, at.j);
}

double B_turned(const struct product* p, struct term at) {
    int64_t y = at.k % at.size, x = at.j % at.size;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k - y + x, at.j - x + y);
}

double stale_B(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * check_values_of(p->B.t, 0)[place_in(&p->B, at.k, at.j)];
}

double unguarded(const struct product* p, struct term at) {
    return in_memory(&p->A, at.i * p->K + at.k) * in_memory(&p->B, at.k * p->N + at.j);
}

// ---- C as a whole

bool make_turned(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    const struct product* p = s->problem;
    (void)h, (void)variant;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) guess[j * p->M + i] = p->C.t->want[i * p->N + j];
    return true;
}

bool element_is_wrong(const struct suspect* s, int64_t i) {
    double want = s->tensor->want[i], got = s->tensor->got[i];
    if (isnan(want)) return !isnan(got);
    return !(got == want || fabs(got - want) <= s->budget.max);
}

// Is all well within the first rows x cols elements, and little beyond? A few wrong sums of whole
// numbers are right by chance.
static bool is_cut(const struct suspect* s, int64_t N, int64_t rows, int64_t cols) {
    int64_t beyond = 0, wrong = 0;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        bool within = i / N < rows && i % N < cols;
        if (within && element_is_wrong(s, i)) return false;
        beyond += !within;
        wrong += element_is_wrong(s, i);
    }
    return 4 * wrong >= 3 * beyond;
}

enum cause explain_cut(const struct suspect* s) {
    const struct product* p = s->problem;
    if (p->M != p->N && is_cut(s, p->N, p->N, p->M)) return CAUSE_swapped_sizes;
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j < TILES; j++) {
            int64_t rows = p->M - p->M % tile_of(p, i), cols = p->N - p->N % tile_of(p, j);
            if (rows > 0 && cols > 0 && is_cut(s, p->N, rows, cols)) return CAUSE_tail_dropped;
        }
    return CAUSE_NONE;
}

bool nan_leaked(const struct product* p) {
    const struct tensor* C = p->C.t;
    int64_t wanted = 0, nan = 0;
    for (int64_t e = 0; e < C->count; e++) {
        if (C->untouched[e]) continue;
        if (!isnan(C->got[e]) && C->got[e] != C->want[e]) return false;
        wanted += isnan(C->want[e]);
        nan += isnan(C->got[e]);
    }
    return wanted > 0 && nan > wanted && nan < p->M * p->N;
}
