// judge.c: an output against what is wanted, and what a failure looks like on the screen.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "check/hypothesis.h"
#include "check/state.h"

// ---- budgets

struct budget budget_exact(void) {
    return (struct budget){.max = 0};
}

// Right kernels may take multiples of the error of a plain implementation, and units in the last
// place of the largest wanted value. With few elements the plain implementation is sometimes exact
// by luck: hence the units.
//
// fp32: right kernels may sum in another order, use exp2 or fused multiply-adds. Their measured
// error was up to 3.2 times the error of a plain implementation. The smallest error of a wrong
// kernel was 61 times as large.
//
// 16 bits: the rounding of the result is most of the error of every right kernel, and it is the
// same for all of them. A sum that another order moves across the middle of two numbers is a unit
// off. Sums that are kept in 16 bits over many tiles err by more than twice as much. Where the
// plain implementation itself errs by more than two roundings, numbers cancel: there the fp32
// arithmetic decides, with its factor.
static const struct share {
    double max, max_ulp, mean, mean_ulp;
} float_share = {8, 8, 8, 2}, half_share = {3, 1, 2, 1.0 / 32};

// The part of an error that the rounding of results does not explain, times the factor of fp32.
static double beyond(double error, double rounding) {
    return 8 * fmax(0, error - 2 * rounding);
}

static int by_value(const void* a, const void* b) {
    uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

// How many rows are unlike each other: rows that are equal have equal errors, too.
static int64_t different_rows(const struct tensor* t) {
    int64_t rows, columns, different = 1;
    tensor_matrix(t, &rows, &columns);
    uint64_t* hash = malloc((size_t)rows * sizeof *hash + 1);
    for (int64_t y = 0; y < rows && hash; y++) {
        hash[y] = 0;
        for (int64_t i = y * columns; i < (y + 1) * columns; i++) {
            uint64_t bits = 0;
            if (!t->untouched[i]) memcpy(&bits, &t->want[i], sizeof bits);
            hash[y] = (hash[y] ^ bits) * 0x9e3779b97f4a7c15u;
            hash[y] ^= hash[y] >> 32;
        }
    }
    if (hash) qsort(hash, (size_t)rows, sizeof *hash, by_value);
    for (int64_t y = 1; y < rows && hash; y++) different += hash[y] != hash[y - 1];
    free(hash);
    return different;
}

// Right rounding errs to both sides: the rest of it in the mean of n rows is some 1 / sqrt(n) of
// the mean error. (Elements of a row may share an error.) Numbers that are cut off have twice the
// mean error of rounded ones, and all of it to one side.
static double bias_of(double mean, double bias, const struct tensor* t) {
    return 1.5 * fabs(bias) + mean * (0.5 + 4 / sqrt((double)different_rows(t)));
}

struct budget budget_from(const struct tensor* t, const double* standard) {
    double worst = 0, sum = 0, growth = 0, largest = 0, rounding = 0, largest_rounding = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < t->count; i++) {
        if (t->untouched[i] || !isfinite(t->want[i]) || !isfinite(standard[i])) continue;
        double error = fabs(standard[i] - t->want[i]);
        double rounded = fabs(dtype_round(t->dtype, t->want[i]) - t->want[i]);
        worst = fmax(worst, error);
        largest = fmax(largest, fabs(t->want[i]));
        largest_rounding = fmax(largest_rounding, rounded);
        sum += error;
        rounding += rounded;
        growth += compare_growth(t->want[i], standard[i]);
        finite++;
    }
    double n = finite ? (double)finite : 1, mean = sum / n, ulp = dtype_ulp(t->dtype, largest);
    bool half = dtype_size(t->dtype) == 2;
    const struct share* share = half ? &half_share : &float_share;
    struct budget budget = {.max = share->max * worst + share->max_ulp * ulp,
                            .mean = share->mean * mean + share->mean_ulp * ulp};
    if (!half) return budget;
    double more = beyond(mean, rounding / n);
    budget.max += beyond(worst, largest_rounding);
    budget.mean += more;
    budget.bias = bias_of(mean, growth / n, t) + share->mean_ulp * ulp / 2 + more;
    return budget;
}

// ---- the picture of a failure

