// owner.c: whose a hand-in is: by who.csv, else by a number, an address or a name. See class.h.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "class/class.h"

// What may stand between a number and a name. "", too: the end.
static const char apart[] = " _-.,()[]";

// Does the text name the row by what stands before the @ of one of its addresses?
static bool has_mailbox(const struct row* row, const char* text) {
    size_t n = strlen(text);
    for (int k = 0; k < KEYS && n > 0; k++)
        if (!strncasecmp(row->key[k], text, n) && row->key[k][n] == '@') return true;
    return false;
}

// Adds to row[] those whose who.csv says that the hand-in of this name is: of a group there are
// several lines. `number`: of the hand-in in its place, if the name may be another's there, too.
static int rows_by_who(struct class* class, const char* name, const char* number, int place,
                       int row[]) {
    const struct table* t = &class->who;
    char id[ID_SIZE], wanted[ID_SIZE];
    int count = 0;
    name_to_id(name, strlen(name), wanted);
    for (int i = 1; i < t->records; i++) {
        struct who_use* use = &class->who_use[i];
        char student[ID_SIZE], from[ID_SIZE];
        name_copy(from, table_text(t->record[i][table_column(t, "handed_in")]));
        name_copy(student, table_text(t->record[i][table_column(t, "student")]));
        name_to_id(from, strlen(from), id);
        if (strcmp(id, wanted) != 0) continue;
        if (number[0] && use->number[0] && use->place == place && strcmp(use->number, number) != 0)
            class_refuse(
                "%s, record %d: two have handed in as %s. Write \"%s (%s)\" or \"%s (%s)\".",
                class_path(class, "who.csv"), i + 1, name, name, use->number, name, number);
        use->used = true;
        use->place = place;
        snprintf(use->number, sizeof use->number, "%s", number);
        const struct row* r = class_row(class, student);
        if (!r && class->has_roster)
            class_refuse("%s, record %d: the roster has no student %s",
                         class_path(class, "who.csv"), i + 1, student);
        name_to_id(student, strlen(student), id);
        if (!r) r = row_new(class, student, id);
        bool there = false;
        for (int k = 0; k < count; k++) there |= row[k] == (int)(r - class->row);
        if (there) continue;
        if (count == MOST_MEMBERS)
            class_refuse("%s: more than %d students are %s", class_path(class, "who.csv"),
                         MOST_MEMBERS, name);
        row[count++] = (int)(r - class->row);
    }
    return count;
}

void who_read(struct class* class) {
    static const char titles[] = "handed_in,student\n";
    const char* path = class_path(class, "who.csv");
    if (access(path, F_OK) != 0) class_write(path, titles, strlen(titles));
    if (!table_read(path, &class->who) || table_column(&class->who, "handed_in") < 0 ||
        table_column(&class->who, "student") < 0)
        class_refuse("%s: its first line must be: %s", path, titles);
    class->who_use = calloc((size_t) class->who.records, sizeof *class->who_use);
    if (!class->who_use) class_refuse("no memory for %s", path);
}

// "Cruz, Jr., José de la" is "de la Cruz, Jr., José" of the roster.
static bool has_words(const struct row* row, const char* text) {
    char words[FOLD_SIZE];
    name_words(text, words, sizeof words);
    return words[0] && !strcmp(words, row->words);
}

// Is the text a key of the row and its name, in either order: "0007001_Anna Schmidt"? The key has
// to stand alone: 7001 is not in 0007001.
static bool has_both(const struct row* row, const char* text) {
    for (int k = 0; k < KEYS; k++) {
        const size_t n = strlen(row->key[k]), size = strlen(text);
        const char* at = n > 1 && size < FOLD_SIZE ? strcasestr(text, row->key[k]) : NULL;
        char rest[FOLD_SIZE], fold[FOLD_SIZE];
        if (!at || (at > text && !strchr(apart, at[-1])) || !strchr(apart, at[n])) continue;
        snprintf(rest, sizeof rest, "%.*s %s", (int)(at - text), text, at + n);
        name_fold(rest, fold, sizeof fold);
        for (char* c = rest; *c; c++)
            if (strchr(apart, *c)) *c = ' ';
        if (row_has_fold(row, fold) || has_words(row, rest)) return true;
    }
    return false;
}

