// command.h: the commands of a check, and what they share. Lessons do not include this.
#ifndef COMMAND_H
#define COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "check/state.h"
#include "cpu/cards/cards.h"
#include "wall/build.h"

enum command_name { COMMAND_GRADE, COMMAND_PROFILE, COMMAND_DEBUG, COMMAND_LAST };

// FORMAT_PROBLEMS: FORMAT_TEXT, and on stderr lines for editors. FORMAT_TABLE and FORMAT_CSV are
// for a profile, which can also be JSON.
enum format {
    FORMAT_TEXT,
    FORMAT_PROBLEMS,
    FORMAT_JSON,
    FORMAT_LINE,
    FORMAT_VERDICT,
    FORMAT_TABLE,
    FORMAT_CSV
};

enum status {
    STATUS_FULL,     // full marks; the profile is shown
    STATUS_LESS,     // fewer points; the file does not compile
    STATUS_NOTHING,  // nothing could be graded: an option makes no sense, or there is no such file
    STATUS_ERROR,    // an error of the grader or of this machine
    STATUS_NO_ITEM,  // CASE= chooses no item
};

struct options {
    enum command_name command;
    const char *file, *device, *filter, *isolation, *save, *log;
    const struct known_card* card;  // that the CPU device poses as
    const char* program;            // to debug: built with -g
    enum format format;
    uint64_t seed;
    double seconds;  // of CPU time, on a GPU by the clock, for one case; 0: the usual ones
    int at_once;     // grades that share this machine: by the clock each has so many times as long
    bool stop;       // after the first item that fails
    bool uninspected;  // run what inspection would refuse: for tests of the wall
    int repeat;  // grade this often, with fresh seeds; stop at the first that is not full marks
};

// Reads the command line; ends the program with STATUS_NOTHING and a sentence if it cannot. The
// sentence names an option as it is typed after make: SEED=, not --seed.
void options_parse(int argc, char** argv, struct options* o);

// "json" of FORMAT_JSON.
const char* format_name(enum format format);

// True if a report is shown while the grade runs.
bool format_is_report(enum format format);

// Ends the program with STATUS_NOTHING and this sentence: what was asked for is not possible.
_Noreturn void options_refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Which device and which isolation level this grade uses, into session and result (machine.c). If
// something was asked for and is missing, says so and ends the program. arch is nvcc's name of the
// GPU.
void choose_device(struct result* r, const struct options* o, struct session* session, char* arch,
                   size_t arch_size);
void choose_isolation(struct result* r, const struct options* o, struct session* session);

struct command {
    struct options options;
    struct session session;
    struct result* result;  // in memory that the processes of the items share
    struct build build;
    char arch[16];  // nvcc's name of the GPU
    bool colour;    // on the terminal
};

// Each does what its name says with the file and returns the exit status. `command` is prepared:
// the options are read, device and isolation are chosen.
int command_grade(struct command* command);
int command_profile(struct command* command);
int command_debug(struct command* command);

// Prints what a result says that was saved, for scripts: "SCORE MAX"; the cause to give a hint for,
// or "-"; why nothing was graded, if nothing was, and the compiler's first error. Returns the exit
// status.
int command_last(const char* path);

// Builds the file, or reads it if it is a text, and tells what the compiler says: in the log, and
// on stderr unless a report will show it.
void command_build(struct command* command, bool in_report);

// True if CASE= chooses this item.
bool item_chosen(const struct options* o, const struct item* item);

// True if this item pays for the lesson's idea; the points of all items that do.
bool item_is_idea(const struct item* item);
int idea_points(void);

// The next record of the result, with the item's name and points.
struct result_item* item_record(struct result* r, const struct item* item);

// As it was when it was made.
void item_clear(struct result_item* record);

// Runs one item of the lesson, by its index, in a process of its own: whatever check.c does wrong
// there is an error of the grader there.
void item_run(const struct session* session, int index, struct result_item* record);

#endif
