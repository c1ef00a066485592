// roster.c: who is in the class. A roster is the instructor's own table or one that a platform
// gives; what it says of a student is what a hand-in is matched with (owner.c). See class.h.
//
// Columns, in any order and case (where they are published):
//   own           student, email; with name, or First name and Last name, beside it `student` may
//                 be a number or a user name
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

#include "base/plain.h"
#include "class/class.h"

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
    // "Participant 1001" of a worksheet is 1001 in all that Moodle shows.
    is |= row->student_number[0] && !strcmp(row->student_number, utf8);
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

bool row_has_fold(const struct row* row, const char* fold) {
    for (int i = 0; i < FOLDS; i++)
        if (fold[0] && !strcmp(row->fold[i], fold)) return true;
    return false;
}

// One student's id may be what another one is called. Whom an instructor means cannot be guessed.
struct row* class_row_or(const struct class* class, const char* text, char why[WHY_SIZE]) {
    struct row* found = NULL;
    why[0] = '\0';
    char fold[FOLD_SIZE], words[FOLD_SIZE];
    bool just_so = count_called(class, text) > 0, folded = false;
    name_fold(table_text(text), fold, sizeof fold);
    name_words(table_text(text), words, sizeof words);
    for (int i = 0; i < class->rows; i++) folded |= row_has_fold(&class->row[i], fold);
    for (int i = 0; i < class->rows; i++) {
        struct row* row = &class->row[i];
        bool is = just_so  ? is_called(row, text)
                  : folded ? row_has_fold(row, fold)
                           : words[0] && !strcmp(row->words, words);
        if (!is) continue;
        if (found) {
            snprintf(why, WHY_SIZE,
                     "\"%.56s\" may be two students: \"%.56s\", whose id is %.56s, and \"%.56s\", "
                     "whose id is %.56s. Write \"%.56s\" for the one, \"%.56s\" for the other.",
                     text, found->name, found->id, row->name, row->id, own_name(class, found),
                     own_name(class, row));
            return NULL;
        }
        found = row;
    }
    return found;
}

struct row* class_row(const struct class* class, const char* text) {
    char why[WHY_SIZE];
    struct row* row = class_row_or(class, text, why);
    if (why[0]) class_refuse("%s", why);
    return row;
}

bool class_asks(const struct class* class, const struct row* row) {
    return !class->student || class_row(class, class->student) == row;
}

struct row* row_new(struct class* class, const char* name, const char* id) {
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
    name_words(name, row->words, sizeof row->words);
    return row;
}

void row_add_key(struct row* row, const char* key) {
    for (int k = 0; k < KEYS && key[0]; k++) {
        if (row->key[k][0]) {
            if (!strcasecmp(row->key[k], key)) return;
            continue;
        }
        snprintf(row->key[k], sizeof row->key[k], "%s", key);
        return;
    }
}

bool row_has_key(const struct row* row, const char* key) {
    for (int k = 0; k < KEYS && key[0]; k++)
        if (row->key[k][0] && !strcasecmp(row->key[k], key)) return true;
    return false;
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
    bool names = table_column(t, "student") >= 0 || table_column(t, "lastname") >= 0;
    if (names && table_column(t, "id") >= 0 && table_column(t, "section") >= 0)
        return ROSTER_CANVAS;
    return ROSTER_OTHER;
}

// A person of the roster, as far as its columns say.
struct person {
    char name[ID_SIZE], first[ID_SIZE], last[ID_SIZE];
};

static const char* const full_titles[] = {"student", "full name", "name", NULL};
static const char* const name_titles[] = {"full name", "name", NULL};
static const char* const first_titles[] = {"first name", "firstname", "given name", NULL};
static const char* const last_titles[] = {"last name", "lastname", "surname", "family name", NULL};
static const char* const email_titles[] = {"email address", "email", "e-mail", "sis login id",
                                           NULL};
static const char* const key_titles[] = {
    "id",       "id number",       "sid",        "student id", "sis user id", "sis login id",
    "username", "github_username", "identifier", "login",      "user name",   "roster_identifier",
    NULL};

// Of these the number that a university gives.
static const char* const number_titles[] = {"id number", "sid", "student id", "sis user id", NULL};

static const char* const identifier_titles[] = {"identifier", "roster_identifier", NULL};

// Is it a number as universities give them, "0018233" or "s1234567"? No name, and no address.
static bool is_number(const char* text) {
    size_t digits = 0, n = strlen(text);
    for (size_t i = 0; i < n; i++) digits += text[i] >= '0' && text[i] <= '9';
    return digits > 0 && 2 * digits >= n && !strpbrk(text, " @");
}

