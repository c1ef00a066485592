// problems.c: the result as lines that editors take to places in the file. See result.h.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/compiler.h"
#include "report/result.h"

// MOST: of lines; the rest is in the report.
enum { MOST = 100, WORDS = 640 };

struct problem {
    int line, column;      // from 1 on
    const char* severity;  // as compilers write it: "error", "warning", "note"
    char words[WORDS];
    const struct result_item* item;  // the first that says so; NULL: the compiler does
    const struct result_item* last;  // and the last
    int others;                      // how many items besides the first
};

struct problems {
    const struct result* result;
    const char* name;  // of the file, without its folder
    int count;
    struct problem problem[MOST];
};

// One more problem. It is known already if another item has the same cause in the same line.
static void add(struct problems* all, const struct result_item* item, int line, int column,
                const char* severity, const char* words) {
    if (line < 1) line = 1;
    for (int i = 0; i < all->count; i++) {
        struct problem* known = &all->problem[i];
        if (known->line != line || strcmp(known->severity, severity) != 0) continue;
        if (!item || !known->item || known->item == item) {
            if (strcmp(known->words, words) == 0) return;
        } else if (strcmp(known->item->cause, item->cause) == 0) {
            known->others += known->last != item;
            known->last = item;
            return;
        }
    }
    if (all->count == MOST) return;
    struct problem* p = &all->problem[all->count++];
    *p = (struct problem){.line = line, .column = column, .severity = severity};
    p->item = p->last = item;
    snprintf(p->words, sizeof p->words, "%s", words);
}

static int line_length(const char* text) {
    return (int)strcspn(text, "\n");
}

static const char* next_line(const char* text) {
    text += line_length(text);
    return text + (*text == '\n');
}

// The line of the file that [text, end) names as x.cu:12, 0 if it names none.
static int place_in(const struct problems* all, const char* text, const char* end) {
    size_t n;
    const char* place = result_place(all->result, text, &n);
    return place && place < end ? (int)strtol(place + strlen(all->name) + 1, NULL, 10) : 0;
}

// Is it the file's name, with its folder or without?
static bool is_file(const struct problems* all, const struct part* name) {
    const size_t n = (size_t)name->length;
    const char *whole = all->result->file, *own = all->name;
    return (n == strlen(whole) && memcmp(name->text, whole, n) == 0) ||
           (n == strlen(own) && memcmp(name->text, own, n) == 0);
}

// Behind the file's name, with its folder or without; NULL if a line does not begin with it.
static const char* behind_name(const struct problems* all, const char* line) {
    size_t whole = strlen(all->result->file), n = strlen(all->name);
    if (strncmp(line, all->result->file, whole) == 0) return line + whole;
    return strncmp(line, all->name, n) == 0 ? line + n : NULL;
}

// A message of the compiler about the file. What it says of other files has no place here.
static void add_compiler_message(struct problems* all, const struct compiler_message* m) {
    char words[WORDS];
    if (!m->line || !is_file(all, &m->file)) return;
    snprintf(words, sizeof words, "%.*s", m->words.length, m->words.text);
    add(all, NULL, m->line, m->column ? m->column : 1, m->severity, words);
}

// "write by thread (1,0,0) of block (0,0,0) in void k<4>, called at x.cu:7"
static void access_words(const struct finding_values* v, const struct finding_access* a,
                         char* words, size_t size) {
    char caller[sizeof v->file + 32] = "";
    if (a->caller) snprintf(caller, sizeof caller, ", called at %s:%u", v->file, a->caller);
    snprintf(words, size, "%s by %s%s%s%s", a->verb, a->who, a->function[0] ? " in " : "",
             a->function, caller);
}

// A finding of the CPU device: an error where it was seen, and a note at each other line whose read
// or write took part. The first one of an item is its cause.
static void add_finding(struct problems* all, const struct result_item* item,
                        const struct finding_values* v) {
    char words[WORDS], cause[40] = "";
    if (v == item->finding) snprintf(cause, sizeof cause, " [%s]", item->cause);
    snprintf(words, sizeof words, "%s%s", v->words, cause);
    add(all, item, (int)v->line, 1, "error", words);
    for (int i = 0; i < v->access_count; i++) {
        const struct finding_access* a = &v->access[i];
        const unsigned line = a->line ? a->line : a->caller;
        if (!a->plain || !line || line == v->line) continue;
        access_words(v, a, words, sizeof words);
        add(all, item, (int)line, 1, "note", words);
    }
}

// An item without a finding: its cause, in the line that its message names. Where it names none
// that is the first line, since an editor has no other place for it.
static void add_cause(struct problems* all, const struct result_item* item) {
    const char* message = item->message;
    char words[WORDS];
    int line = place_in(all, message, message + strlen(message));
    if (!line) line = item->line;
    if (item->outcome == OUTCOME_ERROR) {
        snprintf(words, sizeof words, "a fault of the grader, not in your code: %.*s",
                 line_length(message), message);
        add(all, item, line, 1, "warning", words);
    } else {
        snprintf(words, sizeof words, "%s [%s]%s%s", item->sentence, item->cause,
                 item->first[0] ? "; first wrong: " : "", item->first);
        add(all, item, line, 1, "error", words);
    }
}

static void add_item(struct problems* all, const struct result_item* item) {
    if (!item->finding_count) add_cause(all, item);
    for (int i = 0; i < item->finding_count; i++) add_finding(all, item, &item->finding[i]);
}

// Nothing was run, and the compiler's words, if there are any, name no line.
static void add_refusal(struct problems* all) {
    const char* words = all->result->message;
    int line = place_in(all, words, words + strlen(words));
    const char* behind = behind_name(all, words);
    if (behind && *behind == ':' && isdigit((unsigned char)behind[1]))
        words = behind + strspn(behind, ":0123456789 ");
    add(all, NULL, line, 1, "error", words);
}

static void print_problem(const struct problems* all, const struct problem* p, FILE* to) {
    char others[32] = "";
    if (p->others) snprintf(others, sizeof others, " and %d more", p->others);
    char* line;
    int n = asprintf(&line, "%s:%d:%d: %s: %s%s%s%s%s\n", all->result->file, p->line, p->column,
                     p->severity, p->words, p->item ? "; item \"" : "",
                     p->item ? p->item->name : "", p->item ? "\"" : "", others);
    if (n < 0) return;
    text_print(to, "", line);
    free(line);
}

void problems_print(const struct result* r, const char* compiler, FILE* to) {
    static struct problems all;
    struct compiler_message message;
    const char* slash = strrchr(r->file, '/');
    all = (struct problems){.result = r, .name = slash ? slash + 1 : r->file};
    for (const char* line = compiler; line && *line; line = next_line(line))
        if (compiler_read(line, &message)) add_compiler_message(&all, &message);
    bool has_error = false;
    for (int i = 0; i < all.count; i++) has_error |= strcmp(all.problem[i].severity, "error") == 0;
    if (r->message[0] && !(r->compiler[0] && has_error)) add_refusal(&all);
    for (int i = 0; !r->message[0] && i < r->item_count; i++)
        if (r->item[i].outcome != OUTCOME_PASS) add_item(&all, &r->item[i]);
    for (int i = 0; i < all.count; i++) print_problem(&all, &all.problem[i], to);
}
