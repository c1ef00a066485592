// A structure that is laid over dynamic shared memory: `*(struct tiles*)memory`. So that reports
// say which member lies at an address, the rewriter lists the members there (CUDEV_MEMBER in
// include/cudev/language.h): those that it can read, of a structure of this file.
#include "cpu/rewrite/rewrite.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ARRAYS = 64 };
static size_t array[MOST_ARRAYS];
static int arrays;

void note_dynamic(size_t name) {
    if (arrays < MOST_ARRAYS) array[arrays++] = name;
}

static bool is_dynamic(size_t word) {
    for (int n = 0; n < arrays; n++)
        if (same_word(array[n], word)) return true;
    return false;
}

// Do the words behind a structure's name, which < follows, begin one more definition of it?
static bool is_special(size_t name) {
    size_t i = next(name);
    while (tokens[i].kind != END && !is_one_of(i, "; { ( ) = & *")) i = next(i);
    return is(i, "{");
}

// The { of the structure's definition before token `end`; `end` if there is none, or several.
static size_t definition(size_t name, size_t end) {
    size_t found = end;
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (!is(i, "struct")) continue;
        size_t at = next(i);
        while (is_one_of(at, "__align__ alignas") && is(next(at), "("))
            at = next(matching(next(at)));
        if (!same_word(at, name)) continue;
        const bool defines = is(next(at), "{");
        if ((is(next(at), "<") && is_special(at)) || (defines && (found != end || at > end)))
            return end;
        if (defines) found = next(at);
    }
    return found;
}

static bool has_directive(size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (tokens[i].kind == SPACE && memchr(tokens[i].text, '#', tokens[i].length)) return true;
    return false;
}

// Is [from, to) of a structure `type name[2], other`, and nothing else that ends with a ;?
static bool declares_members(size_t from, size_t to) {
    int words = 0;
    for (size_t i = from; i < to; i = next(i)) {
        if (is_one_of(i, "static enum using typedef friend union template operator class void"))
            return false;
        if (is_one_of(i, "( { } = & : ~")) return false;
        if (is(i, "[") && is(next(i), "]")) return false;
        if (is(i, "[")) i = matching(i);
        words += tokens[i].kind == WORD && !is_one_of(i, "struct const volatile unsigned mutable");
    }
    return words >= 2 || (words == 1 && is(from, "unsigned"));
}

static void add_member(struct text* out, size_t name) {
    add(out, "CUDEV_MEMBER(");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, "), ");
}

// The members of the structure whose { is there.
static void add_members(struct text* out, size_t open) {
    const size_t end = matching(open);
    if (has_directive(open, end)) return;
    for (size_t i = open; i < end; i = next(i))
        if (is_one_of(i, "private protected virtual")) return;
    for (size_t from = next(open), to; from < end; from = next(to)) {
        while (is_one_of(from, "__align__ alignas") && is(next(from), "("))
            from = next(matching(next(from)));
        for (to = from; to < end && !is(to, ";"); to = next(to)) {
            const bool braces = is(to, "{");
            if (opens(to)) to = matching(to);
            if (braces && !is(next(to), ";") && !is(next(to), ",")) break;  // of a function
        }
        if (!is(to, ";") || !declares_members(from, to)) continue;
        size_t name = from;
        int angles = 0;
        for (size_t i = from; i < to; i = next(i)) {
            if (is(i, "[")) i = matching(i);
            angles += is(i, "<") - is(i, ">");
            if (is(i, ",") && angles == 0) add_member(out, name);
            if (tokens[i].kind == WORD && angles == 0) name = i;
        }
        add_member(out, name);
    }
}

// The ( of the cast whose ) is there; `close` if there is none.
static size_t begin_of_cast(size_t close) {
    int depth = 0;
    for (size_t i = close; !is_one_of(i, "; { }"); i = previous(i)) {
        depth += is(i, ")") - is(i, "(");
        if (depth == 0) return i;
        if (previous(i) == i) break;
    }
    return close;
}

void rewrite_overlay(size_t word) {
    if (!is_dynamic(word) || !is(previous(word), ")") || !is(next(word), ";")) return;
    const size_t close = previous(word), open = begin_of_cast(close);
    const size_t star = previous(close), before = previous(open);
    const size_t first = next(open), name = is(first, "struct") ? next(first) : first;
    if (open == close || !is(star, "*")) return;
    if (!is(before, "=") && !(is(before, "*") && is(previous(before), "="))) return;
    if (tokens[name].kind != WORD) return;
    if (!is(next(name), "*") && !is(next(name), "<")) return;
    const size_t body = definition(name, open);
    if (body == open) return;
    struct text members = {0}, type = {0};
    add_members(&members, body);
    add_tokens(&type, first, star);
    if (members.length)
        replace(word,
                "::cudev::laid_over(%.*s, [] { typedef %s cudev_type; static constexpr "
                "::cudev_member cudev_members[] = {%s{}}; return cudev_members; }())",
                (int)tokens[word].length, tokens[word].text, type.data, members.data);
    free(members.data);
    free(type.data);
}
