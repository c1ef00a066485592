// backward_mistakes.h: which known mistake gives exactly the gradients that a kernel gave.
#ifndef ATTENTION_BACKWARD_MISTAKES_H
#define ATTENTION_BACKWARD_MISTAKES_H

#include "attention/backward.h"
#include "check/hypothesis.h"

// lesson.explain() for a gradient that was found wrong.
enum cause backward_explain(struct check* c, const struct tensor* t, struct budget budget);

// The same in lessons of two passes: for O and LSE it is forward_explain().
enum cause backward_or_forward_explain(struct check* c, const struct tensor* t,
                                       struct budget budget);

// backward_explain(), where the products are made by tensor cores; and where equal inputs have to
// give equal bits: a budget of 0 says that outputs are compared with each other.
enum cause backward_explain_products(struct check* c, const struct tensor* t, struct budget budget);

// ---- for the lists of mistakes of both

struct suspect backward_suspect(struct check* c, const struct tensor* t, struct budget budget);

// For hypothesis.make(): guesses what w gives in place of the suspect. With the overflows of a
// kernel, if the suspect is not finite. Always true.
bool backward_guess(const struct suspect* s, const struct backward* w, double* guess);

// Elements that are NaN or infinite.
int64_t backward_count_nonfinite(const struct tensor* t);

// Nothing was summed: that proves nothing about what would have been summed.
bool backward_is_zero(const struct tensor* t);

// The lists that come first with and without tensor cores.
extern const struct hypothesis backward_mistakes_in_equations[], backward_mistakes_in_mask[];

#endif
