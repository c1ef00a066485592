// book.c: the points of everybody, in one place. A check gives points, a late rule takes some of
// them, an instructor's override replaces them, and weights make one total. Every view shows these
// numbers. See class.h.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/plain.h"
#include "class/class.h"
#include "report/compiler.h"

// As Canvas writes it.
static const char excused[] = "EX";

// ---- points

// Why the file has no points at all: that it could not be run, or what was wrong with it.
static void say_reason(const struct result* r, char reason[200]) {
    const struct result_item* first = result_first_to_mend(r);
    struct compiler_message error;
    if (r->score > 0) return;
    if (r->message[0]) {
        // "17_gqa.cu does not compile": which file it is says the column.
        const char* words = strchr(r->message, ' ');
        const size_t n = words ? (size_t)(words - r->message) : 0;
        const bool file = n > 3 && !strncmp(words - 3, ".cu", 3);
        snprintf(reason, 200, "%.90s", file ? words + 1 : r->message);
        const size_t length = strlen(reason);
        if (compiler_first_error(r->compiler, &error))
            snprintf(reason + length, 200 - length, ": %.*s", error.words.length, error.words.text);
    } else if (first && !strcmp(first->cause, "unknown")) {
        snprintf(reason, 200, "wrong results");
    } else if (first && first->sentence[0]) {
        snprintf(reason, 200, "%s", first->sentence);
    }
    plain_line(reason);
}

static void points_of(const struct class* class, struct row* row, int lesson, struct result* r) {
    struct cell* cell = &row->cell[lesson];
    struct cell_points* p = &cell->now;
    char why[WHY_SIZE];
    memset(p, 0, sizeof *p);
    p->known = true;
    if (cell->state == CELL_MISSING) {
        snprintf(why, sizeof why, "%s", cell->why);
        snprintf(p->note, sizeof p->note, "missing%s%s", why[0] ? "; " : "", why);
    } else if (cell->state == CELL_REFUSED) {
        snprintf(why, sizeof why, "%s", cell->why);
        snprintf(p->note, sizeof p->note, "not taken: %s", why);
    } else if (result_kept(class, row, lesson, r)) {
        p->graded = r->score;
        p->points = r->score;
        snprintf(why, sizeof why, "%s", cell->why);
        snprintf(p->note, sizeof p->note, "%d of %d%s%s", r->score, r->max_score,
                 why[0] ? "; " : "", why);
        if (!cell->untouched) say_reason(r, p->reason);
    } else {
        error_kept(class, row, lesson, why, sizeof why);
        p->known = false;
        snprintf(p->note, sizeof p->note, "%s%s", why[0] ? "grader error: " : "not graded yet",
                 why);
        plain_line(p->note);
    }
}

// Whom Canvas's gradebook excuses has no points, and what was handed in stays said. The export says
// EX as well, so that an override would be another grade there.
static void find_excused(const struct class* class) {
    char was[2 * WHY_SIZE];
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) {
            struct row* row = &class->row[i];
            struct cell_points* p = &row->cell[l].now;
            if (!assignment_excused(class, row, l)) continue;
            if (p->overridden && class_asks(class, row))
                todo_say("%s, lesson %.2s: excused in Canvas's gradebook, so that %s has no "
                         "effect. Take "
                         "out EX there, or the line here",
                         row->id, class->lesson[l].name, class_path(class, "overrides.csv"));
            snprintf(was, sizeof was, "%s", p->note);
            *p = (struct cell_points){.known = true, .excused = true, .overridden = true};
            snprintf(p->note, sizeof p->note, "excused; %.900s", was);
            plain_line(p->note);
        }
}

// What an override has decided needs no look any more.
static void say_doubts(const struct class* class) {
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) {
            const struct row* row = &class->row[i];
            const struct cell* cell = &row->cell[l];
            if (!cell->doubt[0] || cell->now.overridden || !class_asks(class, row)) continue;
            todo_say("%s, lesson %.2s: %s. Put right what lies there, or decide in %s", row->id,
                     class->lesson[l].name, cell->doubt, class_path(class, "overrides.csv"));
        }
}

