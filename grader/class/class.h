// class.h: a whole class graded in one run. What `make class` does (main.c), in the order of the
// files; each calls only those above it:
//
//   refuse.c   the end of a run that cannot go on; what its instructor has to look at
//   names.c    strangers' names: as UTF-8, as file names, as what a person is found by; lessons'
//   times.c    points in time as platforms write them
//   folder.c   OUT: its paths, who may enter it
//   reader.c   `class archive` reads a zip or tar behind the wall, and unpacks nothing (told.h)
//   archive.c  the files in it
//   table.c    CSV in and out
//   tree.c     SUBMISSIONS and the archives in it as one list of entries
//   roster.c   who is in the class
//   owner.c    whose a hand-in is
//   metadata.c who handed in what, by Gradescope
//   platform.c names that platforms give to what was handed in
//   layout.c   whose each entry is, in the layouts of platforms and in others
//   rank.c     which lesson's file an entry may be (rank.h)
//   template.c what nobody worked on: the course's own files
//   look.c     what one hand-in has of each lesson
//   skipped.c  what was not taken, and why
//   collect.c  of each row the latest hand-ins, and of these the lessons' files
//   rules.c    the instructor's tables; late.csv, filled by the times and marks of hand-ins
//   kept.c     results and errors that jobs left in OUT
//   jobs.c     files that are not graded yet; `class job OUT N` grades one file of one row
//   slurm.c    the same jobs as a Slurm job array
//   assignment.c  the assignments of Canvas's gradebook, and who is excused
//   book.c     points of every row, with overrides, late rules and weights; gradebook; changes
//   export.c   the same points in the formats of others
//   upload.c   and as the tables that Canvas and Moodle import
//   replay.c   a student's own result, graded again
//   main.c     options, lessons, seeds, isolation; then all of these in turn
//
// Beside it: similar.sh, which submissions look alike; one.sh, a class of one for services.
//
// Everything lies in one folder, OUT, that only its owner can enter:
//
//   submissions/ID/LESSON.cu   the file that was taken  jobs            one line a job: LESSON ID
//   results/ID/LESSON.json     what the check said      settings.json   seeds, device, isolation
//   results/ID/LESSON.error    why it could not         log.csv         every change of points
//   results/ID/LESSON.done     the job is over          tasks, slurm    the array in Slurm's queue
//   gradebook.csv, skipped.csv, similar.txt, feedback/, exports/, replay/
//   who.csv, weights.csv, late_rules.csv, late.csv, overrides.csv       the instructor's own
//
// A grade is decided by a lesson's check alone; nothing here looks at a kernel.
#ifndef CLASS_H
#define CLASS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/result.h"

#define METADATA_FILE "submission_metadata.yml"
enum {
    SIZE_LIMIT = 1 << 20,  // of a file that is taken
    TOLD_NAME = 4096,      // of a path
    LESSONS = 40,
    ID_SIZE = 400,
    JOB_SIZE = ID_SIZE + 80,
    WHY_SIZE = 500,
    RESULT_LIMIT = 8 << 20,
    MOST_POINTS = 1000,  // by an override: more than 100 is a bonus
    KEYS = 6,            // what a person is known by: numbers, addresses, user names
    KEY_SIZE = 120,
    FOLDS = 3,
    FOLD_SIZE = 256,
    MOST_PLACES = 64,
    MOST_MEMBERS = 400,  // of a group
    TODO_STATUS = 4      // the run's, if its instructor has to look at something
};

// One lesson of this run.
struct class_lesson {
    char name[64];         // "17_gqa"
    char file[64];         // what a submission's file is called, "gqa.cu"
    char fingerprint[65];  // of cases, contract and grader
    char* untouched;       // the exercise as it is handed out, `untouched_size` bytes
    size_t untouched_size;
    uint64_t seed;  // the same for everyone
};

