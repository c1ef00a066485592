// hypothesis.h: would this mistake have given these outputs?
//
// A lesson lists the mistakes it knows. For each one a function makes the numbers that a kernel
// with this mistake would have left in the output that was found wrong, and one comparer says
// whether they are there. A check.c that needs nothing but a list sets lesson.mistakes:
//
//     static bool other_factor(const struct suspect* s, const struct hypothesis* h, int variant,
//                              double* guess) {
//         const struct vectors* v = s->problem;  // as check_describe() was told
//         for (int64_t i = 0; i < v->n; i++) guess[i] = (1 + variant) * v->x->value[i];
//         return true;
//     }
//     static const struct hypothesis mistakes[] = {
//         {CAUSE_scale_ignored, other_factor, .variants = 2},
//         {0},
//     };
//
// A check.c that also reasons about its outputs in other ways has an explain(). It calls
// hypothesis_search() with lists, slack and order of its own.
#ifndef HYPOTHESIS_H
#define HYPOTHESIS_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>

#include "check/check.h"

// A guess for an element that may hold anything: several blocks write it, say. Of a guess at least
// an eighth must be something else.
#define ANYTHING DBL_MAX
// A guess for an element that is not written. (NaN fits one that is written and NaN, too.)
#define NOT_WRITTEN (-DBL_MAX)

// By how much an element may differ from a guess, and when a guess proves anything. All zero: the
// budget, and one element that the mistake makes wrong.
struct slack {
    // On top of the budget: shares of the largest finite number of the guess, and of the element's
    // own guess. A mistake may give far larger numbers than are wanted; their own rounding is no
    // evidence.
    double of_largest, of_element;
    // For mistakes that show by little more than the budget, if it is not 0: the guess is evidence
    // if sum |got - guess| is below this share of sum |got - want|.
    double unexplained;
    // For mistakes that show in few elements by little more than the budget: the guess is evidence,
    // too, if those where it is off by more than half of it are, summed up, four times nearer to
    // the guess than to what is wanted.
    bool of_few;
    // A NaN of the guess has to be there, but it is no evidence: many mistakes give one.
    bool nan_proves_nothing;
};

// An output that was found wrong, and everything that make() may look at. Owned by the caller.
struct suspect {
    const struct tensor* tensor;
    struct budget budget;
    struct slack slack;
    const void* problem;  // the lesson's own: sizes, inputs
};

// One mistake.
struct hypothesis {
    enum cause cause;
    // Fills guess, s->tensor->count elements, with what a kernel with mistake h would have left.
    // Each is NaN at first: never written. variant is 0 .. h->variants - 1. Returns false if this
    // variant does not exist here, or cannot be it: see hypothesis_refuted().
    bool (*make)(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);
    int variants;      // tile sizes, row lengths, sets of strides; 0 is one
    const void* like;  // whatever make() has to know about this mistake, constant
};

// For .like: a constant of this struct.
#define LIKE(type, ...) (&(const struct type){__VA_ARGS__})

enum fit {
    FIT_NONE,   // some element is not what the guess says
    FIT_RIGHT,  // all are, but the guess is what is wanted: the mistake does not show here
    FIT_SHOWN,  // all are, and something else is wanted: this may be the mistake
};

// The one rule by which an output is like a guess. The guess for an element is
//   NaN: the element is NaN, or was never written, or must not be written and is not;
//   NOT_WRITTEN: the element was never written, or must not be written and is not;
//   infinite: the element is the same;
//   any other number: the element differs from it by at most budget.max and the slack.
// The guess is evidence if it is not what is wanted. Either only one of the two numbers is NaN or
// infinite, or they differ by more than budget.max and the slack, and the elements are nearer to
// the guess, summed up. With slack.unexplained, sums decide about such a difference, if the guess
// itself takes more than half of a budget. guess has t->count elements. The round that is selected
// is compared.
enum fit hypothesis_fit(const struct tensor* t, const double* guess, struct budget budget,
                        struct slack slack);

// True if one element of the guess rules the hypothesis out; make() may stop there and return
// false. With a slack.of_largest one element cannot decide this: the result is false.
bool hypothesis_refuted(const struct suspect* s, int64_t element, double guess);

// The most by which an element differs from its guess where a guess fits, besides slack.of_element:
// known before the guess is, since its largest number has to be about that of the output. So a few
// elements rule most guesses out. ..._within(): true if this element does, with that number; for
// guesses that are neither ANYTHING nor NOT_WRITTEN.
double hypothesis_reach(const struct suspect* s);
bool hypothesis_refuted_within(const struct suspect* s, int64_t element, double guess,
                               double reach);

// The cause of the first mistake in the list, which ends with {0}, that fits and shows; or
// CAUSE_NONE. hypothesis_search() tries all variants of one mistake, then the next mistake;
// hypothesis_search_variants() variant 0 of all mistakes, then variant 1.
enum cause hypothesis_search(const struct suspect* s, const struct hypothesis* list);
enum cause hypothesis_search_variants(const struct suspect* s, const struct hypothesis* list);

#endif
