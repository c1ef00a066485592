// compiler.h: what a compiler says, as values.
#ifndef COMPILER_H
#define COMPILER_H

#include <stdbool.h>
#include <stddef.h>

// A part of the compiler's text, with no 0 at its end.
struct part {
    const char* text;
    int length;
};

struct compiler_message {
    const char* severity;  // "error", "warning" or "note"
    bool fatal;            // an error at which the compiler stopped
    struct part file;      // "x.cu"; a program's name where no file is to blame: "collect2"
    int line, column;      // from 1 on; 0: not said
    struct part words;     // behind the severity
    struct part whole;     // the line that says all this
};

// Reads the first line of text. False if it is no message: source that is shown, a context.
bool compiler_read(const char* text, struct compiler_message* m);

// The first error in the text.
bool compiler_first_error(const char* text, struct compiler_message* m);

#endif