enum cell_state {
    CELL_MISSING,  // no such file was handed in
    CELL_REFUSED,  // there is one that cannot be taken; `why` says why
    CELL_TAKEN     // in OUT/submissions
};

// One file of one row.
struct cell {
    enum cell_state state;
    char why[WHY_SIZE];
    char submission[65];   // SHA-256 of the file
    bool late;             // the platform says so
    int64_t time;          // of the hand-in, seconds since 1970; 0 if nothing says it
    bool copied;           // that is the time of a download or of a copy
    bool marked;           // the platform marks who is late, and gives no times
    bool again;            // `why` says that it was handed in more than once
    bool untouched;        // the exercise as it was handed out
    bool mailed;           // it has come by mail
    char doubt[WHY_SIZE];  // what its instructor has to decide; "" if nothing
    bool before;           // the cell had points before this run:
    double points_before;
    struct cell_points {
        bool known;     // false: a grader error, to be looked at
        double points;  // of 100, after late rules and overrides
        int graded;     // what the check gave
        char note[2 * WHY_SIZE];
        char reason[200];  // of no points at all, in words; else ""
        bool excused;      // by Canvas's gradebook: it counts in no total
        bool overridden;   // the instructor has decided
    } now;
};

struct row {
    char id[ID_SIZE];    // the name as a file name (name_to_id())
    char name[ID_SIZE];  // the name to show, UTF-8
    char email[200];
    char first[ID_SIZE], last[ID_SIZE];  // as the roster has them; may be empty
    bool on_roster, handed_in;
    int record;                     // of the roster; -1: none
    char key[KEYS][KEY_SIZE];       // "" where there are fewer
    char fold[FOLDS][FOLD_SIZE];    // name_fold() of the name in three orders
    char words[FOLD_SIZE];          // name_words() of the name
    char student_number[KEY_SIZE];  // that the university or the platform gives; may be empty
    int place;                      // where its hand-ins are numbered (layout.c), and ...
    char number[KEY_SIZE];          // ... the number; "" if none is known
    struct cell cell[LESSONS];
    double total;  // percent, weighted
    bool known;    // no cell of it is a grader error
    bool excused;  // from all lessons: there is no total
};

// Who has handed in, as a layout tells it. What is not known is "".
struct owner {
    char name[ID_SIZE];
    char key[KEY_SIZE], email[KEY_SIZE];  // that a roster may have
    char number[KEY_SIZE];                // that is this student's in one place (layout.c)
    bool nameless;                        // the name is made of the number
    bool sure;                            // the roster has this key, or has not this student
};

// A file or folder of SUBMISSIONS or of an archive in it.
enum entry_kind {
    ENTRY_FOLDER,
    ENTRY_ARCHIVE,  // read like a folder; `why` if it could not be read to its end
    ENTRY_FILE,     // may be a lesson's: `data` has it
    ENTRY_OTHER,    // a file that can be none
    ENTRY_BAD       // cannot be taken: `why`
};
struct entry {
    enum entry_kind kind;
    char* path;  // from SUBMISSIONS on; UTF-8
    char* data;
    size_t size;
    int64_t time, inner_time;  // of the outermost file, and in the archive that it is; 0: unknown
    int handin, next;          // that it belongs to, and its next entry; -1: none
    const char* inside;        // its path in the hand-in
    int lesson;                // the lesson that its name says; -1: none
    bool taken;
    bool of_template;  // the course's own, and nobody worked on it
    bool climbs;       // its path in an archive has "..", which leads nowhere here
    char why[160];
};

