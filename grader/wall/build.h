// build.h: from a student's .cu to a program that can be run behind the wall.
#ifndef BUILD_H
#define BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "wall/wall.h"

struct build_request {
    const char* lesson;  // "12_flash_forward"
    const char* file;    // the submission, any path
    enum wall_level level;
    bool gpu;          // nvcc instead of the CPU device
    const char* arch;  // "sm_90a"; with gpu only
    bool fresh;        // do not look into the cache
    bool note;         // the log shall say what nvcc, where there is one, thinks of the file
    bool uninspected;  // build it whatever it contains: for tests of the wall behind inspection
};

enum build_outcome {
    BUILD_OK,
    BUILD_UNREADABLE,     // the submission cannot be read
    BUILD_COMPILE_ERROR,  // log holds the compiler's words, with the student's own lines
    BUILD_REFUSED,        // message says what a graded file may not do, and where
    BUILD_FAILED,         // not the student's fault
};

struct build {
    enum build_outcome outcome;
    int program;  // a memfd, or -1; the caller closes it
    int watched;  // likewise: the instrumented build of the same file for the CPU device
    char* log;    // what the compiler said, also warnings; free it
    bool unset;   // one of the warnings names a variable that is used before it has a value
    // FILE:LINE of the first function that ends without the value it has to return, as a warning
    // names it, "" if the place is not known; NULL: there is none. Free it.
    char* no_return;
    char message[512];    // one sentence; empty if BUILD_OK
    char submission[65];  // SHA-256 of the file
    char* text;           // the file, text_size bytes and a NUL behind them; free it
    size_t text_size;
};

// Compiles, inspects and links in a scratch directory behind the wall. There a submission can
// include the contract and the headers, and nothing else of this repository. The current directory
// is the repository's root; objects of the grader lie in build/ (make puts them there). Programs
// that were built before are taken from build/cache.
struct build build_submission(const struct build_request* request);

// A lesson without a call.c has no kernel: a text is handed in.
bool build_has_kernel(const char* lesson);

// Reads a submission that is a text: nothing is compiled. BUILD_OK or BUILD_UNREADABLE.
struct build build_text(const char* file);

// The key of all that a program of this lesson is made of on the CPU device, besides the
// submission. For a lesson without a kernel it is the key of nothing. Returns 0, or -1 with errno.
int build_key(const char* lesson, char hex[65]);

// "flash_forward" of "12_flash_forward".
const char* lesson_function(const char* lesson);

#endif
