// mistakes.h: what mistakes leave in out, so that check.c can name the one it sees.
//
// Each mistake is a hypothesis: what would it leave, and is that what is there? Missing barriers
// and reads of memory never written are not here: the instrumented build finds them, with their
// lines.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "check/hypothesis.h"
#include "course.h"

#include <float.h>
#include <math.h>
#include <string.h>

// The tile sizes a student may have chosen, and blocks along a vector. All are tried.
static const int64_t tiles[] = {8, 16, 32, 64, 128, 256, 512, 1024};
enum { TILES = sizeof tiles / sizeof tiles[0] };

// A case: out[c][r] = in[r][c].
struct matrices {
    int64_t rows, cols;  // of in
    struct tensor *out, *in;
};

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static bool is_wrong(const struct matrices* m, int64_t i) {
    return !same(m->out->got[i], m->out->want[i]);
}

// in[r][c], ANYTHING if there is no such element.
static double at(const struct matrices* m, int64_t r, int64_t c) {
    return r < m->rows && c < m->cols ? m->in->value[r * m->cols + c] : ANYTHING;
}

// What a mistake leaves in out[c][r]; T is the size of the tiles. NaN: never written, or read from
// shared memory that was never written.
struct misplaced {
    double (*left)(const struct matrices* m, int64_t T, int64_t c, int64_t r);
};

static bool misplace(const struct suspect* s, const struct hypothesis* h, int variant,
                     double* guess) {
    const struct matrices* m = s->problem;
    const struct misplaced* mistake = h->like;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        guess[i] = mistake->left(m, tiles[variant], i / m->rows, i % m->rows);
        if (hypothesis_refuted(s, i, guess[i])) return false;
    }
    return true;
}

static double copied(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    (void)T;
    return m->in->value[c * m->rows + r];
}

// The tiles change places, but inside each the elements do not.
static double tile_not_turned(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    return at(m, r - r % T + c % T, c - c % T + r % T);
}

// The elements change places inside each tile, but the tiles do not: out is laid out like in.
static double tile_not_moved(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    int64_t place = c * m->rows + r, row = place / m->cols, col = place % m->cols;
    return at(m, row - row % T + col % T, col - col % T + row % T);
}

// The kernel was told rows for cols and cols for rows.
static double sizes_swapped(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    (void)T;
    int64_t place = c * m->rows + r;
    return m->in->value[place % m->cols * m->rows + place / m->cols];
}

static double in_row_length(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    (void)T;
    int64_t place = r * m->rows + c;
    return place < m->rows * m->cols ? m->in->value[place] : ANYTHING;
}

// The rows of out were taken to be as long as those of in: several elements go to one place, and
// any of them may have stayed.
static bool is_out_row_length(const struct matrices* m) {
    int64_t shows = 0;
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        bool stored = false, stayed = false;
        for (int64_t c = 0; c < m->cols && c * m->cols <= i; c++) {
            int64_t r = i - c * m->cols;
            if (r >= m->rows) continue;
            stored = true;
            stayed = stayed || same(m->in->value[r * m->cols + c], m->out->got[i]);
        }
        if (stored ? !stayed : !isnan(m->out->got[i])) return false;
        shows += is_wrong(m, i);
    }
    return shows > 0;
}

static double in_half(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    (void)T;
    return dtype_round(F16, at(m, r, c));
}

static double in_bf16(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    (void)T;
    return dtype_round(BF16, at(m, r, c));
}

// A tile is written with rows of T and read with rows of T + 1; the next mistake is the reverse.
static double padded_for_reading(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    int64_t place = r % T * (T + 1) + c % T;
    return place >= T * T ? NAN : at(m, r - r % T + place / T, c - c % T + place % T);
}

static double padded_for_writing(const struct matrices* m, int64_t T, int64_t c, int64_t r) {
    int64_t place = r % T * T + c % T, col = place % (T + 1);
    return col == T ? NAN : at(m, r - r % T + place / (T + 1), c - c % T + col);
}

// Is all well for r < rows, c < cols, and little beyond? A few wrong elements are right by chance.
static bool is_cut(const struct matrices* m, int64_t rows, int64_t cols) {
    int64_t beyond = 0, wrong = 0;
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        bool within = i % m->rows < rows && i / m->rows < cols;
        if (within && is_wrong(m, i)) return false;
        beyond += !within;
        wrong += is_wrong(m, i);
    }
    return rows > 0 && cols > 0 && 4 * wrong >= 3 * beyond && beyond > 0;
}

static bool is_tail(const struct matrices* m, int64_t T) {
    int64_t rows = m->rows - m->rows % T, cols = m->cols - m->cols % T;
    return is_cut(m, rows, cols) || is_cut(m, rows, m->cols) || is_cut(m, m->rows, cols);
}

// The last row or column alone. If it is all that a tile leaves over, of any size, so that it is
// all that the smallest one leaves, it may be a tail.
static bool is_last(const struct matrices* m, int64_t T) {
    (void)T;
    return (m->rows % tiles[0] != 1 && is_cut(m, m->rows - 1, m->cols)) ||
           (m->cols % tiles[0] != 1 && is_cut(m, m->rows, m->cols - 1));
}

