// backward_cases.h: the cases of the lessons that compute gradients: data, the comparison, and
// whole cases that several lessons have. The contract of every problem here has `backward`.
#ifndef ATTENTION_BACKWARD_CASES_H
#define ATTENTION_BACKWARD_CASES_H

#include "attention/problem.h"

// ---- the parts of a case

// Random inputs in the round that is selected: rows of mean 0 and standard deviation 1, O is still
// to be computed. Between the rows stand wrong numbers, or with p->nan_gaps NaN, but not in O: with
// a NaN there delta would be NaN for every mistake.
void backward_fill(const struct problem* p);

// After backward_fill(): pairs of equal keys of the first head, `apart` from each other, whose
// values are large, `common`, and of opposite signs. So the sums for dQ cancel, and show their
// order.
void backward_spread_keys(struct problem* p, double common, double apart);

// New rows of another size in one input.
void backward_fill_rows(const struct problem* p, enum which a, double deviation);

// Computes O and LSE of the round that is selected, unrounded: they are inputs of this pass.
void backward_forward(const struct problem* p);

// Computes what is wanted in the round that is selected, and the budgets, and compares dV, dK and
// dQ, in this order: a mistake in P shows in all three, one in dS in two.
void backward_judge(const struct problem* p);

// backward_forward(), check_run() and backward_judge().
void backward_run(const struct problem* p);

// Cases whose products must be made by mma.sync (tensor_cores.c). The
// first, and its traffic, has large Q and K, and asks for Q K^T and the products with dS; the
// second has large dO and V, and asks for the others. N_k >= N_q. The gradients are judged.
const struct arena_traffic* backward_by_mma(struct problem p);
void backward_by_mma_of_dO(struct problem p);

// backward_run(), or of a contract without `backward` forward_run(p, what).
void backward_or_forward_run(struct problem* p, int what);

// ---- lengths

// low..high, but no multiple of `of`.
int64_t pick_ragged(struct check* c, int64_t low, int64_t high, int64_t of);

// Numbers of queries and of keys, in pairs. The first are multiples of 8: there elements from wrong
// places can be recognised. The others are multiples of nothing.
enum { LENGTHS = 5 };
void pick_lengths(struct check* c, int64_t N_q[LENGTHS], int64_t N_k[LENGTHS]);

// backward_case() of one of these pairs: one has NaN between its rows, and one has d = 128.
void backward_case_of_length(struct problem p);

// ---- whole cases. All have random data, and where no layout is passed packed arrays.

void backward_case(struct problem p);

// The same, but only what the kernel accesses counts: of a watched case whose results are another
// item's.
void backward_accesses(struct problem p);

// With a layout, and `what` as the end of its name.
void backward_case_named(struct problem p, enum layout layout, const char* what);

// Some arrays begin at no multiple of 4 bytes, and the others do; then the others. Of arrays that
// are treated alike (K and V, Q and dO, O and dO, dK and dV) one is among the first.
void backward_misaligned(struct problem p);

// Arrays of layout FAR, as forward_case_far().
void backward_case_far(struct problem p);

// A case small enough for backward_test(), which tests its gradients.
void backward_case_tested(struct problem p);

// Some size is 0: the launcher has nothing to do, or only zeros to write. Arrays without elements
// are NULL.
void backward_case_empty(struct problem p);

// backward_case_empty() without batches; without queries, and without keys, with a mask, too.
void backward_cases_empty(struct problem p);

// dQ and dK show how often they are rounded: all sums are exact in fp32. The keys that are seen by
// all queries, a power of two of them, have the score 0, and the others no weight; with a mask
// there are N_k - N_q of the first. Whole numbers in V cancel. The scale is 3/32: no power of two,
// and dS is exact in 16 bits with this factor, too.
void backward_case_rounded_once(struct problem p);

// Q has the columns before half alone, and K those behind: all scores are 0, and all weights 1 /
// N_k. What rounds them too early has the same error in all of dS, and so in dQ and dK.
void backward_case_alike(struct problem p);

// P is nearly one-hot.
void backward_case_large_scores(struct problem p);

// Scores grow by 1/16 from key to key: what the causal mask hides would have more weight than what
// is seen. One batch, at most 256 keys.
void backward_case_growing(struct problem p);

// The same, so fast that a key more than a row sees has most of its weight. For N_k = N_q + 126:
// the first row of each tile of queries lacks one key of a whole tile of keys.
void backward_case_one_key_less(struct problem p);

// All scores are near the level. Near -130 exp(0 - LSE) is infinite: a key that does not exist must
// not count, not even times 0. One batch, one head.
void backward_case_level(struct problem p, double level);

// All scores are -2^103, about -1e31: a row that sees a key has any finite LSE. N_k is 1, so that
// dV is a sum of whole numbers, and dQ and dK are 0.
void backward_case_lowest(struct problem p);

// In fp16 elements of all gradients are too large, and so infinite; the others are 0. d > 1.
void backward_case_too_large(struct problem p);

// dP is out of fp16's range.
void backward_case_large_dP(struct problem p);

// All keys but one have weights of e^-20, and values far above what fp16 would lose beside that:
// dQ and dK are made of these. At least 4 keys.
void backward_case_faint(struct problem p);

// dQ sums numbers that cancel: of the first N_k / 2 keys and the others, as spread_keys() makes
// them. One batch, one head.
void backward_case_cancel_keys(struct problem p, double common, double apart);

// dV sums numbers that cancel. For the first n queries of head 0, query i + shift of `head` has the
// same Q as query i, off by normal numbers of deviation `apart`. `common` is added to the dO of the
// first, and subtracted from the dO of the second.
void backward_case_cancel(struct problem p, int64_t n, int64_t head, int64_t shift, double common,
                          double apart);

// First a case of one group of heads, whose atomic operations are counted, and in which what blocks
// add has an order. Then all heads of p read the same inputs: they must give the same bits. The
// terms of a query's dQ cancel, so that the order of the sum shows; it should see keys of at least
// three tiles: two addends have none. One batch.
void backward_case_repeatable(struct problem p);

// The same of dK and dV alone, whose terms of the first `tile` queries and of the next ones cancel:
// the order of the tiles shows, if there is one more at least. One batch.
void backward_case_heads_alike(struct problem p, int64_t tile);

// Many keys, then many queries, of d = 7: memory for each pair of both shows, see
// problem_traffic(). The item is watched from here on.
void backward_kept(struct problem p);

// 2 to 4 calls with new data in the same arrays. change(), if it is not NULL, may change other
// inputs of a round first.
void backward_case_again(struct problem p, int calls,
                         void (*change)(const struct problem* p, int round));

// problem_on_two_devices() of this pass; without wgmma also with CARD_NEWER.
void backward_on_two_devices(struct problem p, const char* first, int status);

// A call of p after three others in the same arrays: `first`, none of whose sizes is above p's, the
// same with p's d, and with p's mask, too: for each a kernel may be another instance.
void backward_case_after(struct problem p, struct problem first);

// Two calls of p in the same arrays, the first one packed: what was made for its strides is of no
// use for those of the second. B > 1, H > 1.
void backward_case_moved(struct problem p);

#endif
