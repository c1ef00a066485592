// answers.c: see answers.h.
#include "formula/answers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// A piece of the file.
struct piece {
    const char *begin, *end;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct piece trimmed(struct piece p) {
    while (p.begin < p.end && is_blank(*p.begin)) p.begin++;
    while (p.begin < p.end && is_blank(p.end[-1])) p.end--;
    return p;
}

static struct piece without_remark(struct piece p) {
    for (const char* c = p.begin; c + 1 < p.end; c++)
        if (c[0] == '/' && c[1] == '/') p.end = c;
    return trimmed(p);
}

// Cuts "name = formula" into name and formula. False if the line does not have this form: then
// formula.begin is where it departs from it.
static bool cut_line(struct piece line, struct piece* name, struct piece* formula) {
    *name = (struct piece){line.begin, line.begin};
    while (name->end < line.end && is_word(*name->end)) name->end++;
    *formula = trimmed((struct piece){name->end, line.end});
    if (name->begin == name->end || formula->begin == formula->end || *formula->begin != '=')
        return false;
    formula->begin++;
    *formula = trimmed(*formula);
    return true;
}

static void set_formula(struct answer* a, struct piece formula, int line, int column) {
    if (a->state == ANSWER_THERE) {
        a->state = ANSWER_BAD;
        snprintf(a->message, sizeof a->message,
                 "this is the second answer, the first is in line %d; keep one", a->line);
    } else if (memchr(formula.begin, '\0', (size_t)(formula.end - formula.begin))) {
        a->state = ANSWER_BAD;
        snprintf(a->message, sizeof a->message, "the line holds a byte 0; is it a text file?");
    } else if (formula.end - formula.begin > ANSWER_LENGTH) {
        a->state = ANSWER_BAD;
        snprintf(a->message, sizeof a->message, "longer than %d characters", ANSWER_LENGTH);
    } else {
        a->state = ANSWER_THERE;
        snprintf(a->text, sizeof a->text, "%.*s", (int)(formula.end - formula.begin),
                 formula.begin);
    }
    a->line = line;
    a->column = column;
}

// How an editor has saved the file, if no line of it can be read so; else NULL.
static const char* unreadable(const char* file, size_t size) {
    if (size >= 2 && (!memcmp(file, "\xff\xfe", 2) || !memcmp(file, "\xfe\xff", 2)))
        return "this text is in UTF-16; save it in UTF-8";
    if (memchr(file, '\r', size) && !memchr(file, '\n', size))
        return "lines end with a carriage return alone; save the file with line feeds";
    return NULL;
}

struct answer answer_find(const char* file, size_t size, const char* name) {
    struct answer a = {.state = ANSWER_NONE};
    const char* why = unreadable(file, size);
    if (why) {
        a = (struct answer){.state = ANSWER_BAD, .line = 1, .column = 1};
        snprintf(a.message, sizeof a.message, "%s", why);
        return a;
    }
    size_t length = strlen(name);
    const char *at = file, *end = file + size;
    for (int number = 1; at < end && a.state != ANSWER_BAD; number++) {
        const char* newline = memchr(at, '\n', (size_t)(end - at));
        struct piece line = {at, newline ? newline : end}, word, formula;
        struct piece said = without_remark(line);
        at = newline ? newline + 1 : end;
        if (said.begin == said.end) continue;
        if (!cut_line(said, &word, &formula)) {
            if (a.state != ANSWER_NONE || a.message[0]) continue;
            a.line = number;
            a.column = (int)(formula.begin - line.begin) + 1;
            snprintf(a.message, sizeof a.message, "this is not: name = formula");
            continue;
        }
        if ((size_t)(word.end - word.begin) != length || memcmp(word.begin, name, length) != 0)
            continue;
        int column = (int)(formula.begin - line.begin) + 1;
        if (formula.begin < formula.end) {
            set_formula(&a, formula, number, column);
        } else if (a.state == ANSWER_NONE) {
            a.state = ANSWER_EMPTY;
            a.line = number;
            a.column = column;
        }
    }
    return a;
}