// One character for each of up to 16 x 16 cells: '.' right, '+' some wrong, '#' all wrong, 'o' all
// never written. Four rows or more that are the same are one line.
static void append_map(struct result_item* record, const struct tensor* t, const bool* poison,
                       double tolerance) {
    enum { SIDE = 16 };
    int64_t rows, columns;
    tensor_matrix(t, &rows, &columns);
    bool folded = columns == 1;
    if (folded) {  // a vector is folded to fill the square
        columns = rows < SIDE ? rows : (rows + SIDE - 1) / SIDE;
        rows = (t->count + columns - 1) / columns;
    }
    int64_t down = rows < SIDE ? rows : SIDE, across = columns < SIDE ? columns : SIDE;
    int64_t wrong[SIDE][SIDE] = {{0}}, unwritten[SIDE][SIDE] = {{0}}, all[SIDE][SIDE] = {{0}};
    for (int64_t i = 0; i < t->count; i++) {
        int64_t y = i / columns * down / rows, x = i % columns * across / columns;
        enum verdict v =
            compare_element(t->want[i], t->got[i], poison[i], t->untouched[i], tolerance);
        if (t->untouched[i] && v == RIGHT) continue;
        all[y][x]++;
        wrong[y][x] += v != RIGHT;
        unwritten[y][x] += v == NEVER_WRITTEN;
    }
    if (folded)
        record_append(record, "where (%lld elements, row by row", (long long)t->count);
    else
        record_append(record, "where (%lld x %lld elements", (long long)rows, (long long)columns);
    record_append(record, "; . right, + some wrong, # all wrong, o never written):\n");
    char row[SIDE][SIDE + 1];
    for (int64_t y = 0; y < down; y++) {
        for (int64_t x = 0; x < across; x++)
            row[y][x] = !wrong[y][x]                   ? '.'
                        : unwritten[y][x] == all[y][x] ? 'o'
                        : wrong[y][x] == all[y][x]     ? '#'
                                                       : '+';
        row[y][across] = 0;
    }
    for (int64_t y = 0, same; y < down; y += same) {
        for (same = 1; y + same < down && strcmp(row[y], row[y + same]) == 0; same++) continue;
        if (same < 4) same = 1;
        record_append(record, same > 1 ? "    %s  %lld times\n" : "    %s\n", row[y],
                      (long long)same);
    }
}

// "-nan" and "nan" are the same to a reader.
static const char* number(double x, char text[32]) {
    snprintf(text, 32, isnan(x) ? "NaN" : "%.9g", x);
    return text;
}

static void append_first(struct result_item* record, const struct tensor* t, const bool* poison,
                         const struct comparison* found) {
    const int64_t first = found->first;
    char index[80], got[32], want[32];
    tensor_index(t, first, index, sizeof index);
    number(t->got[first], got);
    number(t->want[first], want);
    record->missing = poison[first] && !t->untouched[first];
    if (found->wrong) {
        record->place.call = (int)((t->got - t->state->got) / t->state->per_round);
        record->place.size = dtype_size(t->dtype);
        record->place.byte = first * dtype_size(t->dtype);
    }
    if (t->untouched[first])
        snprintf(record->first, sizeof record->first, "%s%s holds %s; it must not be written",
                 t->name, index, got);
    else if (poison[first])
        snprintf(record->first, sizeof record->first, "%s%s was never written, expected %s",
                 t->name, index, want);
    else
        snprintf(record->first, sizeof record->first, "%s%s is %s, expected %s", t->name, index,
                 got, want);
    record_append(record, "%s: %s\n", found->wrong ? "first wrong" : "farthest off", record->first);
}

// How many elements are wrong. Without one it is all of them together that are.
static void append_count(struct result_item* record, const struct tensor* t,
                         const struct comparison* found) {
    if (!found->wrong) {
        record_append(record, "no element of %s is off by more than a single one may be, but %s\n",
                      t->name,
                      found->mean_exceeded ? "their mean error is too large"
                                           : "too many are off to the same side");
        return;
    }
    // what lies between rows is none of the elements
    record_append(record, "%lld of %lld elements of %s are wrong",
                  (long long)(found->wrong - found->touched), (long long)found->expected, t->name);
    if (found->touched)
        record_append(record, ", %lld between its rows %s written", (long long)found->touched,
                      found->touched == 1 ? "was" : "were");
    if (found->never_written)
        record_append(record, ", %lld never written", (long long)found->never_written);
    if (found->nonfinite)
        record_append(record, ", %lld NaN or infinite", (long long)found->nonfinite);
    record_append(record, "\n");
}

