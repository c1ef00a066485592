// rank.h: what is asked of an entry and a lesson, by look.c, collect.c and skipped.c. See class.h.
#ifndef CLASS_RANK_H
#define CLASS_RANK_H

#include "class/class.h"

// The first entry of a hand-in, or of the one of its group that has them; .next is the next.
int first_of(const struct class* class, int handin);

// Is it this text, but for the ends of its lines, and in UTF-16 perhaps?
bool is_text(const struct entry* e, const char* text, size_t size);

// Is it the exercise as it was handed out?
bool is_untouched(const struct class_lesson* l, const struct entry* e);

// Is a file of this name the lesson's? As file_fits(), or by the lesson's whole name.
enum fit fit_of(const struct class_lesson* l, const char* name, bool canvas);

// Does the path go through this folder?
bool goes_through(const char* path, const char* folder);

// How likely this entry is the one that the student means; 0 if it is not the file of this lesson.
// What was worked on (WORKED) counts more than the untouched exercise (UNTOUCHED), and that more
// than what lies in the course's solutions/ and grader/ and in saved/, what leads out of its
// archive, and an empty file. Then the right name counts, then the folder with the lesson's name,
// then few folders above the file.
enum { UNTOUCHED = 60, WORKED = 100 };
int rank_of(const struct class_lesson* l, const struct entry* e, int lesson, bool canvas);

// Does it lie where Finder and others put what is no file of the student's?
bool is_litter(const char* path);

// The lesson of the course whose file is called so, if this run does not grade it; else NULL.
const char* lesson_left_out(const struct class* class, const char* name);

// ---- template.c

// Finds the entries that are the course's own and that nobody worked on: of_template.
void find_template(struct class* class);

// ---- look.c

// What the hand-in has of each lesson. True if something can be taken.
bool look(const struct class* class, int handin, struct cell cell[LESSONS],
          struct entry* entry[LESSONS]);

// Of a cell without work: says what else of the row's hand-ins may have been meant for it.
// `nothing`: nothing of theirs counts for any lesson.
void say_meant(const struct class* class, int row, int lesson, bool nothing, struct cell* c);

// Are these the same bytes?
bool is_same(const struct entry* a, const struct entry* b);

// Adds to a text that has so much room.
void add_text(char* text, size_t size, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// " of 2026-11-20 12:00"; "" of no time.
void say_time(int64_t time, char text[40]);

#endif
