// class.h: a whole class graded in one run. What `make class` does (main.c), in the order of the
// files; each calls only those above it:
//
//   names.c    names of students and lessons, as file names
//   folder.c   OUT: its paths, who may enter it
//   reader.c   `class archive` reads a zip or tar behind the wall, and unpacks nothing
//   archive.c  the files in it
//   table.c    CSV in and out
//   collect.c  SUBMISSIONS (and the roster) become rows; of each only the lessons' files are taken
//   kept.c     results and errors that jobs left in OUT
//   jobs.c     files that are not graded yet; `class job OUT N` grades one file of one row
//   slurm.c    the same jobs as a Slurm job array
//   book.c     points of every row, with overrides, late rules and weights; gradebook; changes
//   export.c   the same points in the formats of others
//   replay.c   a student's own result, graded again
//   main.c     options, lessons, seeds, isolation; then all of these in turn
//
// Beside it: similar.sh, which submissions look alike; one.sh, a class of one for the services that
// ask for it.
//
// Everything lies in one folder, OUT, that only its owner can enter:
//
//   submissions/ID/LESSON.cu   the file that was taken  jobs            one line a job: ID LESSON
//   results/ID/LESSON.json     what the check said      settings.json   seeds, device, isolation
//   results/ID/LESSON.error    why it could not         log.csv         every change of points
//   results/ID/LESSON.done     the job is over          tasks, slurm    the array in Slurm's queue
//   gradebook.csv, similar.txt, feedback/, exports/, replay/
//   weights.csv, late_rules.csv, late.csv, overrides.csv                the instructor's own
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

enum { LESSONS = 40, ID_SIZE = 400, WHY_SIZE = 200, RESULT_LIMIT = 8 << 20 };

// One lesson of this run.
struct class_lesson {
    char name[64];         // "17_gqa"
    char file[64];         // what a submission's file is called, "gqa.cu"
    char fingerprint[65];  // of cases, contract and grader
    uint64_t seed;         // the same for everyone
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
    char submission[65];  // SHA-256 of the file
    bool before;          // the cell had points before this run:
    double points_before;
    struct cell_points {
        bool known;     // false: a grader error, to be looked at
        double points;  // of 100, after late rules and overrides
        int graded;     // what the check gave
        char note[2 * WHY_SIZE];
    } now;
};

struct row {
    char id[ID_SIZE];    // the name as a file name: letters, digits, . _ - and %XX
    char name[ID_SIZE];  // the name to show, UTF-8
    char email[200];
    bool on_roster;
    struct cell cell[LESSONS];
    double total;  // percent, weighted
    bool known;    // no cell of it is a grader error
};

struct class {
    // from the command line
    const char *submissions, *lesson_list, *roster, *secret, *out, *engine, *isolation, *device;
    const char *student, *item, *replay, *gres;
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
};

// ---- names.c

// Does the text name this lesson? By its number, its name, or both.
bool class_names(const char* text, const char* lesson);

// The name as a file name: bytes other than letters, digits, '.', '_' and '-', and a leading '.',
// as %XX. A name too long for a file ends in % and the first 16 digits of its SHA-256.
void name_to_id(const char* name, size_t size, char id[ID_SIZE]);

// ---- folder.c

// Ends the program with exit status 2 and this sentence: the request is not possible.
_Noreturn void class_refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

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

// Removes from OUT/folder the files ID.*, or whole folders ID, that no longer belong to a row.
void class_forget(const struct class* class, const char* folder, bool folders);

// ".cu" of "gqa.cu"; "" if there is none.
const char* file_ending(const char* file);

// ---- reader.c

// What the reader tells of an archive, in the file TOLD_FILE_NAME of its folder: a head for each
// file that is asked for, its name, and its `size` bytes if it is TOLD_FILE; at the end a head that
// says whether the archive was read to its end.
enum told {
    TOLD_FILE,
    TOLD_LARGE,    // not less than SIZE_LIMIT
    TOLD_SPECIAL,  // a link, a device
    TOLD_WHOLE,    // the end
    TOLD_BROKEN,   // the end, and not the archive's
    TOLD_TOO_MUCH  // likewise: too many files, or too much in them
};
struct told_head {
    uint32_t kind, name_size, size;
};
#define TOLD_FILE_NAME "told"
enum { TOLD_NAME = 4096, SIZE_LIMIT = 1 << 20 };

// Tells the archive that fd has open: its files with one of these names (in any folder; ends with
// NULL; without a name all), which have less than `limit` bytes.
void archive_tell(int fd, size_t limit, const char* const* asked, FILE* to);

// `class archive NAME...`: the archive is descriptor ARENA_FD. Returns the exit status.
int archive_main(char** asked);

// ---- archive.c

// Has the archive that fd has open read behind the wall, and calls take() for every file in it with
// the name of a lesson's file. data has less than SIZE_LIMIT bytes and belongs to the archive; NULL
// with size SIZE_LIMIT stands for a larger file, NULL with size 0 for links and special files.
// Returns false, with the reason in why, if this is no such archive, is broken, or takes too much
// time or memory.
bool archive_each(const struct class* class, int fd,
                  void (*take)(void* to, const char* name, const void* data, size_t size), void* to,
                  char why[WHY_SIZE]);

// The same of what the reader has told.
bool told_each(const char* told, size_t size,
               void (*take)(void* to, const char* name, const void* data, size_t size), void* to,
               char why[WHY_SIZE]);

// ---- table.c

// A CSV file, the first record its titles. Fields that a record lacks are "".
struct table {
    char*** record;  // [records][fields]
    int records, fields;
};

// Returns false with errno if there is no such file or it is no table. If true, the caller frees
// the table.
bool table_read(const char* path, struct table* t);
void table_free(struct table* t);

// The column with this title, or -1.
int table_column(const struct table* t, const char* title);

// Writes one field, plain and for no spreadsheet a formula, and ',' or the end of the line.
void table_field(FILE* to, const char* text, bool last);

// ---- collect.c

// Fills row[] from the roster and SUBMISSIONS, and OUT/submissions.
void collect(struct class* class);

// The row with exactly this id; NULL if there is none.
struct row* class_row_of_id(const struct class* class, const char* id);

// The row that an instructor means by this text, an id or a name; NULL if there is none. Ends the
// program if it may be either of two.
struct row* class_row(const struct class* class, const char* text);

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

// Points of every cell and row. Reads weights.csv, late.csv and overrides.csv; makes empty ones.
void book_points(struct class* class);

// Ends the program if OUT has a gradebook with lessons that this run does not have: they would be
// lost.
void book_keeps(const struct class* class);

// Reads the points of the last gradebook. To be called before anything is graded again.
void book_before(struct class* class);

// gradebook.csv, log.csv; prints the table and what changed.
void book_write(struct class* class);

// ---- export.c

// Writes everything below OUT/feedback and OUT/exports, for the rows of this run.
void export_all(struct class* class);

// ---- replay.c

// Grades the file of a student's result again and compares. Exit status 0 if nothing differs.
int replay(struct class* class);

#endif