void book_points(struct class* class) {
    struct result* r = malloc(sizeof *r);
    if (!r) class_refuse("no memory for a result");
    rules_weights(class);
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) points_of(class, &class->row[i], l, r);
    free(r);
    rules_late(class);
    rules_overrides(class);
    find_excused(class);
    say_doubts(class);
    for (int i = 0; i < class->rows; i++) {
        double sum = 0, weights = 0;
        class->row[i].known = class->row[i].excused = true;
        for (int l = 0; l < class->lessons; l++) {
            if (class->row[i].cell[l].now.excused) continue;
            class->row[i].excused = false;
            class->row[i].known &= class->row[i].cell[l].now.known;
            sum += class->weight[l] * class->row[i].cell[l].now.points;
            weights += class->weight[l];
        }
        class->row[i].total = weights > 0 ? sum / weights : 0;
    }
}

// Right of a lesson's column stands the column of its notes, with the same title and " note".
static bool is_lesson_column(const struct table* t, int column) {
    char note[80];
    snprintf(note, sizeof note, "%.70s note", t->record[0][column]);
    return column + 1 < t->fields && !strcmp(t->record[0][column + 1], note);
}

void book_keeps(const struct class* class) {
    struct table t;
    char missing[1024] = "", all[1024] = "";
    if (!table_read(class_path(class, "gradebook.csv"), &t)) return;
    for (int c = 0; t.records > 0 && c < t.fields; c++) {
        const char* name = t.record[0][c];
        bool asked = !is_lesson_column(&t, c);
        for (int l = 0; l < class->lessons; l++) asked |= !strcmp(name, class->lesson[l].name);
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
            class->out, class->lesson_list, missing, class->lesson_list, all,
            class_path(class, "gradebook.csv"));
}

void book_before(struct class* class) {
    struct table t;
    if (!table_read(class_path(class, "gradebook.csv"), &t)) return;
    int student = table_column(&t, "id");
    for (int i = 1; i < t.records && student >= 0; i++) {
        struct row* row = class_row_of_id(class, table_text(t.record[i][student]));
        for (int l = 0; l < class->lessons && row; l++) {
            int column = table_column(&t, class->lesson[l].name);
            const char* text = column < 0 ? "" : t.record[i][column];
            row->cell[l].before = text[0] && strcmp(text, excused) != 0;
            row->cell[l].points_before = strtod(text, NULL);
        }
    }
    table_free(&t);
}

// ---- the gradebook

const char* points_text(bool known, double points, char text[32]) {
    text[0] = '\0';
    if (known) snprintf(text, 32, "%.10g", round(100 * points) / 100);
    return text;
}

static const char* now_text(const struct cell_points* p, char text[32]) {
    return p->excused ? strcpy(text, excused) : points_text(p->known, p->points, text);
}

static void write_gradebook(const struct class* class) {
    char *text, number_text[32], note[NOTE_SIZE];
    size_t size;
    FILE* f = open_memstream(&text, &size);
    if (!f) class_refuse("no memory for the gradebook");
    const char* const titles[] = {"student", "id", "number", "email", "roster"};
    fputs(TABLE_MARK, f);
    for (int c = 0; c < 5; c++) table_field(f, titles[c], false);
    for (int l = 0; l < class->lessons; l++) {
        snprintf(note, sizeof note, "%s note", class->lesson[l].name);
        table_field(f, class->lesson[l].name, false);
        table_field(f, note, false);
    }
    table_field(f, "total", true);
    for (int i = 0; i < class->rows; i++) {
        const struct row* row = &class->row[i];
        table_field(f, row->name, false);
        table_field(f, row->id, false);
        table_field(f, row->student_number, false);
        table_field(f, row->email, false);
        table_field(f, row->on_roster ? "yes" : class->has_roster ? "no" : "", false);
        for (int l = 0; l < class->lessons; l++) {
            const struct cell_points* p = &row->cell[l].now;
            table_field(f, now_text(p, number_text), false);
            table_field(f, points_note(p, note), false);
        }
        table_field(f, row->excused ? excused : points_text(row->known, row->total, number_text),
                    true);
    }
    fclose(f);
    class_write(class_path(class, "gradebook.csv"), text, size);
    free(text);
}

static bool changed(const struct cell* cell) {
    const bool now = cell->now.known && !cell->now.excused;
    return cell->before != now ||
           (cell->before && fabs(cell->points_before - cell->now.points) > 0.005);
}