// The column `student` of a roster of one's own, if another one has the names; else -1.
static int student_column(const struct class* class) {
    const struct table* t = &class->roster_table;
    if (class->roster_kind != ROSTER_OTHER) return -1;
    const bool named = column_of(t, name_titles) >= 0 || column_of(t, last_titles) >= 0;
    return named ? table_column(t, "student") : -1;
}

// What may stand behind a name, as Canvas knows it (User.name_parts).
static bool is_suffix(const char* text, size_t n) {
    static const char* const suffix[] = {"Jr",  "Jr.",  "Jnr",    "Jnr.",    "Junior", "Sr", "Sr.",
                                         "Snr", "Snr.", "Senior", "II",      "III",    "IV", "V",
                                         "VI",  "Esq",  "Esq.",   "Esquire", NULL};
    for (int i = 0; suffix[i]; i++)
        if (strlen(suffix[i]) == n && !strncasecmp(text, suffix[i], n)) return true;
    return false;
}

// "Smith, John, Jr." and "Smith, Jr., John" of Canvas are John Smith, Jr.
static void name_with_suffix(struct person* p) {
    char* comma = strchr(p->first, ',');
    if (!comma) return;
    char one[ID_SIZE], other[ID_SIZE];
    snprintf(one, sizeof one, "%.*s", (int)(comma - p->first), p->first);
    snprintf(other, sizeof other, "%s", comma + 1 + strspn(comma + 1, " "));
    const bool before = is_suffix(one, strlen(one)), after = is_suffix(other, strlen(other));
    if (before == after) return;
    snprintf(p->first, sizeof p->first, "%s", before ? other : one);
    snprintf(p->name, sizeof p->name, "%.120s %.120s, %.20s", p->first, p->last,
             before ? one : other);
}

