// Call stacks, and from addresses in the program to lines of its source.
#ifndef CUDEV_LINES_H
#define CUDEV_LINES_H

#include <stdbool.h>

enum { MAX_FRAMES = 24 };  // of a call stack in a report

struct source_line {
    char function[120];
    char file[200];
    int line;
    int pc;  // index of the address that it belongs to
};

// The call stack of the caller, innermost first, also through the frame of a signal. Returns the
// number of addresses, at most `max`.
int cudev_unwind(void** frames, int max);
// Finds the source lines of `count` addresses, at most MAX_FRAMES, innermost first. An inlined
// function has a line of its own. Skips addresses without line information (libraries). Returns the
// number of lines, 0 if there is no addr2line.
int cudev_lines(void* const* pcs, int count, struct source_line* lines, int max_lines);
// Is this a line of the CPU device itself rather than of the program that uses it?
bool cudev_is_ours(const struct source_line* s);
// The innermost line of the program on the call stack of the caller; false if it is not known.
bool cudev_program_line(struct source_line* line);
// The name under which the source was compiled, if it is known: the debug information puts the
// folder of the compilation in front.
const char* cudev_shown_file(const char* path);
// The line if it is one of a .cu file: headers are not the student's. Else 0.
unsigned cudev_line_in_cu(const char* file, int line);

#endif