// What somebody handed in at one time.
struct handin {
    int row, place;
    int of;  // the hand-in of somebody else of the group, which has the entries; -1: own
    char name[ID_SIZE];  // of the folder or file
    const char* where;   // the download that it lies in, with a '/' at its end; or ""
    bool late;           // the platform says so
    bool worked;         // on something in it that can be taken
    bool canvas;         // files that were handed in again are called x-1, x-2
    bool moodle;         // its files have the time of the download
    bool mailed;         // the instructor has put it beside the downloads: it counts
    bool fixed, inner;   // the time is not that of the files; is that in the archive
    bool copied;         // the time is that of a download or of a copy
    bool shared;         // so it is, since the others of the place have it, too
    int64_t time;        // seconds since 1970; 0: unknown
    int64_t order;       // of Canvas: a higher number came later; 0: unknown
    int first;           // of its entries; -1: none
};

// Columns of a roster that is a platform's own.
enum roster_kind { ROSTER_OTHER, ROSTER_WORKSHEET, ROSTER_CANVAS, ROSTER_CLASSROOM };

// A CSV file, the first record its titles. Fields that a record lacks are "".
struct table {
    char*** record;  // [records][fields]
    int records, fields;
};

struct class {
    // from the command line
    const char *submissions, *lesson_list, *roster, *secret, *out, *engine, *isolation, *device;
    const char *student, *item, *replay, *gres;
    bool plain;   // no platform's layout is looked for
    bool dry;     // nothing is graded
    int jobs;     // at a time
    int at_once;  // of them on one machine: limits by the clock are so many times as long
    // found
    struct class_lesson lesson[LESSONS];
    double weight[LESSONS];
    int lessons;
    char** known_lesson;  // all of the course, "17_gqa"
    int known_lessons;
    struct row* row;
    int rows;
    bool has_roster;
    enum roster_kind roster_kind;
    struct table roster_table;
    struct table who;  // the instructor's who.csv
    struct who_use {
        bool used;
        int place;              // of the hand-in that the record was first about, and ...
        char number[KEY_SIZE];  // ... its number there
    } * who_use;                // of each record
    struct entry* entry;
    int entries;
    struct handin* handin;
    int handins;
    int place_lesson[MOST_PLACES];  // the lesson that a download is about; -1: nothing says it
    char beside[1200];  // a download that lies beside other hand-ins, and one of these; or ""
    bool kept_seed;     // the seeds are those of a run before
};

// ---- refuse.c

