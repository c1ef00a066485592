// rank.h: what collect.c and skipped.c ask of an entry and a lesson. See class.h.
#ifndef CLASS_RANK_H
#define CLASS_RANK_H

#include "class/class.h"

// The first entry of a hand-in, or of the one of its group that has them; .next is the next.
int first_of(const struct class* class, int handin);

// Is it the exercise as it was handed out, but for the ends of its lines?
bool is_untouched(const struct class_lesson* l, const struct entry* e);

// Is a file of this name the lesson's? As file_fits(), or by the lesson's whole name.
enum fit fit_of(const struct class_lesson* l, const char* name, bool canvas);

// Does the path go through this folder?
bool goes_through(const char* path, const char* folder);

// How likely this entry is the one that the student means; 0 if it is not the file of this lesson.
// What was worked on counts more than the untouched exercise, and that more than what lies in the
// course's solutions/ and in saved/. Then the right name counts, then the folder with the lesson's
// name, then few folders above the file.
int rank_of(const struct class_lesson* l, const struct entry* e, int lesson, bool canvas);

// Does it lie where Finder and others put what is no file of the student's?
bool is_litter(const char* path);

// The lesson of the course whose file is called so, if this run does not grade it; else NULL.
const char* lesson_left_out(const struct class* class, const char* name);

#endif
