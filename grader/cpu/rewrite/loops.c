// Loops of kernels in whose rounds the lanes of a warp may go different ways. The profile puts
// their accesses side by side round by round, as a GPU makes them: ::cudev::next_round() in the
// condition tells it where a round begins.
#include "cpu/rewrite/rewrite.h"

// Can lanes go different ways in [i, end)?
static bool divides(size_t i, size_t end) {
    for (; i < end; i = next(i)) {
        if (is_one_of(i, "if ? switch continue break goto for while do case")) return true;
        if ((is(i, "&") && is(next(i), "&")) || (is(i, "|") && is(next(i), "|"))) return true;
        if (tokens[i].kind == WORD && is(next(i), "(") && is_helper(i)) return true;
    }
    return false;
}

// The end of the statement that begins at i.
static size_t end_of_statement(size_t i) {
    for (; tokens[i].kind != END && !is(i, ";") && !closes(i); i = next(i)) {
        bool brace = is(i, "{");
        if (opens(i)) i = matching(i);
        if (brace && !is(next(i), "else")) return i;
    }
    return i;
}

// How many loops of the function lie around it, at most 31. A helper's loops lie in those of its
// caller.
static int depth_of(size_t loop) {
    bool kernel;
    int depth = 0;
    for (size_t i = body_around(loop, &kernel); i < loop; i = next(i)) {
        size_t body = is(i, "do") ? next(i) : 0;
        if (is_one_of(i, "for while") && is(next(i), "(")) body = next(matching(next(i)));
        depth += body && body <= loop && end_of_statement(body) > loop && depth < 31;
    }
    return depth + (kernel ? 0 : 32);
}

// Does the condition that begins at i declare a variable: `int n = f()`, `node* n = next`? Of an
// expression with such tokens nothing could be assigned to.
static bool declares_variable(size_t i) {
    if (tokens[i].kind != WORD) return false;
    size_t name = i;
    int angles = 0, words = 0;
    for (; !is_one_of(i, "= {"); i = next(i)) {
        angles += is(i, "<") - is(i, ">");
        if (tokens[i].kind != WORD && !is_one_of(i, ":: * & < >") && angles == 0) return false;
        if (opens(i) || closes(i) || tokens[i].kind == END || is(i, ";")) return false;
        words += tokens[i].kind == WORD && angles == 0;
        name = i;
    }
    size_t before = previous(name);
    return words > 1 && tokens[name].kind == WORD && !is(i + 1, "=") &&
           (tokens[before].kind == WORD || is_one_of(before, "* & >"));
}

void rewrite_loop(size_t loop, bool in_define) {
    size_t open = next(loop), close, condition;
    if (!is(open, "(")) return;
    close = condition = matching(open);
    if (is(loop, "for")) {
        for (condition = next(open); condition < close && !is(condition, ";");
             condition = next(condition))
            if (opens(condition)) condition = matching(condition);
        if (condition >= close) return;  // over the elements of something
    }
    if (is(loop, "while")) condition = open;
    size_t first = next(condition), body = next(close);
    if (declares_variable(first)) return;
    bool tail = is(loop, "while") && is(body, ";");  // of a do
    if (!in_define && !tail && !divides(body, end_of_statement(body)) && !divides(first, close))
        return;
    replace(condition, "%.*s::cudev::next_round(%zu, %d), %s", (int)tokens[condition].length,
            tokens[condition].text, loop, in_define ? 64 : depth_of(loop),
            is(first, ";") ? "true" : "");
}