// The only row that fits; `how` 0: the key or the address is its own; of the roster 1: a key of it
// is the name, 2: so is its name, but for case, blanks, marks and the order of first and last name,
// 3: the mailbox, 4: a key and the name, 5: the name's words in some order. NULL if there is none;
// *two becomes true if there are two.
static struct row* only_row(const struct class* class, const struct owner* o, const char* fold,
                            int how, bool* two) {
    struct row* found = NULL;
    for (int i = 0; i < class->rows; i++) {
        struct row* row = &class->row[i];
        bool is = how == 0          ? row_has_key(row, o->key) || row_has_key(row, o->email)
                  : !row->on_roster ? false
                  : how == 1        ? row_has_key(row, o->name)
                  : how == 2        ? row_has_fold(row, fold)
                  : how == 3        ? has_mailbox(row, o->name)
                  : how == 4        ? has_both(row, o->name)
                                    : has_words(row, o->name);
        if (!is) continue;
        if (found) {
            *two = true;
            return NULL;
        }
        found = row;
    }
    return found;
}

// Does the row say by its numbers and addresses that it is not the owner's?
static bool is_another(const struct row* row, const struct owner* o, int place) {
    return o->number[0] && row->place == place && row->number[0] &&
           strcmp(row->number, o->number) != 0;
}

// The row that fits the owner best; NULL if there is none. *two: there are two.
static struct row* row_that_fits(const struct class* class, const struct owner* o, int place,
                                 bool* two) {
    char fold[FOLD_SIZE], id[ID_SIZE];
    struct row* row = NULL;
    name_fold(o->name, fold, sizeof fold);
    name_to_id(o->name, strlen(o->name), id);
    // A number that the place of the hand-in gives to its students. A worksheet's are those of one
    // place only, it does not say which.
    for (int i = 0; i < class->rows && o->number[0] && !row; i++) {
        struct row* r = &class->row[i];
        if (strcmp(r->number, o->number) != 0) continue;
        if (r->place == place || (r->place == ANY_PLACE && (o->nameless || row_has_fold(r, fold))))
            row = r;
    }
    if (!row) row = only_row(class, o, fold, 0, two);
    // Canvas's gradebook has all its users: who has another number there is another one.
    bool by_name = !o->sure;
    if (!row && by_name) row = only_row(class, o, fold, 1, two);
    if (!row && by_name && !*two) row = only_row(class, o, fold, 2, two);
    if (!row && !*two) row = class_row_of_id(class, id);
    if (row && !by_name && row->on_roster && !row_has_key(row, o->key)) row = NULL;
    for (int how = 3; how <= 5 && !row && by_name && !*two; how++)
        row = only_row(class, o, fold, how, two);
    return row;
}

// Canvas gives a group's file the name of the group and the number of one of its students
// (get_user_name() and get_filename() in lib/content_zipper.rb).
static void doubt_name(const struct class* class, const struct row* row, const struct owner* o) {
    char fold[FOLD_SIZE];
    name_fold(o->name, fold, sizeof fold);
    if (!o->sure || !row->on_roster || !fold[0] || row_has_fold(row, fold)) return;
    todo_say(
        "\"%s\" has the number of %s, and another name: a group? %s can say who is in it, a line "
        "a student",
        o->name, row->name, class_path(class, "who.csv"));
}

int rows_of_owner(struct class* class, const struct owner* o, int place, int rows[]) {
    char id[ID_SIZE], name[ID_SIZE + KEY_SIZE + 4];
    bool two = false;
    const char* more = o->number[0] ? o->number : o->key[0] ? o->key : "which?";
    snprintf(name, sizeof name, "%s (%s)", o->name, more);
    int count = rows_by_who(class, name, "", place, rows);
    if (count == 0) count = rows_by_who(class, o->name, o->number, place, rows);
    if (count > 0) return count;
    struct row* row = row_that_fits(class, o, place, &two);
    const bool other = row && is_another(row, o, place);
    if (!row || other) {
        snprintf(name, sizeof name, other || two ? "%s (%s)" : "%s", o->name, more);
        name_to_id(name, strlen(name), id);
        row = class_row_of_id(class, id);
        if (row && o->sure && row->on_roster) {
            snprintf(name, sizeof name, "%s (%s)", o->name, more);
            name_to_id(name, strlen(name), id);
            row = class_row_of_id(class, id);
        }
        if (two)
            todo_say("\"%s\" may be two students, and gets a row of its own, \"%s\"; %s can say "
                     "whose it "
                     "is",
                     o->name, name, class_path(class, "who.csv"));
        if (!row) row = row_new(class, name, id);
    }
    doubt_name(class, row, o);
    if (o->number[0]) {
        row->place = place;
        snprintf(row->number, sizeof row->number, "%s", o->number);
    }
    row_add_key(row, o->key);
    row_add_key(row, o->email);
    if (!row->student_number[0] && !row->on_roster)
        snprintf(row->student_number, sizeof row->student_number, "%s", o->key);
    if (!row->email[0]) snprintf(row->email, sizeof row->email, "%s", o->email);
    plain_line(row->email);
    plain_line(row->student_number);
    rows[0] = (int)(row - class->row);
    return 1;
}