// Adds every change of points to log.csv.
static void write_log(const struct class* class) {
    const char* path = class_path(class, "log.csv");
    struct stat st;
    bool first = stat(path, &st) != 0;
    FILE* f = fopen(path, "a");
    char when[32], text[32], note[NOTE_SIZE];
    time_t t = time(NULL);
    struct tm utc;
    if (!f) class_refuse("%s: %s", path, strerror(errno));
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    if (first) fputs("time,student,lesson,before,now,note\n", f);
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) {
            const struct cell* cell = &class->row[i].cell[l];
            if (!changed(cell)) continue;
            table_field(f, when, false);
            table_field(f, class->row[i].id, false);
            table_field(f, class->lesson[l].name, false);
            table_field(f, points_text(cell->before, cell->points_before, text), false);
            table_field(f, now_text(&cell->now, text), false);
            table_field(f, points_note(&cell->now, note), true);
        }
    fclose(f);
}

// ---- the terminal

static int by_number(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void say_lesson(const struct class* class, int l) {
    int count = 0, missing = 0, refused = 0, errors = 0, full = 0, off = 0;
    double sum = 0, *points = calloc((size_t) class->rows, sizeof *points);
    if (!points) return;
    for (int i = 0; i < class->rows; i++) {
        const struct cell* cell = &class->row[i].cell[l];
        if (cell->now.excused)
            off++;
        else if (!cell->now.known)
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
    printf("%s: %d graded", class->lesson[l].name, count);
    if (count > 0) {
        double median = (points[(count - 1) / 2] + points[count / 2]) / 2;
        printf(" (mean %.1f, median %g, %d with full marks)", sum / count, median, full);
    }
    printf(", %d missing, %d not taken, %d grader errors", missing, refused, errors);
    if (off > 0) printf(", %d excused", off);
    puts("");
    free(points);
}

static void say_changes(const struct class* class) {
    int changes = 0;
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) {
            const struct cell* cell = &class->row[i].cell[l];
            char before[32], now[32], note[NOTE_SIZE];
            if (!cell->before || !changed(cell) || !class_asks(class, &class->row[i])) continue;
            if (changes++ == 0) puts("\nChanged since the last run:");
            fputs("  ", stdout);
            print_wide(class->row[i].name, 24);
            printf(" %-22s %6s -> %-6s %s\n", class->lesson[l].name,
                   points_text(true, cell->points_before, before),
                   now_text(&cell->now, now)[0] ? now : "?", points_note(&cell->now, note));
        }
}

void book_say_collected(const struct class* class) {
    static const char* const words[] = {"missing", "not taken", "taken"};
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) {
            const struct row* row = &class->row[i];
            const struct cell* cell = &row->cell[l];
            bool stranger = class->has_roster && !row->on_roster;
            printf("%s: %.2s %s%s%s%s%s\n", row->name, class->lesson[l].name, words[cell->state],
                   cell->late ? ", late" : "", cell->why[0] ? ": " : "", cell->why,
                   stranger ? " (not on the roster)" : "");
        }
    printf("%d rows; what was left out: %s\n", class->rows, class_path(class, "skipped.csv"));
}

void book_write(struct class* class) {
    enum { FEW = 60 };
    char text[32];
    write_gradebook(class);
    write_log(class);
    if (class->rows <= FEW || class->student) {
        printf("\n%-24s", "student");
        for (int l = 0; l < class->lessons; l++) printf(" %8.2s", class->lesson[l].name);
        puts("    total");
        for (int i = 0; i < class->rows; i++) {
            const struct row* row = &class->row[i];
            if (!class_asks(class, row)) continue;
            print_wide(row->name, 24);
            for (int l = 0; l < class->lessons; l++) {
                const struct cell_points* p = &row->cell[l].now;
                printf(" %8s", p->known ? now_text(p, text) : "?");
            }
            printf(" %8s", row->excused ? excused
                           : row->known ? points_text(true, row->total, text)
                                        : "?");
            for (int l = 0; l < class->lessons; l++) {
                const struct cell_points* p = &row->cell[l].now;
                if (row->cell[l].state != CELL_TAKEN || !p->known)
                    printf("  %.2s: %s", class->lesson[l].name, p->note);
                else if (p->points <= 0 && (p->reason[0] || row->cell[l].why[0]))
                    printf("  %.2s: %s", class->lesson[l].name,
                           p->reason[0] ? p->reason : row->cell[l].why);
            }
            puts(class->has_roster && !row->on_roster ? "  not on the roster" : "");
        }
    }
    puts("");
    for (int l = 0; l < class->lessons && !class->student; l++) say_lesson(class, l);
    say_changes(class);
    if (!class->student) printf("\n%d rows. ", class->rows);
    printf("Gradebook: %s\n", class_path(class, "gradebook.csv"));
}
