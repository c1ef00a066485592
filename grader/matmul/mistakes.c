// mistakes.c: see mistakes.h.
#include "matmul/mistakes.h"

#include <math.h>
#include <stdlib.h>

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

enum { USUAL_TILE = 32 };  // along K: the largest of most kernels

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
    // Zeros of a K that has whole tiles of any usual size have another cause.
    return e->terms > 0 || p->K < p->of->whole_K || p->K % USUAL_TILE != 0;
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

bool beyond_a_step(const struct product* p, const struct sum* sum, int variant, struct extent* e) {
    (void)sum;
    e->size = 1 << variant;
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

// In columns of 1 element, or rows, everything is as it is in the other order.
static bool columns_of_another(const struct product* p, const struct sum* sum, int variant,
                               struct extent* e) {
    return size_of_another(p, sum, variant, e) && e->size > 1;
}

bool terms_of_another(const struct product* p, const struct sum* sum, int variant,
                      struct extent* e) {
    (void)sum;
    e->terms = another(p, variant);
    return true;
}

bool rounded_on_the_way(const struct product* p, const struct sum* sum, int variant,
                        struct extent* e) {
    (void)sum;
    e->round_every = tile_of(p, variant);
    return e->round_every >= 16;
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

double last_again(const struct product* p, struct term at) {
    if (at.k >= p->K) at.k = p->K - 1;
    return right_term(p, at);
}

double A_of_the_column(const struct product* p, struct term at) {
    int64_t row = at.i - at.i % at.size + at.j % at.size;
    return in_tile(&p->A, row, at.k) * in_tile(&p->B, at.k, at.j);
}

double B_of_the_row(const struct product* p, struct term at) {
    int64_t col = at.j - at.j % at.size + at.i % at.size;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k, col);
}

double nonzero_term(const struct product* p, struct term at) {
    double a = in_tile(&p->A, at.i, at.k), b = in_tile(&p->B, at.k, at.j);
    return a == 0 || b == 0 ? 0 : a * b;
}

double later_term(const struct product* p, struct term at) {
    return at.k < at.size ? 0 : right_term(p, at);
}

double last_tile_term(const struct product* p, struct term at) {
    return at.k < round_up(p->K, at.size) - at.size ? 0 : right_term(p, at);
}

double late_term(const struct product* p, struct term at) {
    return at.k % at.size == 0 ? 0 : right_term(p, at);
}

double early_term(const struct product* p, struct term at) {
    return at.k % at.size == at.size - 1 ? 0 : right_term(p, at);
}

// Where element k is read if tile `t` comes in place of all later ones.
static int64_t again(struct term at, int64_t t) {
    return at.k / at.size < t ? at.k : t * at.size + at.k % at.size;
}

double A_first_again(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, again(at, 0)) * in_tile(&p->B, at.k, at.j);
}

double A_second_again(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, again(at, 1)) * in_tile(&p->B, at.k, at.j);
}

double B_first_again(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, again(at, 0), at.j);
}

double B_second_again(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, again(at, 1), at.j);
}

double stale_tail(const struct product* p, struct term at) {
    if (at.k >= p->K) at.k -= at.size;
    return right_term(p, at);
}

double A_tail_stale(const struct product* p, struct term at) {
    return at.k < p->K ? right_term(p, at) : 0 * in_tile(&p->A, at.i, at.k - at.size);
}

double B_tail_stale(const struct product* p, struct term at) {
    return at.k < p->K ? right_term(p, at) : 0 * in_tile(&p->B, at.k - at.size, at.j);
}

double A_row_length(const struct product* p, struct term at) {
    return in_memory(&p->A, at.i * at.size + at.k) * in_tile(&p->B, at.k, at.j);
}

double B_row_length(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_memory(&p->B, at.k * at.size + at.j);
}

double A_by_columns(const struct product* p, struct term at) {
    return in_memory(&p->A, at.k * at.size + at.i) * in_tile(&p->B, at.k, at.j);
}

double B_by_columns(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_memory(&p->B, at.j * at.size + at.k);
}

double A_turned(const struct product* p, struct term at) {
    int64_t y = at.i % at.size, x = at.k % at.size;
    return in_tile(&p->A, at.i - y + x, at.k - x + y) * in_tile(&p->B, at.k, at.j);
}

double B_turned(const struct product* p, struct term at) {
    int64_t y = at.k % at.size, x = at.j % at.size;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k - y + x, at.j - x + y);
}

