// hypothesis.c: see hypothesis.h.
#include "check/hypothesis.h"

#include <math.h>
#include <stdlib.h>

#include "check/compare.h"

static double slack_of(struct budget budget, struct slack slack, double largest, double guess) {
    double own = isfinite(guess) ? slack.of_element * fabs(guess) : 0;
    return budget.max + slack.of_largest * largest + own;
}

static bool is_like(double got, double guess, double slack) {
    return isnan(guess) ? isnan(got) : got == guess || fabs(got - guess) <= slack;
}

// The number that the output holds: NaN for an element that was never written.
static double got_of(const struct tensor* t, int64_t element) {
    return check_was_written(t, element) ? t->got[element] : NAN;
}

static double largest_of(const double* guess, int64_t n) {
    double largest = 0;
    for (int64_t e = 0; e < n; e++)
        if (isfinite(guess[e]) && fabs(guess[e]) != ANYTHING)
            largest = fmax(largest, fabs(guess[e]));
    return largest;
}

bool check_is_only_unwritten(const struct tensor* t, struct budget budget) {
    bool any = false;
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        if (!check_was_written(t, e))
            any = true;
        else if (t->got[e] != t->want[e] && !(fabs(t->got[e] - t->want[e]) <= budget.max))
            return false;
    }
    return any;
}

enum fit hypothesis_fit(const struct tensor* t, const double* guess, struct budget budget,
                        struct slack slack) {
    double largest = slack.of_largest > 0 ? largest_of(guess, t->count) : 0;
    double error = 0, unexplained = 0, worst = 0, sum = 0, growth = 0;
    double error_of_few = 0, unexplained_of_few = 0;
    int64_t unknown = 0, few = 0, finite = 0, untouched = 0;
    bool differs = false, apart = false;
    for (int64_t e = 0; e < t->count; e++) {
        double got = got_of(t, e), want = t->untouched[e] ? NAN : t->want[e];
        untouched += t->untouched[e];
        if (guess[e] == ANYTHING) {
            unknown += !t->untouched[e];
            continue;
        }
        if (guess[e] == NOT_WRITTEN) {
            if (check_was_written(t, e)) return FIT_NONE;
            differs |= !t->untouched[e];
            continue;
        }
        double allowed = slack_of(budget, slack, largest, guess[e]);
        if (!is_like(got, guess[e], allowed)) return FIT_NONE;
        if (isfinite(guess[e]) && isfinite(want)) {
            error += fabs(got - want);
            unexplained += fabs(got - dtype_round(t->dtype, guess[e]));
            double off = fabs(dtype_round(t->dtype, guess[e]) - want);
            worst = fmax(worst, off);
            sum += off;
            growth += compare_growth(want, dtype_round(t->dtype, guess[e]));
            finite++;
            if (off > budget.max / 2) {
                few++;
                error_of_few += fabs(got - want);
                unexplained_of_few += fabs(got - dtype_round(t->dtype, guess[e]));
            }
            apart |= !is_like(want, guess[e], allowed);
        } else if (isnan(guess[e])) {
            differs |= !isnan(want) && !slack.nan_proves_nothing;
        } else {
            differs |= !is_like(want, guess[e], allowed);
        }
    }
    if (unknown * 8 > (t->count - untouched) * 7) return FIT_NONE;
    // it may be the last ulp that went beyond the budget
    double n = 0.5 * (double)finite;
    bool fails = worst > budget.max / 2 || (budget.mean > 0 && sum > budget.mean * n) ||
                 (budget.bias > 0 && fabs(growth) > budget.bias * n);
    // Numbers that are nearer to the right ones than to the guess have another reason.
    bool explained = slack.unexplained > 0 ? fails && unexplained < slack.unexplained * error
                                           : apart && unexplained < error;
    const bool by_few = slack.of_few && few >= 4 && 4 * unexplained_of_few < error_of_few;
    return differs || explained || by_few ? FIT_SHOWN : FIT_RIGHT;
}

bool hypothesis_refuted(const struct suspect* s, int64_t element, double guess) {
    if (s->slack.of_largest > 0 || fabs(guess) == ANYTHING) return false;
    return !is_like(got_of(s->tensor, element), guess, slack_of(s->budget, s->slack, 0, guess));
}

// G, the guess's largest number, fits: G <= largest + budget + of_largest G + of_element G. Solved
// for G, that is how large a guess can be.
double hypothesis_reach(const struct suspect* s) {
    const struct slack* slack = &s->slack;
    double largest = 0;
    for (int64_t e = 0; e < s->tensor->count; e++) {
        double got = got_of(s->tensor, e);
        if (isfinite(got)) largest = fmax(largest, fabs(got));
    }
    double G = (largest + s->budget.max) / (1 - slack->of_largest - slack->of_element);
    return s->budget.max + slack->of_largest * G;
}

bool hypothesis_refuted_within(const struct suspect* s, int64_t element, double guess,
                               double reach) {
    double own = isfinite(guess) ? s->slack.of_element * fabs(guess) : 0;
    return !is_like(got_of(s->tensor, element), guess, reach + own);
}

static int variants_of(const struct hypothesis* h) {
    return h->variants > 0 ? h->variants : 1;
}

static bool fits(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    for (int64_t e = 0; e < s->tensor->count; e++) guess[e] = NAN;
    return h->make(s, h, variant, guess) &&
           hypothesis_fit(s->tensor, guess, s->budget, s->slack) == FIT_SHOWN;
}

static double* guess_for(const struct suspect* s) {
    double* guess = malloc((size_t)s->tensor->count * sizeof *guess + 1);
    if (!guess) abort();
    return guess;
}

enum cause hypothesis_search(const struct suspect* s, const struct hypothesis* list) {
    double* guess = guess_for(s);
    enum cause cause = CAUSE_NONE;
    for (const struct hypothesis* h = list; h->make && !cause; h++)
        for (int variant = 0; variant < variants_of(h) && !cause; variant++)
            if (fits(s, h, variant, guess)) cause = h->cause;
    free(guess);
    return cause;
}

enum cause hypothesis_search_variants(const struct suspect* s, const struct hypothesis* list) {
    double* guess = guess_for(s);
    enum cause cause = CAUSE_NONE;
    bool more = true;
    for (int variant = 0; more && !cause; variant++) {
        more = false;
        for (const struct hypothesis* h = list; h->make && !cause; h++) {
            if (variant >= variants_of(h)) continue;
            more = true;
            if (fits(s, h, variant, guess)) cause = h->cause;
        }
    }
    free(guess);
    return cause;
}