void row_claim(struct class* class, const struct owner* o, int place) {
    bool two = false;
    struct row* row = only_row(class, o, "", 0, &two);
    if (!row || !o->number[0]) return;
    row->place = place;
    snprintf(row->number, sizeof row->number, "%s", o->number);
}

void owner_todo(const struct class* class) {
    enum { SHOWN = 8 };
    const struct table* t = &class->who;
    char names[WHY_SIZE] = "";
    int strangers = 0, handed_in = 0;
    for (int i = 1; i < t->records; i++) {
        const char* from = t->record[i][table_column(t, "handed_in")];
        if (from[0] && !class->who_use[i].used)
            todo_say("%s, record %d: nothing was handed in as %s", class_path(class, "who.csv"),
                     i + 1, from);
    }
    bool any = class->rows != 1 || class->has_roster || class->plain;
    for (int l = 0; l < class->lessons && !any; l++)
        any = class->row[0].cell[l].state != CELL_MISSING;
    if (!any)
        todo_say(
            "all that was handed in is taken for one student's, %s, and no lesson's file is in it. "
            "Are these names that no platform gives?",
            class->row[0].name);
    for (int i = 0; i < class->rows && class->has_roster; i++) {
        const struct row* row = &class->row[i];
        handed_in += row->handed_in;
        if (row->on_roster) continue;
        size_t n = strlen(names);
        if (strangers++ < SHOWN)
            snprintf(names + n, sizeof names - n, "%s%.80s", n ? ", " : "", row->name);
    }
    if (strangers > 0 && strangers == handed_in)
        todo_say(
            "ROSTER=%s: not one hand-in is of somebody on it. Is it the roster of this course?",
            class->roster);
    if (strangers > 0)
        todo_say(
            "not on the roster, so that no export has their points: %s%s. %s can say whose they "
            "are, for a group a line a student",
            names, strangers > SHOWN ? " and others" : "", class_path(class, "who.csv"));
}

// The column of a worksheet of Moodle, or of a Classroom's grades, that has these times; or -1.
static int time_column(const struct class* class) {
    return table_column(&class->roster_table, class->roster_kind == ROSTER_WORKSHEET
                                                  ? "last modified (submission)"
                                                  : "submission_timestamp");
}

static int64_t read_time(const struct class* class, const char* text) {
    return (class->roster_kind == ROSTER_WORKSHEET ? time_written_out : time_iso)(text);
}

int64_t roster_time(const struct class* class, const struct row* row, const char* number) {
    const struct table* t = &class->roster_table;
    bool worksheet = class->roster_kind == ROSTER_WORKSHEET;
    const int time = time_column(class);
    int of = table_column(t, worksheet ? "identifier" : "github_username");
    if (row->record < 0 || time < 0 || of < 0) return 0;
    const char* own = t->record[row->record][of];
    if (worksheet && strrchr(own, ' ')) own = strrchr(own, ' ') + 1;  // Participant 1001
    if (number && strcasecmp(own, number) != 0) return 0;
    return read_time(class, t->record[row->record][time]);
}

const char* roster_time_unread(const struct class* class) {
    const struct table* t = &class->roster_table;
    const int time = class->has_roster ? time_column(class) : -1;
    for (int i = 1; i < t->records && time >= 0; i++) {
        const char* text = t->record[i][time];  // "-": nothing was handed in
        if (strpbrk(text, "0123456789") && !read_time(class, text)) return text;
    }
    return NULL;
}

const struct row* row_before(const struct class* class, const char* name, size_t* size) {
    const struct row* found = NULL;
    size_t longest = 0;
    for (int i = 0; i < class->rows; i++) {
        const struct row* row = &class->row[i];
        for (int k = -1; k < KEYS && row->on_roster; k++) {
            const char* own = k < 0 ? row->name : row->key[k];
            size_t n = strlen(own);
            if (n <= longest || strncasecmp(name, own, n) != 0 || !strchr("_-. ", name[n]))
                continue;
            found = row;
            *size = longest = n;
        }
    }
    return found;
}
