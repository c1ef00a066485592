// command.h: the commands of a check, and what they share. Lessons do not include this.
#ifndef COMMAND_H
#define COMMAND_H

#include "check/options.h"
#include "check/state.h"
#include "wall/build.h"

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

// Runs one item of the lesson, by its index, in a process of its own: whatever check.c does wrong
// there is an error of the grader there.
void item_run(const struct session* session, int index, struct result_item* record);

#endif
