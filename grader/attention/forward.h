// forward.h: the cases of the lessons that compute O and LSE, and what explains a wrong one.
#ifndef ATTENTION_FORWARD_H
#define ATTENTION_FORWARD_H

#include "attention/problem.h"

// ---- reference (forward_reference.c)

// O and LSE by definition, with two passes over the scores of a row. They are computed in fp64.
// With `single` every operation is rounded to fp32, which gives the standard that sets the budget
// (a sum or product of floats, computed in fp64, rounds to what fp32 arithmetic gives). On tensor
// cores (bf16) P is rounded to bf16, too, for the product with V. O and LSE have as many elements
// as their tensors.
void forward_reference(const struct problem* p, bool single, double* O, double* LSE);

// The same of one query alone: its row of O, d elements, and its LSE.
void forward_reference_row(const struct problem* p, bool single, int64_t b, int64_t h, int64_t i,
                           double* o, double* LSE);

// ---- data

// Fills Q, K and V with normal random numbers, also between the rows unless there is p->nan_gaps.
void forward_fill(struct problem* p);

// Puts the same number into column x of every row of an array.
void set_column(struct problem* p, enum which a, int64_t x, double value);

// Adds about `level` to the scores of key j of batch 0 and head 0, by column 0, where Q holds a 1.
void set_level(struct problem* p, int64_t j, double level);

// Makes key j + N_k / 2 key j again, off by normal numbers of deviation `apart`; adds `common` to
// the values of one and subtracts it from those of the other. Batch 0, head 0.
void spread_keys(struct problem* p, double common, double apart);

// Fills Q and K with integers of -2 .. 2, and their columns 0 with q and k: fp32 holds even large
// scores exactly.
void forward_integers(struct problem* p, double q, double k);

// ---- cases

// Starts a case that is named by its sizes and `what`, with arrays in this layout: Q, K and V hold
// random numbers.
void forward_begin(struct problem* p, enum layout layout, const char* what);

// Sets want and untouched of O and LSE of the selected call, and returns the budgets of both, which
// come from the same precision: see forward_reference().
struct forward_budgets {
    struct budget O, LSE;
};
struct forward_budgets forward_want(struct problem* p);

enum { JUDGE_O = 1, JUDGE_LSE = 2 };  // or both, JUDGE_O | JUDGE_LSE

// Compares outputs of the selected call, and those of the contract's judge_more().
void forward_judge(struct problem* p, int what);

// Runs the case, and judges it.
void forward_run(struct problem* p, int what);

// All in one: a case of random numbers.
void forward_case(struct problem p, enum layout layout, const char* what, int judged);

// Arrays of layout FAR, if this machine has addresses for them. Comes after a case with GAPS: what
// fails there is of another kind.
void forward_case_far(struct problem p);

// Scores of 30 times the usual size, by a scale that is NOT_OF_16_BITS.
void forward_case_large(struct problem p, const char* what);

// Scores grow from key to key: by `step` after every `keys` keys.
void forward_case_growing(struct problem p, enum layout layout, const char* what, int64_t keys,
                          double step);

// Q and K as forward_integers() fills them.
void forward_case_integers(struct problem p, const char* what, double q, double k);

// Scores are 0, and V holds whole numbers: large ones in the first half of the keys, large negative
// ones in the second. So sums on the way are far larger than O. O is a number of 16 bits, from 1 to
// 2: who divides on the way, in fp32, has the same. A few keys have the weight 0, so that l is a
// power of two; with a mask those are among them that not all queries see.
void forward_case_exact(struct problem p);

// Each array in turn begins at no multiple of the next larger unit, and the others do: 4 bytes, of
// LSE 8. Both outputs need memory, and their numbers do not count.
void forward_misaligned(struct problem p);

// Key j + N_k / 2 is nearly key j again, and their values are large and all but cancel: O is made
// of the differences of their weights.
void forward_case_cancel(struct problem p);

// Two keys have scores of 14.2 and 13.2, all others 0: a weight that fp16 hardly holds, but with
// values so large that a part of O is made of them.
void forward_case_tail(struct problem p);

// Three keys of four have the same weight and whole numbers of 33 to 63 as values, the others the
// weight 0: sum and l are exact, O is their quotient, rounded once. N_k is a multiple of 4.
void forward_case_divided(struct problem p);

// All values are 1: O is 1, unless the weights that multiply V are on the whole smaller than those
// that l sums.
void forward_case_ones(struct problem p);

// All values are 1. The keys that weigh are the first or the last ones, in turns from row to row,
// and one between them, whose score is above: whichever way they are walked, half of the rows have
// nearly all of l multiplied by an alpha that bf16 rounds by 0.4 %. N_k is 384 or more.
void forward_case_ones_grown(struct problem p);

// Keys and values of about 2^-14: of fp16, most are subnormal, and so is O. A large Q and a scale
// of 16 times the given one make scores of a usual size.
void forward_case_small(struct problem p);

// One key has a score 20 above all others, and a value of 0: O is what the others weigh. A few
// 1e-9, with values of tens of thousands. N_k is 512.
void forward_case_faint(struct problem p);

// Key 150 has a score of level ln 2 in half of the rows, and all other scores are 0: whether tiles
// of 128 keys are walked forwards or backwards, it is not in the first one. Of neighbours, and of
// two rows of a lane, 8 apart, it is one. N_k is 384 or more. V is normal numbers times `value`.
void forward_case_jump(struct problem p, double level, double value);
// The same of one row of 16 alone, the second one of its lane, and values of 1 times.
void forward_case_jump_of_second(struct problem p, double level);

