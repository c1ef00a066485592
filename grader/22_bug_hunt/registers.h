// registers.h: by what the array of lesson 22's group_sums is indexed. Where an array of a thread
// lies only the compiler for the GPU knows. What it needs for registers stands in the text: no
// index but numbers, and the variables of loops that are unrolled. It reads what strangers wrote.
#ifndef REGISTERS_H
#define REGISTERS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bug_hunt.h"
#include "check/check.h"
#include "check/bare.h"
#include "text.h"

// ---- the words of a text

// A word, a number, a sign; "\n" is the end of a line that begins with #.
struct word {
    const char* at;
    int length;
    int section;
};

struct words {
    int count;
    struct word* word;  // from 1 on; those before and behind have no length
};

enum { BEHIND = 32 };  // such words

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// How long the word, the number or the sign is that begins at p.
static int length_at(const char* p) {
    static const char signs[] = "++--+=-=*=/=%=&=|=^===!=<=>=&&||<<>>->::<::><%%>%:";
    int n = 0;
    while (is_word(p[n]) || (n > 0 && isdigit((unsigned char)*p) && p[n] == '\'')) n++;
    if (n > 0) return n;
    for (const char* sign = signs; *sign && !n; sign += 2)
        if (p[0] == sign[0] && p[1] == sign[1]) n = 2;
    return n ? n : 1;
}

// Of a bare text. words.word is owned; NULL if there is no memory.
static struct words words_of(const char* text) {
    struct words w = {1, calloc(strlen(text) + BEHIND, sizeof *w.word)};
    int section = 0;
    bool in_directive = false, line_begins = true;
    for (const char* p = text; w.word && *p;) {
        const int n = length_at(p);
        section += *p == BARE_MARK;
        if (*p == '\n' && in_directive) w.word[w.count++] = (struct word){p, 1, section};
        if (*p == '\n') in_directive = false, line_begins = true;
        if (!isspace((unsigned char)*p) && *p != BARE_MARK) {
            in_directive |= *p == '#' && line_begins;
            line_begins = false;
            w.word[w.count++] = (struct word){p, n, section};
        }
        p += n;
    }
    return w;
}

static bool is(const struct words* w, int i, const char* what) {
    return i >= 0 && i < w->count && w->word[i].length == (int)strlen(what) &&
           memcmp(w->word[i].at, what, strlen(what)) == 0;
}

static bool is_one_of(const struct words* w, int i, const char* const* of) {
    for (; *of; of++)
        if (is(w, i, *of)) return true;
    return false;
}

static bool same(const struct words* w, int i, int j) {
    return w->word[i].length == w->word[j].length &&
           memcmp(w->word[i].at, w->word[j].at, (size_t)w->word[i].length) == 0;
}

static bool is_name(const struct words* w, int i) {
    const char first = w->word[i].length ? *w->word[i].at : ' ';
    return isalpha((unsigned char)first) || first == '_';
}

// The bracket that closes the one at i, or the end of the words, or of those that are looked at.
static int closing(const struct words* w, int i) {
    const int end = i + 2000 < w->count ? i + 2000 : w->count;
    for (int depth = 0; i < end; i++) {
        depth += is(w, i, "(") || is(w, i, "[") || is(w, i, "{");
        depth -= is(w, i, ")") || is(w, i, "]") || is(w, i, "}");
        if (depth <= 0) break;
    }
    return i;
}

// ---- loops

// The last word of the statement that begins at i.
static int end_of_statement(const struct words* w, int i) {
    while (is(w, i, "#")) {
        while (i < w->count && !is(w, i, "\n")) i++;
        i++;
    }
    if (is(w, i, "{")) return closing(w, i);
    if (is(w, i, "for") || is(w, i, "while")) return end_of_statement(w, closing(w, i + 1) + 1);
    if (is(w, i, "if")) {
        const int then = end_of_statement(w, closing(w, i + 1) + 1);
        return is(w, then + 1, "else") ? end_of_statement(w, then + 2) : then;
    }
    while (i < w->count && !is(w, i, ";") && !is(w, i, "}"))
        i = is(w, i, "(") || is(w, i, "[") || is(w, i, "{") ? closing(w, i) + 1 : i + 1;
    return i;
}

