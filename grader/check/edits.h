// edits.h: how far a file that was handed in is from the file that was given.
//
// Both are cut into sections: one begins at each line that begins with "// ---- ", the first at the
// beginning. Lines are compared as a reader sees them: blanks do not count, nor do empty lines and
// lines of comment alone. A comment behind code counts as code. So does a line of comment that ends
// with \ or follows one that does, or has the end of another comment in it: what it hides is not
// what it says.
//
//     const struct edits made = edits_of(given, text, size);
//     if (!made.same_sections) ...
//     if (made.lines[3] > 5) ...
#ifndef EDITS_H
#define EDITS_H

#include <stdbool.h>
#include <stddef.h>

enum { EDITS_SECTIONS = 32, EDITS_COLUMNS = 100, EDITS_MANY = 1000 };

struct edits {
    // Both files have the same lines "// ---- ", in the same order. If not, nothing else is set.
    bool same_sections;
    int sections;  // at most EDITS_SECTIONS
    // Lines of each section that differ: the fewest that have to be taken away, or the fewest that
    // have to be put in, whichever are more. A line put in counts once for each EDITS_COLUMNS
    // columns begun. EDITS_MANY or more if the section is that much longer than it was.
    int lines[EDITS_SECTIONS];
};

// given: the file as it was given, at most EDITS_SECTIONS sections of fewer than EDITS_MANY lines.
// text: the file that was handed in, `size` bytes, which may hold anything. `constants` is how the
// name of a constant begins: in a line "name = VALUE," with such a name the value does not count.
struct edits edits_of(const char* given, const char* constants, const char* text, size_t size);

// Writes the lines of a section that count to `to`, `room` bytes with the NUL: "- " and a line that
// is taken away, "+ " and one that is put in, in their order, each cut off after EDITS_COLUMNS
// columns. Lines that do not fit are left out. "" if the sections are not the same.
void edits_list(const char* given, const char* constants, const char* text, size_t size,
                int section, char* to, size_t room);

// The value of the constant `name`: copies VALUE of the first line "name = VALUE," of section 0.
// "" if there is none.
void edits_constant(const char* text, size_t size, const char* name, char* to, size_t room);

#endif
