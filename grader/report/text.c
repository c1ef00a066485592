// text.c: the result as a student reads it. See result.h.
#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/plain.h"
#include "report/compiler.h"
#include "report/result.h"

static const char* colour_code(enum outcome outcome, bool colour) {
    static const char* const codes[] = {"\033[33m", "\033[31m", "\033[32m"};
    return colour ? codes[outcome] : "";
}

static const char* plain(bool colour) {
    return colour ? "\033[0m" : "";
}

static const char* bold(bool colour) {
    return colour ? "\033[1m" : "";
}

void text_begin(const struct result* r, bool colour) {
    printf("%sLesson %s%s  %s\n", bold(colour), r->lesson, plain(colour), r->file);
    if (r->text)
        printf("a text: nothing is run; seed %s\n\n", r->seed);
    else
        printf("device %s, isolation %s, seed %s\n\n", r->device, r->isolation, r->seed);
    fflush(stdout);
}

// Prints the character at s, or '?' if it is not plain. Returns its length in bytes, at least 1.
static size_t put_character(FILE* to, const char* s) {
    size_t n = plain_character(s);
    bool layout = *s == '\n' || *s == '\t';
    if (n > 0)
        fwrite(s, 1, n, to);
    else
        putc(layout ? *s : '?', to);
    return n > 0 ? n : 1;
}

void text_print(FILE* to, const char* indent, const char* text) {
    bool start = true;
    for (const char* s = text; *s;) {
        if (start) fputs(indent, to);
        start = *s == '\n';
        s += put_character(to, s);
    }
    if (!start) putc('\n', to);
}

void text_vsay(FILE* to, const char* format, va_list values) {
    char* text;
    if (vasprintf(&text, format, values) < 0) return;
    text_print(to, "", text);
    free(text);
}

void text_say(FILE* to, const char* format, ...) {
    va_list values;
    va_start(values, format);
    text_vsay(to, format, values);
    va_end(values);
}

void text_file_option(const char* name, char* text, size_t size) {
    size_t n = (size_t)snprintf(text, size, " FILE='");
    for (; *name && n + 6 < size; name++) {
        if (*name == '\'')
            n += (size_t)snprintf(text + n, size - n, "'\\''");
        else
            text[n++] = *name;
    }
    snprintf(text + n, size - n, "'");
    plain_line(text);
}

// ---- lines as wide as the terminal

enum { INDENT = 10, HANG = 4, NARROWEST = 40 };

// In a pipe a line stays whole: its reader wraps it.
static int width(void) {
    struct winsize size;
    const char* columns = getenv("COLUMNS");
    int n = columns ? atoi(columns) : 0;
    if (n <= 0) n = ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : INT_MAX;
    return n < NARROWEST ? NARROWEST : n;
}

// How many columns n bytes take.
static int columns_of(const char* text, size_t n) {
    int columns = 0;
    for (size_t i = 0; i < n; columns++) {
        size_t length = plain_character(text + i);
        i += length > 0 ? length : 1;
    }
    return columns;
}

// Prints a line of n bytes from this column on. Words that do not fit go to the next line, at
// column `hang`.
static void put_words(const char* line, size_t n, int column, int hang) {
    int most = width();
    for (size_t i = 0; i < n;) {
        size_t word = i;
        while (word < n && line[word] == ' ') word++;
        size_t end = word;
        while (end < n && line[end] != ' ') end++;
        if (i > 0 && column > hang && column + columns_of(line + i, end - i) > most) {
            printf("\n%*s", hang, "");
            column = hang;
            i = word;
        }
        column += columns_of(line + i, end - i);
        while (i < end) i += put_character(stdout, line + i);
    }
    putchar('\n');
}

static void print_line(const char* line, size_t n) {
    printf("%*s", INDENT, "");
    put_words(line, n, INDENT, INDENT + HANG + (int)strspn(line, " "));
}

// Prints each line indented; the rest of a line that is too long is indented further.
static void print_indented(const char* text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        print_line(text, n);
        text += n + (text[n] == '\n');
    }
}

// Is the line of n characters one of those in [text, end)?
static bool has_line(const char* text, const char* end, const char* line, size_t n) {
    while (text < end) {
        size_t m = strcspn(text, "\n");
        if (m == n && memcmp(text, line, n) == 0) return true;
        text += m + (text[m] == '\n');
    }
    return false;
}

// Does an item before this one say the line as well?
static bool was_said(const struct result* r, int index, const char* line, size_t n) {
    for (int i = 0; i < index; i++) {
        const char* message = r->item[i].message;
        if (has_line(message, message + strlen(message), line, n)) return true;
    }
    return false;
}

