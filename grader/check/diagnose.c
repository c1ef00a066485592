// diagnose.c: the likely cause, read from the picture of the errors alone.
//
// These patterns know nothing of a lesson's mathematics: its list of mistakes and its explain()
// come first. The most specific pattern is tried first; the first one that fits is named.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "check/picture.h"
#include "cpu/cards/cards.h"

// An output of the host holds NaN where nothing came: where one is wanted, nobody knows.
static bool is_like(const struct picture* p, int64_t i, bool wrong) {
    bool either = p->t->state->on_host && isnan(p->t->got[i]) && isnan(p->t->want[i]);
    return p->wrong[i] == wrong || either;
}

static bool row_all(const struct picture* p, int64_t row, bool wrong) {
    for (int64_t j = 0; j < p->columns; j++)
        if (!is_like(p, row * p->columns + j, wrong)) return false;
    return true;
}

static bool column_all(const struct picture* p, int64_t column, bool wrong) {
    for (int64_t i = 0; i < p->rows; i++)
        if (!is_like(p, i * p->columns + column, wrong)) return false;
    return true;
}

// The first index from which all(p, i, true) holds to the end while all before are right, or -1.
static int64_t wrong_from(const struct picture* p, int64_t n,
                          bool (*all)(const struct picture*, int64_t, bool)) {
    int64_t first = n;
    while (first > 0 && all(p, first - 1, true)) first--;
    while (first < n && all(p, first, false)) first++;
    if (first == 0 || first == n) return -1;
    for (int64_t i = 0; i < first; i++)
        if (!all(p, i, false)) return -1;
    return first;
}

// Errors as small as rounding makes them. Rounding makes no number of a NaN or an infinity.
static bool small(const struct picture* p) {
    double largest = 0;
    if (p->found->never_written || p->found->nonfinite) return false;
    for (int64_t i = 0; i < p->t->count; i++) {
        if (isfinite(p->t->want[i]) && !p->t->untouched[i])
            largest = fmax(largest, fabs(p->t->want[i]));
        else if (p->wrong[i])
            return false;
    }
    return p->found->worst <= 0.02 * largest;
}

// The wrong part is what a tile of 2^k elements leaves over at the end.
static bool is_tail(int64_t first, int64_t n) {
    for (int64_t tile = 2; tile <= 1024; tile *= 2)
        if (first >= 0 && n % tile != 0 && first == n / tile * tile) return true;
    return false;
}

// Of the card that the case runs on.
static int multiprocessors(const struct check* c) {
    const struct known_card* card = card_named(case_card(c));
    return card ? card->multiprocessors : 0;
}

// Are the first rows right because nothing but zeros belongs there? Nobody has to reach them.
static bool are_zeros(const struct picture* p, int64_t rows) {
    for (int64_t i = 0; i < rows * p->columns; i++)
        if (!p->t->untouched[i] && p->t->want[i] != 0) return false;
    return true;
}

// In each batch all rows are wrong from the same one on, and the others right. Nobody has to reach
// those of zeros beside other numbers: they may lack for that.
static bool is_tail_of_each(const struct picture* p, int64_t batch) {
    int64_t first = 0;
    bool zeros = true;  // of what is wrong
    while (first < batch && row_all(p, first, false)) first++;
    for (int64_t row = 0; row < p->rows; row++)
        if (!row_all(p, row, row % batch >= first)) return false;
    for (int64_t i = 0; i < p->t->count; i++) zeros &= !p->wrong[i] || p->t->want[i] == 0;
    return first > 0 && is_tail(first, batch) && (!zeros || are_zeros(p, p->rows));
}

static enum cause tail(const struct picture* p) {
    int64_t row = wrong_from(p, p->rows, row_all), column = wrong_from(p, p->columns, column_all);
    // Whole batches that nobody wrote.
    const struct shape* shape = &p->t->shape;
    int64_t batch = shape->rank > 2 && shape->dim[0] > 1 ? p->rows / shape->dim[0] : 0;
    bool unwritten = p->found->never_written == p->found->wrong;
    // With one batch for each multiprocessor no grid ends: blocks that stay take no second one.
    if (batch > 0 && row == batch * multiprocessors(p->c) && unwritten) return CAUSE_never_written;
    if (row > batch && batch > 0 && row % batch == 0 && unwritten) return CAUSE_grid_limit;
    if (is_tail(row, p->rows) || is_tail(column, p->columns)) return CAUSE_tail_dropped;
    if (batch > 0 && unwritten && is_tail_of_each(p, batch)) return CAUSE_tail_dropped;
    // If rounding alone makes the last rows wrong, this is chance. A NaN was written: something
    // reached these rows, if only the copy to the host.
    bool reached = small(p) || (p->found->nonfinite > 0 && !p->t->state->on_host);
    // A few right rows before rows that were written, and are wrong, are chance, too.
    enum { NO_CHANCE = 16 };
    reached |= !unwritten && (row < NO_CHANCE || are_zeros(p, row));
    return row > 0 && (p->rows - row) * 16 > p->rows && !reached ? CAUSE_grid_limit : CAUSE_NONE;
}

