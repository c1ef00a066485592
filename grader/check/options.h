// options.h: what `make grade` asks of a lesson's check. Lessons do not include this.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "check/state.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_LINE, FORMAT_VERDICT };

struct options {
    const char *file, *device, *filter, *isolation, *save, *log, *debug, *profile;
    enum format format;
    uint64_t seed;
    double seconds;    // wall-clock limit of one case; 0: the device's usual one
    int at_once;       // so many grades share this machine: each may take so many times as long
    bool stop;         // after the first item that fails
    bool uninspected;  // run what inspection would refuse: for tests of the wall
    int repeat;  // grade this often, with fresh seeds; stop at the first that is not full marks
};

// Reads the command line; ends the program with exit status 2 and a sentence if it cannot. What make
// passes on is named as it is typed there: SEED=, not --seed.
void options_parse(int argc, char** argv, struct options* o);

// Ends the program with exit status 2 and this sentence: what was asked for is not possible.
_Noreturn void options_refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Which device and which isolation level this grade uses, into session and result (machine.c). What
// was asked for and is not there is said, and the program ends. arch is nvcc's name of the GPU.
void choose_device(struct result* r, const struct options* o, struct session* session, char* arch,
                   size_t arch_size);
void choose_isolation(struct result* r, const struct options* o, struct session* session);

#endif