// The message of an item. A line `next: ` is told once, though several findings lead there; the
// lines that go on with it are indented further.
static void print_message(const struct result* r, int index) {
    const char* message = r->item[index].message;
    size_t dropped = SIZE_MAX;  // the indent of what was not told
    for (const char* p = message; *p;) {
        size_t n = strcspn(p, "\n"), indent = strspn(p, " ");
        bool next = strncmp(p + indent, "next: ", 6) == 0;
        if (next || indent <= dropped) dropped = SIZE_MAX;
        if (next && (has_line(message, p, p, n) || was_said(r, index, p, n))) dropped = indent;
        if (dropped == SIZE_MAX) print_line(p, n);
        p += n + (p[n] == '\n');
    }
}

// ---- items

static void print_cause(const struct result_item* item, bool colour) {
    static const char label[] = "likely cause:";
    char words[240];
    snprintf(words, sizeof words, " %s [%s]", item->sentence, item->cause);
    printf("%*s%s%s%s", INDENT, "", bold(colour), label, plain(colour));
    put_words(words, strlen(words), INDENT + (int)strlen(label), INDENT + HANG);
}

// The first line that says what is wrong, if no item before has said so. A count is said again: an
// item may look at more than its name tells, as where barriers are few but loads are not coalesced.
static void print_first_line(const struct result* r, int index) {
    const char* message = r->item[index].message;
    if (strncmp(message, "case: ", 6) == 0) message += strcspn(message, "\n");
    message += *message == '\n';
    size_t n = strcspn(message, "\n");
    if (strncmp(message, RESULT_ORDINARY, sizeof RESULT_ORDINARY - 1) == 0)
        print_line(message, n);
    else if (n > 0 && (r->item[index].counted || !was_said(r, index, message, n)))
        print_line(message, n);
}

static const char* behind_case(const char* message) {
    return message + strcspn(message, "\n");
}

// How much of an item has been shown with those before it.
enum known { NOTHING, THE_CAUSE, ALL_BUT_ITS_CASE };

static enum known known_of(const struct result* r, int index) {
    const struct result_item* item = &r->item[index];
    enum known known = NOTHING;
    if (item->outcome != OUTCOME_FAIL || !item->cause[0]) return NOTHING;
    for (int i = 0; i < index; i++) {
        const struct result_item* before = &r->item[i];
        if (strcmp(before->cause, item->cause) != 0) continue;
        if (known == NOTHING) known = THE_CAUSE;
        if (strcmp(behind_case(before->message), behind_case(item->message)) == 0)
            known = ALL_BUT_ITS_CASE;
    }
    return known;
}

void text_item(const struct result* r, int index, bool colour) {
    static const char* const words[] = {"ERROR", "FAIL", "OK"};
    enum { NAME_COLUMN = 25 };
    const struct result_item* item = &r->item[index];
    const enum known known = known_of(r, index);
    const bool own_words = item->own_words && known != ALL_BUT_ITS_CASE;
    const char* format = !known ? "%s" : own_words ? "%s [%s]" : "%s: as above [%s]";
    char name[160];
    snprintf(name, sizeof name, format, item->name, item->cause);
    printf("  %s%-5s%s %3d/%-3d %5.2f s  ", colour_code(item->outcome, colour),
           words[item->outcome], plain(colour), item->points, item->max_points, item->seconds);
    put_words(name, strlen(name), NAME_COLUMN, NAME_COLUMN);
    if (known && own_words) {
        print_message(r, index);
    } else if (known) {
        if (!item->missing && !item->own_words) print_first_line(r, index);
    } else if (item->outcome != OUTCOME_PASS) {
        print_message(r, index);
        if (item->outcome == OUTCOME_ERROR)
            print_indented("This is a fault of the grader, not in your code. Please report it.");
        if (item->sentence[0]) print_cause(item, colour);
    }
    fflush(stdout);
}

// ---- the end

// Prints what the student can do next, on this file and with this data.
static void print_next(const struct result* r, const struct result_item* failed) {
    const char* number = r->lesson;
    int digits = (int)strcspn(number, "_");
    bool own = strncmp(r->file, "exercises/", 10) == 0;
    char file[4 * sizeof r->file] = "", cause[48] = "", card[32] = "";
    char item[sizeof failed->name + 16] = "";
    if (!own) text_file_option(r->file, file, sizeof file);
    // make hint takes the cause from the saved grade of the exercise. A different file needs
    // CAUSE=, and so does a text, in which each answer may be wrong in its own way.
    if (!own || r->text) snprintf(cause, sizeof cause, " CAUSE=%s", failed->cause);
    if (*r->card) snprintf(card, sizeof card, " CARD=%s", r->card);
    printf("Next: make hint LESSON=%.*s%s\n", digits, number, cause);
    if (r->text) return;
    if (failed->profiled) snprintf(item, sizeof item, " CASE='%s'", failed->name);
    if (failed->counted)
        printf("      make profile LESSON=%.*s%s%s%s\n", digits, number, file, card, item);
    else
        printf("      make debug LESSON=%.*s%s%s SEED=%s CASE='%s'\n", digits, number, file, card,
               r->seed, failed->name);
}

// ---- what a report ends with: the cause, the line, the item