// The result of an earlier call, or its sum with the right result.
static enum cause earlier_round(const struct picture* p) {
    const struct tensor* t = p->t;
    const double* want = t->state->want;
    for (int r = 0; r < p->c->round; r++, want += t->state->per_round) {
        bool same = true, sum = true;
        for (int64_t i = 0; i < t->count; i++) {
            if (!p->wrong[i]) continue;
            double slack =
                p->budget.max + 4 * dtype_ulp(t->dtype, fabs(want[i]) + fabs(t->want[i]));
            bool like = t->got[i] == want[i] || (isnan(t->got[i]) && isnan(want[i]));
            if (!like && !(fabs(t->got[i] - want[i]) <= slack)) same = false;
            if (!(fabs(t->got[i] - want[i] - t->want[i]) <= slack)) sum = false;
        }
        if (same || sum) return same ? CAUSE_stale_state : CAUSE_accumulates;
    }
    return CAUSE_NONE;
}

// Are many rows right behind the first one that is wrong? Where a row is not known to be one of a
// batch, they must not be: the mistake comes again and again.
static bool right_again(const struct picture* p) {
    int64_t row = 0, right = 0;
    while (row < p->rows && row_all(p, row, false)) row++;
    const int64_t first = row;
    for (; row < p->rows; row++) right += row_all(p, row, false);
    return 8 * right > p->rows - first;
}

static enum cause one_batch(const struct picture* p) {
    const struct tensor* t = p->t;
    if (t->shape.rank < 2 || t->shape.dim[0] < 2) return CAUSE_NONE;
    if (p->found->nonfinite > 0) return CAUSE_NONE;  // the first batch's numbers are numbers
    int64_t per_batch = t->count / t->shape.dim[0], bad = 0;
    if (t->shape.rank == 2 && (per_batch == 1 || right_again(p))) return CAUSE_NONE;
    // a row that is right behind the first one says that rows are no batches
    if (t->shape.rank == 2 && row_all(p, 1, false)) return CAUSE_NONE;
    for (int64_t i = 0; i < t->count; i++) {
        if (p->wrong[i] && i < per_batch) return CAUSE_NONE;
        bad += p->wrong[i];
    }
    return bad * 2 > t->count - per_batch ? CAUSE_batch_ignored : CAUSE_NONE;
}

// How many rows of an input hold a large number: scores made of it may leave the range of exp().
static int64_t large_rows(const struct tensor* in) {
    int64_t rows, columns, large = 0;
    tensor_matrix(in, &rows, &columns);
    for (int64_t i = 0; i < rows; i++) {
        bool found = false;
        for (int64_t k = i * columns; k < (i + 1) * columns; k++)
            found |= fabs(in->value[k]) > 20 && isfinite(in->value[k]);
        large += found;
    }
    return large;
}

// Whole numbers are places, lengths, labels or codes: no score is a product of them.
static bool is_of_indices(const struct tensor* in) {
    return in->dtype == I32 || in->dtype == I64 || in->dtype == U8;
}

// An exp() that overflows spoils only its own row. If l is infinite, the whole row is NaN or 0. If
// only one sum is infinite, the other elements of the row are right. Rows without large numbers are
// right. So if no row is right, all rows of some input hold large numbers.
static enum cause nonfinite(const struct picture* p) {
    int64_t bad = 0;
    if (p->found->nonfinite == 0 || lesson.without_exp) return CAUSE_NONE;
    for (int64_t i = 0; i < p->rows; i++) {
        if (row_all(p, i, false)) continue;
        bad++;
        for (int64_t k = i * p->columns; k < (i + 1) * p->columns; k++)
            if (p->wrong[k] && isfinite(p->t->got[k]) && p->t->got[k] != 0) return CAUSE_NONE;
    }
    for (int i = 0; i < p->c->tensor_count; i++) {
        const struct tensor* in = &p->c->tensor[i];
        if (!arena_is_read(in->state->role) || is_of_indices(in)) continue;
        int64_t large = large_rows(in), rows, columns;
        tensor_matrix(in, &rows, &columns);
        if (large > 0 && (bad < p->rows || large == rows)) return CAUSE_overflow;
    }
    return CAUSE_NONE;
}

