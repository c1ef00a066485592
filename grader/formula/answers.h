// answers.h: a file of answers, a line each:
//
//     name = formula      // a remark
//
// Blank lines and remarks are skipped; a line ends with \n or \r\n. A name with nothing after its =
// has no answer yet. A name stands there once, and perhaps once more without an answer.
#ifndef ANSWERS_H
#define ANSWERS_H

#include <stddef.h>

enum { ANSWER_LENGTH = 1000 };  // the longest formula, in bytes

enum answer_state {
    // no line begins with "name ="; message names a line that cannot be read, if one cannot
    ANSWER_NONE,
    ANSWER_EMPTY,  // nothing stands after the =
    ANSWER_BAD,    // message says why
    ANSWER_THERE,  // text is the formula
};

struct answer {
    enum answer_state state;
    int line, column;  // of the formula, or of what is wrong; from 1
    char text[ANSWER_LENGTH + 1];
    char message[256];
};

// The answer of this name in a file of `size` bytes, which may hold anything.
struct answer answer_find(const char* file, size_t size, const char* name);

#endif