// The first line of the item's first finding. If it is about a header of the course, the line of
// the file from which that was called.
static void finding_line(const struct finding_values* v, char* line, size_t size) {
    char caller[sizeof v->file + 32] = "";
    // Of a file in a folder the report has never told the caller here; the finding tells it.
    const bool tells = v->caller && !strchr(v->file, '/');
    if (tells) snprintf(caller, sizeof caller, ", called at %s:%u", v->file, v->caller);
    snprintf(line, size, "%s%s", v->words, caller);
}

// Writes what is known of the line that is to be mended. "": nothing.
static void find_line(const struct result* r, const struct result_item* failed, char* line,
                      size_t size) {
    const char* all = r->compiler[0] ? r->compiler : r->message[0] ? r->message : failed->message;
    struct compiler_message error;
    const char* place;
    size_t n;
    *line = 0;
    if (failed->finding_count) {
        finding_line(failed->finding, line, size);
    } else if (compiler_first_error(r->compiler, &error) && !error.fatal) {
        snprintf(line, size, "%.*s", error.whole.length, error.whole.text);
    } else if ((place = result_place(r, all, &n))) {
        snprintf(line, size, "%.*s", (int)n, place);
    } else if (failed->counted) {
        snprintf(line, size, "make profile tells it");
    }
}

// Tells what is known of the line, and where something is still to be written. Of a stub that is
// all.
static void tell_line(const struct result* r, const struct result_item* failed, char* line,
                      size_t size) {
    const char *slash = strrchr(r->file, '/'), *name = slash ? slash + 1 : r->file;
    find_line(r, failed, line, size);
    const size_t n = strlen(line);
    if (r->text && !r->message[0])  // an item is an answer, and begins with its name
        snprintf(line, size, "%.*s in %s", (int)strcspn(failed->name, ":"), failed->name, name);
    else if (r->message[0] || !r->begin)
        snprintf(line + n, size - n, "%s", n ? "" : "not known");
    else if (r->score == 0 && (!n || result_is_unbegun(r)))
        snprintf(line, size, "%s:%d: `" RESULT_STUB "`, begin there", name, r->begin);
    else
        snprintf(line + n, size - n, "%s; line %d still says `" RESULT_STUB "`",
                 n ? "" : "not known", r->begin);
}

static void put_labelled(const char* label, const char* words) {
    printf("%-7s", label);
    put_words(words, strlen(words), 7, 7);
}

static void print_summary(const struct result* r, const struct result_item* failed) {
    char text[1024];
    int fails = 0;
    for (int i = 0; i < r->item_count; i++) fails += r->item[i].outcome == OUTCOME_FAIL;
    if (result_is_unbegun(r))
        snprintf(text, sizeof text, "a gap of the exercise is still empty [never_written]");
    else
        snprintf(text, sizeof text, "%s [%s]", failed->sentence, failed->cause);
    put_labelled("Cause:", text);
    tell_line(r, failed, text, sizeof text);
    put_labelled("Line:", text);
    if (r->message[0])
        snprintf(text, sizeof text, "none was run");
    else if (fails > 1)
        snprintf(text, sizeof text, "%s (%d other%s)", failed->name, fails - 1,
                 fails == 2 ? " fails" : "s fail");
    else
        snprintf(text, sizeof text, "%s", failed->name);
    put_labelled("Item:", text);
}

// How much of the points for the idea was reached.
static void print_idea(const struct result* r) {
    int got = 0, all = 0;
    for (int i = 0; i < r->item_count; i++) {
        got += r->item[i].idea ? r->item[i].points : 0;
        all += r->item[i].idea ? r->item[i].max_points : 0;
    }
    if (!all || !r->idea[0]) return;
    char words[240];
    snprintf(words, sizeof words, "The idea: %s: %d/%d", r->idea, got, all);
    put_words(words, strlen(words), 0, HANG);
}

// A line of a label and words, as wide as the terminal.
static void say_wrapped(const char* label, const char* words) {
    char line[1024];
    snprintf(line, sizeof line, "%s%s", label, words);
    put_words(line, strlen(line), 0, HANG);
}

void text_end(const struct result* r, const char* log, const char* unchecked, bool colour) {
    const struct result_item* failed = result_first_to_mend(r);
    if (r->message[0]) {
        say_wrapped("", r->message);
        text_print(stdout, "", r->compiler);
    }
    putchar('\n');
    if (failed && !r->message[0]) print_next(r, failed);
    if (unchecked[0]) say_wrapped("Not checked here: ", unchecked);
    say_wrapped("Log: ", log);
    if (!r->complete && !r->message[0]) printf("Only the items that match CASE were graded.\n");
    if (!r->message[0]) print_idea(r);
    enum outcome how = r->score == r->max_score && r->max_score > 0 ? OUTCOME_PASS : OUTCOME_FAIL;
    printf("%sScore: %d/%d%s\n", colour_code(how, colour), r->score, r->max_score, plain(colour));
    if (failed) print_summary(r, failed);
    fflush(stdout);
}
