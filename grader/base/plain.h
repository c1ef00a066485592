// plain.h: text that strangers wrote, as it may reach a terminal, our files or another program.
//
// Plain is a valid, printable character of UTF-8. Not plain: bytes that are no UTF-8; control
// characters, also those of U+0080 to U+009F, which a terminal obeys; characters that turn or hide
// the text around them (U+202A to U+202E, U+2066 to U+2069 and the like); surrogates and
// noncharacters, which neither XML nor every JSON reader takes.
#ifndef PLAIN_H
#define PLAIN_H

#include <stddef.h>

// The length in bytes of the plain character at s, which ends with a NUL; 0 if there is none.
size_t plain_character(const char* s);

// Each byte that belongs to no plain character becomes '?'. A line feed or a tab stays in
// plain_text(), and becomes '?' as well in plain_line().
void plain_text(char* text);
void plain_line(char* text);

#endif
