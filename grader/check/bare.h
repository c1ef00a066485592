// bare.h: a text in CUDA C as a compiler reads it, for checks that look for words in a file that
// was handed in, which may hold anything.
#ifndef BARE_H
#define BARE_H

#include <stddef.h>

enum { BARE_MARK = 1 };  // a byte that texts cannot have

// The text without line ends behind a backslash, without comments, and with "" for each text and
// character. _Pragma("words") is a line "#pragma words". Where a line begins with `mark`, in a
// comment or not, there is a BARE_MARK; NULL: nowhere. It begins with a line's end. Owned by the
// caller; NULL if there is no memory.
char* bare_text(const char* text, size_t size, const char* mark);

#endif
