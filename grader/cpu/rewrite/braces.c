// A brace that is missing or too many. The rest is then read as what it is not: the next kernel as
// a part of the one before. So this is looked for first.
#include <stdlib.h>
#include <string.h>
#include "cpu/rewrite/rewrite.h"

enum { DEEPEST = 256 };

// How far the line that token i stands in is indented.
static int indentation(size_t i) {
    const char* p = tokens[i].text;
    int blanks = 0;
    while (p > tokens[0].text && p[-1] != '\n') p--;
    for (; *p == ' ' || *p == '\t'; p++) blanks += *p == '\t' ? 4 : 1;
    return blanks;
}

bool begins_line(size_t i) {
    const char* p = tokens[i].text;
    while (p > tokens[0].text && (p[-1] == ' ' || p[-1] == '\t')) p--;
    return p == tokens[0].text || p[-1] == '\n';
}

// Where the statement or definition begins that the { at i belongs to.
static size_t head_of(size_t i) {
    int parentheses = 0;
    for (size_t k = previous(i); k != i; i = k, k = previous(k)) {
        if (parentheses == 0 && is_one_of(k, "; { }")) return i;
        parentheses += is(k, ")") - is(k, "(");
    }
    return i;
}

// Behind the # of the next directive in [p, end) that says which of two texts is compiled, and its
// word; NULL: there is none.
static const char* next_condition(const char* p, const char* end, const char** word) {
    for (; p < end; p++) {
        if (*p != '#') continue;
        const char* before = p;
        while (before > tokens[0].text && (before[-1] == ' ' || before[-1] == '\t')) before--;
        if (before > tokens[0].text && before[-1] != '\n') continue;
        *word = p + 1 + strspn(p + 1, " \t");
        if (!strncmp(*word, "if", 2) || !strncmp(*word, "el", 2) || !strncmp(*word, "endif", 5))
            return p + 1;
    }
    return NULL;
}

// The open braces: of each { its token; and how many were open at each #if around.
struct braces {
    size_t open[DEEPEST];
    int depth, at_if[DEEPEST], conditions;
    size_t suspect;      // the first } that is indented as its { is not; 0: none
    size_t its_open;     // the { that it closes
    size_t next_begins;  // what begins a line, in no column, with a { open; 0: nothing
    size_t too_many;     // the first } with no {; 0: none
};

static void follow_conditions(struct braces* b, size_t space) {
    const char *p = tokens[space].text, *end = p + tokens[space].length, *word = p;
    while ((p = next_condition(p, end, &word))) {
        if (!strncmp(word, "if", 2)) {
            if (b->conditions < DEEPEST) b->at_if[b->conditions] = b->depth;
            b->conditions++;
        } else if (b->conditions > 0) {
            if (!strncmp(word, "endif", 5))
                b->conditions--;
            else if (b->conditions <= DEEPEST)
                b->depth = b->at_if[b->conditions - 1];
        }
    }
}

static void follow_brace(struct braces* b, size_t i) {
    if (is(i, "{")) {
        b->open[b->depth++] = i;
    } else if (b->depth == 0) {
        if (!b->too_many) b->too_many = i;
    } else {
        size_t open = b->open[--b->depth];
        if (!begins_line(i)) return;
        bool fits = indentation(i) == indentation(head_of(open));
        // if a brace around fits, it was only written in another column
        if (fits && b->suspect && open < b->its_open) b->suspect = 0;
        if (!fits && !b->suspect) b->suspect = i, b->its_open = open;
    }
}

void check_braces(void) {
    struct braces b = {.depth = 0};
    bool in_define = false;
    int in_macros = 0;
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (tokens[i].kind == SPACE) {
            in_define = in_define_after(i, in_define);
            follow_conditions(&b, i);
            continue;
        }
        const int step = is(i, "{") - is(i, "}");
        if (in_define) in_macros += step;
        if (in_define || b.depth == DEEPEST - 1) continue;
        if (step) follow_brace(&b, i);
        if (b.depth == 0) b.next_begins = 0;
        if (b.depth > 0 && !b.next_begins && tokens[i].kind == WORD && begins_line(i) &&
            indentation(i) == 0 && !opens_namespace(b.open[0]))
            b.next_begins = i;
    }
    if (in_macros || b.depth == DEEPEST - 1) return;
    if (b.depth > 0) {
        const bool inner = b.suspect && indentation(b.suspect) < indentation(head_of(b.its_open));
        const size_t open = inner ? b.its_open : b.open[0];
        const size_t behind = inner ? b.suspect : b.next_begins;
        if (behind)
            fail(open, "the { of this line is not closed: a } is missing before line %d",
                 tokens[behind].line);
        fail(open, "the { of this line is not closed: a } is missing");
    }
    if (b.too_many && b.suspect && b.suspect < b.too_many)
        fail(b.suspect, "a } too many, or a { is missing: this one closes the { of line %d",
             tokens[b.its_open].line);
    if (b.too_many) fail(b.too_many, "a } too many, or a { is missing before it");
}
