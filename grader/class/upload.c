// upload.c: the points as the tables that Canvas and Moodle import without a change. See class.h.
//
//   canvas.csv  Student, ID, SIS User ID, SIS Login ID, Section, then the assignments as
//               "TITLE (ID)"; a record "Points Possible". Canvas finds a student by ID, else by
//               the other two, else by the name; an assignment by its ID or title, and makes one
//               that it does not have (lib/gradebook_importer.rb; Instructor Guide, How do I import
//               grades in the Gradebook?). With its own export as ROSTER everything has its ID.
//   moodle.csv  First name, Last name, ID number, Email address, a column a lesson: for Grades,
//               Import, CSV file, where the address identifies a user (docs: Grade import). With a
//               grading worksheet as ROSTER it is that worksheet with its Grade, for the
//               assignment's Upload grading worksheet (mod/assign/feedback/offline: Identifier,
//               Grade and Last modified (grade) have to be there).
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "class/class.h"

static const char* field(const struct class* class, const struct row* row, const char* title) {
    int column = row->record < 0 ? -1 : table_column(&class->roster_table, title);
    return column < 0 ? "" : class->roster_table.record[row->record][column];
}

// ---- Canvas

// Does the title of an assignment name the lesson? By its name, or by its number as a number of its
// own: "Lesson 17: GQA (4711)".
static bool is_about(const char* title, const struct class_lesson* l) {
    char name[FOLD_SIZE], whole[FOLD_SIZE], words[200];
    long wanted = strtol(l->name, NULL, 10);
    snprintf(words, sizeof words, "%s", title);
    char* id = strrchr(words, '(');
    if (id && id > words) *id = '\0';
    name_fold(strchr(l->name, '_') + 1, name, sizeof name);
    name_fold(words, whole, sizeof whole);
    if (strstr(whole, name)) return true;
    for (const char* p = words; *p;) {
        char* end;
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        if (strtol(p, &end, 10) == wanted) return true;
        p = end;
    }
    return false;
}

// Does the title end in Canvas's number of an assignment, "(4711)"?
static bool has_number(const char* title) {
    const char* open = strrchr(title, '(');
    size_t n = open ? strspn(open + 1, "0123456789") : 0;
    return n > 0 && !strcmp(open + 1 + n, ")");
}

// The column of the lesson's assignment in Canvas's export; -1 if there is none, or no only one.
static int assignment_of(const struct class* class, const struct class_lesson* l) {
    const struct table* t = &class->roster_table;
    int found = -1;
    if (class->roster_kind != ROSTER_CANVAS) return -1;
    for (int f = 0; f < t->fields; f++) {
        if (!has_number(t->record[0][f]) || !is_about(t->record[0][f], l)) continue;
        if (found >= 0) return -1;
        found = f;
    }
    return found;
}

// What the assignment gives at most, by the record "Points Possible".
static double possible(const struct class* class, int column) {
    const struct table* t = &class->roster_table;
    for (int i = 1; i < t->records && column >= 0; i++)
        for (int f = 0; f < 2; f++)
            if (strstr(t->record[i][f], "Points Possible")) {
                double value = strtod(t->record[i][column], NULL);
                return value > 0 ? value : 100;
            }
    return 100;
}

