// result.h: one grade. Everything that is shown or exported is a view of this, with one total.
//
// As JSON (version 1; lessons/README.md has an example):
//   version, lesson, file, device, isolation, seed, score, max_score, complete, fingerprint,
//   submission, grading, idea, message, items[] {name, points, max_points, outcome, seconds, idea,
//   message, cause, sentence, findings[] {kind, words, file, line, caller, accesses[] {verb,
//   plain, who, function, line, caller}, kernel, launch, next}} (base/finding.h)
// A result that was saved before there were findings has none.
// outcome is "pass", "fail" or "error" ("error": the grader's fault, not in the student's code).
#ifndef RESULT_H
#define RESULT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>

#include "base/finding.h"

// GRADING_VERSION: which points a lesson's items give (lessons/IDEAS.md, Earlier grades). A result
// without it has version 1.
enum { RESULT_VERSION = 1, GRADING_VERSION = 2, RESULT_ITEMS = 32 };

// A line of a message, behind that of its case: the item's own calls were not reached.
#define RESULT_ORDINARY "already this ordinary call fails, before what the item is about\n"

// An exercise says this where something is to be written.
#define RESULT_STUB "your code goes here"
#define RESULT_LATER ": 2nd half: "  // what follows it in a gap that works as it is

enum outcome { OUTCOME_ERROR, OUTCOME_FAIL, OUTCOME_PASS };

// The outcome of make debug or make profile for an item: no case for them, a case, or a program
// that failed.
enum visit { VISIT_NONE, VISIT_DONE, VISIT_FAILED };

struct result_item {
    char name[80];
    int points, max_points;
    enum outcome outcome;
    double seconds;
    char message[6144];  // what was found, several lines; empty if passed
    int finding_count;   // of the CPU device's findings that the message tells
    struct finding_values finding[FINDINGS];
    char cause[32];      // an id of check/cause.h; empty if passed
    char sentence[160];  // the cause in words
    char array[32];      // the output that was compared and wrong, if one was; not part of the JSON
    char tested[160];    // the case that began last, by its name; likewise
    char first[256];     // "O[3] is 1, expected 2": its first wrong element; likewise
    struct {
        int call, size;  // from 0; bytes, 0: there is none
        int64_t byte;    // behind the first of the array in this call
    } place;             // of that element; likewise
    int line;            // of the file, which the message names in words, 0: none; likewise
    double spent;        // of the time that its runs have; not part of the JSON
    bool idea;           // it pays for the idea of the lesson
    bool safe;           // passed, watched for races and stray accesses; likewise
    int broken;          // a promise of the contract that was not kept (check/), 0: none; likewise
    int rank;            // of its cause: enum cause_rank (check/cause.h); likewise
    bool counted;        // failed by a count, whose lines make profile tells; likewise
    bool profiled;       // it has a case that make profile takes; likewise
    enum visit visit;    // likewise
    bool own_words;      // its message says more than others with its cause; likewise
    bool missing;        // nothing is there, which the cause says as well; likewise
    bool unbegun;        // nothing was made of an output yet, and the file says where; likewise
    // Its outcome depends on what items before had shown: that accesses are safe; that a promise
    // was broken. Likewise.
    bool asked_safe, asked_broken;
};

struct result {
    char lesson[64];       // "12_flash_forward"
    char file[512];        // as the student named it
    char device[128];      // "cpu (2 cores)", "cuda (NVIDIA H200)"
    char card[16];         // CARD=; "" without. It is not saved: `device` names the card
    char isolation[128];   // "bubblewrap"
    char seed[24];         // replays the data: make grade SEED=...
    char fingerprint[65];  // SHA-256 of cases, contract and grader
    char submission[65];   // SHA-256 of the file
    char idea[160];        // of the lesson, in words; empty if it is the right answer itself
    char message[512];     // why nothing could be graded, one line; empty otherwise
    char compiler[8192];   // and what the compiler said to it; in the JSON both are "message"
    bool complete;         // every item was graded (no CASE=)
    bool text;             // the file is read, nothing is run; not part of the JSON
    int begin;             // the first line with RESULT_STUB, 0: none; not part of the JSON
    int score, max_score;
    int item_count;
    struct result_item item[RESULT_ITEMS];
};

const char* outcome_name(enum outcome outcome);

// The line of a file's text, which may be NULL, that says RESULT_STUB first; 0: none does. A gap
// with right and slow code in it, of the second half of lesson 14, is not missing.
int result_begin(const char* text);

// Sets score and max_score from the items.
void result_total(struct result* r);

// Were all items graded, and has the file no points yet and a gap that is still empty? What fails
// follows from that.
bool result_is_unbegun(const struct result* r);

// The item that a student mends first; NULL if none failed. Wrong answers come before costs, and
// questions that are still without an answer come last; of wrong answers those of which the cause
// is known come first. Among equals it is the first item with the most frequent cause; but a
// barrier that is counted wrongly comes before what it does not order. Of a file that is not begun
// it is the first that fails; where only some were graded, the first that says where to begin.
const struct result_item* result_first_to_mend(const struct result* r);

// Where "x.cu:12" stands in the text, for the file of the result; NULL: nowhere. *n: its length.
// The line of a launch counts only where no other is named.
const char* result_place(const struct result* r, const char* text, size_t* n);

// The result as JSON text, ending with a newline; the caller frees it. NULL if out of memory.
char* result_to_json(const struct result* r);

// Prints the result for scripts, in two lines:
//     SCORE MAX ERRORS CAUSE,CAUSE... ITEM|ITEM...
//     SEED
// ERRORS is the number of items that ended with an error of the grader. The causes, each once ("?":
// no cause is named), and the names belong to the items that did not pass; "-" if all passed.
void result_print_verdict(const struct result* r, FILE* to);

// Prints the result for editors (problems.c), as compilers write what they find:
//     FILE:LINE:COLUMN: error: WORDS [cause]; item "NAME" and 3 more
// The errors are the compiler's messages, which stand in `compiler` (NULL: none), findings and
// causes. "warning": of the compiler, or a fault of the grader; "note": another line of the same
// finding. LINE is 1 where none is known.
void problems_print(const struct result* r, const char* compiler, FILE* to);

// Reads what result_to_json() wrote, or what says so: every text of *r is plain (base/plain.h).
// False if it is not a result of this version.
bool result_from_json(const char* text, struct result* r);

// ---- the text a student reads (text.c). Colours only if `colour`.

// Prints text, each line indented, and nothing a terminal would obey: compilers and programs repeat
// what a student's file says.
void text_print(FILE* to, const char* indent, const char* text);

// Prints a sentence in the same way: a message that repeats a student's bytes (names of files,
// words of a compiler).
void text_say(FILE* to, const char* format, ...) __attribute__((format(printf, 2, 3)));
void text_vsay(FILE* to, const char* format, va_list values) __attribute__((format(printf, 2, 0)));

// Writes " FILE='name'" into text: to a shell it is one word, whatever the name is.
void text_file_option(const char* name, char* text, size_t size);

void text_begin(const struct result* r, bool colour);
// The item with this index. It is short if an earlier item with the same cause was shown in full,
// unless it has words of its own.
void text_item(const struct result* r, int index, bool colour);
// log: the path of the full log; unchecked: what was not checked here, one sentence a line.
void text_end(const struct result* r, const char* log, const char* unchecked, bool colour);

#endif