// A loop `for (int k = ...`: at its `for`.
struct loop {
    int variable, body, end;
};

static bool loop_at(const struct words* w, int i, struct loop* l) {
    if (!is(w, i, "for") || !is(w, i + 1, "(")) return false;
    l->variable = is(w, i + 2, "unsigned") && is(w, i + 3, "int") ? i + 4 : i + 3;
    l->body = closing(w, i + 1) + 1;
    l->end = end_of_statement(w, l->body);
    return l->variable < w->count && is_name(w, l->variable);
}

// Where the pragma in front of the loop begins; 0 if there is none.
static int pragma_of(const struct words* w, int loop) {
    if (!is(w, loop - 1, "\n")) return 0;
    int i = loop - 1;
    while (i > 0 && !is(w, i, "#")) i--;
    return i;
}

// Is it unrolled by all groups: does the pragma say no number, or one that is large enough?
static bool unrolls(const struct words* w, int pragma) {
    char* end;
    int i = pragma + 3;
    if (!is(w, pragma + 2, "unroll")) return false;
    if (is(w, i, "\n")) return true;
    if (is(w, i, "(")) i++;
    if (!is(w, i + 1, "\n") && !(is(w, i + 1, ")") && is(w, i + 2, "\n"))) return false;
    const long rounds = strtol(w->word[i].at, &end, 0);
    return is(w, i, "GROUPS") || is(w, i, "BUG_HUNT_GROUPS") ||
           (end == w->word[i].at + w->word[i].length && rounds >= BUG_HUNT_GROUPS);
}

// Is the loop, in front of which no pragma stands, one of which nvcc makes an index: does an `if`
// choose the one sum that is added to, and nothing else happen? From that nvcc concludes what k is,
// before it unrolls, and the array is in local memory. A value that is chosen for each k it keeps
// in registers.
static bool chooses_by_if(const struct words* w, const struct loop* l) {
    int i = l->body;
    while (i <= l->end && !is(w, i, "if") && !is(w, i, "else")) i++;
    if (i > l->end || is(w, i, "else")) return false;
    int then = closing(w, i + 1) + 1;
    if (is(w, then, "{")) then++;
    for (int more = then; more <= l->end; more++)
        if (is(w, more, "else")) return false;
    return (is(w, then, "sum") && is(w, then + 1, "[")) || is(w, then, "continue");
}

// Does the loop at i, which is l, go over all groups, and is it unrolled?
static bool goes_over_groups(const struct words* w, int i, const struct loop* l) {
    const int k = l->variable, pragma = pragma_of(w, i);
    if (!is(w, k + 1, "=") || !is(w, k + 2, "0") || !is(w, k + 3, ";") || !same(w, k, k + 4) ||
        !(is(w, k + 5, "<") || is(w, k + 5, "!=")) ||
        !(is(w, k + 6, "GROUPS") || is(w, k + 6, "8")) || !is(w, k + 7, ";"))
        return false;
    const bool behind = same(w, k, k + 8) && is(w, k + 9, "++") && l->body == k + 11;
    const bool before = is(w, k + 8, "++") && same(w, k, k + 9) && l->body == k + 11;
    const bool by_1 =
        same(w, k, k + 8) && is(w, k + 9, "+=") && is(w, k + 10, "1") && l->body == k + 12;
    return (behind || before || by_1) && (pragma ? unrolls(w, pragma) : !chooses_by_if(w, l));
}

