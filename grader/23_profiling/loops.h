// loops.h: which arrays of filter's threads are indexed by what only the running loop knows: for
// check.c. It reads the text: where an array lies, only the compiler for the GPU knows, but one
// that is indexed so is in local memory.
#ifndef LOOPS_H
#define LOOPS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiling.h"

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char* p) {
    size_t length = 0;
    while (is_word(p[length])) length++;
    return length;
}

// The word, whole, from `from` to `to`; NULL if it is not there.
static const char* find_word(const char* from, const char* to, const char* word, size_t length) {
    for (const char* p = from; p + length <= to; p++)
        if (memcmp(p, word, length) == 0 && !is_word(p[-1]) && !is_word(p[length])) return p;
    return NULL;
}

// A loop that ends at T, in front of which no pragma stands: its variable, and what it repeats.
struct walk {
    const char* variable;
    size_t length;
    const char *body, *end;
};

// Behind what begins at `p`: braces with all in them, or one statement.
static const char* behind(const char* p, const char* end) {
    int depth = 0;
    for (; p < end; p++) {
        depth += (*p == '{' || *p == '(') - (*p == '}' || *p == ')');
        if (depth == 0 && (*p == '}' || *p == ';')) break;
    }
    return p;
}

// Does a condition between `from` and `to` have T, or a variable that was made of it before?
static bool asks_for_T(const char* kernel, const char* from, const char* to) {
    for (const char* p = from; p < to; p++) {
        const size_t length = is_word(p[-1]) ? 0 : word_length(p);
        if (length == 1 && *p == 'T') return true;
        const char* set = kernel;
        while (length && (set = find_word(set, from, p, length))) {
            set += length;
            const char* sign = set + strspn(set, " ");
            if (sign[0] == '=' && sign[1] != '=' &&
                find_word(sign, sign + strcspn(sign, ";"), "T", 1))
                return true;
        }
    }
    return false;
}

// The bracket that ends what the one at p begins.
static const char* closing(const char* p, const char* end) {
    int depth = 0;
    for (; p < end; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0) break;
    }
    return p;
}

static const char* past_space(const char* p) {
    return p + strspn(p, " \t\r\n");
}

// The variable that the brackets of a `for` declare or set; if none, that of its step.
static const char* variable_of_for(const char* head, size_t* length) {
    const char* end = head + strcspn(head, "=({;");
    const char *condition = strchr(head, ';'),
               *step = condition ? strchr(condition + 1, ';') : NULL;
    while (end > head && isspace((unsigned char)end[-1])) end--;
    const char* name = end;
    while (name > head && is_word(name[-1])) name--;
    if (name == end && step) {
        for (name = step + 1; *name && *name != ')' && !is_word(*name);) name++;
        end = name + word_length(name);
    }
    *length = (size_t)(end - name);
    return name;
}

static bool is_stepped_at(const char* p, size_t length) {
    const char* sign = past_space(p + length);
    return !strncmp(sign, "++", 2) || !strncmp(sign, "--", 2) || !strncmp(p - 2, "++", 2) ||
           !strncmp(p - 2, "--", 2);
}

// The first word of a condition that the loop makes of itself: its variable.
static void find_variable(struct walk* walk, const char* from, const char* to) {
    walk->variable = from, walk->length = 0;
    for (const char* p = from; p < to; p++) {
        const size_t length = is_word(p[-1]) ? 0 : word_length(p);
        const char* set = walk->body - 1;
        while (length && (set = find_word(set + 1, walk->end, p, length))) {
            const char *sign = past_space(set + length), *stop = sign + strcspn(sign, ";");
            if (is_stepped_at(set, length) || (*sign && strchr("+-*", *sign) && sign[1] == '=') ||
                (*sign == '=' && sign[1] != '=' && find_word(sign, stop, p, length))) {
                walk->variable = p, walk->length = length;
                return;
            }
        }
    }
}

// Is it left from inside? Nobody counts its rounds then.
static bool is_left(const char* from, const char* to) {
    return find_word(from, to, "break", 5) || find_word(from, to, "return", 6);
}

