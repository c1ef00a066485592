// rules.c: the instructor's four tables, and what they do to the points. late.csv is also filled,
// by the times of the hand-ins and by what platforms say. See class.h.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/plain.h"
#include "class/class.h"

// The instructor's tables, and how they look before anything is in them.
static const struct {
    const char *file, *titles;
    int needed;  // so many of the columns
} tables[] = {{"weights.csv", "lesson,weight\n", 2},
              {"late_rules.csv", "lesson,grace_days,percent_per_day,least_percent,due\n", 4},
              {"late.csv", "student,lesson,days,from\n", 3},
              {"overrides.csv", "student,lesson,points,reason\n", 4}};
enum { WEIGHTS, LATE_RULES, LATE, OVERRIDES, COLUMNS = 5 };

// From where a line of late.csv is that a run has written.
static const char by_time[] = "its time", by_mark[] = "marked LATE, taken for a day";

// Reads OUT/file, which must have the needed columns; column[] says where each one is, or -1.
static void read_table(const struct class* class, int which, struct table* t, int column[COLUMNS]) {
    const char* path = class_path(class, "%s", tables[which].file);
    char titles[80];
    struct stat st;
    if (stat(path, &st) != 0) class_write(path, tables[which].titles, strlen(tables[which].titles));
    if (!table_read(path, t)) class_refuse("%s: %s", path, table_why());
    snprintf(titles, sizeof titles, "%s", tables[which].titles);
    int c = 0;
    for (char *save, *title = strtok_r(titles, ",\n", &save); title;
         title = strtok_r(NULL, ",\n", &save)) {
        column[c] = table_column(t, title);
        if (column[c++] < 0 && c <= tables[which].needed)
            class_refuse("%s: its first line must be: %s", path, tables[which].titles);
    }
}

// The number in a field. Ends the program if the text is no number from low to high.
static double number(const struct class* class, int which, int record, const char* text, double low,
                     double high) {
    char *end, plain[64];
    snprintf(plain, sizeof plain, "%s", text);
    if (strchr(plain, ',')) *strchr(plain, ',') = '.';  // as some countries write it
    double value = strtod(plain, &end);
    if (end == plain || *end || plain[strspn(plain, "0123456789.+-eE ")] ||
        strlen(text) >= sizeof plain || !(value >= low && value <= high))
        class_refuse("%s, record %d: \"%s\" is no number from %g to %g",
                     class_path(class, "%s", tables[which].file), record + 1, text, low, high);
    return value;
}

const char* points_note(const struct cell_points* p, char text[NOTE_SIZE]) {
    snprintf(text, NOTE_SIZE, "%s%s%s", p->note, p->reason[0] ? "; " : "", p->reason);
    return text;
}

static bool is_meant(const char* text, const struct class_lesson* l) {
    return !strcmp(text, "*") || class_names(text, l->name);
}

// Notes a record that is about nobody, or about no lesson of this run. Of rules and weights it is
// enough that the course has the lesson: they may be those of a whole term.
static void check_record(const struct class* class, int which, int record, const char* student,
                         const char* lesson) {
    const bool points = which == LATE || which == OVERRIDES;
    bool found = !strcmp(lesson, "*");
    for (int l = 0; l < class->lessons; l++) found |= is_meant(lesson, &class->lesson[l]);
    for (int k = 0; k < class->known_lessons && !points; k++)
        found |= class_names(lesson, class->known_lesson[k]);
    if (student)
        todo_say("%s, record %d has no effect: there is no student %s in this run",
                 class_path(class, "%s", tables[which].file), record + 1, student);
    if (!found)
        todo_say("%s, record %d has no effect: there is no lesson \"%s\" in this %s",
                 class_path(class, "%s", tables[which].file), record + 1, lesson,
                 points ? "run" : "course");
}

// The row that the record is about. If it may be either of two the run cannot go on, but its
// instructor wants to know of all such records: *refused counts them.
static struct row* student_of(const struct class* class, int which, int record, const char* text,
                              int* refused) {
    char why[WHY_SIZE];
    struct row* row = class_row_or(class, text, why);
    if (why[0])
        text_say(stderr, "%s, record %d: %s", class_path(class, "%s", tables[which].file),
                 record + 1, why);
    *refused += why[0] != '\0';
    return row;
}

static void refuse_records(const struct class* class, int which, int refused) {
    if (refused > 0)
        class_refuse("%s: nothing is changed before that is mended",
                     class_path(class, "%s", tables[which].file));
}

void rules_weights(struct class* class) {
    struct table t;
    int c[COLUMNS];
    read_table(class, WEIGHTS, &t, c);
    for (int l = 0; l < class->lessons; l++) class->weight[l] = 1;
    for (int i = 1; i < t.records; i++) {
        check_record(class, WEIGHTS, i, NULL, t.record[i][c[0]]);
        for (int l = 0; l < class->lessons; l++)
            if (is_meant(t.record[i][c[0]], &class->lesson[l]))
                class->weight[l] = number(class, WEIGHTS, i, t.record[i][c[1]], 0, 1e6);
    }
    table_free(&t);
}

