// mistakes.h: what mistakes leave in out, so that check.c can name the one it sees.
//
// Each mistake is a hypothesis: what would it leave, and is that what is there? Missing barriers
// and reads of memory never written are not here: the instrumented build finds them, with their
// lines.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "check/check.h"
#include "course.h"

#include <float.h>
#include <math.h>
#include <string.h>

// The tile sizes a student may have chosen, and blocks along a vector. All are tried.
static const int64_t tiles[] = {8, 16, 32, 64, 128, 256, 512, 1024};
enum { TILES = sizeof tiles / sizeof tiles[0] };

struct evidence {
    const double *in, *want, *got;
    int64_t rows, cols;
};

#define ANY DBL_MAX  // as a guess: it depends on what the mistake found in memory

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static bool is_wrong(const struct evidence* e, int64_t i) {
    return !same(e->got[i], e->want[i]);
}

// in[r][c], ANY if there is no such element.
static double at(const struct evidence* e, int64_t r, int64_t c) {
    return r < e->rows && c < e->cols ? e->in[r * e->cols + c] : ANY;
}

// What a mistake would leave in out[c][r]; T is the size of the tiles. NaN: never written, or from
// shared memory never written.
typedef double mistake(const struct evidence* e, int64_t T, int64_t c, int64_t r);

// Does out hold what the mistake would leave, and does the mistake show at all?
static bool fits(const struct evidence* e, mistake* mistaken, int64_t T) {
    int64_t shows = 0;
    for (int64_t i = 0; i < e->rows * e->cols; i++) {
        double guess = mistaken(e, T, i / e->rows, i % e->rows);
        if (guess == ANY) continue;
        if (!same(guess, e->got[i])) return false;
        shows += !same(guess, e->want[i]);
    }
    return shows > 0;
}

static double copied(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    (void)T;
    return e->in[c * e->rows + r];
}

// The tiles change places, but inside each the elements do not.
static double tile_not_turned(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    return at(e, r - r % T + c % T, c - c % T + r % T);
}

// The elements change places inside each tile, but the tiles do not: out is laid out like in.
static double tile_not_moved(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    int64_t place = c * e->rows + r, row = place / e->cols, col = place % e->cols;
    return at(e, row - row % T + col % T, col - col % T + row % T);
}

// The kernel was told rows for cols and cols for rows.
static double sizes_swapped(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    (void)T;
    int64_t place = c * e->rows + r;
    return e->in[place % e->cols * e->rows + place / e->cols];
}

static double in_row_length(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    (void)T;
    int64_t place = r * e->rows + c;
    return place < e->rows * e->cols ? e->in[place] : ANY;
}

// The rows of out were taken to be as long as those of in: several elements go to one place, and
// any of them may have stayed.
static bool is_out_row_length(const struct evidence* e) {
    int64_t shows = 0;
    for (int64_t i = 0; i < e->rows * e->cols; i++) {
        bool stored = false, stayed = false;
        for (int64_t c = 0; c < e->cols && c * e->cols <= i; c++) {
            int64_t r = i - c * e->cols;
            if (r >= e->rows) continue;
            stored = true;
            stayed = stayed || same(e->in[r * e->cols + c], e->got[i]);
        }
        if (stored ? !stayed : !isnan(e->got[i])) return false;
        shows += is_wrong(e, i);
    }
    return shows > 0;
}

static double in_half(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    (void)T;
    return dtype_round(F16, at(e, r, c));
}

static double in_bf16(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    (void)T;
    return dtype_round(BF16, at(e, r, c));
}

// A tile is written with rows of T and read with rows of T + 1; the next mistake is the reverse.
static double padded_for_reading(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    int64_t place = r % T * (T + 1) + c % T;
    return place >= T * T ? NAN : at(e, r - r % T + place / T, c - c % T + place % T);
}

static double padded_for_writing(const struct evidence* e, int64_t T, int64_t c, int64_t r) {
    int64_t place = r % T * T + c % T, col = place % (T + 1);
    return col == T ? NAN : at(e, r - r % T + place / (T + 1), c - c % T + col);
}

// Is all well for r < rows, c < cols, and little beyond? A few wrong elements are right by chance.
static bool is_cut(const struct evidence* e, int64_t rows, int64_t cols) {
    int64_t beyond = 0, wrong = 0;
    for (int64_t i = 0; i < e->rows * e->cols; i++) {
        bool within = i % e->rows < rows && i / e->rows < cols;
        if (within && is_wrong(e, i)) return false;
        beyond += !within;
        wrong += is_wrong(e, i);
    }
    return rows > 0 && cols > 0 && 4 * wrong >= 3 * beyond && beyond > 0;
}

