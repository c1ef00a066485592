// compile.h: the compiler behind the wall, and what its end means.
#ifndef COMPILE_H
#define COMPILE_H

#include "wall/build.h"

// How compile.sh ends: its exit statuses. The script finds them in its environment, under these
// names.
enum compile_end {
    COMPILED = 0,
    NOT_REWRITTEN = 10,  // the rewriter refuses the file
    NOT_COMPILED = 11,   // the compiler refuses the file
    NO_OBJECTS = 12,     // a tool behind the compiler failed
    NOT_LINKED = 13,     // out/linker holds the linker's words
    NOT_STARTED = 14,    // there was no process for the compiler, or there is no compiler
};

// Compiles, inspects and links the submission, called `shown`, in the filled scratch folder `work`.
// Sets the outcome, the log, the message and `unset` of b; with BUILD_OK the programs are
// work/out/program and work/out/watched.
void compile(struct build* b, const struct build_request* q, const char* work, const char* shown);

#endif
