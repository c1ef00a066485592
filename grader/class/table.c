// table.c: small tables, read by libcsv. See class.h.
#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/plain.h"
#include "class/class.h"

enum { CSV_LIMIT = 16 << 20 };

// The record that is being read.
struct reading {
    struct table* t;
    char** field;
    int fields;
    bool failed;
};

static void end_field(void* data, size_t size, void* to) {
    struct reading* r = to;
    char** grown = realloc(r->field, (size_t)(r->fields + 1) * sizeof *grown);
    char* text = malloc(size + 1);
    if (!grown || !text) class_refuse("no memory for a table");
    r->field = grown;
    memcpy(text, data, size);
    text[size] = '\0';
    r->field[r->fields++] = text;
}

static void end_record(int end, void* to) {
    (void)end;
    struct reading* r = to;
    struct table* t = r->t;
    if (t->records == 0) t->fields = r->fields;
    while (r->fields > t->fields) {  // more fields than titles: a spreadsheet adds empty ones
        r->failed |= r->field[--r->fields][0] != '\0';
        free(r->field[r->fields]);
    }
    while (r->fields < t->fields) end_field("", 0, r);
    char*** grown = realloc(t->record, (size_t)(t->records + 1) * sizeof *grown);
    if (!grown) class_refuse("no memory for a table");
    t->record = grown;
    t->record[t->records++] = r->field;
    r->field = NULL;
    r->fields = 0;
}

// The charset of a spreadsheet's file: UTF-16, mostly with a byte-order mark, UTF-8, or what
// Windows writes in Western Europe.
static const char* charset_of(const char* text, size_t size) {
    if (size >= 2 && !memcmp(text, "\xff\xfe", 2)) return "UTF-16";
    if (size >= 2 && !memcmp(text, "\xfe\xff", 2)) return "UTF-16";
    if (size >= 4 && text[0] && !text[1] && text[2] && !text[3]) return "UTF-16LE";
    if (size >= 4 && !text[0] && text[1] && !text[2] && text[3]) return "UTF-16BE";
    return text_is_utf8(text, size) ? "UTF-8" : "windows-1252";
}

// What stands between the fields: the most frequent of these in the first line, outside of quotes.
// Excel may say it in a line of its own, "sep=;", which is skipped.
static char delimiter_of(const char** text) {
    static const char mark[] = ",;\t";
    int count[3] = {0};
    bool quoted = false;
    if (!strncmp(*text, "sep=", 4) && (*text)[4]) {
        char said = (*text)[4];
        *text += strcspn(*text, "\n");
        *text += **text != '\0';
        return said;
    }
    for (const char* p = *text; *p && (quoted || (*p != '\n' && *p != '\r')); p++) {
        const char* is = strchr(mark, *p);
        quoted ^= *p == '"';
        if (is && !quoted) count[is - mark]++;
    }
    int most = count[1] > count[0] ? 1 : 0;
    return mark[count[2] > count[most] ? 2 : most];
}

bool table_read(const char* path, struct table* t) {
    struct csv_parser parser;
    size_t size;
    memset(t, 0, sizeof *t);
    char* text = file_read(path, CSV_LIMIT, &size);
    if (!text) return false;
    const char* charset = charset_of(text, size);
    // What follows would be lost, and with it students.
    if (strncmp(charset, "UTF-16", 6) != 0 && memchr(text, '\0', size)) {
        free(text);
        errno = EILSEQ;
        return false;
    }
    char* utf8 = text_convert(text, size, charset);
    free(text);
    if (csv_init(&parser, CSV_APPEND_NULL) != 0) class_refuse("no memory for a table");
    struct reading r = {.t = t};
    const char* from = utf8 + (strncmp(utf8, "\xef\xbb\xbf", 3) ? 0 : 3);  // a byte-order mark
    csv_set_delim(&parser, (unsigned char)delimiter_of(&from));
    size = strlen(from);
    bool fine = csv_parse(&parser, from, size, end_field, end_record, &r) == size;
    // Only asked strictly does the end say that a quoted field is open, and leaves that field away.
    csv_set_opts(&parser, CSV_APPEND_NULL | CSV_STRICT | CSV_STRICT_FINI);
    bool open = csv_fini(&parser, end_field, end_record, &r) != 0;
    if (open) end_record(0, &r);
    fine = fine && !r.failed && !open;
    csv_free(&parser);
    free(utf8);
    if (!fine) {
        table_free(t);
        errno = open ? ENODATA : EBADMSG;
    }
    return fine;
}

const char* table_why(void) {
    return errno == EINVAL    ? "not a regular file"
           : errno == EILSEQ  ? "it holds a byte 0; save it as CSV"
           : errno == ENODATA ? "a \" that no other one closes"
           : errno == EBADMSG ? "a line has more fields than the first one has titles"
                              : strerror(errno);
}

void table_free(struct table* t) {
    for (int i = 0; i < t->records; i++) {
        for (int f = 0; f < t->fields; f++) free(t->record[i][f]);
        free(t->record[i]);
    }
    free(t->record);
    memset(t, 0, sizeof *t);
}

// Is the text this title, but for blanks around it and for its case?
static bool is_title(const char* text, const char* title) {
    size_t n = strlen(title);
    text += strspn(text, " ");
    return !strncasecmp(text, title, n) && !text[n + strspn(text + n, " ")];
}

int table_column(const struct table* t, const char* title) {
    for (int f = 0; t->records > 0 && f < t->fields; f++)
        if (is_title(t->record[0][f], title)) return f;
    return -1;
}

// A spreadsheet takes a text that begins with one of these for a formula.
static const char formula[] = "=+-@\t\r\n";

const char* table_text(const char* text) {
    return text[0] == '\'' && text[1] && strchr(formula, text[1]) ? text + 1 : text;
}

void table_field(FILE* to, const char* text, bool last) {
    char guarded[TOLD_NAME + WHY_SIZE];
    snprintf(guarded, sizeof guarded, "%s%s", text[0] && strchr(formula, text[0]) ? "'" : "", text);
    plain_line(guarded);
    csv_fwrite(to, guarded, strlen(guarded));
    fputs(last ? "\n" : ",", to);
}

void table_copy(FILE* to, const char* text, bool last) {
    csv_fwrite(to, text, strlen(text));
    fputs(last ? "\n" : ",", to);
}