// Rows have levels of their own: of neighbours, and of two rows of a lane, 8 apart, one has scores
// that are 100 below those of the other.
void forward_case_two_levels(struct problem p);

// 16 keys behind the first tile have scores above all others, by a level in base 2 of their row's
// own, from 112 to 127, and values of tens of thousands: who lets the running maximum lag behind
// sums up more than fp32 holds. N_k is 256 or more, 384 where tiles are walked backwards.
void forward_case_rising(struct problem p);

// Many tiles, and the maximum moves a little in each: who leaves out a rescale that is nearly 1,
// though the maximum moves on, is off by all of them together. N_k is thousands.
void forward_case_slow(struct problem p);

// One batch and head. All keys but the last 128 have scores `level` in base 2 above those, and all
// values are `value`: what is summed relative to the last keys becomes large.
void forward_case_many_above(struct problem p, double level, double value);

// The last key has a score of 300 in every other row, whose other scores are ordinary; in the other
// rows all scores are 0. What exp is relative to has to be the maximum of its own tile, too.
void forward_case_late_maximum(struct problem p);

// One batch and head. In every other row the first and the last key have all the weight: whichever
// way they are walked, the tiles between have maxima far below m. In the other rows all keys have
// the same. N_k is more than two tiles.
void forward_case_falling(struct problem p);

// The last key has all the weight, and the score 0: l is 1 and LSE is 0, exactly.
void forward_case_one_weighs(struct problem p);

// The same with the first key: the maximum never grows.
void forward_case_first_weighs(struct problem p);

// Scores near 300, near -300 and of the usual size, in turns from row to row: LSE is of any size.
void forward_case_far_levels(struct problem p);

// All scores are `level`, a power of 2 that is negative, in every other row: the running maximum
// has to begin below. It is -2^127 at most, which is finite in base 2, too.
void forward_case_below(struct problem p, double level);

// All scores are 300 in every other row, and 0 in the others: each row has to have its own maximum.
void forward_case_apart(struct problem p);

// All rows are ordinary; those in the middle, half of all, have scores 200 above those of the first
// and of the last quarter: a block that stays, whichever way it goes, takes rows for which the
// largest score of the rows before is far too large. V has no level.
void forward_case_sinking(struct problem p);

// The same where the running maximum is one of products, before the scale: of -2^126, scale 2. For
// bf16, which holds 2^63.
void forward_case_products_below(struct problem p);

// Few keys have most of the weight, and the last key is among them. One batch, one head.
void forward_case_long(struct problem p);

// ---- items that several lessons have

// Three calls with new data in the same arrays. fill() sets the inputs of a call; NULL:
// forward_fill(). The case is called `name` and what it is about.
void forward_again(struct problem p, const char* name, void (*fill)(struct problem* p, int round));

// The same queries and no key, with GAPS: who fills O as one piece of memory fills them, too.
void forward_no_keys(struct problem p);

// problem_on_two_devices() of this pass.
void forward_on_two_devices(struct problem p, const char* first, int status);

// A call of p after three others in the same arrays: `first`, none of whose sizes is above p's, the
// same with p's d, and with p's mask, too: for each a kernel may be another instance. fill() as for
// forward_again().
void forward_case_after(struct problem p, struct problem first,
                        void (*fill)(struct problem* p, int round));

// Two calls of p in the same arrays, the first one packed: what was made for its strides is of no
// use for those of the second. B > 1, H > 1.
void forward_case_moved(struct problem p);

// One key and scale = 0: O is V, l is 1 and LSE is 0.
void forward_case_one_key(struct problem p);

// A case in which the launcher has nothing to do. Arrays without elements are NULL.
void forward_idle(struct problem p, const char* name);

// An ordinary case, and one with_unused_strides() and an LSE that is aligned to 4 bytes alone;
// forward_idle() without queries, without heads and without batches; problem_refused(),
// problem_too_many_heads(), problem_many_keys() and problem_launches_fail().
void forward_arguments(struct problem p, const struct idle_call* bad);

// N_q queries of one head and 4096 keys: what is kept of a query's scores shows, see
// problem_traffic().
void forward_kept(struct problem p);

// The same of N_k keys, 2^14 or more, which are read for a tile of 8 queries at a time, and by no
// warp again. The cases before this one have few keys: there a block may keep all scores of its
// rows, and needs no online softmax. Here they are more than its shared memory and the local arrays
// of all its threads may be together. Returns the traffic.
const struct arena_traffic* forward_long_rows(struct problem p, int64_t N_k);

// The bytes of K and V that a case loads: all but one read of Q. Fails as problem_traffic().
double forward_loads(struct problem p);

// A case whose products, both, must be made by mma.sync (tensor_cores.c), and its traffic. N_k >=
// N_q with a mask; one batch and one head, if the contract has follow_more(). Both outputs are
// judged.
const struct arena_traffic* forward_by_mma(struct problem p);

// For follow_more() of a contract: P of query i of the first head as the altered run makes it, of
// the keys that the query sees. Returns by which part of itself an element may be off.
double altered_weights(const struct problem* p, int64_t i, double* P);

// ---- what the student most likely did (forward_mistakes.c, online_mistakes.c, fragments.c)

// lesson.explain(): for any kernel; for the online softmax without masks and heads (lesson 12); and
// for one with tensor cores.
enum cause forward_explain(struct check* c, const struct tensor* t, struct budget budget);
enum cause online_explain(struct check* c, const struct tensor* t, struct budget budget);
enum cause fragment_explain(struct check* c, const struct tensor* t, struct budget budget);

#endif
