// edits.c: see edits.h. It reads what strangers wrote.
#include "check/edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "// ---- ";

// Reads a text line by line.
struct reader {
    const char *at, *end;
    int section;   // of the line that was read
    bool spliced;  // the line before ended with a backslash
    char* line;    // as it is compared; owned, as long as the longest line
    bool is_title;
};

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

static struct reader reader_of(const char* text, size_t size) {
    return (struct reader){.at = text, .end = text + size, .line = malloc(size + 1)};
}

// The line without its blanks, in r->line. False at the end.
static bool next_line(struct reader* r) {
    size_t n = 0;
    if (!r->line || r->at == r->end) return false;
    const char* stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char* end = stop ? stop : r->end;
    size_t length = (size_t)(end - r->at);
    r->is_title = length >= strlen(title) && memcmp(r->at, title, strlen(title)) == 0;
    for (const char* p = r->at; p < end; p++) {
        // Between words one blank stays: "int x" is not "intx".
        if (!is_blank(*p))
            r->line[n++] = *p;
        else if (n > 0 && r->line[n - 1] != ' ')
            r->line[n++] = ' ';
    }
    while (n > 0 && r->line[n - 1] == ' ') n--;
    r->line[n] = '\0';
    r->at = stop ? stop + 1 : end;
    r->section += r->is_title;
    return true;
}

// The next line that counts.
static bool next_counted(struct reader* r) {
    while (next_line(r)) {
        size_t n = strlen(r->line);
        bool was_spliced = r->spliced;
        r->spliced = n > 0 && r->line[n - 1] == '\\';
        // While a /* is open, a line that begins with // is code if it ends the /*.
        bool comment =
            strncmp(r->line, "//", 2) == 0 && !was_spliced && !r->spliced && !strstr(r->line, "*/");
        if (n > 0 && (!comment || r->is_title)) return true;
    }
    return false;
}

// In "name = VALUE," cuts the value off, if the name begins with `constants`.
static void cut_value(char* line, const char* constants) {
    size_t n = strcspn(line, " =");
    if (strncmp(line, constants, strlen(constants)) != 0) return;
    const char* value = strncmp(line + n, " = ", 3) == 0 ? line + n + 3 : NULL;
    if (!value) return;
    size_t m = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (m == 0 || value[m] != ',') return;
    const char* behind = value + m + 1;
    bool comment = strncmp(behind, " //", 3) == 0 && behind[strlen(behind) - 1] != '\\';
    if (!*behind || comment) line[n] = '\0';
}

// ---- the lines of a section

struct lines {
    int count;
    char* line[2 * EDITS_MANY];
    int width[2 * EDITS_MANY];  // in lines of EDITS_COLUMNS columns
    bool many;                  // there are more
};

static void take(struct lines* l, const char* line) {
    if (l->count == 2 * EDITS_MANY || !(l->line[l->count] = strdup(line))) {
        l->many = true;
        return;
    }
    size_t length = strlen(line);
    int width = length > (size_t)EDITS_COLUMNS * EDITS_MANY
                    ? EDITS_MANY
                    : (int)((length + EDITS_COLUMNS - 1) / EDITS_COLUMNS);
    l->width[l->count++] = width;
}