// `other` in place of `index` in its square.
static int64_t as(int64_t index, int64_t other, int64_t size) {
    return index - index % size + other % size;
}

double A_row_as_k(const struct product* p, struct term at) {
    return in_tile(&p->A, as(at.i, at.k, at.size), at.k) * in_tile(&p->B, at.k, at.j);
}

double A_column_as_i(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, as(at.k, at.i, at.size)) * in_tile(&p->B, at.k, at.j);
}

double A_column_as_j(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, as(at.k, at.j, at.size)) * in_tile(&p->B, at.k, at.j);
}

double B_row_as_i(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, as(at.k, at.i, at.size), at.j);
}

double B_row_as_j(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, as(at.k, at.j, at.size), at.j);
}

double B_column_as_k(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k, as(at.j, at.k, at.size));
}

double A_row_in_tile(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i % at.size, at.k) * in_tile(&p->B, at.k, at.j);
}

double B_column_in_tile(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k, at.j % at.size);
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
    enum { NEAR = 8 };  // what begins further on is no cut there
    int64_t beyond = 0, wrong = 0, near = 0, wrong_near = 0;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        bool within = i / N < rows && i % N < cols, is_wrong = element_is_wrong(s, i);
        bool is_near = !within && i / N < rows + NEAR && i % N < cols + NEAR;
        if (within && is_wrong) return false;
        beyond += !within;
        wrong += is_wrong;
        near += is_near;
        wrong_near += is_near && is_wrong;
    }
    return 4 * wrong >= 3 * beyond && 2 * wrong_near >= near;
}

enum cause explain_cut(const struct suspect* s) {
    const struct product* p = s->problem;
    if (p->M != p->N && is_cut(s, p->N, p->N, p->M)) return CAUSE_swapped_sizes;
    for (int i = 0; p->M < p->N && i < TILES && tile_of(p, i) <= p->M; i++)
        if (is_cut(s, p->N, round_up(p->N, tile_of(p, i)), round_up(p->M, tile_of(p, i))))
            return CAUSE_swapped_sizes;
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j < TILES; j++) {
            int64_t rows = p->M - p->M % tile_of(p, i), cols = p->N - p->N % tile_of(p, j);
            if (rows > 0 && cols > 0 && is_cut(s, p->N, rows, cols)) return CAUSE_tail_dropped;
        }
    return CAUSE_NONE;
}

enum cause explain_no_terms(const struct suspect* s) {
    bool written = false, all = true;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        if (s->tensor->untouched[i]) continue;
        written |= element_is_wrong(s, i) && check_was_written(s->tensor, i);
        all &= element_is_wrong(s, i);
    }
    return !written ? CAUSE_never_written : all ? CAUSE_NONE : CAUSE_sum_init;
}

bool nan_leaked(const struct product* p) {
    const struct tensor* C = p->C.t;
    int64_t wanted = 0, nan = 0;
    for (int64_t e = 0; e < C->count; e++) {
        if (C->untouched[e]) continue;
        if (!isnan(C->got[e]) && C->got[e] != C->want[e]) return false;
        if (!check_was_written(C, e)) return false;
        wanted += isnan(C->want[e]);
        nan += isnan(C->got[e]);
    }
    return wanted > 0 && nan > wanted && nan < p->M * p->N;
}

// The sum, rounded to 16 bits: cut off; or to the nearest, and what lies halfway away from 0, or
// towards 0. bf16 is the upper half of a float: cut off, no float becomes infinite.
enum { NEAREST, CUT_OFF, HALF_AWAY, HALF_BACK };
static double rounded_as(const struct product* p, double sum, int way) {
    const double nearest = dtype_round(p->of->dtype, sum);
    const double ulp = dtype_ulp(p->of->dtype, fabs(sum));
    const double beyond = fabs(nearest) - fabs(sum);  // further from 0
    double steps = 0;
    if (way == CUT_OFF && isinf(nearest) && isfinite(dtype_round(F32, sum)))
        return copysign(floor(fabs(sum) / ulp) * ulp, sum);
    if (way == CUT_OFF && beyond > 0) steps = -1;
    if (way == HALF_AWAY && beyond == -ulp / 2) steps = 1;
    if (way == HALF_BACK && beyond == ulp / 2) steps = -1;
    return steps == 0 ? nearest : nearest + copysign(ulp, steps * sum);
}

