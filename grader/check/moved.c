// moved.c: patterns of right numbers in wrong places, for diagnose().
#include <math.h>
#include <stdlib.h>

#include "check/picture.h"

// Is element i what is wanted in element k, of the same output or of another?
static bool holds(const struct picture* p, int64_t i, const struct tensor* other, int64_t k) {
    return !p->poison[i] && fabs(p->t->got[i] - other->want[k]) <= p->budget.max;
}

// Another output has as many elements, and this one holds what belongs there.
enum cause picture_exchanged(const struct picture* p) {
    for (int n = 0; n < p->c->tensor_count; n++) {
        const struct tensor* other = &p->c->tensor[n];
        if (other == p->t || arena_is_read(other->state->role) || other->count != p->t->count)
            continue;
        bool all = p->found->wrong >= 8;
        for (int64_t i = 0; i < p->t->count && all; i++)
            all = p->t->untouched[i] || other->untouched[i] || holds(p, i, other, i);
        if (!all) continue;
        record_append(p->c->record, "%s holds what belongs into %s\n", p->t->name, other->name);
        return CAUSE_wrong_array;
    }
    return CAUSE_NONE;
}

// The column, or row, of what is wanted that stands in column, or row, `at`; -1: in none. A line
// has `across` elements, `step` apart; lines begin `apart` elements from one another.
static int64_t line_in(const struct picture* p, int64_t at, int64_t lines, int64_t apart,
                       int64_t across, int64_t step) {
    for (int64_t n = 0; n < lines; n++) {
        int64_t line = (at + n) % lines, k = 0;  // its own one first
        while (k < across && holds(p, at * apart + k * step, p->t, line * apart + k * step)) k++;
        if (k == across) return line;
    }
    return -1;
}

// Does line `at` also hold what is wanted in a line that differs from `line`? Then the tolerance is
// too wide to tell.
static bool fits_others(const struct picture* p, int64_t at, int64_t line, int64_t lines,
                        int64_t apart, int64_t across, int64_t step) {
    for (int64_t n = 0; n < lines; n++) {
        int64_t k = 0, same = 0;
        while (k < across && holds(p, at * apart + k * step, p->t, n * apart + k * step)) k++;
        while (same < k &&
               p->t->want[n * apart + same * step] == p->t->want[line * apart + same * step])
            same++;
        if (k == across && same < across) return true;
    }
    return false;
}

// Every line is one of those that are wanted, and several are not where they belong. Lines of a few
// elements may be alike by chance; so are all within a wide tolerance, and then few elements of a
// line are wrong.
static bool lines_moved(const struct picture* p, const char* what, int64_t lines, int64_t apart,
                        int64_t across, int64_t step) {
    enum { SHORTEST = 8, MOST = 4096 };
    int64_t moved = 0, first = 0, from = 0, wrong = 0;
    if (across < SHORTEST || lines > MOST) return false;
    for (int64_t at = 0; at < lines; at++) {
        int64_t line = line_in(p, at, lines, apart, across, step);
        if (line < 0) return false;
        if (line == at) continue;
        if (fits_others(p, at, line, lines, apart, across, step)) return false;
        if (moved++ == 0) first = at, from = line;
        for (int64_t k = 0; k < across; k++) wrong += p->wrong[at * apart + k * step];
    }
    if (moved < 2 || 4 * wrong < moved * across) return false;
    record_append(p->c->record, "%s %lld of %s holds what belongs into %s %lld\n", what,
                  (long long)first, p->t->name, what, (long long)from);
    return true;
}

static int by_size(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// How many numbers within the range of the sorted ones are like one of them, as a share: whether
// one is met by chance.
static double share_met(const double* sorted, int64_t n, double tolerance) {
    double met = 0, range = sorted[n - 1] - sorted[0];
    bool whole = true;
    int64_t different = 1;
    for (int64_t i = 1; i < n; i++) {
        met += fmin(sorted[i] - sorted[i - 1], 2 * tolerance);
        different += sorted[i] != sorted[i - 1];
    }
    for (int64_t i = 0; i < n; i++) whole &= sorted[i] == rint(sorted[i]);
    if (whole && tolerance < 0.5) return (double)different / (range + 1);
    return range > 0 ? met / range : 1;
}

// Do the wrong elements hold several numbers? One and the same, 0 say, was not moved there from
// where it is wanted by chance.
static bool are_several(const struct picture* p) {
    struct different seen = {.count = 0};
    for (int64_t i = 0; i < p->t->count && seen.count < DIFFERENT; i++)
        if (p->wrong[i]) picture_take(&seen, p->t->got[i]);
    return seen.count == DIFFERENT;
}

static void append_place(const struct picture* p, int64_t at, int64_t from) {
    char here[80], there[80];
    tensor_index(p->t, at, here, sizeof here);
    tensor_index(p->t, from, there, sizeof there);
    record_append(p->c->record, "%s%s holds what belongs into %s%s\n", p->t->name, here, p->t->name,
                  there);
}

// Each wrong element holds what is wanted in another place. That is no chance: if a quarter of all
// numbers would be met, eight or more wrong ones are met by chance once in 65536 times. The report
// says where from for the first number that is wanted in one place alone.
static bool elements_moved(const struct picture* p) {
    enum { FEWEST = 8, MOST = 1 << 20 };
    const struct tensor* t = p->t;
    const int64_t n = t->count;
    if (p->found->wrong < FEWEST || n > MOST || !are_several(p)) return false;
    double* sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return false;
    int64_t finite = 0, one = -1, from = -1;
    for (int64_t i = 0; i < n; i++)
        if (!t->untouched[i] && isfinite(t->want[i])) sorted[finite++] = t->want[i];
    qsort(sorted, (size_t)finite, sizeof *sorted, by_size);
    bool all = finite > 0 && share_met(sorted, finite, p->budget.max) < 0.25;
    for (int64_t i = 0; i < n && all; i++) {
        if (!p->wrong[i]) continue;
        const double most = t->got[i] + p->budget.max;
        int64_t low = 0, high = finite;  // the first number that is not smaller
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (sorted[middle] < t->got[i] - p->budget.max)
                low = middle + 1;
            else
                high = middle;
        }
        all = low < finite && !p->poison[i] && sorted[low] <= most;
        if (one < 0 && all && (low + 1 == finite || sorted[low + 1] > most)) one = i;
    }
    free(sorted);
    if (!all) return false;
    while (one >= 0 && ++from < n)
        if (!t->untouched[from] && holds(p, one, t, from)) break;
    if (one >= 0 && from < n) append_place(p, one, from);
    return true;
}

