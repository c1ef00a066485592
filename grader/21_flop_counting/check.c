// check.c: lesson 21, graded. The student's file is a text; an item is one answer in it.
//
// An answer is right if it has the right value at TRIED sizes that are drawn from the seed: within
// 1e-9, and whole numbers exactly, as far as a double has them. The first sizes are small, so that
// a reader can count the shown values of a wrong answer by hand. Likely causes: a mistake of
// questions.h that gives the same values; else a common factor in the quotients of got and wanted
// value.
#include "check/check.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "formula/answers.h"
#include "formula/formula.h"
#include "questions.h"

enum { TRIED = 100, SMALL = 30, LARGE = 95, ALL_SIZES = sizeof size_names / sizeof size_names[0] };

#define TOLERANCE 1e-9            // of a formula in doubles: rounding is below 1e-14
#define THREE_DIGITS 1e-3         // half a unit in the third digit of 5.59, and a little
#define EXACT 9007199254740992.0  // 2^53: whole numbers below are doubles

_Static_assert(ALL_SIZES == sizeof(struct sizes) / sizeof(double), "a name for each size");

// ---- sizes ---------------------------------------------------------------------------------

static double pick(struct check* c, int64_t low, int64_t high) {
    return (double)check_pick(c, low, high);
}

// The k-th sizes of an item. BLOCK_Q, BLOCK_K and d are multiples of 16, and H is one of H_k. Of
// five, one has whole tiles alone, and one as many queries as keys.
static struct sizes draw(struct check* c, int k) {
    bool small = k < SMALL;
    int64_t most = small ? 9 : k < LARGE ? 5000 : 100000;
    struct sizes s;
    s.B = pick(c, 1, small ? 3 : 8);
    s.H_k = pick(c, 1, small ? 3 : 16);
    s.H = s.H_k * pick(c, 1, small ? 3 : 8);
    s.L = pick(c, 1, small ? 3 : 100);
    s.M = pick(c, 1, most);
    s.N = pick(c, 1, most);
    s.N_q = pick(c, 1, most);
    s.N_k = pick(c, 1, most);
    s.d = 16 * pick(c, 1, small ? 2 : 16);
    s.W = pick(c, 1, most);
    s.BLOCK = small ? pick(c, 2, 4) : pick(c, 16, 128);
    s.BLOCK_Q = 16 * pick(c, 1, small ? 2 : 8);
    s.BLOCK_K = 16 * pick(c, 1, small ? 2 : 8);
    if (k % 5 == 2) {
        s.N = s.BLOCK * pick(c, 1, small ? 3 : 30);
        s.N_q = s.BLOCK_Q * pick(c, 1, small ? 3 : 30);
        s.N_k = s.BLOCK_K * pick(c, 1, small ? 3 : 30);
    }
    if (k % 5 == 4) s.N_q = s.N_k = s.W = s.N;
    s.peak = 1e12 * pick(c, 10, 2000);
    s.bandwidth = 1e9 * pick(c, 100, 8000);
    s.intensity = s.peak / s.bandwidth * exp2(2 * check_normal(c));
    s.seconds = 1e-6 * pick(c, 10, 100000);
    return s;
}

// The sizes that are named in `names`, a list of words; all sizes if it is NULL. Returns how many.
static int named(const struct sizes* s, const char* names, struct formula_size to[ALL_SIZES]) {
    const double* value = (const double*)s;
    int count = 0;
    for (int i = 0; i < ALL_SIZES; i++) {
        size_t length = strlen(size_names[i]);
        const char* word = names;
        while (word && *word &&
               (strcspn(word, " ") != length || strncmp(word, size_names[i], length) != 0)) {
            word += strcspn(word, " ");
            word += *word == ' ';
        }
        if (!word || *word) to[count++] = (struct formula_size){size_names[i], value[i]};
    }
    return count;
}

// ---- the answer that is being judged -------------------------------------------------------

static struct {
    const struct question* question;
    struct answer answer;
    struct sizes sizes[TRIED];
    double got[TRIED], want[TRIED];
} now;

static double tolerance(void) {
    return now.question->unit == ROUNDED ? THREE_DIGITS : TOLERANCE;
}

static bool is_right(struct check* c, double got, double want) {
    if (now.question->unit < OTHER && want < EXACT && nearbyint(got) != want) got = NAN;
    return check_number(c, got, want, tolerance());
}