// Ends the program with exit status 2 and this sentence: the request is not possible.
_Noreturn void class_refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Notes what the instructor has to look at: points that are nobody's, a line of a table without
// effect. The run goes on.
void todo_say(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Prints these notes, each once; with an id those of "ID, lesson ...". Returns how many they are.
int todo_print(const char* id);

// ---- names.c

bool text_is_utf8(const char* text, size_t size);

// The text of this charset (a name that ICU knows) as UTF-8; the caller frees it.
char* text_convert(const char* text, size_t size, const char* charset);

// A name that somebody gave, as UTF-8 in normal form C; the caller frees it. A name that is no
// UTF-8 is taken for one of the charset.
char* name_utf8(const char* name, size_t size, const char* charset);

// The same of a field of a table, without blanks at its end.
void name_copy(char to[ID_SIZE], const char* text);

// What two spellings of a person's name have in common: its letters and digits, without case, marks
// and blanks. "" if there are none.
void name_fold(const char* name, char* key, size_t room);

// The same of each word of the name, in alphabetical order: the words of a name in any order.
void name_words(const char* name, char* words, size_t room);

// The name as a file name, readable: what cannot be in one, or cannot be shown, is a _, and then
// the id ends in " ~" and 8 digits of the name's SHA-256, as it does if the name is too long.
void name_to_id(const char* name, size_t size, char id[ID_SIZE]);

// Does the text name this lesson? By its number, its name, or both.
bool class_names(const char* text, const char* lesson);

// ".cu" of "gqa.cu"; "" if there is none.
const char* file_ending(const char* file);

// "gqa.cu" of "ada/gqa.cu".
const char* base_name(const char* path);

// Without regard to case; and the name's length without the one of these endings that it has.
bool has_ending(const char* name, const char* ending);
size_t without_ending(const char* name, const char* const* endings);

// Of archives that are read, and of those that are not.
extern const char* const archive_endings[];
extern const char* const closed_endings[];

// The name's length without the ending of an archive of either kind, if it has one.
size_t without_archive(const char* name, bool* is);

// The length of the name's first n bytes without the ending of the lesson's file, with which a
// packed file may keep it: "ada.cu.zip"; or with ".txt" behind it.
size_t without_file_ending(const char* name, size_t n, const char* file);

// May this path be the file that is wanted, "gqa.cu"? LIKE_KIND: it is a .cu, and may be meant, or
// another lesson's; LIKE_NAME: it has no folder, or the name contains "gqa".
enum like { LIKE_NOT, LIKE_KIND, LIKE_NAME };
enum like file_may_be(const char* path, const char* wanted);

// The length of the name's first n bytes without what a browser or a file manager adds to a second
// copy: "x (1)", "x(2)", "x - Copy"; with `numbered` also "x-2", which Canvas adds.
size_t without_copy(const char* name, size_t n, bool numbered);

// Is a file of this name the one that is wanted? Nearly: but for case, as a copy, or with .txt
// behind it. What Canvas adds (`numbered`) is not the student's doing.
enum fit { FIT_NOT, FIT_NEARLY, FIT_EXACT };
enum fit file_fits(const char* name, const char* wanted, bool numbered);

// How many columns of a terminal the text takes, and the blanks that fill up `wide` of them.
int text_columns(const char* text);
void print_wide(const char* text, int wide);

// ---- times.c

// "2026-11-20 17:34:00.861687000 Z", "2026-11-20T17:34Z" or with an offset, "+01:00"; UTC if none
// is given. In seconds since 1970; 0 if it is no time.
int64_t time_iso(const char* text);

// "Friday, 20 November 2026, 11:58 PM", "Freitag, 20. November 2026, 23:58", local time; else 0.
int64_t time_written_out(const char* text);

// ---- folder.c

// Makes OUT, for its owner only, and makes its path absolute. One run at a time has it; the lock is
// held until the program ends.
void class_open(struct class* class);

// OUT/..., in one of four static buffers: the fourth call from here on overwrites it.
const char* class_path(const struct class* class, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// Where the file of this row and lesson is kept in OUT; in a buffer of class_path().
const char* taken_path(const struct class* class, const char* id, const struct class_lesson* l);

// Reads a file of the instructor, at most 1 MiB. The caller frees the text; NULL with errno.
char* class_read(const char* path, size_t* size);

// Writes a file, and the folders on its way. Ends the program if that fails. class_write_json()
// releases root.
void class_write(const char* path, const void* data, size_t size);
void class_write_json(const char* path, json_t* root);

// Line n of OUT/jobs. False if there is none that can be read.
bool class_job(const struct class* class, int n, char id[ID_SIZE], char lesson[64]);
bool job_read(const char* line, char id[ID_SIZE], char lesson[64]);

// Removes from OUT/folder the files ID.*, or whole folders ID, that no longer belong to a row.
void class_forget(const struct class* class, const char* folder, bool folders);

// ---- table.c

// Reads a table: fields between commas, semicolons or tabs; UTF-8, UTF-16 or windows-1252. Returns
// false with errno if there is no such file or it is no table. If true, the caller frees the table.
bool table_read(const char* path, struct table* t);
const char* table_why(void);  // what errno says after it, in words
void table_free(struct table* t);

// The column with this title, or -1.
int table_column(const struct table* t, const char* title);

// The field as it was before table_field() kept it from being a formula.
const char* table_text(const char* text);

// At the beginning of a table that a spreadsheet opens: without it Excel takes UTF-8 for its own
// charset, and saves what it makes of it.
#define TABLE_MARK "\xef\xbb\xbf"

// Writes one field, plain and for no spreadsheet a formula, and ',' or the end of the line.
void table_field(FILE* to, const char* text, bool last);

// The same of a field that goes back to where it came from, as it is.
void table_copy(FILE* to, const char* text, bool last);

// ---- tree.c

// Fills entry[] from SUBMISSIONS: a folder, or an archive. Ends the program if nothing is there.
void tree_read(struct class* class);
void tree_free(struct class* class);

// ---- roster.c

// Fills row[] from the roster, if there is one.
void roster_read(struct class* class);

// The row with exactly this id; NULL if there is none.
struct row* class_row_of_id(const struct class* class, const char* id);

// The row that an instructor means by this text: an id, a name, or what else the roster has of a
// student; if nobody is called just so, the name in another spelling or order. NULL if there is
// none. Ends the program if it may be either of two.
struct row* class_row(const struct class* class, const char* text);

// The same, but NULL if it may be two, and the reason in why, which else is "".
struct row* class_row_or(const struct class* class, const char* text, char why[WHY_SIZE]);

// Does STUDENT= mean the row? True of every row without STUDENT=.
bool class_asks(const struct class* class, const struct row* row);

// Tells apart those of one name who are on no roster.
void roster_tell_apart(struct class* class);

// A new row; what a person is known by. name_fold() of one of a row's names is `fold`.
struct row* row_new(struct class* class, const char* name, const char* id);
void row_add_key(struct row* row, const char* key);
bool row_has_key(const struct row* row, const char* key);
bool row_has_fold(const struct row* row, const char* fold);

// ---- owner.c

// Reads who.csv, and makes an empty one.
void who_read(struct class* class);

// The row of who handed in in this place: of the roster if it has one that fits and no second; else
// a row of that name, which may be new, or whose who.csv says that it is.
// who.csv may say that it is a group's, and name several. Returns how many rows they are, at most
// MOST_MEMBERS, and puts their places in class->row into row[].
enum { ANY_PLACE = -1 };
int rows_of_owner(struct class* class, const struct owner* o, int place, int row[]);

// Keeps for the owner the row that has this very key or address, if there is one: nobody else of
// the place gets it for a name.
void row_claim(struct class* class, const struct owner* o, int place);

// When this row's student handed in where the number is hers, by the roster: a worksheet of Moodle,
// or a Classroom's grades. 0 if it does not say. NULL: the number is her group's.
int64_t roster_time(const struct class* class, const struct row* row, const char* number);
// The first time in the roster that cannot be read; NULL if there is none.
const char* roster_time_unread(const struct class* class);

// Notes the records of who.csv that were about no hand-in, and rows that are on no roster.
void owner_todo(const struct class* class);

// The row of the roster whose name, or number, or user name the file's name begins with, in *size
// bytes; the longest if there are several, NULL if there is none.
const struct row* row_before(const struct class* class, const char* name, size_t* size);

// ---- metadata.c

enum { MOST_SUBMITTERS = 12 };
struct submitters {
    char folder[128];
    int64_t time;  // seconds since 1970; 0: unknown
    int count;
    struct owner owner[MOST_SUBMITTERS];
};

// Reads METADATA_FILE. The caller frees the *count submissions; NULL if it is no YAML.
struct submitters* metadata_read(const char* text, size_t size, int* count);

// ---- platform.c

// What a platform's name says. `rest` is the path in the hand-in, NULL if there is none to grade.
struct said {
    struct owner owner;
    const char* rest;
    bool late, canvas;
    int64_t attachment;  // Canvas's number: the higher the later
};

// Is this the path of something that Moodle or Canvas give?
bool platform_says(const char* path, struct said* s);

// ---- layout.c

// Gives each entry its hand-in, and each hand-in its row; makes rows for those who have none.
void layout(struct class* class);

// ---- skipped.c: writes OUT/skipped.csv. The rows have what counts.
void skipped_write(const struct class* class);

// ---- collect.c

// Fills row[] from the roster and SUBMISSIONS, and OUT/submissions.
void collect(struct class* class);

// ---- rules.c

// Adds to late.csv the days of those hand-ins whose time or platform says that they are late, if it
// has no line for that student and lesson. When a lesson was due stands in late_rules.csv.
void rules_fill_late(const struct class* class);

// The note of a cell with the reason for no points, for who reads the gradebook.
enum { NOTE_SIZE = 3 * WHY_SIZE };
const char* points_note(const struct cell_points* p, char text[NOTE_SIZE]);

// Reads the tables, and makes empty ones: weights.csv; late_rules.csv and late.csv; overrides.csv.
// The points that they are about are there. Each ends the program if its table cannot be read, and
// notes the records without effect.
void rules_weights(struct class* class);
void rules_late(struct class* class);
void rules_overrides(struct class* class);

// ---- kept.c

// Reads a result. False if there is none, or none that can be read.
bool result_read(const char* path, struct result* r);

// Is the result the whole grade of this very file by this very grader, with the lesson's seed?
bool result_is_of(const struct class_lesson* l, const char* submission, const struct result* r);

bool result_has_error(const struct result* r);

// Reads the result that is kept for this cell. Returns false if there is none, or if it is of
// another file, grader or seed.
bool result_kept(const struct class* class, const struct row* row, int lesson, struct result* r);

// Why there is no result; empty if there is one.
void error_kept(const struct class* class, const struct row* row, int lesson, char* why,
                size_t size);

// ---- jobs.c

// Writes OUT/jobs and OUT/settings.json: what has to be graded. Returns how many jobs.
int jobs_plan(struct class* class);

// Runs the jobs here, at most class->jobs at a time.
void jobs_run(struct class* class, int jobs);

// `class job OUT N`: grades line N of OUT/jobs. Exit status 0 once its result or its error is
// written.
int job_run(struct class* class, int n);

// Grades a cell of class into the folder of `apart`, with its seeds, and reads the result. False:
// error_kept() says why.
bool job_again(const struct class* class, const struct class* apart, const struct row* row,
               int lesson, struct result* r);

// ---- slurm.c

// Ends the jobs that a killed run has left in the queue. To be called before new jobs are planned.
void slurm_cancel(const struct class* class);

// Runs the jobs as a job array; jobs that left no trace are submitted again.
void slurm_run(struct class* class, int jobs);

// ---- book.c

// Points of every cell and row, by the instructor's tables.
void book_points(struct class* class);

// Points as all tables have them, with two digits behind the point; "" if they are not known.
const char* points_text(bool known, double points, char text[32]);

// Prints what counts of what was handed in: a line for each row and lesson.
void book_say_collected(const struct class* class);

// Ends the program if OUT has a gradebook with lessons that this run does not have: they would be
// lost.
void book_keeps(const struct class* class);

// Reads the points of the last gradebook. To be called before anything is graded again.
void book_before(struct class* class);

// gradebook.csv, log.csv; prints the table and what changed.
void book_write(struct class* class);

// ---- export.c

// Writes everything below OUT/feedback and OUT/exports but what upload.c does, for all rows.
void export_all(struct class* class);

// ---- assignment.c

// The column of the lesson's assignment in Canvas's export; -1 if there is none, or no only one.
int assignment_of(const struct class* class, const struct class_lesson* l);

// What the assignment of this column gives at most, by the record "Points Possible"; 100 of none.
double assignment_possible(const struct class* class, int column);

// Has a teacher excused this student there?
bool assignment_excused(const struct class* class, const struct row* row, int lesson);

// ---- upload.c

// Notes rows that a platform would take for one student's.
void upload_check(const struct class* class);

// Writes OUT/exports/canvas.csv and moodle.csv.
void upload_tables(const struct class* class);

// ---- replay.c: grades the file of a student's result again. Exit status 0 if nothing differs.
int replay(struct class* class);

#endif
