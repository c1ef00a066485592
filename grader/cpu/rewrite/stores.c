// Stores of a structure that is written as a list: `*(float4*)p = {a, b, c, d}`. nvcc makes one
// store of it, for which p has to be a multiple of 16; gcc stores member by member, unless the list
// has been somebody's value before: ::cudev::whole() returns it.
#include "cpu/rewrite/rewrite.h"

#include <stdlib.h>

// The bracket that `close` closes, whatever stands between; `close` if none does.
static size_t opening(size_t close) {
    int depth = 0;
    for (size_t i = close;; i = previous(i)) {
        depth += closes(i) - opens(i);
        if (depth == 0) return i;
        if (previous(i) == i) return close;
    }
}

// The first token of what is assigned to at `equals`, the beginning of a statement with * [ . or
// ->; else `equals`: then it is a declaration, or a local variable.
static size_t begin_of_target(size_t equals) {
    size_t first = equals;
    for (size_t i = previous(equals); !is_one_of(i, "; { } : else do"); i = previous(i)) {
        if (is_one_of(i, ", ( [") || previous(i) == i) return equals;
        if (closes(i)) i = opening(i);
        if (is(i, "(") && is_one_of(previous(i), "if for while switch constexpr")) break;
        first = i;
    }
    if (is_one_of(first, "* (")) return first;
    bool member = is_one_of(next(first), "[ . ->");
    return tokens[first].kind == WORD && member && !is(first, "auto") ? first : equals;
}

void rewrite_store(size_t equals) {
    size_t open = next(equals), first;
    if (equals == 0 || is(equals + 1, "=") || is_one_of(equals - 1, "= < > ! + - * / % & | ^"))
        return;
    if (tokens[open].kind == WORD) open = next(open);
    if (!is(open, "{")) return;
    size_t close = matching(open);
    if (!is(next(close), ";")) return;
    first = begin_of_target(equals);
    if (first == equals) return;
    for (size_t i = first; i <= close; i++)
        if (tokens[i].replacement) return;
    struct text target = {0};
    add_tokens(&target, first, equals);
    replace(equals, "= ::cudev::whole<decltype((%s))>(", target.data);
    replace(close, "})");
    free(target.data);
}
