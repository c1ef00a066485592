// book.c: the points of everybody, in one place. What a check gave, what a late rule leaves of it, what an
// instructor decided instead, weighted into one total: every view shows these numbers. See class.h.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "class/class.h"
#include "base/file.h"

// The instructor's tables, and how they look before anything is in them.
static const struct {
    const char *file, *titles;
} tables[] = {{"weights.csv", "lesson,weight\n"},
              {"late_rules.csv", "lesson,grace_days,percent_per_day,least_percent\n"},
              {"late.csv", "student,lesson,days\n"},
              {"overrides.csv", "student,lesson,points,reason\n"}};

// Reads OUT/file; one column after the other of `titles` must be there.
static void read_table(const struct class* k, int which, struct table* t, int column[4]) {
    const char* path = class_path(k, "%s", tables[which].file);
    char titles[80];
    struct stat st;
    if (stat(path, &st) != 0 &&
        file_write(path, tables[which].titles, strlen(tables[which].titles), 0600) != 0)
        class_refuse("%s: %s", path, strerror(errno));
    if (!table_read(path, t))
        class_refuse("%s: %s", path,
                     errno == EINVAL ? "a line has more fields than the first one has titles"
                                     : strerror(errno));
    snprintf(titles, sizeof titles, "%s", tables[which].titles);
    int c = 0;
    for (char *save, *title = strtok_r(titles, ",\n", &save); title;
         title = strtok_r(NULL, ",\n", &save)) {
        column[c] = table_column(t, title);
        if (column[c++] < 0)
            class_refuse("%s: its first line must be: %s", path, tables[which].titles);
    }
}

// The number in a field; ends the program if it is none, or not in low..high.
static double number(const struct class* k, int which, int record, const char* text, double low,
                     double high) {
    char* end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= low && value <= high))
        class_refuse("%s, record %d: \"%s\" is no number from %g to %g",
                     class_path(k, "%s", tables[which].file), record + 1, text, low, high);
    return value;
}

static bool is_meant(const char* text, const struct class_lesson* l) {
    return !strcmp(text, "*") || class_names(text, l->name);
}

static void warn_unknown(const struct class* k, int which, int record, const char* what,
                         const char* name) {
    fprintf(stderr, "%s, record %d: there is no %s %s in this run\n",
            class_path(k, "%s", tables[which].file), record + 1, what, name);
}

// ---- the tables

static void read_weights(struct class* k) {
    struct table t;
    int c[4];
    read_table(k, 0, &t, c);
    for (int l = 0; l < k->lessons; l++) k->weight[l] = 1;
    for (int i = 1; i < t.records; i++)
        for (int l = 0; l < k->lessons; l++)
            if (is_meant(t.record[i][c[0]], &k->lesson[l]))
                k->weight[l] = number(k, 0, i, t.record[i][c[1]], 0, 1e6);
    table_free(&t);
}

// What is left of the points, in percent, after so many days. The last rule for a lesson counts.
static double left_after(const struct class* k, const struct table* rules, const int* c,
                         const struct class_lesson* lesson, double days) {
    double left = 100;
    for (int i = 1; i < rules->records; i++) {
        if (!is_meant(rules->record[i][c[0]], lesson)) continue;
        double grace = number(k, 1, i, rules->record[i][c[1]], 0, 1e4),
               rate = number(k, 1, i, rules->record[i][c[2]], 0, 100),
               least = number(k, 1, i, rules->record[i][c[3]], 0, 100);
        left = fmax(least, 100 - rate * fmax(0, ceil(days - grace)));
    }
    return left;
}

