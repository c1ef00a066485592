// inspect.h: what a graded file may do, decided from what the compiler made of it.
#ifndef INSPECT_H
#define INSPECT_H

#include <stdbool.h>
#include <stddef.h>

enum inspection {
    INSPECTION_FINE,
    INSPECTION_REFUSES,      // the message says what a graded file may not do, and where
    INSPECTION_HAS_NOTHING,  // a file is missing that a successful compile leaves
};

// Reads out/ of a finished compile and says whether the submission keeps to the rules of a graded
// file: no inline assembly, nothing included from elsewhere, no symbol but the contract's, no
// constructors, no function but CUDA's, C's mathematics and the few in `gated`.
enum inspection inspect_unit(const char* out, const char* shown_name, const char* function,
                             char* message, size_t message_size);

// True if out/wanted asks for a function of the contract (called like `function`, or function_...)
// that the submission does not define; then its name is in `name`.
bool inspect_missing(const char* out, const char* function, char* name, size_t size);

// True if the text keeps to the rules, too. `plain` and `watched` are the two preprocessed texts of
// the submission, which the compiler calls shown_name.
bool inspect_text(const char* plain, const char* watched, const char* shown_name, char* message,
                  size_t message_size);

// The same of the text that nvcc's preprocessor makes of the file for the host.
bool inspect_host_text(const char* text, const char* shown_name, char* message,
                       size_t message_size);

// True if source/unit.cu, the text before it is rewritten, has no words of the CPU device's own.
bool inspect_source(const char* source, const char* shown_name, char* message, size_t message_size);

// Two preprocessed texts with their #define lines, and where a CUDA toolkit's headers are; NULL:
// none counts.
struct inspect_texts {
    const char* text;     // of the submission
    const char* alone;    // of its #include lines alone
    const char* toolkit;  // the folder, with / at its end
};

// True if the text keeps to the rules on headers and macros. source: out/source/unit.cpp, whose
// line n + 1 is line n of the submission.
bool inspect_includes(const char* source, const struct inspect_texts* texts, const char* shown_name,
                      char* message, size_t message_size);

// ---- for the files of the inspection

// The place of a refusal: what the file is called, and `size` bytes for the message.
struct inspect_place {
    const char* shown_name;
    char* message;
    size_t size;
};

// Writes "NAME:LINE: what is wrong with it". Always false.
bool inspect_refuse(const struct inspect_place* place, int line, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// May the character be part of a word of C, with g++'s $?
bool inspect_is_word(char c);

// True if `word` stands in `text` as a whole word.
bool inspect_has_word(const char* text, const char* word);

#endif
