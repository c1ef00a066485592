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

// What Canvas finds a student by: these three in turn, else the name.
struct known_as {
    char name[2 * ID_SIZE + 4];
    const char* key[3];
};

static struct known_as known_as(const struct class* class, const struct row* row) {
    const bool own = class->roster_kind == ROSTER_CANVAS;
    const char* student = own ? field(class, row, "Student") : "";
    struct known_as s = {.key = {own ? field(class, row, "ID") : "",
                                 own ? field(class, row, "SIS User ID") : row->student_number,
                                 own ? field(class, row, "SIS Login ID") : row->email}};
    if (student[0])
        snprintf(s.name, sizeof s.name, "%s", student);
    else if (row->last[0])
        snprintf(s.name, sizeof s.name, "%s%s%s", row->last, row->first[0] ? ", " : "", row->first);
    else
        snprintf(s.name, sizeof s.name, "%s", row->name);
    return s;
}

static void canvas(const struct class* class, FILE* f) {
    static const char* const titles[] = {"Student", "ID", "SIS User ID", "SIS Login ID", "Section"};
    int column[LESSONS];
    char text[32];
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
        table_field(f, points_text(true, assignment_possible(class, column[l]), text),
                    l + 1 == class->lessons);
    for (int i = 0; i < class->rows; i++) {
        const struct row* row = &class->row[i];
        // Canvas does not know who is not on its roster, and would ask whose grades these are.
        if (class->has_roster && row->record < 0) continue;
        const struct known_as s = known_as(class, row);
        table_field(f, s.name, false);
        for (int k = 0; k < 3; k++) table_field(f, s.key[k], false);
        table_field(f, field(class, row, "Section"), false);
        for (int l = 0; l < class->lessons; l++) {
            const struct cell_points* p = &row->cell[l].now;
            // What a teacher has excused stays so: `EX`, as Canvas has it.
            table_field(f,
                        p->excused
                            ? "EX"
                            : points_text(p->known,
                                          p->points * assignment_possible(class, column[l]) / 100,
                                          text),
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

// ---- students whom a platform takes for one

// Canvas takes whom it finds by nothing else by the name, the first of several.
static bool canvas_mistakes(const struct class* class, const struct row* a, const struct row* b) {
    const struct known_as s = known_as(class, a), t = known_as(class, b);
    bool none[2] = {true, true}, same = false;
    for (int k = 0; k < 3; k++) {
        same |= s.key[k][0] && !strcasecmp(s.key[k], t.key[k]);
        none[0] &= !s.key[k][0];
        none[1] &= !t.key[k][0];
    }
    return same || ((none[0] || none[1]) && !strcasecmp(s.name, t.name));
}

void upload_check(const struct class* class) {
    for (int i = 0; i < class->rows; i++)
        for (int k = 0; k < i; k++) {
            const struct row *a = &class->row[k], *b = &class->row[i];
            if (!class->has_roster || a->record < 0 || b->record < 0) continue;
            const bool in_moodle = class->roster_kind != ROSTER_WORKSHEET && a->email[0] &&
                                   !strcasecmp(a->email, b->email);
            if (!in_moodle && !canvas_mistakes(class, a, b)) continue;
            todo_say(
                "%s cannot tell \"%.90s\" and \"%.90s\" apart: both rows of exports/%s.csv would "
                "be one student's. A column of ROSTER=%s with their numbers mends it",
                in_moodle ? "Moodle" : "Canvas", a->name, b->name, in_moodle ? "moodle" : "canvas",
                class->roster);
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