// The percentage of the points that a hand-in keeps when it is so many days late. The last rule for
// a lesson counts.
static double left_after(const struct class* class, const struct table* rules, const int* c,
                         const struct class_lesson* lesson, double days) {
    double left = 100;
    for (int i = 1; i < rules->records; i++) {
        if (!is_meant(rules->record[i][c[0]], lesson)) continue;
        double grace = number(class, LATE_RULES, i, rules->record[i][c[1]], 0, 1e4),
               rate = number(class, LATE_RULES, i, rules->record[i][c[2]], 0, 100),
               least = number(class, LATE_RULES, i, rules->record[i][c[3]], 0, 100);
        left = fmax(least, 100 - rate * fmax(0, ceil(days - grace)));
    }
    return left;
}

void rules_late(struct class* class) {
    struct table rules, late;
    int r[COLUMNS], c[COLUMNS], refused = 0;
    read_table(class, LATE_RULES, &rules, r);
    read_table(class, LATE, &late, c);
    for (int i = 1; i < rules.records; i++)
        check_record(class, LATE_RULES, i, NULL, rules.record[i][r[0]]);
    for (int i = 1; i < late.records; i++) {
        struct row* row = student_of(class, LATE, i, late.record[i][c[0]], &refused);
        double days = number(class, LATE, i, late.record[i][c[2]], 0, 1e4);
        const char* from = c[3] < 0 ? "" : late.record[i][c[3]];
        // A line of an earlier run may be about somebody who is called otherwise by now.
        const bool own = !strcmp(from, by_time) || !strcmp(from, by_mark);
        check_record(class, LATE, i, row || own ? NULL : late.record[i][c[0]],
                     late.record[i][c[1]]);
        for (int l = 0; l < class->lessons && row; l++) {
            struct cell_points* p = &row->cell[l].now;
            if (!is_meant(late.record[i][c[1]], &class->lesson[l]) || !p->known) continue;
            double left = left_after(class, &rules, r, &class->lesson[l], days);
            p->points = p->graded * left / 100;
            char was[WHY_SIZE];
            const char* more = strchr(p->note, ';');  // which file counts stays said
            snprintf(was, sizeof was, "%.490s",
                     more && row->cell[l].state == CELL_TAKEN ? more : "");
            if (left < 100)
                snprintf(p->note, sizeof p->note, "%d, %g day%s late: %g %%%s", p->graded, days,
                         days == 1 ? "" : "s", left, was);
        }
    }
    refuse_records(class, LATE, refused);
    table_free(&rules);
    table_free(&late);
}

void rules_overrides(struct class* class) {
    struct table t;
    int c[COLUMNS], refused = 0;
    read_table(class, OVERRIDES, &t, c);
    for (int i = 1; i < t.records; i++) {
        const char *student = t.record[i][c[0]], *reason = t.record[i][c[3]];
        struct row* row = student_of(class, OVERRIDES, i, student, &refused);
        double points = number(class, OVERRIDES, i, t.record[i][c[2]], 0, MOST_POINTS);
        if (!reason[0])
            class_refuse("%s, record %d: an override needs a reason",
                         class_path(class, "overrides.csv"), i + 1);
        check_record(class, OVERRIDES, i, row ? NULL : student, t.record[i][c[1]]);
        for (int l = 0; l < class->lessons && row; l++) {
            struct cell_points* p = &row->cell[l].now;
            if (!is_meant(t.record[i][c[1]], &class->lesson[l])) continue;
            char was[NOTE_SIZE];
            points_note(p, was);
            p->reason[0] = '\0';
            snprintf(p->note, sizeof p->note, "%.190s (instead of: %.190s)", reason, was);
            plain_line(
                p->note);  // a spreadsheet may save any bytes, and %.190s may cut a character
            p->points = points;
            p->known = true;
            p->overridden = true;
        }
    }
    refuse_records(class, OVERRIDES, refused);
    table_free(&t);
}

// ---- late.csv

// "2026-11-20 23:59", or the end of that day; local time. 0 if nothing is said.
static time_t due_time(const struct class* class, int record, const char* text) {
    struct tm t = {.tm_hour = 23, .tm_min = 59, .tm_sec = 59, .tm_isdst = -1};
    if (!text[0]) return 0;
    const char* end = strptime(text, "%Y-%m-%d", &t);
    if (end && *end) t.tm_sec = 0, end = strptime(end + 1, "%H:%M", &t);
    if (end && *end == ':') end = strptime(end, ":%S", &t);
    const int day = t.tm_mday;
    const time_t when = mktime(&t);
    // 31 February would be a day of March
    if (!end || *end || t.tm_mday != day)
        class_refuse("%s, record %d: \"%s\" is no time like 2026-11-20 23:59",
                     class_path(class, "%s", tables[LATE_RULES].file), record + 1, text);
    return when;
}