static void canvas(const struct class* class, FILE* f) {
    static const char* const titles[] = {"Student", "ID", "SIS User ID", "SIS Login ID", "Section"};
    int column[LESSONS];
    char text[32], name[2 * ID_SIZE + 4];
    bool own = class->roster_kind == ROSTER_CANVAS;
    for (int c = 0; c < 5; c++) table_field(f, titles[c], false);
    for (int l = 0; l < class->lessons; l++) {
        column[l] = assignment_of(class, &class->lesson[l]);
        table_field(
            f, column[l] < 0 ? class->lesson[l].name : class->roster_table.record[0][column[l]],
            l + 1 == class->lessons);
    }
    table_field(f, "Points Possible", false);
    for (int c = 1; c < 5; c++) table_field(f, "", false);
    for (int l = 0; l < class->lessons; l++)
        table_field(f, points_text(true, possible(class, column[l]), text),
                    l + 1 == class->lessons);
    for (int i = 0; i < class->rows; i++) {
        const struct row* row = &class->row[i];
        // Canvas does not know who is not on its roster, and would ask whose grades these are.
        if (class->has_roster && row->record < 0) continue;
        snprintf(name, sizeof name, "%s%s%s", row->last, row->first[0] ? ", " : "", row->first);
        const char* student = field(class, row, "Student");
        table_field(f, own && student[0] ? student : row->last[0] ? name : row->name, false);
        table_field(f, own ? field(class, row, "ID") : "", false);
        table_field(f, own ? field(class, row, "SIS User ID") : row->student_number, false);
        table_field(f, own ? field(class, row, "SIS Login ID") : row->email, false);
        table_field(f, field(class, row, "Section"), false);
        for (int l = 0; l < class->lessons; l++) {
            const struct cell_points* p = &row->cell[l].now;
            const char* old =
                column[l] < 0 ? "" : class->roster_table.record[row->record][column[l]];
            bool excused = !strcmp(old, "EX");
            table_field(
                f,
                excused ? old
                        : points_text(p->known, p->points * possible(class, column[l]) / 100, text),
                l + 1 == class->lessons);
        }
    }
}

// ---- Moodle

static void worksheet(const struct class* class, FILE* f) {
    const struct table* t = &class->roster_table;
    int grade = table_column(t, "grade"), most = table_column(t, "maximum grade");
    char text[32];
    for (int c = 0; c < t->fields; c++) table_copy(f, t->record[0][c], c + 1 == t->fields);
    for (int i = 0; i < class->rows; i++) {
        const struct row* row = &class->row[i];
        if (row->record < 0) continue;
        char* const* old = t->record[row->record];
        double maximum = most < 0 ? 100 : strtod(old[most], NULL);
        // Moodle takes no more than the assignment gives: a bonus ends there.
        points_text(row->known, fmin(row->total, 100) * (maximum > 0 ? maximum : 100) / 100, text);
        for (int c = 0; c < t->fields; c++)
            table_copy(f, c == grade && text[0] ? text : old[c], c + 1 == t->fields);
    }
}

static void moodle(const struct class* class, FILE* f) {
    static const char* const titles[] = {"First name", "Last name", "ID number", "Email address"};
    char text[32];
    if (class->roster_kind == ROSTER_WORKSHEET) {
        worksheet(class, f);
        return;
    }
    for (int c = 0; c < 4; c++) table_field(f, titles[c], false);
    for (int l = 0; l < class->lessons; l++)
        table_field(f, class->lesson[l].name, l + 1 == class->lessons);
    for (int i = 0; i < class->rows; i++) {
        const struct row* row = &class->row[i];
        if (class->has_roster && row->record < 0) continue;
        table_field(f, row->first, false);
        table_field(f, row->last[0] ? row->last : row->name, false);
        table_field(f, row->student_number, false);
        table_field(f, row->email, false);
        for (int l = 0; l < class->lessons; l++)
            // Moodle refuses the whole table for one grade above 100: a bonus ends there.
            table_field(
                f, points_text(row->cell[l].now.known, fmin(row->cell[l].now.points, 100), text),
                l + 1 == class->lessons);
    }
}

static void write_table(const struct class* class, const char* file,
                        void (*table)(const struct class* class, FILE* f)) {
    char* text;
    size_t size;
    FILE* f = open_memstream(&text, &size);
    if (!f) class_refuse("no memory for %s", file);
    table(class, f);
    fclose(f);
    class_write(class_path(class, "exports/%s", file), text, size);
    free(text);
}

void upload_tables(const struct class* class) {
    bool address = class->roster_kind == ROSTER_WORKSHEET;
    for (int i = 0; i < class->rows; i++)
        address |= class->row[i].email[0] && (!class->has_roster || class->row[i].record >= 0);
    write_table(class, "canvas.csv", canvas);
    // Moodle's grade import identifies users by them, and refuses the whole table without.
    if (address)
        write_table(class, "moodle.csv", moodle);
    else
        unlink(class_path(class, "exports/moodle.csv"));
}