static void apply_late(struct class* k) {
    struct table rules, late;
    int r[4], c[4];
    read_table(k, 1, &rules, r);
    read_table(k, 2, &late, c);
    for (int i = 1; i < late.records; i++) {
        struct row* row = class_row(k, late.record[i][c[0]]);
        double days = number(k, 2, i, late.record[i][c[2]], 0, 1e4);
        if (!row) warn_unknown(k, 2, i, "student", late.record[i][c[0]]);
        for (int l = 0; l < k->lessons && row; l++) {
            struct cell_points* p = &row->cell[l].now;
            if (!is_meant(late.record[i][c[1]], &k->lesson[l]) || !p->known) continue;
            double left = left_after(k, &rules, r, &k->lesson[l], days);
            p->points = p->graded * left / 100;
            if (left < 100)
                snprintf(p->note, sizeof p->note, "%d, %g days late: %g %%", p->graded, days, left);
        }
    }
    table_free(&rules);
    table_free(&late);
}

static void apply_overrides(struct class* k) {
    struct table t;
    int c[4];
    read_table(k, 3, &t, c);
    for (int i = 1; i < t.records; i++) {
        const char *student = t.record[i][c[0]], *reason = t.record[i][c[3]];
        struct row* row = class_row(k, student);
        double points = number(k, 3, i, t.record[i][c[2]], 0, 100);
        if (!reason[0])
            class_refuse("%s, record %d: an override needs a reason",
                         class_path(k, "overrides.csv"), i + 1);
        if (!row) warn_unknown(k, 3, i, "student", student);
        for (int l = 0; l < k->lessons && row; l++) {
            struct cell_points* p = &row->cell[l].now;
            if (!is_meant(t.record[i][c[1]], &k->lesson[l])) continue;
            char was[2 * WHY_SIZE];
            snprintf(was, sizeof was, "%s", p->note);
            snprintf(p->note, sizeof p->note, "%.190s (instead of: %.190s)", reason, was);
            show_text(p->note);  // whatever a spreadsheet saved, and wherever it was cut
            p->points = points;
            p->known = true;
        }
    }
    table_free(&t);
}

// ---- points

static void points_of(const struct class* k, struct row* row, int lesson, struct result* r) {
    struct cell* cell = &row->cell[lesson];
    struct cell_points* p = &cell->now;
    char why[WHY_SIZE];
    memset(p, 0, sizeof *p);
    p->known = true;
    if (cell->state == CELL_MISSING) {
        snprintf(p->note, sizeof p->note, "missing");
    } else if (cell->state == CELL_REFUSED) {
        snprintf(why, sizeof why, "%s", cell->why);
        snprintf(p->note, sizeof p->note, "not taken: %s", why);
    } else if (result_kept(k, row, lesson, r)) {
        p->graded = r->score;
        p->points = r->score;
        snprintf(why, sizeof why, "%s", cell->why);
        snprintf(p->note, sizeof p->note, "%d of %d%s%s", r->score, r->max_score,
                 why[0] ? "; " : "", why);
    } else {
        error_kept(k, row, lesson, why, sizeof why);
        p->known = false;
        snprintf(p->note, sizeof p->note, "%s%s", why[0] ? "grader error: " : "not graded yet",
                 why);
        show_text(p->note);
    }
}

void book_points(struct class* k) {
    struct result* r = malloc(sizeof *r);
    if (!r) class_refuse("no memory for a result");
    read_weights(k);
    for (int i = 0; i < k->rows; i++)
        for (int l = 0; l < k->lessons; l++) points_of(k, &k->row[i], l, r);
    free(r);
    apply_late(k);
    apply_overrides(k);
    for (int i = 0; i < k->rows; i++) {
        double sum = 0, weights = 0;
        k->row[i].known = true;
        for (int l = 0; l < k->lessons; l++) {
            k->row[i].known &= k->row[i].cell[l].now.known;
            sum += k->weight[l] * k->row[i].cell[l].now.points;
            weights += k->weight[l];
        }
        k->row[i].total = weights > 0 ? sum / weights : 0;
    }
}

// The column of a lesson has one for its notes: the next, of the same name and " note".
static bool is_lesson_column(const struct table* t, int column) {
    char note[80];
    snprintf(note, sizeof note, "%.70s note", t->record[0][column]);
    return column + 1 < t->fields && !strcmp(t->record[0][column + 1], note);
}

