// roster.c: who is in the class. A roster is the instructor's own table or one that a platform
// gives; what it says of a student is what a hand-in is matched with. See class.h.
//
// Columns, in any order and case (where they are published):
//   own           student, email
//   Moodle        First name, Last name, Email address, ID number (its grade export,
//                 grade/export/csv), or a grading worksheet: Identifier, Full name, Email address,
//                 Status, Grade, Maximum grade, ... (mod/assign/feedback/offline)
//   Canvas        Student or LastName and FirstName, ID, SIS User ID, SIS Login ID, Section, then
//                 the assignments (lib/gradebook_exporter.rb)
//   Classroom     identifier, github_username, github_id, name, or an assignment's grades:
//                 github_username, roster_identifier, submission_timestamp, ... (REST API,
//                 assignments/ID/grades)
//   Gradescope    First Name, Last Name, SID, Email
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "class/class.h"

// A field as a name.
static void copy_name(char to[ID_SIZE], const char* text) {
    char* utf8 = name_utf8(text, strlen(text), "windows-1252");
    size_t n = strlen(utf8);
    while (n > 0 && utf8[n - 1] == ' ') n--;
    snprintf(to, ID_SIZE, "%.*s", (int)n, utf8);
    free(utf8);
}

// ---- rows

struct row* class_row_of_id(const struct class* class, const char* id) {
    for (int i = 0; i < class->rows; i++)
        if (!strcmp(class->row[i].id, id)) return &class->row[i];
    return NULL;
}

// Is the text the id of this row, or its name as it was handed in or as it is shown?
static bool is_called(const struct row* row, const char* text) {
    char id[ID_SIZE];
    text = table_text(text);
    char* utf8 = name_utf8(text, strlen(text), "windows-1252");
    name_to_id(utf8, strlen(utf8), id);
    bool is = !strcmp(row->id, utf8) || !strcmp(row->id, id) || !strcmp(row->name, utf8);
    for (int k = 0; k < KEYS && !is; k++) is = row->key[k][0] && !strcasecmp(row->key[k], utf8);
    free(utf8);
    return is;
}

static int count_called(const struct class* class, const char* text) {
    int count = 0;
    for (int i = 0; i < class->rows; i++) count += is_called(&class->row[i], text);
    return count;
}

// A text that names no other row.
static const char* own_name(const struct class* class, const struct row* row) {
    return count_called(class, row->id) > 1 ? row->name : row->id;
}

static bool has_fold(const struct row* row, const char* fold) {
    for (int i = 0; i < FOLDS; i++)
        if (fold[0] && !strcmp(row->fold[i], fold)) return true;
    return false;
}

// One student's id may be what another one is called. Whom an instructor means cannot be guessed.
struct row* class_row(const struct class* class, const char* text) {
    struct row* found = NULL;
    char fold[FOLD_SIZE];
    bool just_so = count_called(class, text) > 0;
    name_fold(table_text(text), fold, sizeof fold);
    for (int i = 0; i < class->rows; i++) {
        struct row* row = &class->row[i];
        if (just_so ? !is_called(row, text) : !has_fold(row, fold)) continue;
        if (found)
            class_refuse("\"%s\" may be two students: \"%s\", whose id is %s, and \"%s\", whose id "
                         "is %s. Write \"%s\" for the one, \"%s\" for the other.",
                         text, found->name, found->id, row->name, row->id, own_name(class, found),
                         own_name(class, row));
        found = row;
    }
    return found;
}

bool class_asks(const struct class* class, const struct row* row) {
    return !class->student || class_row(class, class->student) == row;
}

static struct row* new_row(struct class* class, const char* name, const char* id) {
    struct row* grown = realloc(class->row, (size_t)(class->rows + 1) * sizeof *grown);
    if (!grown) class_refuse("no memory for %d rows", class->rows + 1);
    class->row = grown;
    struct row* row = &class->row[class->rows++];
    memset(row, 0, sizeof *row);
    snprintf(row->id, sizeof row->id, "%s", id);
    snprintf(row->name, sizeof row->name, "%s", name);
    plain_line(row->name);
    row->record = -1;
    name_fold(name, row->fold[0], sizeof row->fold[0]);
    return row;
}

static void add_key(struct row* row, const char* key) {
    for (int k = 0; k < KEYS && key[0]; k++) {
        if (row->key[k][0]) {
            if (!strcasecmp(row->key[k], key)) return;
            continue;
        }
        snprintf(row->key[k], sizeof row->key[k], "%s", key);
        return;
    }
}

static bool has_key(const struct row* row, const char* key) {
    for (int k = 0; k < KEYS && key[0]; k++)
        if (row->key[k][0] && !strcasecmp(row->key[k], key)) return true;
    return false;
}