// An error as a share of its budget: "85%", "78134 times", "3.2e+09 times".
static const char* share(double error, double budget, char text[48]) {
    const double times = budget > 0 ? error / budget : 0, many = 1e6;
    if (times > many)
        snprintf(text, 48, "%.2g times", times);
    else
        snprintf(text, 48, times > 10 ? "%.0f times" : "%.0f%%", times > 10 ? times : 100 * times);
    return text;
}

static void append_error(struct result_item* record, const struct comparison* found,
                         struct budget budget) {
    char worst[48], mean[48];
    if (found->worst_at < 0 || found->worst == 0) return;
    share(found->worst, budget.max, worst);
    if (budget.max > 0)
        record_append(record, "largest error %.3g (%s%s the budget), mean %.3g (%s)\n",
                      found->worst, worst, strchr(worst, '%') ? " of" : "", found->mean,
                      share(found->mean, budget.mean, mean));
    else
        record_append(record, "largest error %.3g; this result is exact in fp32\n", found->worst);
    if (found->bias_exceeded)
        record_append(record,
                      "numbers are too %s by %.3g on average; rounding explains at most %.3g\n",
                      found->bias < 0 ? "small" : "large", fabs(found->bias), budget.bias);
}

// Is most of an output right before any kernel has made anything of it? Elements do not count whose
// wanted value a fill gives as well: zeros, and what the budget does not tell from them.
static void judge_origin(struct check* c, const struct tensor* t, struct budget budget) {
    const struct left* second = &t->state->second;
    int64_t first = t->got - t->state->got, count = 0, right = 0;
    if (!second->got || t->state->by_host) return;
    for (int64_t i = 0; i < t->count; i++) {
        if (t->untouched[i] || !(fabs(t->want[i]) > 4 * budget.max) || isinf(t->want[i])) continue;
        count++;
        right += compare_element(t->want[i], second->got[first + i], second->poison[first + i],
                                 false, budget.max) == RIGHT;
    }
    if (2 * right > count)
        check_fail(c, CAUSE_host_computed,
                   "%lld of %lld elements of %s are right without any kernel: copies and host code "
                   "have left them there",
                   (long long)right, (long long)count, t->name);
}

// Mistakes that say which index is wrong. Such a mistake says more than an access outside the
// array.
static bool names_the_index(enum cause cause) {
    return cause == CAUSE_swapped_sizes || cause == CAUSE_stride_ignored ||
           cause == CAUSE_transposed || cause == CAUSE_batch_ignored || cause == CAUSE_head_ignored;
}

// Mistakes that leave a part of a sum, or an empty one.
static bool is_of_parts(enum cause cause) {
    return cause == CAUSE_merge_lost || cause == CAUSE_stays_empty || cause == CAUSE_inner_tail ||
           cause == CAUSE_tile_skipped;
}

// Mistakes that leave NaN where there was nothing.
static bool is_of_nothing(enum cause cause) {
    return cause == CAUSE_nan_leak || cause == CAUSE_empty_part || cause == CAUSE_empty_state ||
           cause == CAUSE_masked_row;
}

// Was it the copy to the host that read what nobody has written? It reads all that is missing: what
// is, and so why, says the picture.
static bool is_of_copy(const struct tensor* t, const struct finding* finding) {
    return t->state->on_host && finding->copied;
}

// A mistake that the lesson knows.
static enum cause mistake(struct check* c, const struct tensor* t, struct budget budget) {
    const struct suspect suspect = {.tensor = t, .budget = budget, .problem = c->description};
    enum cause cause = CAUSE_NONE;
    if (lesson.mistakes && c->description) cause = hypothesis_search(&suspect, lesson.mistakes);
    if (!cause && lesson.explain) cause = lesson.explain(c, t, budget);
    return cause;
}

// Was the first call right, and would this one, of other sizes or elsewhere, be right as the only
// one? Then it was made with what the first has left.
static bool is_of_before(struct check* c, const struct tensor* t, struct budget budget,
                         bool nothing) {
    return c->round > 0 && (c->varied || nothing || arena_is_elsewhere((uint32_t)c->round)) &&
           !trial_fails_alone(c, c->round, t, &budget);
}

// Is it a variable without a value? On the CPU device that is NaN. The compiler has warned, and
// some numbers are NaN; or an output holds this very NaN. Then *finding says so.
static bool is_without_value(bool warned, const struct comparison* found, struct finding* finding) {
    const char* words =
        warned && found->nonfinite
            ? "the warning above the items names a variable that is used before it has a value\n"
        : finding->unset
            ? "a local variable or array is used before it has a value: on the CPU device it holds "
              "NaN, and that\nNaN has reached an output\n"
            : NULL;
    if (words) snprintf(finding->text, sizeof finding->text, "%s", words);
    if (words) finding->count = 0;
    return words != NULL;
}