static void forget(struct lines* l) {
    for (int i = 0; i < l->count; i++) free(l->line[i]);
    l->count = 0;
    l->many = false;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

// The lines that both files keep, in the same order: kept[i * across + j] is the most of the lines
// from i and j on, in lines of the given file, and wide[] in columns of the other. The first
// decides.
struct kept {
    int across, *kept, *wide;
};

static bool fits(const struct lines* a, const struct lines* b) {
    return !b->many && b->count <= a->count + EDITS_MANY / 2;
}

// k.kept is NULL if there is no memory; else the caller frees it.
static struct kept keep(const struct lines* a, const struct lines* b) {
    struct kept k = {.across = b->count + 1};
    k.kept = calloc((size_t)(a->count + 1) * (size_t)k.across * 2, sizeof *k.kept);
    if (!k.kept) return k;
    k.wide = k.kept + (a->count + 1) * k.across;
    for (int i = a->count - 1; i >= 0; i--)
        for (int j = b->count - 1; j >= 0; j--) {
            const int here = i * k.across + j, down = here + k.across, right = here + 1;
            bool same = strcmp(a->line[i], b->line[j]) == 0;
            int from = k.kept[down] >= k.kept[right] ? down : right;
            k.kept[here] = same ? k.kept[down + 1] + 1 : k.kept[from];
            k.wide[here] = same ? k.wide[down + 1] + b->width[j] : k.wide[from];
        }
    return k;
}

static int differ(const struct lines* a, const struct lines* b) {
    int all = 0;
    struct kept k = fits(a, b) ? keep(a, b) : (struct kept){0};
    if (!k.kept) return EDITS_MANY;
    for (int j = 0; j < b->count; j++) all += b->width[j];
    int result = larger(a->count - k.kept[0], all - k.wide[0]);
    free(k.kept);
    return result;
}

static size_t put_line(char sign, const char* line, char* to, size_t room) {
    int n = snprintf(to, room, "%c %.*s\n", sign, (int)EDITS_COLUMNS, line);
    bool whole = n > 0 && (size_t)n < room;
    if (!whole && room) to[0] = '\0';
    return whole ? (size_t)n : 0;
}

static void list(const struct lines* a, const struct lines* b, char* to, size_t room) {
    struct kept k = fits(a, b) ? keep(a, b) : (struct kept){0};
    size_t used = 0;
    for (int i = 0, j = 0; k.kept && (i < a->count || j < b->count);) {
        const int here = i * k.across + j;
        bool both = i < a->count && j < b->count;
        if (both && strcmp(a->line[i], b->line[j]) == 0)
            i++, j++;
        else if (j == b->count || (both && k.kept[here + k.across] >= k.kept[here + 1]))
            used += put_line('-', a->line[i++], to + used, room - used);
        else
            used += put_line('+', b->line[j++], to + used, room - used);
    }
    free(k.kept);
}

// The lines of the section that r has come to; its first line is in r->line if `more`.
static bool take_section(struct reader* r, bool more, const char* constants, struct lines* l) {
    const int section = r->section;
    for (; more && r->section == section; more = next_counted(r)) {
        if (r->is_title) continue;
        if (constants && section == 0) cut_value(r->line, constants);
        take(l, r->line);
    }
    return more;
}

// ---- both files

static bool same_titles(const char* given, size_t given_size, const char* text, size_t size) {
    struct reader a = reader_of(given, given_size), b = reader_of(text, size);
    bool same = a.line && b.line;
    for (bool more = same; more;) {
        bool in_a, in_b;
        while ((in_a = next_line(&a)) && !a.is_title) {
        }
        while ((in_b = next_line(&b)) && !b.is_title) {
        }
        same = in_a == in_b && (!in_a || strcmp(a.line, b.line) == 0);
        more = same && in_a;
    }
    free(a.line), free(b.line);
    return same;
}

// Both files, section by section.
struct walk {
    const char* constants;
    struct reader a, b;
    bool in_a, in_b;
    struct lines old, new;  // of the section
    int section;
};

static void walk_begin(struct walk* w, const char* given, const char* constants, const char* text,
                       size_t size) {
    *w = (struct walk){.constants = constants,
                       .a = reader_of(given, strlen(given)),
                       .b = reader_of(text, size),
                       .section = -1};
    w->in_a = next_counted(&w->a);
    w->in_b = next_counted(&w->b);
}

// The next section; false behind the last. A text may begin with a title: then its section 0 is
// empty.
static bool walk_on(struct walk* w) {
    const int s = ++w->section;
    forget(&w->old), forget(&w->new);
    if (s == EDITS_SECTIONS || !(w->in_a || w->in_b || s == 0)) {
        free(w->a.line), free(w->b.line);
        return false;
    }
    if (w->in_a && w->a.section == s) w->in_a = take_section(&w->a, w->in_a, w->constants, &w->old);
    if (w->in_b && w->b.section == s) w->in_b = take_section(&w->b, w->in_b, w->constants, &w->new);
    return true;
}

struct edits edits_of(const char* given, const char* constants, const char* text, size_t size) {
    struct edits made = {.same_sections = same_titles(given, strlen(given), text, size)};
    if (!made.same_sections) return made;
    struct walk w;
    walk_begin(&w, given, constants, text, size);
    while (walk_on(&w)) {
        made.lines[w.section] = differ(&w.old, &w.new);
        made.sections = w.section + 1;
    }
    return made;
}

void edits_list(const char* given, const char* constants, const char* text, size_t size,
                int section, char* to, size_t room) {
    to[0] = '\0';
    if (!same_titles(given, strlen(given), text, size)) return;
    struct walk w;
    walk_begin(&w, given, constants, text, size);
    while (walk_on(&w))
        if (w.section == section) list(&w.old, &w.new, to, room);
}

void edits_constant(const char* text, size_t size, const char* name, char* to, size_t room) {
    struct reader r = reader_of(text, size);
    const size_t n = strlen(name);
    to[0] = '\0';
    while (next_counted(&r) && r.section == 0) {
        if (strncmp(r.line, name, n) != 0 || strncmp(r.line + n, " = ", 3) != 0) continue;
        snprintf(to, room, "%s", r.line + n + 3);
        to[strcspn(to, ", ")] = '\0';
        break;
    }
    free(r.line);
}