static bool is_tail(const struct evidence* e, int64_t T) {
    int64_t rows = e->rows - e->rows % T, cols = e->cols - e->cols % T;
    return is_cut(e, rows, cols) || is_cut(e, rows, e->cols) || is_cut(e, e->rows, cols);
}

// 1 if the whole tile is right, 0 if nothing in it was written, -1 else.
static int tile_is_right(const struct evidence* e, int64_t T, int64_t row0, int64_t col0) {
    int64_t all = 0, right = 0, nan = 0;
    for (int64_t c = col0; c < col0 + T && c < e->cols; c++) {
        for (int64_t r = row0; r < row0 + T && r < e->rows; r++) {
            all++;
            right += !is_wrong(e, c * e->rows + r);
            nan += isnan(e->got[c * e->rows + r]);
        }
    }
    return right == all ? 1 : nan == all ? 0 : -1;
}

// Are the first tiles right and all others never written, counted down or across?
static bool is_grid_too_small(const struct evidence* e, int64_t T, bool down) {
    int64_t n_down = CEIL_DIV(e->rows, T), n_across = CEIL_DIV(e->cols, T), right = 0;
    bool ended = false;
    for (int64_t k = 0; k < n_down * n_across; k++) {
        int64_t row0 = T * (down ? k % n_down : k / n_across);
        int64_t col0 = T * (down ? k / n_down : k % n_across);
        int verdict = tile_is_right(e, T, row0, col0);
        if (verdict < 0 || (verdict && ended)) return false;
        ended = !verdict;
        right += verdict;
    }
    return ended && right > 0;
}

static bool is_half_turned(const struct evidence* e, int64_t T) {
    return fits(e, tile_not_turned, T) || fits(e, tile_not_moved, T);
}

static bool is_half_padded(const struct evidence* e, int64_t T) {
    return fits(e, padded_for_reading, T) || fits(e, padded_for_writing, T);
}

static bool is_grid_swapped(const struct evidence* e, int64_t T) {
    if (e->rows == e->cols || T > 128) return false;  // larger tiles would fit a cut tail, too
    return is_cut(e, CEIL_DIV(e->cols, T) * T, CEIL_DIV(e->rows, T) * T);
}

static bool is_any_grid_too_small(const struct evidence* e, int64_t T) {
    return is_grid_too_small(e, T, true) || is_grid_too_small(e, T, false);
}

// The mistakes that depend on the size of the tiles, from the most to the least specific.
static const struct {
    bool (*is)(const struct evidence* e, int64_t T);
    enum cause cause;
} of_tiles[] = {
    {is_half_turned, CAUSE_transposed},        {is_half_padded, CAUSE_stride_ignored},
    {is_grid_swapped, CAUSE_swapped_sizes},    {is_tail, CAUSE_tail_dropped},
    {is_any_grid_too_small, CAUSE_grid_limit},
};

// Fresh shared memory of the CPU device is all ones, a NaN that is in no input and no fresh output.
static bool is_fresh(double x) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits == UINT32_MAX;
}

// The last question: are there wrong elements that were never written? The instrumented build finds
// NaN from unwritten parts of a tile: it knows the lines.
static enum cause explain_nan(const struct evidence* e) {
    int64_t fresh = 0, unwritten = 0, in_tail[TILES] = {0};
    for (int64_t i = 0; i < e->rows * e->cols; i++) {
        if (!is_wrong(e, i) || !isnan(e->got[i])) continue;
        if (is_fresh(e->got[i])) {
            fresh++;
            continue;
        }
        unwritten++;
        for (int k = 0; k < TILES; k++) {
            int64_t T = tiles[k], r = i % e->rows, c = i / e->rows;
            in_tail[k] += r >= e->rows - e->rows % T || c >= e->cols - e->cols % T;
        }
    }
    for (int k = 0; k < TILES && tiles[k] <= e->rows && tiles[k] <= e->cols; k++)
        if (unwritten > 0 && in_tail[k] == unwritten) return CAUSE_tail_dropped;
    if (unwritten > 0) return CAUSE_never_written;
    return fresh > 0 ? CAUSE_unknown : CAUSE_NONE;
}

static enum cause explain_matrix(const struct evidence* e) {
    if (fits(e, in_half, 0) || fits(e, in_bf16, 0)) return CAUSE_low_precision;
    if (fits(e, copied, 0)) return CAUSE_transposed;
    if (fits(e, sizes_swapped, 0) || fits(e, in_row_length, 0) || is_out_row_length(e) ||
        is_cut(e, e->cols, e->rows))
        return CAUSE_swapped_sizes;
    for (size_t k = 0; k < sizeof of_tiles / sizeof of_tiles[0]; k++)
        for (int i = 0; i < TILES; i++)
            if (of_tiles[k].is(e, tiles[i])) return of_tiles[k].cause;
    return explain_nan(e);
}

#endif