// The instrumented build may go on, with any number, where the plain one ends.
static bool is_without_return(struct check* c, struct finding* finding) {
    const char* place = c->session->no_return;
    if (!place || !place[0] || !trial_dies_unwatched(c)) return false;
    finding->cause = CAUSE_no_return;
    snprintf(finding->text, sizeof finding->text, "%s: this function ends here without a value\n",
             place);
    return true;
}

// Several threads write to one element. An index of few bits leads back to the start, where two
// blocks meet: then all that is wrong was never written.
static bool is_of_few_bits(struct check* c, const struct tensor* t, struct budget budget,
                           const struct comparison* found) {
    return t->shape.rank > 2 && found->never_written == found->wrong &&
           diagnose(c, t, budget, found) == CAUSE_grid_limit;
}

// The surest sign comes first: a race, with its lines, also one with TMA or wgmma; a wrong index
// that gives exactly this result; other accesses outside an array, which may give any result; what
// an earlier call has left; memory without a value; a mistake in the arithmetic; the picture of the
// errors; any other finding of the instrumented build. A race goes before a mistake, because a
// missing barrier may give the same result as the mistake: partial sums that never arrive, say. If
// two threads only write the same element, no barrier is missing: a wrong row length that explains
// the result exactly says more. *finding is what the instrumented build found, even if a different
// cause is named.
static enum cause likely_cause(struct check* c, const struct tensor* t, struct budget budget,
                               const struct comparison* found, bool nothing,
                               struct finding* finding) {
    enum cause cause = CAUSE_NONE;
    if (is_without_return(c, finding)) return CAUSE_no_return;
    if (!nothing && diagnose_added(c, t)) return CAUSE_accumulates;
    trial_find(c, finding);
    // what a note is about is NaN on the CPU device
    if (finding->note && !found->nonfinite) *finding = (struct finding){.cause = CAUSE_NONE};
    enum cause seen = finding->cause;
    if (seen == CAUSE_race || seen == CAUSE_async_order || seen == CAUSE_swizzle || finding->note)
        return seen;
    // what a copy leaves that is still on its way is NaN, which fits too many mistakes
    if ((seen == CAUSE_copy_on_its_way || seen == CAUSE_copy_not_awaited) && found->nonfinite)
        return seen;
    if (!seen && c->few_blocks == ARENA_MIXED && c->rounds == 1 &&
        !trial_fails_in_order(c, t, &budget))
        return CAUSE_block_order;
    if (!nothing) cause = mistake(c, t, budget);
    // where all numbers are right, and others stand between their rows, none was inexact
    const bool between = found->touched > 0 && found->touched == found->wrong;
    if (between && cause == CAUSE_low_precision) cause = CAUSE_NONE;
    // a kernel that stores all heads at the place of the first stays inside of the array
    const bool stored_outside = cause == CAUSE_head_ignored && found->never_written == found->wrong;
    if (seen == CAUSE_out_of_bounds && (!names_the_index(cause) || stored_outside)) return seen;
    // what one thread of many leaves is a part of the sum, too; and where several write to one
    // place, nobody has written to others, which hold NaN
    if (seen == CAUSE_race_of_writes && (is_of_parts(cause) || is_of_nothing(cause))) return seen;
    // one of two numbers may be near the right one
    if (seen == CAUSE_race_of_writes && cause == CAUSE_low_precision) return seen;
    // where a call before had its arrays stands NaN, as where nobody has written
    if (is_of_before(c, t, budget, nothing)) return CAUSE_stale_state;
    // a NaN fits too many mistakes
    const bool warned = c->session->unset;
    if (!seen && !nothing && is_without_value(warned, found, finding)) return CAUSE_uninitialised;
    // what nobody wrote is NaN of its own accord; and where most is NaN or missing, that fits too
    // many mistakes
    const int64_t no_numbers = found->nonfinite > 0 ? found->nonfinite + found->never_written : 0;
    const bool copied = is_of_copy(t, finding);
    if (seen == CAUSE_uninitialised && !copied &&
        (cause == CAUSE_nan_leak || 2 * no_numbers > found->wrong))
        return seen;
    if (nothing && lesson.explain_nothing) cause = lesson.explain_nothing(c, t);
    if (nothing) return cause ? cause : CAUSE_never_written;
    if (!cause && seen == CAUSE_race_of_writes)
        return is_of_few_bits(c, t, budget, found) ? CAUSE_grid_limit : seen;
    if (!cause && !seen && warned) return CAUSE_uninitialised;
    // a NaN that came from memory which nobody wrote says nothing about the arithmetic
    if (!cause && seen && found->nonfinite && !copied) return seen;
    if (!cause) cause = diagnose(c, t, budget, found);
    return cause == CAUSE_unknown && seen ? seen : cause;
}