// ---- numbers

// Whole numbers, and not only one or two, where others are wanted; or what a NaN or an infinity is
// as an int, where nothing else is wrong.
static enum cause whole(const struct picture* p) {
    const double most = 0x1p31;
    struct different seen = {.count = 0};
    int64_t broken = 0, lost = 0, larger = 0;
    for (int64_t i = 0; i < p->t->count; i++) {
        const double got = p->t->got[i], want = p->t->want[i];
        if (p->t->untouched[i] || !p->wrong[i]) continue;
        if (p->poison[i] || got != rint(got) || fabs(got) > most) return CAUSE_NONE;
        if (isfinite(want) ? want == rint(want) : fabs(got) != most) return CAUSE_NONE;
        *(isfinite(want) ? &broken : &lost) += 1;
        larger += isfinite(want) && fabs(got) > 4 * (1 + fabs(want));
        picture_take(&seen, got);
    }
    // Without their fractions numbers, and sums of them, are not many times as large.
    bool only_lost = lost > 0 && broken == 0, cut = broken >= 8 && larger <= broken / 2;
    return only_lost || (cut && seen.count == DIFFERENT) ? CAUSE_whole_numbers : CAUSE_NONE;
}

// A number stands where NaN or an infinity is wanted, or an infinity where NaN is, and nothing else
// is wrong.
static enum cause lost(const struct picture* p) {
    bool any = false;
    for (int64_t i = 0; i < p->t->count; i++) {
        const double got = p->t->got[i], want = p->t->want[i];
        if (!p->wrong[i]) continue;
        if (p->poison[i] || isfinite(want) || isnan(got) || (isinf(got) && !isnan(want)))
            return CAUSE_NONE;
        any = true;
    }
    return any ? CAUSE_nan_lost : CAUSE_NONE;
}

// NaN stands where an infinity is wanted, and nothing else is wrong.
static enum cause infinity_lost(const struct picture* p) {
    bool any = false;
    for (int64_t i = 0; i < p->t->count; i++) {
        if (!p->wrong[i]) continue;
        if (p->poison[i] || !isinf(p->t->want[i]) || !isnan(p->t->got[i])) return CAUSE_NONE;
        any = true;
    }
    return any ? CAUSE_infinity_lost : CAUSE_NONE;
}