// 1 if the whole tile is right, 0 if nothing in it was written, -1 else.
static int tile_is_right(const struct matrices* m, int64_t T, int64_t row0, int64_t col0) {
    int64_t all = 0, right = 0, nan = 0;
    for (int64_t c = col0; c < col0 + T && c < m->cols; c++) {
        for (int64_t r = row0; r < row0 + T && r < m->rows; r++) {
            all++;
            right += !is_wrong(m, c * m->rows + r);
            nan += isnan(m->out->got[c * m->rows + r]);
        }
    }
    return right == all ? 1 : nan == all ? 0 : -1;
}

// Are the first tiles right and all others never written, counted down or across?
static bool is_grid_too_small(const struct matrices* m, int64_t T, bool down) {
    int64_t n_down = CEIL_DIV(m->rows, T), n_across = CEIL_DIV(m->cols, T), right = 0;
    bool ended = false;
    for (int64_t k = 0; k < n_down * n_across; k++) {
        int64_t row0 = T * (down ? k % n_down : k / n_across);
        int64_t col0 = T * (down ? k / n_down : k % n_across);
        int verdict = tile_is_right(m, T, row0, col0);
        if (verdict < 0 || (verdict && ended)) return false;
        ended = !verdict;
        right += verdict;
    }
    return ended && right > 0;
}

static bool is_grid_swapped(const struct matrices* m, int64_t T) {
    if (m->rows == m->cols || T > 128) return false;  // larger tiles would fit a cut tail, too
    return is_cut(m, CEIL_DIV(m->cols, T) * T, CEIL_DIV(m->rows, T) * T);
}

static bool is_any_grid_too_small(const struct matrices* m, int64_t T) {
    return is_grid_too_small(m, T, true) || is_grid_too_small(m, T, false);
}

#define MISPLACED(cause, variants, left) \
    { CAUSE_##cause, misplace, variants, LIKE(misplaced, left) }
static const struct hypothesis whole[] = {
    MISPLACED(low_precision, 1, in_half),       MISPLACED(low_precision, 1, in_bf16),
    MISPLACED(transposed, 1, copied),           MISPLACED(swapped_sizes, 1, sizes_swapped),
    MISPLACED(swapped_sizes, 1, in_row_length), {0},
};

// The mistakes that depend on the size of the tiles, from the most to the least specific.
static const struct hypothesis of_tiles[] = {
    MISPLACED(transposed, TILES, tile_not_turned),
    MISPLACED(transposed, TILES, tile_not_moved),
    MISPLACED(stride_ignored, TILES, padded_for_reading),
    MISPLACED(stride_ignored, TILES, padded_for_writing),
    {0},
};
static const struct {
    bool (*is)(const struct matrices* m, int64_t T);
    enum cause cause;
} of_edges[] = {
    {is_grid_swapped, CAUSE_swapped_sizes},
    {is_last, CAUSE_last_left_out},
    {is_tail, CAUSE_tail_dropped},
    {is_any_grid_too_small, CAUSE_grid_limit},
};

// Fresh shared memory of the CPU device is all ones, a NaN that is in no input and no fresh output.
static bool is_fresh(double x) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits == UINT32_MAX;
}

// The last question: were wrong elements never written? A NaN from an unwritten part of a tile is
// left to the instrumented build, which knows the line.
// Ordinary numbers arrive, and others do not: NaN, infinity, the smallest.
static bool only_special_wrong(const struct matrices* m) {
    for (int64_t i = 0; i < m->rows * m->cols; i++)
        if (is_wrong(m, i) && isnormal(m->out->want[i]) && fabs(m->out->want[i]) >= FLT_MIN)
            return false;
    return true;
}

static enum cause explain_nan(const struct matrices* m) {
    int64_t fresh = 0, unwritten = 0, in_tail[TILES] = {0};
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        if (!is_wrong(m, i) || !isnan(m->out->got[i])) continue;
        if (is_fresh(m->out->got[i])) {
            fresh++;
            continue;
        }
        unwritten++;
        for (int k = 0; k < TILES; k++) {
            int64_t T = tiles[k], r = i % m->rows, c = i / m->rows;
            in_tail[k] += r >= m->rows - m->rows % T || c >= m->cols - m->cols % T;
        }
    }
    for (int k = 0; k < TILES && tiles[k] <= m->rows && tiles[k] <= m->cols; k++)
        if (unwritten > 0 && in_tail[k] == unwritten) return CAUSE_tail_dropped;
    if (unwritten > 0) return CAUSE_never_written;
    return fresh > 0 ? CAUSE_unknown : CAUSE_NONE;
}

// Zeros that are not stored are not computed with.
static bool wrong_were_written(const struct matrices* m) {
    for (int64_t i = 0; i < m->rows * m->cols; i++)
        if (is_wrong(m, i) && !check_was_written(m->out, i)) return false;
    return true;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct matrices* m = check_description(c);
    const struct suspect s = {.tensor = t, .budget = budget, .problem = m};
    enum cause cause = hypothesis_search(&s, whole);
    if (cause) return cause;
    if (only_special_wrong(m)) return wrong_were_written(m) ? CAUSE_not_moved : CAUSE_never_written;
    if (is_out_row_length(m) || is_cut(m, m->cols, m->rows)) return CAUSE_swapped_sizes;
    cause = hypothesis_search(&s, of_tiles);
    if (cause) return cause;
    for (size_t k = 0; k < sizeof of_edges / sizeof of_edges[0]; k++)
        for (int i = 0; i < TILES; i++)
            if (of_edges[k].is(m, tiles[i])) return of_edges[k].cause;
    return explain_nan(m);
}

#endif
