// Local variables of kernels that start without a value: float sum; float O_reg[8]; Behind each
// such declaration stands a call of cudev::unset() with their names (include/cudev/language.h).
#include "cpu/rewrite/rewrite.h"
#include <stdlib.h>

// The > of the template arguments that begin at `open`; 0 if < means less.
static size_t end_of_arguments(size_t open) {
    int depth = 0;
    for (size_t i = open;; i = next(i)) {
        bool logic = is_one_of(i, "& |") && is(next(i), is(i, "&") ? "&" : "|");
        if (tokens[i].kind == END || is_one_of(i, "; {") || logic) return 0;
        depth += is(i, "<") - is(i, ">");
        if (depth == 0) return i;
    }
}

// The name that the declaration at `i` gives to its first variable; 0 if this is no declaration, or
// if the variable keeps its value or has to have one.
static size_t first_name(size_t i) {
    static const char others[] =
        "return goto else do case default typedef using static extern volatile auto delete throw "
        "template __shared__ constexpr new sizeof asm __asm__ friend thread_local operator";
    static const char no_types[] = "const struct union enum typename register";
    for (bool type = false;;) {
        if (is_one_of(i, others)) return 0;
        if ((is(i, "__align__") || is(i, "alignas")) && is(next(i), "(")) {
            i = next(matching(next(i)));
        } else if (is(i, "*") && type) {
            i = next(i);
        } else if (tokens[i].kind == WORD) {
            size_t after = next(i);
            if (type && is_one_of(after, "; , [ =")) return i;
            type = type || !is_one_of(i, no_types);
            if (is(after, "<")) {
                after = end_of_arguments(after);
                if (!after) return 0;
                after = next(after);
            }
            i = is(after, "::") ? next(after) : after;
        } else {
            return 0;
        }
    }
}

// The ( that the ) at `close` ends; 0 if there is none.
static size_t opening(size_t close) {
    for (int depth = 1; depth > 0;) {
        const size_t before = previous(close);
        if (before == close) return 0;
        close = before;
        depth += is(close, ")") - is(close, "(");
    }
    return close;
}

// The token in front of the template arguments that end at the > at `close`; `close` itself if
// there are none.
static size_t before_arguments(size_t close) {
    int depth = 0;
    for (size_t i = close;; i = previous(i)) {
        if (is_one_of(i, "; { }") || previous(i) == i) return close;
        depth += is(i, ">") - is(i, "<");
        if (depth == 0) return previous(i);
    }
}

// Is { the beginning of a structure's members? struct alignas(8) name, struct name final : base<4>.
static bool opens_members(size_t open) {
    size_t before = previous(open), at = open;
    for (int words = 0; words < 2 && before != at;) {
        at = before;
        if (is(at, ")")) {
            before = opening(at);
            if (before == 0 || !is_one_of(previous(before), "alignas __align__")) return false;
            at = previous(before);
        } else if (is(at, ">")) {
            before = before_arguments(at);
            continue;
        } else if (is_one_of(at, ": , ::")) {
            words = 0;
        } else if (tokens[at].kind != WORD) {
            return false;
        } else {
            if (is_one_of(at, "struct union enum class")) return true;
            words += !is_one_of(at, "final public protected private virtual");
        }
        before = previous(at);
    }
    return false;
}

// Code in front of the first case is never executed.
static bool opens_switch(size_t open) {
    size_t head = previous(open);
    if (is(head, ")")) head = opening(head);
    return head != 0 && is(head, "(") && is(previous(head), "switch");
}

// The variables of a declaration that have no value when it ends: tokens.
struct unset {
    size_t name[64];
    unsigned count;
};

// float whole, part = modff(x, &whole); what is named between brackets of a value, the tokens from
// `first` to `end`, may have got its own there, and so may what is assigned. An address alone,
// struct state s, *p = &s, gives none.
static void forget_named(struct unset* u, size_t first, size_t end) {
    int depth = 0;
    for (size_t i = first; i < end; i = next(i)) {
        depth += opens(i) - closes(i);
        if (depth == 0 && !is(next(i), "=")) continue;
        for (unsigned k = u->count; k-- > 0;)
            if (same_word(i, u->name[k])) u->name[k] = u->name[--u->count];
    }
}

void unset_locals(size_t end) {
    static size_t members_end;  // behind which functions go on
    struct unset unset = {.count = 0};
    struct text names = {0};
    bool macro = tokens[end + 1].kind == SPACE && in_define_after(end + 1, false);
    if (is(end, "{") && opens_members(end)) members_end = matching(end);
    bool none =
        end < members_end || macro || !on_device(next(end)) || (is(end, "{") && opens_switch(end));
    size_t i = none ? 0 : first_name(next(end));
    while (i) {
        while (is_one_of(i, "* const __restrict__")) i = next(i);
        size_t name = i;
        i = next(i);
        while (is(i, "[")) i = next(matching(i));
        if (tokens[name].kind != WORD || !is_one_of(i, "; , =")) break;
        if (!is(i, "=")) {
            if (unset.count < sizeof unset.name / sizeof *unset.name)
                unset.name[unset.count++] = name;
            if (is(next(name), "[")) check_own_array(name);
        }
        const size_t value = i;
        while (!is(i, ";") && !is(i, ",")) {
            if (tokens[i].kind == END || closes(i)) return;
            i = next(opens(i) ? matching(i) : i);
        }
        forget_named(&unset, value, i);
        if (is(i, ";")) {
            for (unsigned k = 0; k < unset.count; k++) {
                if (k) add(&names, ", ");
                add_bytes(&names, tokens[unset.name[k]].text, tokens[unset.name[k]].length);
            }
            if (names.length) replace(i, "; ::cudev::unset(%s);", names.data);
            break;
        }
        i = next(i);
    }
    free(names.data);
}