static enum cause transposed(const struct picture* p) {
    const struct tensor* t = p->t;
    int64_t n = p->columns, squares = n > 1 && p->rows % n == 0 ? p->rows / n : 0;
    for (int64_t s = 0; s < squares; s++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                if (!(fabs(t->got[(s * n + i) * n + j] - t->want[(s * n + j) * n + i]) <=
                      p->budget.max))
                    return CAUSE_NONE;
    return squares ? CAUSE_transposed : CAUSE_NONE;
}

// Elements between the rows are written, and nothing else is wrong; or, if 0 alone is wanted, they
// are written in place of others.
static enum cause touched(const struct picture* p) {
    bool any = false, lost = false, zeros = true;
    for (int64_t i = 0; i < p->t->count; i++) {
        any |= p->wrong[i] && p->t->untouched[i];
        if (p->t->untouched[i]) continue;
        if (p->wrong[i] && !p->poison[i]) return CAUSE_NONE;
        lost |= p->wrong[i];
        zeros &= p->t->want[i] == 0;
    }
    if (any && lost) return zeros ? CAUSE_stride_ignored : CAUSE_NONE;
    return any ? CAUSE_out_of_bounds : CAUSE_NONE;
}

// 0 stands for a number that is smaller than any with all its bits, and nothing else is wrong.
static enum cause flushed(const struct picture* p) {
    const struct tensor* t = p->t;
    const double least = t->dtype == F16 ? 0x1p-14 : 0x1p-126;
    bool any = false;
    for (int64_t i = 0; i < t->count; i++) {
        if (!p->wrong[i]) continue;
        if (t->got[i] != 0 || t->want[i] == 0 || !(fabs(t->want[i]) < least)) return CAUSE_NONE;
        any = true;
    }
    return any ? CAUSE_subnormal : CAUSE_NONE;
}

// Every element is 0.
static enum cause all_zero(const struct picture* p) {
    const struct tensor* t = p->t;
    int64_t zeros = 0;
    for (int64_t i = 0; i < t->count; i++) {
        if (t->untouched[i]) continue;
        if (t->got[i] != 0 || p->poison[i]) return CAUSE_NONE;
        zeros++;
    }
    return zeros > 0 ? CAUSE_all_zero : CAUSE_NONE;
}

// got / want is the same everywhere it can be measured: where want is no small number.
static enum cause constant_ratio(const struct picture* p) {
    const struct tensor* t = p->t;
    double low = INFINITY, high = -INFINITY, largest = 0;
    int64_t measured = 0;
    for (int64_t i = 0; i < t->count; i++)
        if (isfinite(t->want[i])) largest = fmax(largest, fabs(t->want[i]));
    for (int64_t i = 0; i < t->count; i++) {
        if (t->untouched[i] || !(fabs(t->want[i]) > 0.05 * largest)) continue;
        double ratio = t->got[i] / t->want[i];
        if (!isfinite(ratio)) return CAUSE_NONE;
        low = fmin(low, ratio);
        high = fmax(high, ratio);
        measured++;
    }
    if (high == 0 && low == 0) return CAUSE_NONE;  // zeros are no factor
    if (measured < 4 || !(high - low <= 0.01 * fabs(high)) || fabs(high - 1) < 0.01)
        return CAUSE_NONE;
    const double factor = (low + high) / 2;
    for (int64_t i = 0; i < t->count; i++) {  // the small ones, too
        const double like = factor * t->want[i];
        if (t->untouched[i] || !isfinite(t->want[i])) continue;
        if (!(fabs(t->got[i] - like) <= 0.01 * fabs(like) + p->budget.max * fmax(1, fabs(factor))))
            return CAUSE_NONE;
    }
    record_append(p->c->record, "every element is %.4g times what it should be\n", factor);
    return CAUSE_constant_ratio;
}

// Are errors larger than numbers of half precision make them, and in a row all to one side, by one
// factor or one step? Rounding goes to both sides; and cutting digits off, as bfloat16 would, makes
// numbers smaller, but not by one factor. These come from a term too many, or from one that lacks.
// The bounds: cut digits are evenly spread, and one factor then explains 3/4 of their energy, so
// 0.85 is more than that. A step is left with 1/3, since only a part of a row may have it. Where a
// row is one number there are few of them: errors four times as large.
static bool is_one_sided(const struct picture* p) {
    const double half = 0x1p-11, most = 0.9;
    const struct tensor* t = p->t;
    double worst = 0, largest = 0, energy = 0, by_factor = 0, by_step = 0;
    int64_t counted = 0, above = 0, outward = 0;
    for (int64_t i = 0; i < t->count; i++) {
        if (t->untouched[i] || !isfinite(t->want[i])) continue;
        worst = fmax(worst, fabs(t->got[i] - t->want[i]));
        largest = fmax(largest, fabs(t->want[i]));
    }
    for (int64_t row = 0; row < p->rows; row++) {
        double e = 0, ee = 0, ew = 0, ww = 0;
        int64_t n = 0;
        for (int64_t i = row * p->columns; i < (row + 1) * p->columns; i++) {
            if (t->untouched[i] || !isfinite(t->want[i])) continue;
            const double error = t->got[i] - t->want[i];
            e += error, ee += error * error, ew += error * t->want[i];
            ww += t->want[i] * t->want[i], n++;
            if (fabs(error) <= worst / 20) continue;
            counted++, above += error > 0, outward += error * t->want[i] > 0;
        }
        energy += ee;
        by_factor += ww > 0 ? ew * ew / ww : 0;
        by_step += n > 0 ? e * e / (double)n : 0;
    }
    const double up = (double)above / (double)counted, out = (double)outward / (double)counted;
    const bool one_way = fmax(up, 1 - up) > most, cut = 1 - out > most && worst <= largest / 128;
    // a row of one number is always of one factor
    if (p->columns == 1) return one_way && !cut && worst > 4 * half * largest;
    return worst > half * largest && ((fmax(out, 1 - out) > most && by_factor > 0.85 * energy) ||
                                      (one_way && !cut && by_step > energy / 3));
}

// Are the errors too large on the whole, and none of them by far? Of a mistake in few places the
// mean says little.
static bool is_mean_exceeded_alone(const struct picture* p) {
    const struct comparison* f = p->found;
    return f->mean_exceeded && f->nonfinite == 0 && f->never_written == 0 &&
           8 * f->wrong <= f->count && f->worst <= 1.5 * p->budget.max;
}

static enum cause imprecise(const struct picture* p) {
    const bool is_small = small(p) || is_mean_exceeded_alone(p);
    return is_small && !is_one_sided(p) ? CAUSE_low_precision : CAUSE_NONE;
}

bool diagnose_added(struct check* c, const struct tensor* t) {
    int size = dtype_size(t->dtype);
    uint64_t at = c->arena.layout.tensor[t - c->tensor].offset[c->round];
    int64_t written = 0, added = 0;
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t element = at + (uint64_t)(i * size);
        written += !t->untouched[i] && !arena_is_poison(&c->arena, element, size);
        added += !t->untouched[i] && arena_was_added_to(&c->arena, element, size);
    }
    return added * 2 > written;
}