// Of a pair of columns, which a thread has, `left` and `right` may be rounded in different ways.
static bool make_rounded(const struct suspect* s, int left, int right, double* guess) {
    const struct product* p = s->problem;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            int64_t e = place_in(&p->C, i, j);
            double sum = 0;
            for (int64_t k = 0; k < p->K; k++) sum += right_term(p, (struct term){0, i, k, j});
            guess[e] = rounded_as(p, sum, j % 2 == 0 ? left : right);
            if (hypothesis_refuted(s, e, guess[e])) return false;
        }
    return true;
}

bool make_truncated(const struct suspect* s, const struct hypothesis* h, int variant,
                    double* guess) {
    (void)h;
    return make_rounded(s, variant == 2 ? NEAREST : CUT_OFF, variant == 1 ? NEAREST : CUT_OFF,
                        guess);
}

bool make_ties(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    (void)h;
    const int way = variant == 0 ? HALF_AWAY : HALF_BACK;
    return make_rounded(s, way, way, guess);
}

// If several sums are stored at one place, nobody knows which stays.
bool make_C_rows(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    const struct product* p = s->problem;
    const struct matrix* C = &p->C;
    int64_t length = another(p, variant);
    (void)h;
    if (length == C->stride || (C->rows - 1) * length + C->cols > C->t->count - C->first)
        return false;
    for (int64_t i = 0; i < C->rows; i++)
        for (int64_t j = 0; j < C->cols; j++) {
            double* to = &guess[C->first + i * length + j];
            *to = isnan(*to) ? C->t->want[place_in(C, i, j)] : ANYTHING;
        }
    return true;
}

// Where the first wrong column, or row, is: a tile's first, if no smaller than a tile can be.
static int64_t first_wrong(const struct suspect* s, bool row) {
    const struct product* p = s->problem;
    int64_t first = INT64_MAX;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            int64_t at = row ? i : j;
            if (at < first && element_is_wrong(s, place_in(&p->C, i, j))) first = at;
        }
    return first < p->of->smallest_tile ? INT64_MAX : first;
}

bool make_going_on(const struct suspect* s, const struct hypothesis* h, int variant,
                   double* guess) {
    const struct product* p = s->problem;
    const int64_t first = first_wrong(s, variant == 1);
    (void)h;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            const int64_t at = place_in(&p->C, i, j), back = variant == 1 ? i : j;
            guess[at] = p->C.t->want[at];
            if (back >= first)
                guess[at] += p->C.t->got[variant == 1 ? place_in(&p->C, i - first, j) : at - first];
        }
    return first < INT64_MAX;
}

// Its operands are where this row and column lead to in memory, beyond an array as well.
bool make_flat(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    const struct product* p = s->problem;
    const int64_t length = another(p, variant);
    (void)h;
    if (length == p->N || length < 1) return false;
    for (int64_t e = 0; e < p->M * p->N; e++) {
        const struct extent terms = {.terms = p->K};
        const struct sum sum = {.term = unguarded};
        guess[e] = sum_of(p, &sum, &terms, e / length, e % length);
        if (hypothesis_refuted(s, e, guess[e])) return false;
    }
    return true;
}

// ---- how often each term counts

enum {
    FEWEST = 3,        // sums; fewer are like another's by chance
    MOST_TERMS = 400,  // whose number is looked for
    EACH = 3,          // sums that are looked at for each unknown number
};

// The right terms of element e of C; what stands there.
static double terms_of(const struct suspect* s, int64_t e, double x[MOST_TERMS]) {
    const struct product* p = s->problem;
    int64_t i = (e - p->C.first) / p->C.stride, j = (e - p->C.first) % p->C.stride;
    for (int64_t k = 0; k < p->K; k++) x[k] = right_term(p, (struct term){0, i, k, j});
    return s->tensor->got[e];
}

// Solves G w = y, symmetric and positive, in place; false if it is not.
static bool solve(double* G, double* w, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        if (!(G[k * n + k] > 1e-6)) return false;
        for (int64_t i = k + 1; i < n; i++) {
            double factor = G[k * n + i] / G[k * n + k];
            for (int64_t j = i; factor != 0 && j < n; j++) G[i * n + j] -= factor * G[k * n + j];
            w[i] -= factor * w[k];
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < n; j++) w[k] -= G[k * n + j] * w[j];
        w[k] /= G[k * n + k];
    }
    return true;
}