void book_keeps(const struct class* k) {
    struct table t;
    char missing[1024] = "", all[1024] = "";
    if (!table_read(class_path(k, "gradebook.csv"), &t)) return;
    for (int c = 0; t.records > 0 && c < t.fields; c++) {
        const char* name = t.record[0][c];
        bool asked = !is_lesson_column(&t, c);
        for (int l = 0; l < k->lessons; l++) asked |= !strcmp(name, k->lesson[l].name);
        size_t n = strlen(missing), m = strlen(all);
        if (asked) continue;
        snprintf(missing + n, sizeof missing - n, "%s%s", n ? ", " : "", name);
        snprintf(all + m, sizeof all - m, ",%.*s", (int)strcspn(name, "_"), name);
    }
    table_free(&t);
    if (missing[0])
        class_refuse(
            "The gradebook in OUT=%s has lessons that LESSON=%s leaves out: %s.\n"
            "LESSON=%s%s keeps them, and grades nothing twice; another OUT= begins a gradebook of "
            "its own;\nwithout %s there is a new one.",
            k->out, k->lesson_list, missing, k->lesson_list, all, class_path(k, "gradebook.csv"));
}

void book_before(struct class* k) {
    struct table t;
    if (!table_read(class_path(k, "gradebook.csv"), &t)) return;
    int student = table_column(&t, "id");
    for (int i = 1; i < t.records && student >= 0; i++) {
        struct row* row = class_row(k, t.record[i][student]);
        for (int l = 0; l < k->lessons && row; l++) {
            int column = table_column(&t, k->lesson[l].name);
            const char* text = column < 0 ? "" : t.record[i][column];
            row->cell[l].before = text[0] != '\0';
            row->cell[l].points_before = strtod(text, NULL);
        }
    }
    table_free(&t);
}

// ---- the gradebook

static const char* points_text(bool known, double points, char text[32]) {
    text[0] = '\0';
    if (known) snprintf(text, 32, "%.10g", round(100 * points) / 100);
    return text;
}

static void write_gradebook(const struct class* k) {
    char *text, number_text[32];
    size_t size;
    FILE* f = open_memstream(&text, &size);
    if (!f) class_refuse("no memory for the gradebook");
    const char* const titles[] = {"student", "id", "email", "roster"};
    for (int c = 0; c < 4; c++) table_field(f, titles[c], false);
    for (int l = 0; l < k->lessons; l++) {
        char note[80];
        snprintf(note, sizeof note, "%s note", k->lesson[l].name);
        table_field(f, k->lesson[l].name, false);
        table_field(f, note, false);
    }
    table_field(f, "total", true);
    for (int i = 0; i < k->rows; i++) {
        const struct row* row = &k->row[i];
        table_field(f, row->name, false);
        table_field(f, row->id, false);
        table_field(f, row->email, false);
        table_field(f, row->on_roster ? "yes" : k->has_roster ? "no" : "", false);
        for (int l = 0; l < k->lessons; l++) {
            const struct cell_points* p = &row->cell[l].now;
            table_field(f, points_text(p->known, p->points, number_text), false);
            table_field(f, p->note, false);
        }
        table_field(f, points_text(row->known, row->total, number_text), true);
    }
    fclose(f);
    if (file_write(class_path(k, "gradebook.csv"), text, size, 0600) != 0)
        class_refuse("%s could not be written: %s", class_path(k, "gradebook.csv"),
                     strerror(errno));
    free(text);
}

static bool changed(const struct cell* cell) {
    return cell->before != cell->now.known ||
           (cell->before && fabs(cell->points_before - cell->now.points) > 0.005);
}

