// reach.h: does a kernel reach the end of its largest inputs? All their blocks would take hours, so
// on the CPU device only a few run: see cudev_run_few(). On a GPU all run, unless the arrays are
// shown by their ends alone.
//
//     static bool reached(struct check* c, const void* problem, int64_t n) {
//         const int64_t shown = check_shown(n);
//         check_case(c, "n = %lld", (long long)n);
//         ... declares arrays of the last `shown` elements, of which
//         if (shown < n) check_ends(c, y, 1, n);
//         ... fills
//         check_run_few_blocks(c);
//         check_run(c);
//         return check_end_is_right(y);
//     }
//     check_reaches(c, (int64_t)1 << 30, reached, &sizes);
#ifndef REACH_H
#define REACH_H

#include "check/check.h"

// Declares, fills and runs a case of `size` rows or columns: are its last results right?
typedef bool (*reached_fn)(struct check* c, const void* problem, int64_t size);

// More blocks than a fixed grid mostly has: a lesson runs all of so many rows, and some more, in a
// case of its own.
enum { REACH_WHOLE = 2200 };

// Runs cases of `size` rows or columns, more than 65536, and of fewer. The item fails if the last
// results are not right, though with smaller sizes they are: then it is the size that the kernel
// cannot do. The cause is wrapped_index if it can do a million; else grid_limit. It is not known
// which rows a block takes; a kernel whose last blocks have others than the last rows is not
// judged. A grid that does not grow any more has to go on: it is judged at twice the rows that it
// takes at once.
void check_reaches(struct check* c, int64_t size, reached_fn reached, const void* problem);

// The blocks that a launcher launches for the last size that its type can count, or a few less:
// rounded up to whole tiles it is more than that. The item fails as wrapped_index if they are not
// about as many as for a slightly smaller size. No kernel runs. Call it after check_reaches().
void check_reaches_limit(struct check* c, int64_t size, reached_fn reached, const void* problem);

// The same question of arrays with more elements than 32 bits can count, though none of the sizes
// is that large: `size` rows or columns make them so; `fewer`, a power of two, and up to twice as
// many do not. The item fails as wrapped_index if the last results are right with so many, and with
// `size` they are not. Call it after cases of small sizes. Not judged are a launcher that passes
// on the host's memory or copies what is large, one that launches anew for each part of the rows,
// and a grid that does not grow. If that does not come to an end, with `size` or with `fewer`, its
// blocks walk over what the size makes long. Blocks of a grid that grows with the size have as much
// to do with each: one that ends with `fewer` alone fails, too.
void check_indexes(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                   const void* problem);

// The same of a product, whose rows and columns both are `size`. Not judged is a grid, too, that
// grows in one direction alone: its blocks may walk in the other, and the last one elsewhere.
void check_indexes_of_both(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                           const void* problem);

// The same question of heads, or batches, of which a contract allows `size` and no more: the item
// fails as grid_limit.
void check_most(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                const void* problem);

// The same where blocks may stay and take one tile after the other, so that the grid does not grow:
// `reached` sees to it that each ends behind its first tile. Only those can be right then, so the
// last results have to be among them; where they are not, the kernel is not judged.
void check_first_indexes(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                         const void* problem);

// The same of a number that is a product of sizes, and no index: no part of the arrays lies beyond
// what 32 bits count, or another case is about how they are found. The grid is not looked at.
void check_products(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                    const void* problem);

// The same at the very end of what the size's type counts: with `size` the last tile ends behind
// it, with a few thousand less it does not. If it is wrong with both, `fewer` are asked, as by
// check_first_indexes(); 0: nobody asks. A case has `moment` CPU seconds: a kernel that is not done
// then is not judged.
void check_last_indexes(struct check* c, int64_t size, int64_t fewer, double moment,
                        reached_fn reached, const void* problem);

// Does the launcher pass pointers into the arrays to all of its kernels, where parts of one lie
// more than 2^31 elements behind each other? The item fails as wrapped_index if with `size` rows or
// columns it does not, and with `fewer` it does; or if there are more than twice as many blocks for
// a row with `size`: a number of elements has become negative. No kernel runs: for kernels that
// walk over what the size makes long. Pointers in a struct are not seen.
void check_begins(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                  const void* problem);

// Has a kernel that walks over `size` elements, more than 2^32, counted them in 32 bits? For a walk
// so long nobody waits: the case is stopped after a moment, and a kernel that is still under way is
// not judged. The item fails as wrapped_index if it is done by then, and the last element is not in
// the result, though of a smaller size it is, and of a sixteenth of `size`, which every index
// holds, it is not done. All blocks run.
void check_walks(struct check* c, int64_t size, reached_fn reached, const void* problem);

// Has the launcher asked for the product of the sizes in 32 bits, to find out whether there is
// anything to do? With `size` the product is a multiple of 2^32, or as an int below 0; with `fewer`
// it is neither. The item fails as wrapped_index if with `fewer` there is a launch, and with `size`
// none. No kernel runs.
void check_is_launched(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                       const void* problem);

// Has a grid for `size` rows or columns more blocks in y or z than there can be? No kernel runs:
// only where one has, the case is run, whose launch is refused.
void check_takes(struct check* c, int64_t size, reached_fn reached, const void* problem);

// The blocks that the launcher launches for a size, and those of its largest grid: no kernel runs.
int64_t check_blocks_at(struct check* c, reached_fn reached, const void* problem, int64_t size);
int64_t check_largest_grid_at(struct check* c, reached_fn reached, const void* problem,
                              int64_t size);

// How many rows of so many a case may show: all, or the last few thousand (check_ends()).
int64_t check_shown(int64_t size);

// In the running case few blocks run; or few, but of launches of less than 8 all: of a kernel that
// says something to the others; or, where a block takes long, the last one alone. Call it before
// check_run(), which ends the item as bad_launch if a launch is refused or the launcher does not
// return COURSE_OK.
void check_run_few_blocks(struct check* c);
void check_run_few_of_many(struct check* c);
void check_run_last_block(struct check* c);
void check_run_all_blocks(struct check* c);  // none is left out, and the rest likewise

// check_run() of the running case, of each launch of which one drawn block runs: for counts of a
// large grid in little time. Nobody can know which it is, and be cheap there alone. False if the
// program has crashed, or not ended, or has a finding.
bool check_run_one_block(struct check* c);

// The last numbers of an output, compared with want: right to a few bits?
bool check_end_is_right(const struct tensor* t);

#endif
