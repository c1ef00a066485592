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
    while (r->fields > t->fields) {  // more fields than titles
        r->failed = true;
        free(r->field[--r->fields]);
    }
    while (r->fields < t->fields) end_field("", 0, r);
    char*** grown = realloc(t->record, (size_t)(t->records + 1) * sizeof *grown);
    if (!grown) class_refuse("no memory for a table");
    t->record = grown;
    t->record[t->records++] = r->field;
    r->field = NULL;
    r->fields = 0;
}

bool table_read(const char* path, struct table* t) {
    struct csv_parser parser;
    size_t size;
    memset(t, 0, sizeof *t);
    char* text = file_read(path, CSV_LIMIT, &size);
    if (!text) return false;
    if (csv_init(&parser, CSV_APPEND_NULL) != 0) class_refuse("no memory for a table");
    struct reading r = {.t = t};
    size_t skip = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;  // a byte-order mark
    bool fine =
        csv_parse(&parser, text + skip, size - skip, end_field, end_record, &r) == size - skip &&
        csv_fini(&parser, end_field, end_record, &r) == 0 && !r.failed;
    csv_free(&parser);
    free(text);
    if (!fine) {
        table_free(t);
        errno = EINVAL;
    }
    return fine;
}

void table_free(struct table* t) {
    for (int i = 0; i < t->records; i++) {
        for (int f = 0; f < t->fields; f++) free(t->record[i][f]);
        free(t->record[i]);
    }
    free(t->record);
    memset(t, 0, sizeof *t);
}

int table_column(const struct table* t, const char* title) {
    for (int f = 0; t->records > 0 && f < t->fields; f++)
        if (strcasecmp(t->record[0][f], title) == 0) return f;
    return -1;
}

void table_field(FILE* to, const char* text, bool last) {
    char guarded[2 * WHY_SIZE + ID_SIZE];
    // A spreadsheet takes a text that begins with one of these for a formula.
    snprintf(guarded, sizeof guarded, "%s%s", text[0] && strchr("=+-@\t\r\n", text[0]) ? "'" : "",
             text);
    plain_line(guarded);
    csv_fwrite(to, guarded, strlen(guarded));
    fputs(last ? "\n" : ",", to);
}