// Adds every change of points to log.csv.
static void write_log(const struct class* k) {
    const char* path = class_path(k, "log.csv");
    struct stat st;
    bool first = stat(path, &st) != 0;
    FILE* f = fopen(path, "a");
    char when[32], text[32];
    time_t t = time(NULL);
    struct tm utc;
    if (!f) class_refuse("%s: %s", path, strerror(errno));
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    if (first) fputs("time,student,lesson,before,now,note\n", f);
    for (int i = 0; i < k->rows; i++)
        for (int l = 0; l < k->lessons; l++) {
            const struct cell* cell = &k->row[i].cell[l];
            if (!changed(cell)) continue;
            table_field(f, when, false);
            table_field(f, k->row[i].id, false);
            table_field(f, k->lesson[l].name, false);
            table_field(f, points_text(cell->before, cell->points_before, text), false);
            table_field(f, points_text(cell->now.known, cell->now.points, text), false);
            table_field(f, cell->now.note, true);
        }
    fclose(f);
}

// ---- the terminal

static int by_number(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void say_lesson(const struct class* k, int l) {
    int count = 0, missing = 0, refused = 0, errors = 0, full = 0;
    double sum = 0, *points = calloc((size_t)k->rows, sizeof *points);
    if (!points) return;
    for (int i = 0; i < k->rows; i++) {
        const struct cell* cell = &k->row[i].cell[l];
        if (!cell->now.known)
            errors++;
        else if (cell->state == CELL_MISSING)
            missing++;
        else if (cell->state == CELL_REFUSED)
            refused++;
        else
            sum += points[count++] = cell->now.points;
    }
    for (int i = 0; i < count; i++) full += points[i] >= 100;
    qsort(points, (size_t)count, sizeof *points, by_number);
    printf("%s: %d graded", k->lesson[l].name, count);
    if (count > 0) {
        double median = (points[(count - 1) / 2] + points[count / 2]) / 2;
        printf(" (mean %.1f, median %g, %d with full marks)", sum / count, median, full);
    }
    printf(", %d missing, %d not taken, %d grader errors\n", missing, refused, errors);
    free(points);
}

static void say_changes(const struct class* k) {
    int changes = 0;
    for (int i = 0; i < k->rows; i++)
        for (int l = 0; l < k->lessons; l++) {
            const struct cell* cell = &k->row[i].cell[l];
            char before[32], now[32];
            if (!cell->before || !changed(cell)) continue;
            if (changes++ == 0) puts("\nChanged since the last run:");
            printf("  %-24s %-22s %6s -> %-6s %s\n", k->row[i].name, k->lesson[l].name,
                   points_text(true, cell->points_before, before),
                   cell->now.known ? points_text(true, cell->now.points, now) : "?",
                   cell->now.note);
        }
}

void book_write(struct class* k) {
    enum { FEW = 60 };
    char text[32];
    write_gradebook(k);
    write_log(k);
    if (k->rows <= FEW) {
        printf("\n%-24s", "student");
        for (int l = 0; l < k->lessons; l++) printf(" %8.2s", k->lesson[l].name);
        puts("    total");
        for (int i = 0; i < k->rows; i++) {
            const struct row* row = &k->row[i];
            printf("%-24s", row->name);
            for (int l = 0; l < k->lessons; l++) {
                const struct cell_points* p = &row->cell[l].now;
                printf(" %8s", p->known ? points_text(true, p->points, text) : "?");
            }
            printf(" %8s", row->known ? points_text(true, row->total, text) : "?");
            for (int l = 0; l < k->lessons; l++)
                if (row->cell[l].state != CELL_TAKEN || !row->cell[l].now.known)
                    printf("  %.2s: %s", k->lesson[l].name, row->cell[l].now.note);
            puts(k->has_roster && !row->on_roster ? "  not on the roster" : "");
        }
    }
    puts("");
    for (int l = 0; l < k->lessons; l++) say_lesson(k, l);
    say_changes(k);
    printf("\n%d rows. Gradebook: %s\n", k->rows, class_path(k, "gradebook.csv"));
}