// The loop that begins with the word at p, in a kernel up to `end`: `for`, `while` or `do`; or what
// a `goto` goes back to.
static bool is_walk(const char* kernel, const char* p, const char* end, struct walk* walk) {
    const size_t length = word_length(p);
    const char* open = past_space(p + length);
    if (length == 3 && !memcmp(p, "for", 3) && *open == '(') {
        const char* condition = strchr(open, ';');
        const char* step = condition ? strchr(condition + 1, ';') : NULL;
        if (!step) return false;
        walk->variable = variable_of_for(open + 1, &walk->length);
        const char* close = closing(open, end);
        walk->body = close + 1;
        walk->end = behind(walk->body, end);
        return asks_for_T(kernel, condition, step) ||
               (past_space(condition + 1) == step && is_left(walk->body, walk->end));
    }
    if (length == 5 && !memcmp(p, "while", 5) && *open == '(') {
        const char* close = closing(open, end);
        walk->body = open + 1;
        walk->end = behind(close + 1, end);
        find_variable(walk, open + 1, close);
        return asks_for_T(kernel, open, close) || is_left(close, walk->end);
    }
    if (length == 2 && !memcmp(p, "do", 2) && *open == '{') {
        const char* close = behind(open, end);
        walk->body = open + 1;
        walk->end = behind(close + 1, end);
        find_variable(walk, close + 1, walk->end);
        return asks_for_T(kernel, close, walk->end) || is_left(open, close);
    }
    if (length == 4 && !memcmp(p, "goto", 4)) {
        const char *label = kernel, *front = p;
        const size_t n = word_length(open);
        while (n && (label = find_word(label + 1, p, open, n)) && *past_space(label + n) != ':') {
        }
        if (!n || !label) return false;
        while (front > label && !strchr(";{}", front[-1])) front--;
        walk->body = label;
        walk->end = p;
        find_variable(walk, front, p);
        return true;
    }
    return false;
}

// The first such loop from `from` on, in a kernel that begins at `kernel`: it is behind *at.
static bool next_walk(const char* kernel, const char** at, const char* end, struct walk* walk) {
    for (const char* p = *at; p < end; p++) {
        if (!is_word(*p) || is_word(p[-1]) || !is_walk(kernel, p, end, walk)) continue;
        const char* front = p;
        while (front > kernel && !strchr(";{}", front[-1])) front--;
        if (find_word(front, p, "unroll", 6)) continue;
        *at = p + 1;
        return true;
    }
    return false;
}

// Between parentheses? There the variable of a loop inside is set, which may be unrolled.
static bool in_parentheses(const char* from, const char* p) {
    int depth = 0;
    for (; from < p; from++) {
        depth += (*from == '(') - (*from == ')');
        if (depth < 0) depth = 0;  // it began in a condition
    }
    return depth > 0;
}

// Does a statement of the loop make this variable of itself, as it was the round before, or of the
// loop's own one? A variable that is set to something else as well is not followed.
static bool is_carried(const struct walk* walk, const char* variable, size_t length) {
    bool carried = false;
    for (const char* p = walk->body; (p = find_word(p, walk->end, variable, length)); p += length) {
        const char *statement = p, *sign = p + length + strspn(p + length, " ");
        if (in_parentheses(walk->body, p)) continue;
        while (statement > walk->body && !strchr(";{}", statement[-1])) statement--;
        const char* stop = sign + strcspn(sign, ";");
        const bool own = strspn(statement, " \n") == (size_t)(p - statement);  // not declared here
        if (is_stepped_at(p, length)) carried = true;
        if (own && *sign && strchr("+-*", *sign) && sign[1] == '=') carried = true;
        if (*sign != '=' || sign[1] == '=') continue;
        if (walk->length && find_word(sign, stop, walk->variable, walk->length)) return true;
        if (!own || !find_word(sign, stop, variable, length)) return false;
        carried = true;
    }
    return carried;
}

// Does only the running loop know this variable?
static bool goes_to_T(const char* kernel, const char* end, const char* variable, size_t length) {
    struct walk walk;
    for (const char* p = kernel; next_walk(kernel, &p, end, &walk);)
        if ((walk.length == length && !memcmp(walk.variable, variable, length)) ||
            is_carried(&walk, variable, length))
            return true;
    return false;
}