// An element that is right was written, also if the number there was the same before.
static void settle_in_place(const struct tensor* t, double tolerance) {
    bool* poison = t->state->poison + (t->got - t->state->got);
    for (int64_t i = 0; t->state->role == ARENA_IN_PLACE && i < t->count; i++)
        if (!t->untouched[i] &&
            compare_element(t->want[i], t->got[i], false, false, tolerance) == RIGHT)
            poison[i] = false;
}

int judge_stub_line(const struct check* c) {
    return result_begin(c->session->text);
}

// Has the kernel made nothing of t yet, but one number everywhere, and does the file say where it
// has to? Then that is the cause, whatever mistake would leave the same number, and what was found
// in the code around it follows from it.
static enum cause append_begin(struct check* c, const struct tensor* t, const bool* poison,
                               const struct comparison* found, enum cause cause,
                               struct finding* finding) {
    const int line = judge_stub_line(c);
    const bool nothing = found->never_written == found->expected;
    const double* one = NULL;
    bool same = 2 * found->wrong > found->count;
    for (int64_t i = 0; i < t->count && same && !nothing; i++) {
        if (t->untouched[i]) continue;
        if (!one) one = &t->got[i];
        same = !poison[i] && memcmp(one, &t->got[i], sizeof *one) == 0;
    }
    if (line == 0 || !same) return cause;
    record_append(c->record, "%s, and a gap is left: begin in line %d, `" RESULT_STUB "`\n",
                  nothing ? "nothing of it was written" : "it is one number all over", line);
    c->record->unbegun = true;
    c->record->line = line;
    if (finding->cause && finding->line) return cause;
    *finding = (struct finding){.cause = CAUSE_NONE};
    if (!one) return CAUSE_never_written;
    return *one == 0 ? CAUSE_all_zero : isnan(*one) ? CAUSE_uninitialised : CAUSE_unknown;
}

void check_compare(struct check* c, struct tensor* t, struct budget budget) {
    settle_in_place(t, budget.max);
    const bool* poison = t->state->poison + (t->got - t->state->got);
    struct comparison found = compare(t->want, t->got, poison, t->untouched, t->count, budget);
    c->compared += found.count;
    c->judged = true;
    if (c->session->log && found.worst_at >= 0)
        fprintf(c->session->log,
                "   %s: largest error %.3g, budget %.3g; mean %.3g, %.3g; to one side %.3g, %.3g\n",
                t->name, found.worst, budget.max, found.mean, budget.mean, found.bias, budget.bias);
    if (found.count == 0) return;
    if (comparison_passes(&found)) {
        judge_origin(c, t, budget);
        trial_demand(c, t);
        return;
    }
    struct result_item* record = c->record;
    snprintf(record->array, sizeof record->array, "%s", t->name);
    bool nothing = found.never_written == found.expected;
    struct finding finding = {.cause = CAUSE_NONE};
    char call[40] = "";
    if (c->rounds > 1) snprintf(call, sizeof call, " (call %d of %d)", c->round + 1, c->rounds);
    record_case(c, call);
    enum cause cause = likely_cause(c, t, budget, &found, nothing, &finding);
    append_first(record, t, poison, &found);
    append_count(record, t, &found);
    if (!check_withheld_words(c, cause))
        cause = append_begin(c, t, poison, &found, cause, &finding);
    append_error(record, &found, budget);
    const char* words = check_withheld_words(c, cause);
    if (!words) record_append(record, "%s", finding.text);
    if (!words) record_findings(record, finding.value, finding.count);
    // where a line is known to be wrong, nobody has to look at a map
    if (found.wrong && !nothing && (words || cause != finding.cause))
        append_map(record, t, poison, budget.max);
    if (words) record_append(record, "%s", words);
    check_end_failed(c, words ? c->withheld->instead : cause);
}