// True if this formula has the values that were got.
static bool explains(struct check* c, const char* formula) {
    for (int k = 0; k < TRIED; k++) {
        struct formula_size sizes[ALL_SIZES];
        struct formula_error error;
        double value;
        int count = named(&now.sizes[k], NULL, sizes);
        if (!formula_evaluate(formula, sizes, count, &value, &error))
            check_fail(c, CAUSE_NONE, "questions.h: %s: %s", formula, error.message);
        if (!(fabs(now.got[k] - value) <= tolerance() * fabs(value))) return false;
    }
    return true;
}

// Is got = factor * want * f(sizes) everywhere? f is one, or sizes[which] to the power of 1 or -1.
static bool always(int which, int power, double* factor) {
    for (int k = 0; k < TRIED; k++) {
        double size = which < 0 ? 1 : ((const double*)&now.sizes[k])[which];
        double quotient = now.got[k] / now.want[k] / pow(size, power);
        if (k == 0) *factor = quotient;
        if (!(fabs(quotient - *factor) <= tolerance() * fabs(*factor))) return false;
    }
    return isfinite(*factor) && *factor != 0;
}

static enum cause cause_of_factor(double factor) {
    double thousands = log10(fabs(factor)) / 3, bits = log2(fabs(factor));
    double kibi = log(fabs(factor)) / log(1.024);  // 2^30 for 10^9 is 3 of them
    bool double_or_half = fabs(fabs(bits) - 1) < 1e-6;
    if (double_or_half && now.question->unit == FLOPS) return CAUSE_multiply_add;
    if (double_or_half && now.question->unit == BYTES) return CAUSE_element_size;
    if (fabs(kibi) > 0.5 && fabs(kibi) < 4.5 && fabs(kibi - nearbyint(kibi)) < 1e-2)
        return CAUSE_units;
    if (fabs(bits) > 1 && fabs(thousands - nearbyint(thousands)) < 1e-3) return CAUSE_units;
    if (fabs(bits) > 9 && fabs(bits / 10 - nearbyint(bits / 10)) < 1e-3) return CAUSE_units;
    return CAUSE_constant_ratio;
}

// The first mistake of this question that gives the values that were got, or NULL.
static const struct mistake* mistake_made(struct check* c) {
    for (size_t m = 0; m < sizeof mistakes / sizeof mistakes[0]; m++)
        if (strcmp(mistakes[m].question, now.question->name) == 0 &&
            explains(c, mistakes[m].formula))
            return &mistakes[m];
    return NULL;
}

// The likely cause; `text` gets what more there is to say, or "".
static enum cause likely_cause(struct check* c, char* text, size_t size) {
    const struct mistake* made = mistake_made(c);
    double factor;
    text[0] = '\0';
    if (made) return made->cause;
    if (always(-1, 0, &factor)) {
        snprintf(text, size, "always %.6g times what is expected\n", factor);
        return cause_of_factor(factor);
    }
    for (int which = 0; which < ALL_SIZES; which++)
        for (int power = -1; power <= 1; power += 2)
            if (always(which, power, &factor)) {
                snprintf(text, size, "always %.6g %c %s times what is expected\n", factor,
                         power < 0 ? '/' : '*', size_names[which]);
                return CAUSE_size_missing;
            }
    bool inverse = true;
    for (int k = 0; k < TRIED; k++) inverse &= fabs(now.got[k] * now.want[k] - 1) <= tolerance();
    return inverse ? CAUSE_upside_down : CAUSE_wrong_formula;
}

// ---- judging -------------------------------------------------------------------------------

// "B = 2, N = 7", the sizes of the question.
static void sizes_text(const struct sizes* s, char* text, size_t size) {
    struct formula_size sizes[ALL_SIZES];
    int count = named(s, now.question->sizes, sizes);
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s = %.10g", i ? ", " : "", sizes[i].name,
                 sizes[i].value);
    }
}

static void number_text(double value, char text[40]) {
    bool whole = now.question->unit < OTHER && value == nearbyint(value) && fabs(value) < EXACT;
    snprintf(text, 40, isnan(value) ? "NaN" : whole ? "%.0f" : "%.9g", value);
}

static _Noreturn void fail_wrong(struct check* c, int first, int wrong) {
    char sizes[256], got[40], want[40], more[128];
    sizes_text(&now.sizes[first], sizes, sizeof sizes);
    number_text(now.got[first], got);
    number_text(now.want[first], want);
    enum cause cause = likely_cause(c, more, sizeof more);
    if (!sizes[0]) check_fail(c, cause, "it is %s, expected is %s\n%s", got, want, more);
    check_fail(c, cause, "for %s it is %s, expected is %s\nwrong for %d of %d such sizes\n%s",
               sizes, got, want, wrong, TRIED, more);
}