// ---- the functions of a file

// From behind the function before, or a ; outside of functions, to its last brace.
struct function_text {
    const char *begin, *end;
    const char* name;
};

// The word in front of the first brackets.
static const char* name_of(const char* begin, const char* end) {
    static const char* const none[] = {"__launch_bounds__", "__attribute__", "__align__", NULL};
    for (const char* p = begin; p < end; p++) {
        const size_t length = is_word(p[-1]) ? 0 : word_length(p);
        if (length == 0 || p[length + strspn(p + length, " ")] != '(') continue;
        int i = 0;
        while (none[i] && !(strlen(none[i]) == length && !memcmp(none[i], p, length))) i++;
        if (!none[i]) return p;
    }
    return NULL;
}

// The next one behind f->end; false if there is none. Braces without brackets in front are those of
// extern "C", of a namespace, a type or a list.
static bool next_function(struct function_text* f) {
    int depth = 0;
    const char* begin = f->end;
    for (const char* p = f->end; *p; p++) {
        if (*p == '#' && depth == 0) {
            p += strcspn(p, "\n");
            begin = p;
            if (!*p) break;
        } else if (*p == '{' && (depth > 0 || memchr(begin, ')', (size_t)(p - begin)))) {
            depth++;
        } else if (*p == '}' && depth == 1) {
            *f = (struct function_text){begin, p + 1, name_of(begin, p)};
            return true;
        } else if (*p == '}' && depth > 0) {
            depth--;
        } else if (depth == 0 && strchr("{};", *p)) {
            begin = p + 1;
        }
    }
    return false;
}

static bool is_called(const struct function_text* f, const char* name) {
    return f->name && word_length(f->name) == strlen(name) && !memcmp(f->name, name, strlen(name));
}

// Is the function a launcher of scores or of decay, or named by these alone?
static bool is_for_others(const char* text, const struct function_text* f, int depth) {
    enum { DEEP = 4 };  // calls
    struct function_text by = {.end = text};
    bool named = false;
    if (is_called(f, "profiling_scores") || is_called(f, "profiling_decay")) return true;
    if (!f->name || depth == DEEP) return false;
    const size_t length = word_length(f->name);
    const char* seen = text;
    for (bool more = true; more; seen = by.end) {
        more = next_function(&by);
        if (!more) by.begin = by.end = seen + strlen(seen);
        // by a macro, or where it is declared, it may be named for anybody
        if (find_word(seen + 1, by.begin, f->name, length)) return false;
        if (!more || by.begin == f->begin || !find_word(by.begin, by.end, f->name, length))
            continue;
        named = true;
        if (!is_for_others(text, &by, depth + 1)) return false;
    }
    return named;
}

// ---- arrays and pragmas

// If the bracket at p is that of an array which the function declares for each thread: its name.
static const char* array_declared_at(const struct function_text* f, const char* p, size_t* length) {
    const char *end = p, *line;
    while (end > f->begin && end[-1] == ' ') end--;
    const char* name = end;
    while (name > f->begin && is_word(name[-1])) name--;
    *length = (size_t)(end - name);
    const char* before = name;
    while (before > f->begin && isspace((unsigned char)before[-1])) before--;
    for (line = before; line > f->begin && !strchr(";{}", line[-1]);) line--;
    if (*length == 0 || before == f->begin || find_word(line, name, "__shared__", 10)) return NULL;
    if (before[-1] == ',') return in_parentheses(line, before) ? NULL : name;
    const char* type = before;
    while (type > f->begin && is_word(type[-1])) type--;
    const size_t n = (size_t)(before - type);
    const bool is_value =
        (n == 6 && !memcmp(type, "return", n)) || (n == 4 && !memcmp(type, "else", n));
    return n > 0 && !is_value ? name : NULL;
}

// What an expression of whole numbers, names of such and + - * / ( ) is; *p goes behind it, or is
// NULL where it is something else.
static long value_of(const char* text, const char** p, int level, int depth);

