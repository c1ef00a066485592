// The tokens of a source file, and strings. Positions are indices into `tokens`.
#ifndef CUDEV_REWRITE_TOKENS_H
#define CUDEV_REWRITE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

// SPACE: white space, comments, directives, and the head of a #define up to its body.
enum kind { SPACE, WORD, PUNCTUATION, LITERAL, END };

struct token {
    enum kind kind;
    const char* text;
    size_t length;
    int line;
    char* replacement;  // printed instead of the text unless NULL
};

// A growing string, always terminated.
struct text {
    char* data;
    size_t length, capacity;
};

extern const char* shown_name;  // of the source, for messages and #line
extern struct token* tokens;    // the last one is END

// Prints "file:line: error: ..." and ends the program.
void fail(int line, const char* format, ...) __attribute__((noreturn, format(printf, 2, 3)));
void* checked(void* memory);  // ends the program if memory is NULL

void add_bytes(struct text* t, const char* bytes, size_t n);
void add(struct text* t, const char* string);
void add_tokens(struct text* t, size_t from, size_t to);  // [from, to) as one line

// Cuts a terminated string into tokens; the string has to stay.
void cut(const char* source);

// Looking around. next() and previous() skip SPACE; previous(i) is i at the beginning of the file
// or of a #define body, next(i) is i at the end.
bool is(size_t i, const char* text);
bool is_one_of(size_t i, const char* const* list);  // list ends with NULL
bool same_word(size_t a, size_t b);
size_t next(size_t i);
size_t previous(size_t i);
// Do tokens behind the SPACE at `space` belong to a #define body, if those before it do
// (in_define)?
bool in_define_after(size_t space, bool in_define);
bool opens(size_t i);   // ( [ {
bool closes(size_t i);  // ) ] }
size_t matching(size_t open);
size_t matching_back(size_t close);  // also for > and >>>

// Changing. SPACE is never replaced, so lines stay where they are.
void replace(size_t i, const char* format, ...) __attribute__((format(printf, 2, 3)));
void delete_tokens(size_t from, size_t to);

// Does the { at `i` open a namespace or extern "C" block?
bool opens_namespace(size_t i);

#endif
