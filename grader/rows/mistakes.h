// mistakes.h: what known mistakes leave in the two numbers that a kernel writes for each row. For
// hypothesis lists whose problem is a batch:
//
//     PAIR(stride_ignored, 1, rows_packed),
//     PAIR(inner_tail, 14, rest_dropped),
#ifndef ROWS_MISTAKES_H
#define ROWS_MISTAKES_H

#include "rows/batch.h"

// What stands in out[0] and out[1] for a row; ANYTHING if nobody knows.
struct pair {
    double number[2];
};

static inline struct pair pair_wanted(const struct batch* b, int64_t row) {
    return (struct pair){{b->out[0]->want[row], b->out[1]->want[row]}};
}

// A mistake: the pair it leaves for a row, in each of its variants.
struct pair_mistake {
    struct pair (*left)(const struct batch* b, int64_t row, int variant);
};

// A hypothesis' make(): like is a struct pair_mistake. The mistake has to fit the output that is
// not the suspect, too.
bool make_pairs(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);

// The same, but the output that is not the suspect may be right throughout: kernels sometimes treat
// only one output rightly.
bool make_pairs_or_one(const struct suspect* s, const struct hypothesis* h, int variant,
                       double* guess);

#define PAIR(cause, variants, left) \
    { CAUSE_##cause, make_pairs, variants, LIKE(pair_mistake, left) }
#define PAIR_OR_ONE(cause, variants, left) \
    { CAUSE_##cause, make_pairs_or_one, variants, LIKE(pair_mistake, left) }

// Does element j, which thread j % T holds, reach the result? The variants stand for: T, 32 to 1024
// threads; how many lanes of a warp are merged, 1 to 32; the first so many lanes, or every 32nd,
// 16th, ...; and all warps, or only the first.
enum { LOSSES = 6 * 6 * 2 * 2 };
static inline bool reaches(int variant, int64_t j) {
    int64_t threads = (int64_t)32 << variant % 6, lanes = (int64_t)1 << variant / 6 % 6;
    int64_t thread = j % threads, lane = thread % 32;
    if (variant / 72 == 1 && thread >= 32) return false;
    return variant / 36 % 2 == 1 ? lane % (32 / lanes) == 0 : lane < lanes;
}

// Blocks take several rows and do not forget: is the maximum in output i, of a row that is not the
// first of its block, the largest of all that the block has taken so far?
bool batch_keeps_rows(const struct batch* b, int i);

// The suspect for an output of the running batch, with the batch's tolerance and slack.
struct suspect batch_suspect(const struct batch* b, const struct tensor* t);

#endif