static struct person person_of(const struct class* class, int record) {
    const struct table* t = &class->roster_table;
    struct person p;
    const int student = student_column(class);
    name_copy(p.name, field(t, record, column_of(t, student < 0 ? full_titles : name_titles)));
    name_copy(p.first, field(t, record, column_of(t, first_titles)));
    name_copy(p.last, field(t, record, column_of(t, last_titles)));
    char* comma = strchr(p.name, ',');
    if (class->roster_kind == ROSTER_CANVAS && comma && !p.last[0]) {  // Lovelace, Ada
        snprintf(p.last, sizeof p.last, "%.*s", (int)(comma - p.name), p.name);
        snprintf(p.first, sizeof p.first, "%s", comma + 1 + strspn(comma + 1, " "));
        p.name[0] = '\0';
        name_with_suffix(&p);
    }
    if (!p.name[0])
        snprintf(p.name, sizeof p.name, "%.190s%s%.190s", p.first,
                 p.first[0] && p.last[0] ? " " : "", p.last);
    if (!p.name[0]) name_copy(p.name, field(t, record, student));
    if (!p.name[0]) name_copy(p.name, field(t, record, column_of(t, identifier_titles)));
    if (!p.name[0]) name_copy(p.name, field(t, record, table_column(t, "id")));
    if (!p.name[0]) name_copy(p.name, field(t, record, column_of(t, email_titles)));
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

static void copy_key(char to[KEY_SIZE], const char* text) {
    snprintf(to, KEY_SIZE, "%s", text);
    plain_line(to);
}

// The number of a student where no column is named so. A Classroom's identifier is what the
// university knows its students by ("identifier" of its roster): a number, an address, or a name.
static void find_number(const struct class* class, int record, struct row* row) {
    const struct table* t = &class->roster_table;
    const char* text = field(t, record, table_column(t, "student"));
    bool is = class->roster_kind == ROSTER_OTHER && is_number(text);
    if (class->roster_kind == ROSTER_CLASSROOM) {
        text = field(t, record, column_of(t, identifier_titles));
        is = !strchr(text, '@') && (is_number(text) || strcmp(text, row->name) != 0);
    }
    if (is) copy_key(row->student_number, text);
}

static void add_person(struct class* class, int record) {
    const struct table* t = &class->roster_table;
    struct person p = person_of(class, record);
    char key[KEYS][KEY_SIZE] = {""}, id[ID_SIZE], name[ID_SIZE + KEY_SIZE + 4], both[2 * ID_SIZE];
    int keys = 0;
    if (!p.name[0]) return;
    int email = column_of(t, email_titles);
    const char* student = field(t, record, student_column(class));
    if (student[0]) snprintf(key[keys++], KEY_SIZE, "%s", student);
    for (int i = 0; key_titles[i] && keys < KEYS - 1; i++) {
        const char* text = field(t, record, table_column(t, key_titles[i]));
        if (text[0]) snprintf(key[keys++], KEY_SIZE, "%s", text);
    }
    snprintf(key[keys], KEY_SIZE, "%s", field(t, record, email));
    name_to_id(p.name, strlen(p.name), id);
    struct row* row = class_row_of_id(class, id);
    bool same = row && (!key[0][0] || row_has_key(row, key[0]) || !row->key[0][0]);
    if (row && !same) {  // another one of this name
        const char* address = field(t, record, email);
        snprintf(name, sizeof name, "%s (%.100s)", p.name, address[0] ? address : key[0]);
        name_to_id(name, strlen(name), id);
        row = class_row_of_id(class, id);
        same = row != NULL;
        if (!row) row = row_new(class, name, id);
    }
    if (same && !class->student)
        text_say(stderr, "ROSTER=%s: %s is there twice", class->roster, p.name);
    if (!row) row = row_new(class, p.name, id);
    row->on_roster = true;
    if (row->record < 0) row->record = record;
    for (int k = 0; k < KEYS; k++) row_add_key(row, key[k]);
    const char* number = strrchr(field(t, record, table_column(t, "identifier")), ' ');
    if (class->roster_kind == ROSTER_WORKSHEET && number) {  // Participant 1001
        row->place = ANY_PLACE;
        snprintf(row->number, sizeof row->number, "%s", number + 1);
    }
    name_fold(p.name, row->fold[0], FOLD_SIZE);
    bool turned = strchr(p.name, ',') != NULL;  // Lovelace, Ada
    snprintf(both, sizeof both, "%s%s", turned ? p.first : p.last, turned ? p.last : p.first);
    name_fold(both, row->fold[1], FOLD_SIZE);
    name_fold(field(t, record, column_of(t, full_titles)), row->fold[2], FOLD_SIZE);
    name_words(p.name, row->words, FOLD_SIZE);
    copy_key(row->student_number, field(t, record, column_of(t, number_titles)));
    if (!row->student_number[0])
        copy_key(row->student_number, field(t, record, table_column(t, "id")));
    if (!row->student_number[0]) copy_key(row->student_number, row->number);
    if (!row->student_number[0]) find_number(class, record, row);
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

// The first of several students of one name is told apart as the others are. `roster`: on it, or
// else not.
static void tell_apart(struct class* class, bool roster) {
    char name[ID_SIZE + KEY_SIZE + 4], id[ID_SIZE];
    for (int i = 0; i < class->rows; i++) {
        struct row* row = &class->row[i];
        size_t n = strlen(row->name);
        bool shared = false;
        for (int k = 0; k < class->rows; k++) {
            const struct row* r = &class->row[k];
            shared |= k != i && (!roster || !strcmp(r->fold[0], row->fold[0])) &&
                      !strncmp(r->name, row->name, n) && !strncmp(r->name + n, " (", 2);
        }
        const char* more = !roster ? row->number : row->email[0] ? row->email : row->key[0];
        snprintf(name, sizeof name, "%s (%.100s)", row->name, more);
        name_to_id(name, strlen(name), id);
        if (!shared || row->on_roster != roster || !more[0] || class_row_of_id(class, id)) continue;
        snprintf(row->id, sizeof row->id, "%s", id);
        snprintf(row->name, sizeof row->name, "%.*s", ID_SIZE - 1, name);
    }
}

// Is there a column whose title says nothing here?
static bool has_unknown_title(const struct table* t) {
    static const char* const others[] = {"section", "sections", "group", "github_id", NULL};
    const char* const* const known[] = {key_titles, email_titles, others};
    for (int f = 0; f < t->fields; f++) {
        bool is = t->record[0][f][0] == '\0';
        for (int k = 0; k < 3; k++)
            for (int i = 0; known[k][i]; i++) is |= table_column(t, known[k][i]) == f;
        if (!is) return true;
    }
    return false;
}

// Ends the program if no column has names: whoever hands in by name would be nobody.
static void require_names(const struct class* class) {
    const struct table* t = &class->roster_table;
    if (column_of(t, full_titles) >= 0 || column_of(t, last_titles) >= 0 ||
        column_of(t, identifier_titles) >= 0 ||
        (table_column(t, "id") >= 0 && !has_unknown_title(t)))
        return;
    class_refuse(
        "ROSTER=%s: no column is known to hold names. Its first line must name the columns: "
        "`student`, or those that a platform gives, in English "
        "(lessons/INSTRUCTORS.md)",
        class->roster);
}

void roster_tell_apart(struct class* class) {
    tell_apart(class, false);
}

void roster_read(struct class* class) {
    struct table* t = &class->roster_table;
    if (!class->roster) return;
    if (!table_read(class->roster, t)) class_refuse("ROSTER=%s: %s", class->roster, table_why());
    class->roster_kind = kind_of(t);
    require_names(class);
    for (int i = 1; i < t->records; i++)
        if (is_student(class, i)) add_person(class, i);
    if (class->rows == 0) class_refuse("ROSTER=%s: there is no student in it", class->roster);
    tell_apart(class, true);
    class->has_roster = true;
}
