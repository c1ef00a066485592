// assignment.c: the assignments of Canvas's gradebook, if that is the roster: which is a lesson's,
// what it gives at most, who is excused from it. See class.h.
#include <stdlib.h>
#include <string.h>

#include "class/class.h"

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
int assignment_of(const struct class* class, const struct class_lesson* l) {
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
double assignment_possible(const struct class* class, int column) {
    const struct table* t = &class->roster_table;
    for (int i = 1; i < t->records && column >= 0; i++)
        for (int f = 0; f < 2; f++)
            if (strstr(t->record[i][f], "Points Possible")) {
                double value = strtod(t->record[i][column], NULL);
                return value > 0 ? value : 100;
            }
    return 100;
}

bool assignment_excused(const struct class* class, const struct row* row, int lesson) {
    const int column = assignment_of(class, &class->lesson[lesson]);
    return column >= 0 && row->record >= 0 &&
           !strcmp(class->roster_table.record[row->record][column], "EX");
}