// Ends the item if there is no formula.
static void find_answer(struct check* c) {
    size_t size;
    const char* file = check_text(c, &size);
    const struct answer* a = &now.answer;
    now.answer = answer_find(file, size, now.question->name);
    check_case(c, "%s =", now.question->name);
    check_line(c, a->line);
    switch (a->state) {
    case ANSWER_NONE:
        if (a->message[0])
            check_fail(c, CAUSE_bad_formula,
                       "no line begins with: %s =\nand line %d, column %d: %s\n",
                       now.question->name, a->line, a->column, a->message);
        check_fail(c, CAUSE_no_answer, "no line begins with: %s =\n", now.question->name);
    case ANSWER_EMPTY:
        check_fail(c, CAUSE_no_answer, "line %d: nothing stands after the =\n", a->line);
    case ANSWER_BAD:
        check_fail(c, CAUSE_bad_formula, "line %d, column %d: %s\n", a->line, a->column,
                   a->message);
    case ANSWER_THERE:
        check_case(c, "line %d, %s = %s", a->line, now.question->name, a->text);
    }
}

static void judge(struct check* c, const char* name) {
    const struct question* question = questions;
    int first = -1, wrong = 0;
    while (strcmp(question->name, name) != 0) question++;
    now.question = question;
    find_answer(c);
    for (int k = 0; k < TRIED; k++) {
        struct formula_size sizes[ALL_SIZES];
        struct formula_error error;
        now.sizes[k] = draw(c, k);
        int count = named(&now.sizes[k], question->sizes, sizes);
        if (!formula_evaluate(now.answer.text, sizes, count, &now.got[k], &error))
            check_fail(c, CAUSE_bad_formula, "line %d, column %d: %s\n", now.answer.line,
                       now.answer.column + error.column - 1, error.message);
        now.want[k] = question->want(&now.sizes[k]);
        if (is_right(c, now.got[k], now.want[k])) continue;
        if (first < 0) first = k;
        wrong++;
    }
    if (wrong > 0) fail_wrong(c, first, wrong);
    // No mistake gives the right values, and the formula of each mistake can be read.
    const struct mistake* made = mistake_made(c);
    if (made) check_fail(c, CAUSE_NONE, "questions.h: %s is right", made->formula);
}

#define QUESTIONS(QUESTION)                                                  \
    QUESTION(4, forward_flops, "FLOPs of a forward pass")                    \
    QUESTION(4, gqa_flops, "the same with H_k heads of keys")                \
    QUESTION(4, backward_flops, "FLOPs of a backward pass")                  \
    QUESTION(4, split_flops, "FLOPs that a split backward executes")         \
    QUESTION(4, split_rate, "FLOP/s that it is credited with")               \
    QUESTION(4, causal_scores, "pairs that a causal mask leaves")            \
    QUESTION(5, ragged_scores, "the same with N_q and N_k that differ")      \
    QUESTION(5, window_scores, "pairs that a sliding window leaves")         \
    QUESTION(4, causal_tiles, "tiles that a causal kernel computes")         \
    QUESTION(5, mma_count, "mma.sync of a forward pass, whole tiles")        \
    QUESTION(4, array_bytes, "bytes of Q, K, V and O")                       \
    QUESTION(4, gqa_bytes, "the same with H_k heads of keys")                \
    QUESTION(4, naive_bytes, "bytes moved when S and P go through memory")   \
    QUESTION(5, flash_read_bytes, "bytes that the blocks of a forward read") \
    QUESTION(4, dq_atomic_bytes, "bytes that the blocks of a backward add")  \
    QUESTION(4, kv_cache_bytes, "bytes that a token takes in a cache")       \
    QUESTION(4, flash_intensity, "FLOPs a byte at best")                     \
    QUESTION(4, naive_intensity, "FLOPs a byte with S and P in memory")      \
    QUESTION(4, roofline, "FLOP/s at most")                                  \
    QUESTION(4, enough_rows, "rows of a block that keep the products busy")  \
    QUESTION(4, forward_seconds, "seconds of a forward pass at least")       \
    QUESTION(4, decode_seconds, "seconds of a new token at least")           \
    QUESTION(4, softmax_seconds, "seconds of a softmax at least")            \
    QUESTION(4, h200_softmax, "the same on an H200, a number")

#define QUESTION(points, id, title)           \
    static void judge_##id(struct check* c) { \
        judge(c, #id);                        \
    }
QUESTIONS(QUESTION)
#undef QUESTION

static const struct item items[] = {
#define QUESTION(points, id, title) {points, #id ": " title, judge_##id},
    QUESTIONS(QUESTION)
#undef QUESTION
        {0},
};

const struct lesson lesson = {.name = "21_flop_counting",
                              .items = items,
                              .idea = {.what = "the right answer: formulas, checked by counters"}};