// When the lesson was due; 0 if no rule says it.
static time_t due(const struct class* class, const struct table* rules, const int* c,
                  const struct class_lesson* l) {
    time_t when = 0;
    for (int i = 1; i < rules->records && c[4] >= 0; i++)
        if (is_meant(rules->record[i][c[0]], l)) when = due_time(class, i, rules->record[i][c[4]]);
    return when;
}

static bool has_line(const struct class* class, const struct table* late, const int* c,
                     const struct row* row, const struct class_lesson* l) {
    char why[WHY_SIZE];
    for (int i = 1; i < late->records; i++)
        if (is_meant(late->record[i][c[1]], l) &&
            class_row_or(class, late->record[i][c[0]], why) == row)
            return true;
    return false;
}

// What came by mail has the time of its saving, and what a worksheet does not time, that of the
// download: neither is that of a hand-in.
static void say_untimed(const struct class* class, const struct row* row, int lesson) {
    todo_say(
        "%s, lesson %.2s: %s, and nothing says when: taken as not late. Write the days into %s; 0 "
        "if it was in time",
        row->id, class->lesson[lesson].name,
        row->cell[lesson].mailed ? "came by mail" : "the grading worksheet has no such hand-in",
        class_path(class, "%s", tables[LATE].file));
}

void rules_fill_late(const struct class* class) {
    struct table rules, late;
    int r[COLUMNS], c[COLUMNS], lines = 0, added = 0, copied = 0, untimed = 0, unknown = 0;
    const char* unread = roster_time_unread(class);
    char *text, days_text[32];
    size_t size;
    read_table(class, LATE_RULES, &rules, r);
    read_table(class, LATE, &late, c);
    FILE* f = open_memstream(&text, &size);
    if (!f) class_refuse("no memory for %s", tables[LATE].file);
    fputs(TABLE_MARK, f);
    fputs(tables[LATE].titles, f);
    for (int i = 1; i < late.records; i++)
        for (int k = 0; k < 4; k++)
            table_field(f, c[k] < 0 ? "" : table_text(late.record[i][c[k]]), k == 3);
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) {
            const struct cell* cell = &class->row[i].cell[l];
            time_t when = due(class, &rules, r, &class->lesson[l]);
            bool own = has_line(class, &late, c, &class->row[i], &class->lesson[l]);
            const bool asked = class_asks(class, &class->row[i]);
            unknown +=
                asked && when && cell->state == CELL_TAKEN && !cell->time && !cell->marked && !own;
            // What is in a download that was made before the date came before the date.
            const bool after = when && cell->state == CELL_TAKEN && cell->time > when && !own;
            if (asked && after && cell->copied && !cell->late) {
                const bool sheet = class->roster_kind == ROSTER_WORKSHEET && !cell->mailed;
                copied += !cell->mailed && !sheet;
                untimed += sheet && unread;
                if (cell->mailed || (sheet && !unread)) say_untimed(class, &class->row[i], l);
            }
            double days = after && !cell->copied ? (double)(cell->time - when) / 86400 : 0;
            if (cell->state != CELL_TAKEN || own || (days <= 0 && !cell->late)) continue;
            // Canvas says that it is late, and not how much.
            snprintf(days_text, sizeof days_text, "%.4g",
                     days > 0.01  ? ceil(100 * days) / 100
                     : cell->late ? 1
                                  : 0.01);
            table_field(f, class->row[i].id, false);
            table_field(f, class->lesson[l].name, false);
            table_field(f, days_text, false);
            table_field(f, days > 0 ? by_time : by_mark, true);
            added += asked;
            lines++;
        }
    fclose(f);
    if (lines > 0) class_write(class_path(class, "%s", tables[LATE].file), text, size);
    if (added > 0)
        printf("late hand-ins: %d more in %s; look at them\n", added,
               class_path(class, "%s", tables[LATE].file));
    if (copied > 0)
        todo_say(
            "%d of the files have one time, that of a download or of a copy, and it is after they "
            "were due. Nothing says when they were handed in: nobody is taken for late. Moodle's "
            "grading worksheet as ROSTER= has the times; else write who was late into %s, and "
            "take `due` out of %s",
            copied, class_path(class, "%s", tables[LATE].file),
            class_path(class, "%s", tables[LATE_RULES].file));
    if (untimed > 0)
        todo_say(
            "%s: its times cannot be read: \"%s\". %d of the files came after they were due, or "
            "not: nobody is taken for late. Set your language in Moodle to English, and download "
            "the grading worksheet again",
            class->roster, unread, untimed);
    if (unknown > 0)
        printf("nothing says when %d of the files came in: taken as not late\n", unknown);
    free(text);
    table_free(&rules);
    table_free(&late);
}