static const char* const sets[] = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--", "{", "(", NULL};
static const char* const before_value[] = {"return", "else", "case", "do", NULL};

// Is what stands at i, a variable, set or declared there?
static bool is_set(const struct words* w, int i) {
    const bool declared = is_name(w, i - 1) && !is_one_of(w, i - 1, before_value);
    return declared || is_one_of(w, i + 1, sets) || is(w, i - 1, "++") || is(w, i - 1, "--") ||
           (is(w, i + 1, "<<") && is(w, i + 2, "="));
}

// Is the index at i the variable of a loop around it, which goes over all groups? So must all loops
// of that variable, and nothing else sets it.
static bool counts_groups(const struct words* w, int i) {
    struct loop l;
    bool around = false;
    const int section = w->word[i].section;
    for (int j = 1; j < w->count; j++) {
        if (w->word[j].section != section) continue;
        if (loop_at(w, j, &l) && same(w, l.variable, i)) {
            if (!goes_over_groups(w, j, &l)) return false;
            around |= l.body <= i && i <= l.end;
            j = l.body - 1;
        } else if (same(w, j, i) && is_set(w, j)) {
            return false;
        }
    }
    return around;
}

// ---- arrays and addresses

static const char* const types[] = {"float", "float2",       "float4", "int",   "unsigned",
                                    "auto",  "double",       "const",  "bf16",  "volatile",
                                    "void",  "__restrict__", "char",   "short", NULL};
static const char* const arguments[] = {"x", "y", "group", NULL};

// Is the comma at i one between arguments, and not between variables that are declared?
static bool in_brackets(const struct words* w, int i) {
    int depth = 0;
    for (; i > 0 && !is(w, i, ";") && !is(w, i, "{") && depth <= 0; i--)
        depth += (is(w, i, "(") || is(w, i, "[")) - (is(w, i, ")") || is(w, i, "]"));
    return depth > 0;
}

// Is it another variable that is called like an argument of the kernel?
static bool is_declared_anew(const struct words* w, int i) {
    if (is(w, i - 1, ",")) return is(w, i + 1, "[") && !in_brackets(w, i - 1);
    if (is(w, i - 1, ">")) return !is(w, i + 1, "[");
    return is_name(w, i - 1) && !is(w, i - 1, "__restrict__") && !is_one_of(w, i - 1, before_value);
}

// May what stands in front of the bracket at i be indexed so?
static bool index_is_fine(const struct words* w, int i) {
    const int name = i - 1;
    if (is_one_of(w, name, arguments)) return !is_declared_anew(w, name);
    if (!is(w, name, "sum") || !is(w, i + 2, "]")) return false;
    const char first = *w->word[i + 1].at;
    if (isdigit((unsigned char)first) || is(w, i + 1, "GROUPS")) return true;
    return is_name(w, i + 1) && counts_groups(w, i + 1);
}

// Does & make an address or a reference, and not a number of two?
static bool takes_address(const struct words* w, int i) {
    const char last = w->word[i - 1].length ? *w->word[i - 1].at : ' ';
    const bool value = is_word(last) || last == ')' || last == ']';
    const bool begins =
        is(w, i - 2, ";") || is(w, i - 2, "{") || is(w, i - 2, "}") || is(w, i - 2, "\n");
    const bool made = is(w, i + 2, "=") || is(w, i + 2, "{") || (is(w, i + 2, "(") && begins);
    return !value || is_one_of(w, i - 1, types) || (is_name(w, i - 1) && made);
}

static bool is_given(const struct words* w, int i) {
    const size_t n = (size_t)w->word[i].length;
    for (const char* p = given; *p; p++)
        if (strncmp(p, w->word[i].at, n) == 0 && !is_word(p[n]) && (p == given || !is_word(p[-1])))
            return true;
    return false;
}

// Is the word at i the name of a function, a type or a macro, as it is used?
static bool is_no_variable(const struct words* w, int i) {
    int behind = i + 1;
    if (is(w, behind, "(") || is(w, behind, "::") || is(w, behind, "{")) return true;
    if (is(w, behind, "<"))
        while (behind < w->count && !is(w, behind, ">") && !is(w, behind, ";")) behind++;
    if (is(w, behind, ">")) behind++;
    return is_name(w, behind) && (behind > i + 1 || !is_name(w, i - 1));
}

// Does another section define it? What was given is known.
static bool is_from_elsewhere(const struct words* w, int i, const struct words* all) {
    const struct word* it = &w->word[i];
    if (!is_name(w, i) || !is_no_variable(w, i) || is_given(w, i)) return false;
    for (int j = 1; j < all->count; j++) {
        const struct word* other = &all->word[j];
        if (other->section == it->section || other->length != it->length ||
            memcmp(other->at, it->at, (size_t)it->length) != 0)
            continue;
        const int behind = is(all, j + 1, "(") ? closing(all, j + 1) + 1 : 0;
        if (is_name(all, j - 1) && !is_one_of(all, j - 1, before_value)) return true;
        if (behind && (is(all, behind, "{") || is(all, behind, "->") || is_name(all, behind)))
            return true;
    }
    return false;
}

static _Noreturn void fail_of_address(struct check* c, const struct words* w, int i) {
    const char* line = w->word[i].at;
    check_fail(c, CAUSE_local_array,
               "%.*s: an address or a reference of something in a register is taken, and registers "
               "have none\n",
               (int)strcspn(line, ";\n"), line);
}

static void judge_word(struct check* c, const struct words* w, int i, const struct words* all) {
    static const char* const unread[] = {"_Pragma",   "asm",     "__asm__", "alloca", "decltype",
                                         "addressof", "typedef", "bitand",  "<:",     ":>",
                                         "<%",        "%>",      "%:",      NULL};
    const struct word* it = &w->word[i];
    const int end = is(w, i, "[") ? closing(w, i) : i;
    if (is_one_of(w, i, arguments) && is_declared_anew(w, i))
        check_fail(c, CAUSE_local_array, "%.*s is another variable than the kernel's argument\n",
                   it->length, it->at);
    if (is(w, i, "[") && !index_is_fine(w, i))
        check_fail(c, CAUSE_local_array,
                   "%.*s[%.*s]: the index of a register is a number, or the variable of a loop\n"
                   "    for (int k = 0; k < GROUPS; k++)\n"
                   "  which is unrolled: of an if that chooses alone nvcc makes an index again,\n"
                   "  unless #pragma unroll stands in front\n"
                   "  next: let such a loop ask for each k whether it is the one\n",
                   w->word[i - 1].length, w->word[i - 1].at,
                   end < w->count ? (int)(w->word[end].at - it->at) - 1 : 0, it->at + 1);
    if ((is(w, i, "sum") && !is(w, i + 1, "[")) || (is(w, i, "&") && takes_address(w, i)))
        fail_of_address(c, w, i);
    if (is(w, i, "#") &&
        !(is(w, i + 1, "pragma") && (is(w, i + 2, "unroll") || is(w, i + 2, "nounroll"))))
        check_fail(c, CAUSE_local_array,
                   "%.*s: what is indexed here cannot be read; here only #pragma unroll may be\n",
                   (int)strcspn(it->at, "\n"), it->at);
    if (is_one_of(w, i, unread) || (it->length > 9 && memcmp(it->at, "__builtin", 9) == 0) ||
        is_from_elsewhere(w, i, all))
        check_fail(c, CAUSE_local_array,
                   "%.*s: whether it indexes an array cannot be read from this section\n",
                   it->length, it->at);
}

// The section's only array of a thread is sum[], every mention of which has a fine index. A section
// of very many words has too many lines, which is judged elsewhere.
static void judge_registers(struct check* c, enum bug_hunt_kernel kernel) {
    enum { MOST = 2000 };
    static struct word word[MOST + BEHIND];
    size_t size;
    const char* text = check_text(c, &size);
    check_case(c, "the text of group_sums");
    char* copy = bare_text(text, size, "// ---- ");
    const struct words all = copy ? words_of(copy) : (struct words){0};
    struct words w = {1, word};
    for (int i = 1; i < all.count && all.word && w.count < MOST; i++)
        if (all.word[i].section == (int)kernel) word[w.count++] = all.word[i];
    memset(&word[w.count], 0, BEHIND * sizeof *word);
    for (int i = 1; i < w.count; i++) judge_word(c, &w, i, &all);
    free(all.word);
    free(copy);
}

#endif