// Does the text name the row by what stands before the @ of one of its addresses?
static bool has_mailbox(const struct row* row, const char* text) {
    size_t n = strlen(text);
    for (int k = 0; k < KEYS && n > 0; k++)
        if (!strncasecmp(row->key[k], text, n) && row->key[k][n] == '@') return true;
    return false;
}

// ---- who handed in

// Whose who.csv says that the hand-in of this name is; NULL if it says nothing.
static struct row* row_by_who(struct class* class, const char* name) {
    const struct table* t = &class->who;
    char id[ID_SIZE], wanted[ID_SIZE];
    name_to_id(name, strlen(name), wanted);
    for (int i = 1; i < t->records; i++) {
        char student[ID_SIZE], from[ID_SIZE];
        copy_name(from, table_text(t->record[i][table_column(t, "handed_in")]));
        copy_name(student, table_text(t->record[i][table_column(t, "student")]));
        name_to_id(from, strlen(from), id);
        if (strcmp(id, wanted) != 0) continue;
        struct row* row = class_row(class, student);
        if (!row && class->has_roster)
            class_refuse("%s, record %d: the roster has no student %s",
                         class_path(class, "who.csv"), i + 1, student);
        name_to_id(student, strlen(student), id);
        return row ? row : new_row(class, student, id);
    }
    return NULL;
}

static void read_who(struct class* class) {
    static const char titles[] = "handed_in,student\n";
    const char* path = class_path(class, "who.csv");
    if (access(path, F_OK) != 0) class_write(path, titles, strlen(titles));
    if (!table_read(path, &class->who) || table_column(&class->who, "handed_in") < 0 ||
        table_column(&class->who, "student") < 0)
        class_refuse("%s: its first line must be: %s", path, titles);
}

// The only row that fits; `how` 0: the key or the address is its own; of the roster 1: a key of it
// is the name, 2: so is its name, but for case, blanks, marks and the order of first and last name,
// 3: the mailbox. NULL if there is none; *two becomes true if there are two.
static struct row* only_row(const struct class* class, const struct owner* o, const char* fold,
                            int how, bool* two) {
    struct row* found = NULL;
    for (int i = 0; i < class->rows; i++) {
        struct row* row = &class->row[i];
        bool is = how == 0          ? has_key(row, o->key) || has_key(row, o->email)
                  : !row->on_roster ? false
                  : how == 1        ? has_key(row, o->name)
                  : how == 2        ? has_fold(row, fold)
                                    : has_mailbox(row, o->name);
        if (!is) continue;
        if (found) {
            *two = true;
            return NULL;
        }
        found = row;
    }
    return found;
}

struct row* row_of_owner(struct class* class, const struct owner* o, int place) {
    char fold[FOLD_SIZE], id[ID_SIZE], name[ID_SIZE + KEY_SIZE + 4];
    bool two = false;
    name_fold(o->name, fold, sizeof fold);
    name_to_id(o->name, strlen(o->name), id);
    struct row* row = row_by_who(class, o->name);
    if (row) return row;
    // A number that the place of the hand-in gives to its students. A worksheet's are those of one
    // place only, it does not say which.
    for (int i = 0; i < class->rows && o->number[0] && !row; i++) {
        struct row* r = &class->row[i];
        if (strcmp(r->number, o->number) != 0) continue;
        if (r->place == place || (r->place == ANY_PLACE && (o->nameless || has_fold(r, fold))))
            row = r;
    }
    if (!row) row = only_row(class, o, fold, 0, &two);
    if (!row) row = only_row(class, o, fold, 1, &two);
    if (!row && !two) row = only_row(class, o, fold, 2, &two);
    if (!row && !two) row = class_row_of_id(class, id);
    if (!row && !two) row = only_row(class, o, fold, 3, &two);
    // Two people of one name in one place.
    bool other = row && o->number[0] && row->place == place && row->number[0] &&
                 strcmp(row->number, o->number) != 0;
    if (!row || other) {
        const char* more = o->number[0] ? o->number : o->key[0] ? o->key : "which?";
        snprintf(name, sizeof name, other || two ? "%s (%s)" : "%s", o->name, more);
        name_to_id(name, strlen(name), id);
        if ((row = row_by_who(class, name))) return row;
        row = class_row_of_id(class, id);
        if (!row && two && !class->student)
            text_say(
                stderr,
                "\"%s\" may be two students, and gets a row of its own, \"%s\"; who.csv in OUT "
                "can say whose it is",
                o->name, name);
        if (!row) row = new_row(class, name, id);
    }
    if (o->number[0]) {
        row->place = place;
        snprintf(row->number, sizeof row->number, "%s", o->number);
    }
    add_key(row, o->key);
    add_key(row, o->email);
    if (!row->email[0]) snprintf(row->email, sizeof row->email, "%s", o->email);
    plain_line(row->email);
    return row;
}

