// formula.c: recursive descent over a formula, which computes as it reads. See formula.h.
#include "formula/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 40 };  // of a name, in a message

struct reader {
    const char *text, *at;
    const struct formula_size* sizes;
    int count, depth;
    bool failed;
    struct formula_error* error;
};

static double read_expr(struct reader* r);
static double read_unary(struct reader* r);

// Records what is wrong at this place, if nothing was before, and skips the rest of the text.
static double fail(struct reader* r, const char* where, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
static double fail(struct reader* r, const char* where, const char* format, ...) {
    if (!r->failed) {
        va_list values;
        va_start(values, format);
        vsnprintf(r->error->message, sizeof r->error->message, format, values);
        va_end(values);
        r->error->column = (int)(where - r->text) + 1;
    }
    r->failed = true;
    r->at += strlen(r->at);
    return NAN;
}

// ---- characters. A formula has no characters beyond ASCII, whatever the locale.

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The next character that is no blank. The reader stays before it.
static char next(struct reader* r) {
    while (*r->at == ' ' || *r->at == '\t') r->at++;
    return *r->at;
}

static bool take(struct reader* r, char c) {
    if (next(r) != c) return false;
    r->at++;
    return true;
}

// Something stands in a wrong place; `wanted` names what may stand there.
static double fail_at(struct reader* r, const char* wanted) {
    char c = next(r);
    if (!c) return fail(r, r->at, "the formula ends here; %s is expected", wanted);
    if ((unsigned char)c >= 0x80)
        return fail(
            r, r->at,
            "a character that is not ASCII; write * for times, - for minus, ^2 for squared");
    if (!isprint((unsigned char)c))
        return fail(r, r->at, "a character with the code %d is not part of a formula", c);
    if (c == '*' && r->at > r->text && r->at[-1] == '*')
        return fail(r, r->at, "a power is written ^, not **");
    int length = 1;
    if (is_letter(c))
        while (is_letter(r->at[length]) || is_digit(r->at[length])) length++;
    return fail(r, r->at, "%.*s is not expected here, but %s", length < SHOWN ? length : SHOWN,
                r->at, wanted);
}

// ---- from the inside out

static double read_number(struct reader* r) {
    const char* start = r->at;
    // strtod() alone would take hexadecimal numbers, too.
    if (start[0] == '0' && (start[1] == 'x' || start[1] == 'X'))
        return fail(r, start, "numbers are decimal, like 64 or 1.5e12");
    char* end;
    double value = strtod(start, &end);
    if (end == start) return fail(r, start, "a . alone is no number");
    r->at = end;
    if (is_letter(*end) || *end == '.')
        return fail(r, end, "the number %.*s goes on strangely; write * between two factors",
                    (int)(end - start < SHOWN ? end - start : SHOWN), start);
    return value;
}

static double unknown_name(struct reader* r, const char* name, int length) {
    char known[160] = "";
    for (int i = 0; i < r->count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", r->sizes[i].name);
    }
    int shown = length < SHOWN ? length : SHOWN;
    if (r->count == 0)
        return fail(r, name, "%.*s is not known here: this answer is a plain number", shown, name);
    return fail(r, name, "%.*s is not known here; the sizes are %s", shown, name, known);
}

enum function { MIN, MAX, CEIL, FLOOR, SQRT, LOG2, FUNCTIONS };
static const char* const functions[FUNCTIONS] = {"min", "max", "ceil", "floor", "sqrt", "log2"};

static double apply(enum function f, double a, double b) {
    switch (f) {
    case MIN:
        return b < a ? b : a;
    case MAX:
        return b > a ? b : a;
    case CEIL:
        return ceil(a);
    case FLOOR:
        return floor(a);
    case SQRT:
        return sqrt(a);
    case LOG2:
        return log2(a);
    case FUNCTIONS:
        break;
    }
    return NAN;
}

// After the name and "(".
static double read_arguments(struct reader* r, enum function f, const char* name) {
    double value = read_expr(r);
    int count = 1;
    if (f != MIN && f != MAX) {
        value = apply(f, value, 0);
    } else {
        for (; take(r, ','); count++) value = apply(f, value, read_expr(r));
        if (count < 2 && next(r) == ')')
            return fail(r, name, "%s() takes two numbers or more, with a comma between",
                        functions[f]);
    }
    if (count < 2 && next(r) == ',') return fail(r, r->at, "%s() takes one number", functions[f]);
    return take(r, ')') ? value : fail_at(r, "an operator or a )");
}

static double read_name(struct reader* r) {
    const char* name = r->at;
    while (is_letter(*r->at) || is_digit(*r->at)) r->at++;
    int length = (int)(r->at - name);
    for (int f = 0; f < FUNCTIONS; f++)
        if ((int)strlen(functions[f]) == length && strncmp(functions[f], name, (size_t)length) == 0)
            return take(r, '(')
                       ? read_arguments(r, (enum function)f, name)
                       : fail(r, name, "%s is a function: %s(...)", functions[f], functions[f]);
    for (int i = 0; i < r->count; i++)
        if ((int)strlen(r->sizes[i].name) == length &&
            strncmp(r->sizes[i].name, name, (size_t)length) == 0)
            return r->sizes[i].value;
    if (next(r) == '(')
        return fail(r, name, "%.*s is no function; there are min, max, ceil, floor, sqrt and log2",
                    length < SHOWN ? length : SHOWN, name);
    return unknown_name(r, name, length);
}

static double read_atom(struct reader* r) {
    char c = next(r);
    if (is_digit(c) || c == '.') return read_number(r);
    if (is_letter(c)) return read_name(r);
    if (!take(r, '(')) return fail_at(r, "a number, a size or a (");
    double value = read_expr(r);
    return take(r, ')') ? value : fail_at(r, "an operator or a )");
}

static double read_power(struct reader* r) {
    double base = read_atom(r);
    return take(r, '^') ? pow(base, read_unary(r)) : base;
}

// Every nested expression passes here.
static double read_unary(struct reader* r) {
    double value;
    if (++r->depth > FORMULA_DEPTH) {
        next(r);
        value = fail(r, r->at, "more than %d levels within each other; write it simpler",
                     FORMULA_DEPTH);
    } else if (take(r, '-')) {
        value = -read_unary(r);
    } else if (take(r, '+')) {
        value = read_unary(r);
    } else {
        value = read_power(r);
    }
    r->depth--;
    return value;
}

static double read_term(struct reader* r) {
    double value = read_unary(r);
    for (;;) {
        if (take(r, '*'))
            value *= read_unary(r);
        else if (take(r, '/'))
            value /= read_unary(r);
        else
            return value;
    }
}

static double read_expr(struct reader* r) {
    double value = read_term(r);
    for (;;) {
        if (take(r, '+'))
            value += read_term(r);
        else if (take(r, '-'))
            value -= read_term(r);
        else
            return value;
    }
}

bool formula_evaluate(const char* text, const struct formula_size* sizes, int count, double* value,
                      struct formula_error* error) {
    struct reader r = {.text = text, .at = text, .sizes = sizes, .count = count, .error = error};
    *value = read_expr(&r);
    if (!r.failed && next(&r)) fail_at(&r, "an operator: + - * / ^");
    return !r.failed;
}