// The sums that are wrong are sum_k w[k] A[i][k] B[k][j]: the w that fits most of them best.
static bool fit_counts(const struct suspect* s, const int64_t* wrong, int64_t count, double* G,
                       double* w) {
    const struct product* p = s->problem;
    const int64_t n = p->K, used = count < EACH * n ? count : EACH * n;
    double x[MOST_TERMS];
    for (int64_t u = 0; u < used; u++) {
        double got = terms_of(s, wrong[u * count / used], x);
        for (int64_t k = 0; k < n; k++) {
            for (int64_t l = k; x[k] != 0 && l < n; l++) G[k * n + l] += x[k] * x[l];
            w[k] += x[k] * got;
        }
    }
    if (!solve(G, w, n)) return false;
    for (int64_t k = 0; k < n; k++) {
        double whole = nearbyint(w[k]);
        if (!(fabs(w[k] - whole) < 0.01)) return false;
        w[k] = whole;
    }
    for (int64_t u = 0; u < count; u++) {
        double sum = 0, got = terms_of(s, wrong[u], x);
        for (int64_t k = 0; k < n; k++) sum += w[k] * x[k];
        if (!(fabs(rounded(p, sum) - got) <= s->budget.max)) return false;
    }
    return true;
}

static enum cause cause_of_counts(const double* w, int64_t n) {
    int64_t none = 0, once = 0, more = 0;
    for (int64_t k = 0; k < n; k++) {
        if (w[k] < 0) return CAUSE_NONE;
        none += w[k] == 0;
        once += w[k] == 1;
        more += w[k] > 1;
    }
    if (none == n || once == n || (more == n && w[0] == w[n - 1])) return CAUSE_NONE;
    return none > 0 ? CAUSE_tile_skipped : CAUSE_tile_twice;
}

// Are all wrong sums those of the first terms, or of the last ones? Some numbers more or less may
// be 0, so any number of terms is tried.
static bool is_part(const struct suspect* s, const int64_t* wrong, int64_t count, bool last) {
    const struct product* p = s->problem;
    double* sum = check_allocate(p->check, count, sizeof *sum);
    bool found = false;
    for (int64_t n = 0; n < p->K - 1 && !found; n++) {
        int64_t like = 0, k = last ? p->K - 1 - n : n;
        for (int64_t u = 0; u < count; u++) {
            int64_t i = (wrong[u] - p->C.first) / p->C.stride;
            int64_t j = (wrong[u] - p->C.first) % p->C.stride;
            sum[u] += right_term(p, (struct term){0, i, k, j});
            like += fabs(rounded(p, sum[u]) - s->tensor->got[wrong[u]]) <= s->budget.max;
        }
        found = like == count;
    }
    free(sum);
    return found;
}

enum cause explain_counted(const struct suspect* s) {
    const struct product* p = s->problem;
    const int64_t n = p->K, elements = s->tensor->count;
    enum cause cause = CAUSE_NONE;
    int64_t count = 0;
    int64_t* wrong = check_allocate(p->check, elements, sizeof *wrong);
    bool numbers = true;
    for (int64_t e = 0; e < elements; e++) {
        if (s->tensor->untouched[e] || !element_is_wrong(s, e)) continue;
        numbers &= isfinite(s->tensor->want[e]) && isfinite(s->tensor->got[e]) &&
                   check_was_written(s->tensor, e);
        wrong[count++] = e;
    }
    if (numbers && count >= FEWEST &&
        (is_part(s, wrong, count, false) || is_part(s, wrong, count, true))) {
        cause = CAUSE_tile_skipped;
    } else if (numbers && n > 1 && n <= MOST_TERMS && count >= 2 * n) {
        double* G = check_allocate(p->check, n * n + n, sizeof *G);
        if (fit_counts(s, wrong, count, G, G + n * n)) cause = cause_of_counts(G + n * n, n);
        free(G);
    }
    free(wrong);
    return cause;
}

// ---- of packed matrices

const struct hypothesis packed_mistakes[] = {
    SUM(transposed, OF_PACKED, A_by_columns, columns_of_another),
    SUM(transposed, OF_PACKED, B_by_columns, columns_of_another),
    SUM(swapped_sizes, OF_PACKED, A_row_length, size_of_another),
    SUM(swapped_sizes, OF_PACKED, B_row_length, size_of_another),
    SUM(swapped_sizes, OF_PACKED, unguarded, terms_of_another),
    SUM(stale_state, 1, stale_B, all_terms),
    SUM(zero_skipped, 1, nonzero_term, all_terms),
    {CAUSE_accumulates, make_going_on, 2, NULL},
    {CAUSE_transposed, make_turned, 1, NULL},
    {CAUSE_swapped_sizes, make_C_rows, OF_PACKED, NULL},
    {CAUSE_swapped_sizes, make_flat, OF_PACKED, NULL},
    {0},
};
