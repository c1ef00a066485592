// backward_cases.h: the cases of the lessons that compute gradients: data, the comparison, and
// whole cases that several lessons have. The contract of every problem here has `backward`.
#ifndef ATTENTION_BACKWARD_CASES_H
#define ATTENTION_BACKWARD_CASES_H

#include "attention/problem.h"

// ---- the parts of a case

// Random inputs in the round that is selected: rows of mean 0 and standard deviation 1, O is still
// to be computed. Between the rows is NaN, in O a number that is wrong: delta would be NaN for
// every mistake.
void backward_fill(const struct problem* p);

// New rows of another size in one input.
void backward_fill_rows(const struct problem* p, enum which a, double deviation);

// Computes O and LSE of the round that is selected, unrounded: they are inputs of this pass.
void backward_forward(const struct problem* p);

// Computes what is wanted in the round that is selected, and the budgets, and compares dV, dK and
// dQ, in this order: a mistake in P shows in all three, one in dS in two.
void backward_judge(const struct problem* p);

// backward_forward(), check_run() and backward_judge().
void backward_run(const struct problem* p);

// ---- whole cases. All have random data, and where no layout is passed packed arrays.

void backward_case(struct problem p);

// With a layout, and `what` as the end of its name.
void backward_case_named(struct problem p, enum layout layout, const char* what);

// As small as the gradients can be tested at, which is done: see backward_test().
void backward_case_tested(struct problem p);

// Nothing is left to do, since some size is 0; or only zeros are to be written.
void backward_case_empty(struct problem p);

// The same without batches, without queries, and without keys.
void backward_cases_empty(struct problem p);

// P is nearly one-hot.
void backward_case_large_scores(struct problem p);

// All scores are near the level. Near -130 exp(0 - LSE) is infinite: a key that does not exist must
// not count, not even times 0. One batch, one head.
void backward_case_level(struct problem p, double level);

// dP is out of fp16's range.
void backward_case_large_dP(struct problem p);

// dV sums numbers that cancel: for the first n queries of head 0, query i + shift of `head` is
// query i again, with another sign in what its dO has in common with all others, a number of size
// `common`.
void backward_case_cancel(struct problem p, int64_t n, int64_t head, int64_t shift, double common);

// 2 to 4 calls with new data in the same arrays. change(), if it is not NULL, may change other
// inputs of a round first.
void backward_case_again(struct problem p, int calls,
                         void (*change)(const struct problem* p, int round));

#endif
