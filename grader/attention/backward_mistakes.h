// backward_mistakes.h: which known mistake gives exactly the gradients that a kernel gave.
#ifndef ATTENTION_BACKWARD_MISTAKES_H
#define ATTENTION_BACKWARD_MISTAKES_H

#include "attention/backward.h"
#include "check/hypothesis.h"

// lesson.explain() for a gradient that was found wrong.
enum cause backward_explain(struct check* c, const struct tensor* t, struct budget budget);

// lesson.explain() in lessons of two passes: forward_explain() for O and LSE; with a contract's
// rounded_weights, on tensor cores, fragment_explain() and backward_explain_products().
enum cause backward_or_forward_explain(struct check* c, const struct tensor* t,
                                       struct budget budget);

// backward_explain() for products on tensor cores. It also knows the cases where equal inputs have
// to give equal bits: a budget of 0 says that outputs are compared with each other.
enum cause backward_explain_products(struct check* c, const struct tensor* t, struct budget budget);

// Of an operand whose elements come from other places of its tile, or from another array.
enum cause backward_explain_operands(const struct suspect* s);

// Of queries that come from another head than the one whose keys they meet.
enum cause backward_explain_walks(const struct suspect* s);

// dK of some keys that have small weights alone came out as about 0, and should not; that of the
// others is right. No mask but the causal one, no groups; so the next one.
bool are_small_weights_lost(const struct suspect* s);

// Blocks take several tiles of rows, and the sums of a tile begin with those of the one before.
bool is_gradient_of_row_before(const struct suspect* s);

// No query sees a key if the diagonal is turned round: of N_q and N_k each stands where the other
// belongs. Nothing is left then that would tell this from another mistake; so it is looked at
// before what leaves out tiles.
bool is_all_behind_diagonal(const struct suspect* s);

// True if all elements are wanted times one factor near 1: P is relative to an LSE that is off by
// as much in all rows, as by another log2(e).
bool is_off_by_a_factor(const struct suspect* s);

// Where dV is wrong, its key counts for one query more, the last one that does not see it.
bool is_pair_behind_diagonal(const struct suspect* s);

// Is dK wrong beside a right dV, which is compared first; or dV beside a dK about right?
// Then the mask of both is right for one of them.
bool is_mask_of_one(const struct problem* p, const struct tensor* t);

// The cause, if it says that hidden pairs count; hidden_in_one, if they do in dV or dK alone.
enum cause backward_of_one(const struct suspect* s, enum cause cause);

// ---- for the lists of mistakes of both

struct suspect backward_suspect(struct check* c, const struct tensor* t, struct budget budget);

// For hypothesis.make(): guesses what w gives in place of the suspect. If the suspect is not
// finite, the guess has the overflows of a kernel. False, and no guess, if a few wrong rows rule it
// out.
bool backward_guess(const struct suspect* s, const struct backward* w, double* guess);

// Beside a number of 2^90 all others are as good as any: so if the suspect is not finite, each row
// of the guess has to be about the one that is there. Rows with numbers that are not finite, or not
// known, are not looked at.
bool backward_has_rows_of_size(const struct suspect* s, const struct backward* w,
                               const double* guess);

// hypothesis.make(): w.flaw is the struct backward_flaw of .like. Variants have more and fewer
// columns, if it has any.
bool backward_flawed(const struct suspect* s, const struct hypothesis* h, int variant,
                     double* guess);
#define FLAW(...) backward_flawed, .like = (&(const struct backward_flaw){__VA_ARGS__})

// Elements that are NaN or infinite.
int64_t backward_count_nonfinite(const struct tensor* t);

// True if t holds only zeros: then nothing was summed, and t proves nothing about the terms.
bool backward_is_zero(const struct tensor* t);

// The lists that come first with and without tensor cores.
extern const struct hypothesis backward_mistakes_in_equations[], backward_mistakes_in_mask[];

#endif
