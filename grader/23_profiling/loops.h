// loops.h: which arrays of filter's threads are indexed by what only the running loop knows: for
// check.c. It reads the text: where an array lies, only the compiler for the GPU knows, but one
// that is indexed so is in local memory.
#ifndef LOOPS_H
#define LOOPS_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

// The first such loop from `from` on, in a kernel that begins at `kernel`.
static bool next_walk(const char* kernel, const char* from, const char* end, struct walk* walk) {
    static const char loop[] = "for (int ";
    for (const char* p = from; (p = strstr(p, loop)) && p < end; p++) {
        const char* condition = strchr(p, ';');
        const char* step = condition ? strchr(condition + 1, ';') : NULL;
        const char* front = p;
        while (front > kernel && !strchr(";{}", front[-1])) front--;
        walk->variable = p + strlen(loop);
        walk->length = word_length(walk->variable);
        if (!step || !asks_for_T(kernel, condition, step) || find_word(front, p, "unroll", 6))
            continue;
        walk->body = strchr(step, ')');
        if (!walk->body) return false;
        walk->end = behind(++walk->body, end);
        return true;
    }
    return false;
}

// Between parentheses? There the variable of a loop inside is set, which may be unrolled.
static bool in_parentheses(const char* from, const char* p) {
    int depth = 0;
    for (; from < p; from++) depth += (*from == '(') - (*from == ')');
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
        if (own && (!strncmp(sign, "++", 2) || !strncmp(sign, "--", 2))) carried = true;
        if (own && *sign && strchr("+-*", *sign) && sign[1] == '=') carried = true;
        if (*sign != '=' || sign[1] == '=') continue;
        if (find_word(sign, stop, walk->variable, walk->length)) return true;
        if (!own || !find_word(sign, stop, variable, length)) return false;
        carried = true;
    }
    return carried;
}

// Does only the running loop know this variable?
static bool goes_to_T(const char* kernel, const char* end, const char* variable, size_t length) {
    struct walk walk;
    for (const char* p = kernel; next_walk(kernel, p, end, &walk); p = walk.body)
        if ((walk.length == length && !memcmp(walk.variable, variable, length)) ||
            is_carried(&walk, variable, length))
            return true;
    return false;
}

#endif
