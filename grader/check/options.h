// options.h: the command line of a lesson's check. Lessons do not include this.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "check/state.h"

enum command_name { COMMAND_GRADE, COMMAND_PROFILE, COMMAND_DEBUG, COMMAND_LAST };

// FORMAT_TABLE and FORMAT_CSV are for a profile, which can also be JSON.
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_LINE, FORMAT_VERDICT, FORMAT_TABLE, FORMAT_CSV };

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
    const char* program;  // to debug: built with -g
    enum format format;
    uint64_t seed;
    double seconds;    // wall-clock limit of one case; 0: the device's usual one
    int at_once;       // so many grades share this machine: each may take so many times as long
    bool stop;         // after the first item that fails
    bool uninspected;  // run what inspection would refuse: for tests of the wall
    int repeat;  // grade this often, with fresh seeds; stop at the first that is not full marks
};

// Reads the command line; ends the program with STATUS_NOTHING and a sentence if it cannot. The
// sentence names an option as it is typed after make: SEED=, not --seed.
void options_parse(int argc, char** argv, struct options* o);

// "json" of FORMAT_JSON.
const char* format_name(enum format format);

// Ends the program with STATUS_NOTHING and this sentence: what was asked for is not possible.
_Noreturn void options_refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Which device and which isolation level this grade uses, into session and result (machine.c). If
// something was asked for and is missing, says so and ends the program. arch is nvcc's name of the
// GPU.
void choose_device(struct result* r, const struct options* o, struct session* session, char* arch,
                   size_t arch_size);
void choose_isolation(struct result* r, const struct options* o, struct session* session);

#endif