// ---- the same in every square

// How likely is it that two of the wanted numbers are alike?
static double chance_to_meet(const struct picture* p) {
    const struct tensor* t = p->t;
    double* sorted = malloc((size_t)t->count * sizeof *sorted + 1);
    int64_t n = 0, low = 0, high = 0;
    double met = 0;
    if (!sorted) return 1;
    for (int64_t i = 0; i < t->count; i++)
        if (!t->untouched[i] && isfinite(t->want[i])) sorted[n++] = t->want[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    for (int64_t i = 0; i < n; i++) {
        while (sorted[low] < sorted[i] - p->budget.max) low++;
        while (high < n && sorted[high] <= sorted[i] + p->budget.max) high++;
        met += (double)(high - low) / (double)n;
    }
    free(sorted);
    return n > 0 ? met / (double)n : 1;
}

struct square {
    int64_t rows, columns;
};

// Does place `at` hold, in each square, what is wanted in place `from`? Of squares at the edge only
// what exists counts. *seen: in how many squares both exist.
static bool holds_in_squares(const struct picture* p, struct square s, int64_t at, int64_t from,
                             int64_t* seen) {
    const struct tensor* t = p->t;
    const int64_t y = at / s.columns, x = at % s.columns;
    const int64_t from_y = from / s.columns, from_x = from % s.columns;
    *seen = 0;
    for (int64_t row = 0; row < p->rows; row += s.rows)
        for (int64_t column = 0; column < p->columns; column += s.columns) {
            if (row + y >= p->rows || row + from_y >= p->rows) continue;
            if (column + x >= p->columns || column + from_x >= p->columns) continue;
            const int64_t i = (row + y) * p->columns + column + x;
            const int64_t k = (row + from_y) * p->columns + column + from_x;
            if (t->untouched[i] || t->untouched[k]) continue;
            if (!holds(p, i, t, k)) return false;
            ++*seen;
        }
    return true;
}

// Does each place of a square hold what is wanted in one place of the square, the same in all
// squares, and do several hold what another place wants? `enough` squares say that it is no chance.
static bool moved_in(const struct picture* p, struct square s, int64_t enough) {
    const int64_t places = s.rows * s.columns;
    int64_t moved = 0, first = 0, source = 0, seen;
    for (int64_t at = 0; at < places; at++) {
        if (holds_in_squares(p, s, at, at, &seen)) continue;
        int64_t from = 0;
        while (from < places &&
               !(from != at && holds_in_squares(p, s, at, from, &seen) && seen >= enough))
            from++;
        if (from == places) return false;
        if (moved++ == 0) first = at, source = from;
    }
    if (moved < 2) return false;
    append_place(p, first / s.columns * p->columns + first % s.columns,
                 source / s.columns * p->columns + source % s.columns);
    return true;
}

// Numbers of which many are alike do not say where they come from; but all squares may agree.
static bool moved_in_squares(const struct picture* p) {
    static const struct square squares[] = {{16, 8},  {8, 8},   {16, 16}, {32, 32},
                                            {32, 64}, {64, 32}, {64, 64}};
    const double bits = -log2(chance_to_meet(p));
    if (!(bits > 0.5) || !are_several(p)) return false;
    for (size_t n = 0; n < sizeof squares / sizeof squares[0]; n++) {
        const struct square s = squares[n];
        const double needed = 16 + log2((double)(s.rows * s.columns));
        if (p->rows < s.rows || p->columns < s.columns) continue;
        if (moved_in(p, s, (int64_t)ceil(needed / bits))) return true;
    }
    return false;
}

enum cause picture_moved(const struct picture* p) {
    if (p->found->never_written || p->found->nonfinite) return CAUSE_NONE;
    return lines_moved(p, "column", p->columns, 1, p->rows, p->columns) ||
                   lines_moved(p, "row", p->rows, p->columns, p->columns, 1) || elements_moved(p) ||
                   moved_in_squares(p)
               ? CAUSE_sums_moved
               : CAUSE_NONE;
}