static long value_of_name(const char* text, const char* name, size_t length, int depth) {
    static const char taps[] = "PROFILING_TAPS";
    const char* const end = text + strlen(text);
    if (length == strlen(taps) && !memcmp(name, taps, length)) return PROFILING_TAPS;
    for (const char* p = text + 1; (p = find_word(p, end, name, length)); p += length) {
        const char* value = p + length + strspn(p + length, " =");
        if (value == p + length || (!isalnum((unsigned char)*value) && *value != '(')) continue;
        const long number = value_of(text, &value, 0, depth + 1);
        if (value) return number;
    }
    return -1;
}

static long value_of(const char* text, const char** p, int level, int depth) {
    enum { SUM, PRODUCT, FACTOR, DEEP = 16 };
    *p += strspn(*p, " ");
    if (level == FACTOR) {
        const char* at = *p;
        const size_t length = word_length(at);
        char* end;
        long number = -1;
        *p = length ? at + length : NULL;
        if (depth > DEEP) {
            *p = NULL;
        } else if (*at == '(') {
            *p = at + 1;
            number = value_of(text, p, SUM, depth + 1);
            if (*p) *p += strspn(*p, " ");
            *p = *p && **p == ')' ? *p + 1 : NULL;
        } else if (isdigit((unsigned char)*at)) {
            number = strtol(at, &end, 0);
            if (end != at + length && strspn(end, "uUlL") != (size_t)(at + length - end)) *p = NULL;
        } else if (length && (number = value_of_name(text, at, length, depth)) < 0) {
            *p = NULL;
        }
        return number;
    }
    long value = value_of(text, p, level + 1, depth);
    while (*p) {
        const char sign = (*p)[strspn(*p, " ")];
        if (!sign || !strchr(level == SUM ? "+-" : "*/", sign)) break;
        *p += strspn(*p, " ") + 1;
        const long other = value_of(text, p, level + 1, depth);
        if (!*p || labs(other) > 1 << 20 || labs(value) > 1 << 20 || (sign == '/' && !other)) {
            *p = NULL;
            return -1;
        }
        value = sign == '+'   ? value + other
                : sign == '-' ? value - other
                : sign == '*' ? value * other
                              : value / other;
    }
    return value;
}

// Does a line say that a loop is not unrolled? A name that is not found is a template's.
static bool keeps_a_loop(const char* text, const char* line) {
    const char* end = line + strcspn(line, "\n");
    line += strspn(line, " \t");
    if (*line != '#' && strncmp(line, "%:", 2) != 0) return false;
    if (find_word(line + 1, end, "nounroll", 8)) return true;
    const char* rounds = find_word(line + 1, end, "unroll", 6);
    if (!rounds) return false;
    rounds += strlen("unroll");
    rounds += strspn(rounds, " \t\r");
    if (rounds == end) return false;
    const char* name = rounds + strspn(rounds, "( ");
    const bool is_name =
        word_length(name) && !isdigit((unsigned char)*name) &&
        strspn(name + word_length(name), ") \t\r") == (size_t)(end - name) - word_length(name);
    const long n = value_of(text, &rounds, 0, 0);
    return rounds ? n < 2 : !is_name;
}

// Is the variable that of a loop before `use` which a pragma unrolls by fewer rounds than it has?
static bool is_partly_unrolled(const char* text, const struct function_text* f, const char* use,
                               const char* variable, size_t length) {
    const char* last = NULL;
    for (const char* p = f->begin; (p = find_word(p + 1, use, "for", 3));) {
        size_t found;
        const char* open = past_space(p + 3);
        const char* name = *open == '(' ? variable_of_for(open + 1, &found) : NULL;
        if (name && found == length && !memcmp(name, variable, length)) last = p;
    }
    if (!last) return false;
    const char* front = last;
    while (front > f->begin && !strchr(";{}", front[-1])) front--;
    const char* rounds = find_word(front, last, "unroll", 6);
    const char* condition = strchr(last, ';');
    if (!rounds || !condition) return false;
    rounds += strlen("unroll");
    rounds += strspn(rounds, " \t\r");
    const char* less = condition + strcspn(condition + 1, ";<") + 1;
    if (*rounds == '\n' || *less != '<') return false;
    const char* bound = less + 1;
    const long n = value_of(text, &rounds, 0, 0), all = value_of(text, &bound, 0, 0);
    return rounds && bound && *bound == ';' && n < all;
}

#endif