int64_t roster_time(const struct class* class, const struct row* row, const char* number) {
    const struct table* t = &class->roster_table;
    bool worksheet = class->roster_kind == ROSTER_WORKSHEET;
    int time = table_column(t, worksheet ? "last modified (submission)" : "submission_timestamp");
    int of = table_column(t, worksheet ? "identifier" : "github_username");
    if (row->record < 0 || time < 0 || of < 0) return 0;
    const char* own = t->record[row->record][of];
    if (worksheet && strrchr(own, ' ')) own = strrchr(own, ' ') + 1;  // Participant 1001
    if (strcasecmp(own, number) != 0) return 0;
    return (worksheet ? time_written_out : time_iso)(t->record[row->record][time]);
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

// ---- the roster

static int column_of(const struct table* t, const char* const* titles) {
    for (; *titles; titles++)
        if (table_column(t, *titles) >= 0) return table_column(t, *titles);
    return -1;
}

static const char* field(const struct table* t, int record, int column) {
    return column < 0 ? "" : t->record[record][column];
}

static enum roster_kind kind_of(const struct table* t) {
    if (table_column(t, "github_username") >= 0) return ROSTER_CLASSROOM;
    if (table_column(t, "identifier") >= 0 && table_column(t, "grade") >= 0)
        return ROSTER_WORKSHEET;
    if (table_column(t, "id") >= 0 && table_column(t, "section") >= 0) return ROSTER_CANVAS;
    return ROSTER_OTHER;
}

// A person of the roster, as far as its columns say.
struct person {
    char name[ID_SIZE], first[ID_SIZE], last[ID_SIZE];
};

static const char* const full_titles[] = {"student", "full name", "name", NULL};
static const char* const first_titles[] = {"first name", "firstname", "given name", NULL};
static const char* const last_titles[] = {"last name", "lastname", "surname", "family name", NULL};
static const char* const email_titles[] = {"email address", "email", "e-mail", "sis login id",
                                           NULL};
static const char* const key_titles[] = {
    "id",       "id number",       "sid",        "student id", "sis user id", "sis login id",
    "username", "github_username", "identifier", "login",      "user name",   "roster_identifier",
    NULL};

static const char* const identifier_titles[] = {"identifier", "roster_identifier", NULL};

static struct person person_of(const struct class* class, int record) {
    const struct table* t = &class->roster_table;
    struct person p;
    copy_name(p.name, field(t, record, column_of(t, full_titles)));
    copy_name(p.first, field(t, record, column_of(t, first_titles)));
    copy_name(p.last, field(t, record, column_of(t, last_titles)));
    char* comma = strchr(p.name, ',');
    if (class->roster_kind == ROSTER_CANVAS && comma && !p.last[0]) {  // Lovelace, Ada
        snprintf(p.last, sizeof p.last, "%.*s", (int)(comma - p.name), p.name);
        snprintf(p.first, sizeof p.first, "%s", comma + 1 + strspn(comma + 1, " "));
        p.name[0] = '\0';
    }
    if (!p.name[0])
        snprintf(p.name, sizeof p.name, "%.190s%s%.190s", p.first,
                 p.first[0] && p.last[0] ? " " : "", p.last);
    if (!p.name[0]) copy_name(p.name, field(t, record, column_of(t, identifier_titles)));
    if (!p.name[0]) copy_name(p.name, field(t, record, table_column(t, "id")));
    if (!p.name[0]) copy_name(p.name, field(t, record, column_of(t, email_titles)));
    const char* space = strrchr(p.name, ' ');
    if (!p.last[0] && (comma = strchr(p.name, ','))) {
        snprintf(p.last, sizeof p.last, "%.*s", (int)(comma - p.name), p.name);
        snprintf(p.first, sizeof p.first, "%s", comma + 1 + strspn(comma + 1, " "));
    }
    if (!p.first[0] && !p.last[0] && space) {
        snprintf(p.first, sizeof p.first, "%.*s", (int)(space - p.name), p.name);
        snprintf(p.last, sizeof p.last, "%s", space + 1);
    }
    return p;
}

static bool is_student(const struct class* class, int record) {
    const struct table* t = &class->roster_table;
    if (class->roster_kind != ROSTER_CANVAS) return true;
    // Its rows beside the students: what an assignment gives, how it is posted, the teacher's own
    // view.
    const char* name = field(t, record, column_of(t, full_titles));
    const char* last = field(t, record, column_of(t, last_titles));
    return !strstr(name, "Points Possible") && !strstr(last, "Points Possible") &&
           strcmp(name, "Student, Test") != 0 && (name[0] || last[0]);
}

static void add_person(struct class* class, int record) {
    const struct table* t = &class->roster_table;
    struct person p = person_of(class, record);
    char key[KEYS][KEY_SIZE] = {""}, id[ID_SIZE], name[ID_SIZE + KEY_SIZE + 4], both[2 * ID_SIZE];
    int keys = 0;
    if (!p.name[0]) return;
    int email = column_of(t, email_titles);
    for (int i = 0; key_titles[i] && keys < KEYS - 1; i++) {
        const char* text = field(t, record, table_column(t, key_titles[i]));
        if (text[0]) snprintf(key[keys++], KEY_SIZE, "%s", text);
    }
    snprintf(key[keys], KEY_SIZE, "%s", field(t, record, email));
    name_to_id(p.name, strlen(p.name), id);
    struct row* row = class_row_of_id(class, id);
    bool same = row && (!key[0][0] || has_key(row, key[0]) || !row->key[0][0]);
    if (row && !same) {  // another one of this name
        const char* address = field(t, record, email);
        snprintf(name, sizeof name, "%s (%.100s)", p.name, address[0] ? address : key[0]);
        name_to_id(name, strlen(name), id);
        row = class_row_of_id(class, id);
        same = row != NULL;
        if (!row) row = new_row(class, name, id);
    }
    if (same && !class->student)
        text_say(stderr, "ROSTER=%s: %s is there twice", class->roster, p.name);
    if (!row) row = new_row(class, p.name, id);
    row->on_roster = true;
    if (row->record < 0) row->record = record;
    for (int k = 0; k < KEYS; k++) add_key(row, key[k]);
    const char* number = strrchr(field(t, record, table_column(t, "identifier")), ' ');
    if (class->roster_kind == ROSTER_WORKSHEET && number) {  // Participant 1001
        row->place = ANY_PLACE;
        snprintf(row->number, sizeof row->number, "%s", number + 1);
    }
    name_fold(p.name, row->fold[0], FOLD_SIZE);
    bool turned = strchr(p.name, ',') != NULL;  // Lovelace, Ada
    snprintf(both, sizeof both, "%s%s", turned ? p.first : p.last, turned ? p.last : p.first);
    name_fold(both, row->fold[1], FOLD_SIZE);
    snprintf(row->first, sizeof row->first, "%s", p.first);
    snprintf(row->last, sizeof row->last, "%s", p.last);
    plain_line(row->first);
    plain_line(row->last);
    if (strchr(field(t, record, email), '@') || class->roster_kind == ROSTER_OTHER)
        snprintf(row->email, sizeof row->email, "%s", field(t, record, email));
    for (int k = 0; k < KEYS && !row->email[0]; k++)  // an identifier that is an address
        if (strchr(row->key[k], '@')) snprintf(row->email, sizeof row->email, "%s", row->key[k]);
    plain_line(row->email);
}

// The first of several students of one name is told apart as the others are.
static void tell_apart(struct class* class) {
    char name[ID_SIZE + KEY_SIZE + 4], id[ID_SIZE];
    for (int i = 0; i < class->rows; i++) {
        struct row* row = &class->row[i];
        size_t n = strlen(row->name);
        bool shared = false;
        for (int k = 0; k < class->rows; k++) {
            const struct row* r = &class->row[k];
            shared |= k != i && !strcmp(r->fold[0], row->fold[0]) &&
                      !strncmp(r->name, row->name, n) && !strncmp(r->name + n, " (", 2);
        }
        const char* more = row->email[0] ? row->email : row->key[0];
        snprintf(name, sizeof name, "%s (%.100s)", row->name, more);
        name_to_id(name, strlen(name), id);
        if (!shared || !more[0] || class_row_of_id(class, id)) continue;
        snprintf(row->id, sizeof row->id, "%s", id);
        snprintf(row->name, sizeof row->name, "%.*s", ID_SIZE - 1, name);
    }
}

void roster_read(struct class* class) {
    struct table* t = &class->roster_table;
    read_who(class);
    if (!class->roster) return;
    if (!table_read(class->roster, t)) class_refuse("ROSTER=%s: %s", class->roster, table_why());
    class->roster_kind = kind_of(t);
    if (column_of(t, full_titles) < 0 && column_of(t, last_titles) < 0 &&
        table_column(t, "id") < 0 && column_of(t, identifier_titles) < 0)
        class_refuse("ROSTER=%s: its first line must name the columns: `student`, or those that a "
                     "platform gives (lessons/INSTRUCTORS.md)",
                     class->roster);
    for (int i = 1; i < t->records; i++)
        if (is_student(class, i)) add_person(class, i);
    tell_apart(class);
    class->has_roster = true;
}