// Is this a NaN that arithmetic makes of numbers? Others were NaN in memory, and were passed on.
static bool is_made(const unsigned char* bytes, enum dtype dtype) {
    uint32_t bits = 0;
    memcpy(&bits, bytes, (size_t)dtype_size(dtype));
    if (dtype == F32) return (bits & 0x003fffff) == 0 || (bits & 0x003fffff) == 0x003fffff;
    uint32_t payload = bits & (dtype == F16 ? 0x01ff : 0x003f);
    return payload == 0 || payload == (dtype == F16 ? 0x01ff : 0x003f);
}

bool diagnose_unset(const struct check* c, const struct arena* left) {
    static const unsigned char ones[] = {0xff, 0xff, 0xff, 0xff};
    for (int n = 0; n < c->tensor_count; n++) {
        const struct tensor* t = &c->tensor[n];
        const bool is_float = t->dtype == F32 || t->dtype == F16 || t->dtype == BF16;
        const size_t size = (size_t)dtype_size(t->dtype);
        const unsigned char* bytes = left->bytes + left->layout.tensor[n].offset[c->round];
        if (arena_is_read(t->state->role) || !is_float) continue;
        for (int64_t i = 0; i < t->count; i++)
            if (!t->untouched[i] && memcmp(bytes + (size_t)i * size, ones, size) == 0) return true;
    }
    return false;
}

// The grader fills memory with other NaNs than arithmetic makes, and no input holds such a NaN: it
// comes from memory that nobody wrote.
static enum cause from_poison(const struct picture* p) {
    const struct check* c = p->c;
    const unsigned char* bytes =
        c->arena.bytes + c->arena.layout.tensor[p->t - c->tensor].offset[c->round];
    int64_t nan = 0, passed_on = 0;
    for (int64_t i = 0; i < p->t->count; i++) {
        if (!p->wrong[i] || p->poison[i] || !isnan(p->t->got[i])) continue;
        nan++;
        passed_on += !is_made(bytes + i * dtype_size(p->t->dtype), p->t->dtype);
    }
    return 2 * passed_on > nan ? CAUSE_uninitialised : CAUSE_NONE;
}

enum cause diagnose(struct check* c, const struct tensor* t, struct budget budget,
                    const struct comparison* found) {
    static enum cause (*const patterns[])(const struct picture*) = {
        touched,    flushed,        all_zero,          earlier_round, tail, from_poison,
        one_batch,  nonfinite,      picture_exchanged, whole,         lost, infinity_lost,
        transposed, constant_ratio, imprecise,         picture_moved,
    };
    struct picture p = {.c = c, .t = t, .found = found, .budget = budget};
    p.poison = t->state->poison + (t->got - t->state->got);
    p.wrong = calloc((size_t)t->count, sizeof(bool));
    if (!p.wrong) return CAUSE_unknown;
    tensor_matrix(t, &p.rows, &p.columns);
    for (int64_t i = 0; i < t->count; i++)
        p.wrong[i] = compare_element(t->want[i], t->got[i], p.poison[i], t->untouched[i],
                                     budget.max) != RIGHT;
    enum cause cause = CAUSE_NONE;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0] && !cause; i++)
        cause = patterns[i](&p);
    if (!cause && found->never_written) cause = CAUSE_never_written;
    free(p.wrong);
    return cause ? cause : CAUSE_unknown;
}
