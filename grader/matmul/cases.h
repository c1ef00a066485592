// cases.h: the cases that are the same in all lessons about C = A B.
//
// Small whole numbers are multiplied: every product and every partial sum is exact in a float
// whatever the order of summation (|sum| < 2^24), and a sum is rounded to 16 bits in one way. So
// exact equality is asked for. A case that is given no sizes has whole_M, whole_N and whole_K.
#ifndef MATMUL_CASES_H
#define MATMUL_CASES_H

#include "check/arguments.h"
#include "matmul/product.h"
#include "wall/arena.h"

// The case that has begun, with whole numbers: runs and compares it.
void multiply_integers(struct product* p);

// One product of these sizes, packed.
void multiply(struct check* c, const struct matmul* of, int64_t M, int64_t N, int64_t K);
void multiply_whole(struct check* c, const struct matmul* of);

// The same as on another card: check_pose_as().
void multiply_as(struct check* c, const struct matmul* of, const char* card, int64_t M, int64_t N,
                 int64_t K);

// One product along a long K: between 64 terms at both ends all are 0. Nothing cancels: whoever
// ends before the end, or counts K in too few bits, lacks terms.
void multiply_long(struct check* c, const struct matmul* of, int64_t M, int64_t N, int64_t K);

// `calls` calls in the same arrays, with new numbers each time, that allocate nothing. Then two
// calls of other sizes.
void multiply_again(struct check* c, const struct matmul* of, int calls);

// Normal numbers, in fp32: the standard is pairwise summation in float. A plain loop over up to 64
// products stays below half of the budget; operands or sums of 11 bits exceed it a hundred times.
// Then few sums of 2048 products, for which a kernel may have another loop: whole numbers of 12
// bits, and the sums are exact.
void multiply_reals(struct check* c, const struct matmul* of);

// Whole numbers times a power of two, which changes no digit: rows of A far above and rows far
// below what fp16 can hold (2^-24 to 2^16). float and bf16 hold 2^-126 to 2^127, and with fewer
// bits what is smaller: every third row is of the smallest numbers that the type has. In bf16 the
// sums of one row are too large, and infinite. Then all of A is as large as B is small, and the
// other way round. Once with whole tiles, once with one less of each
// size, for which a launcher may have another kernel; of K only where rows need not be aligned.
void multiply_range(struct check* c, const struct matmul* of);

// Two rows of A and two columns of B hold a NaN or an infinity; the other rows and columns of C
// must know nothing of it. All else is positive, so that infinity times anything is infinity; A's
// is -infinity. A's NaN stands among the first `among` elements of a row. So does A's infinity;
// with at_end the infinity is a row's last element. Of a row of A that is longer than 128 only 64
// numbers at both ends are not 0.
void multiply_not_finite(struct check* c, const struct matmul* of, int64_t K, int64_t among,
                         bool at_end);

// The lower rows of A and the columns of B on the right are 0. A NaN in A's other rows and an
// infinity in B's other columns make NaN of these zeros: whole tiles of zeros count.
void multiply_zeros(struct check* c, const struct matmul* of);

// C, A and B in turn begin `first` elements behind an aligned address, alone.
void multiply_misaligned(struct check* c, const struct matmul* of, int64_t M, int64_t N, int64_t K,
                         int64_t first);

// For an item that is watched: M, N and K in turn are no whole tile, alone, so that a kernel for
// whole tiles may be taken for the others' sake; then multiply_watched_vectors(). What C holds is
// no matter. size: of the others.
void multiply_watched_apart(struct check* c, const struct matmul* of, int64_t size);

// One row, and one column, in matrices that begin at no pair of elements.
void multiply_watched_vectors(struct check* c, const struct matmul* of, int64_t size);

// The largest M, then the largest N, with 1 for the other sizes: more than a grid has blocks in y,
// or 16 bits can count. See check_reaches().
void multiply_reaches(struct check* c, const struct matmul* of);

// Each matrix has more elements than 32 bits can count: check_indexes(). Once rows are a multiple
// of 8 elements long, once they are not; and C alone, with K = 0.
void multiply_huge(struct check* c, const struct matmul* of);

// M N is 2^32, and 2^31, which in 32 bits is 0, and below: check_is_launched(). A part of
// multiply_huge().
void multiply_is_launched(struct check* c, const struct matmul* of);

// The same of matrices whose sizes have the remainder `odd` by 8. A launcher's own `begin` starts a
// case of M x N x K, or of a few less; NULL: its contract's.
struct huge {
    const struct matmul* of;
    int64_t odd;
    struct product (*begin)(struct check* c, int64_t M, int64_t N, int64_t K);
};
void multiply_huge_of(struct check* c, const struct huge* huge);

// M, N or K is 0: C is not touched; if only K is 0, C is 0.
void multiply_sizes_of_0(struct check* c, const struct matmul* of);

// Two calls whose current devices differ: the first is one like `first` (CARD=), and `status` is
// what the launcher returns there; the second is the card that is graded on. Nothing that was asked
// of the one, or set for it, may be kept for the other.
void multiply_on_two_devices(struct check* c, const struct matmul* of, const char* first,
                             int status);
// The same with little to multiply, on two GPUs of a kind.
void multiply_little_on_two_devices(struct check* c, const struct matmul* of);

// C = A A: A and B are one array, which no contract of a product forbids.
void multiply_by_itself(struct check* c, const struct matmul* of);

// Arguments to be refused: negative sizes, one beyond max_size, NULL pointers; with strides,
// strides smaller than a row; but not multiply_by_itself(). Then launches that fail, of aligned
// matrices and of others.
void multiply_bad_arguments(struct check* c, const struct matmul* of);

// Of a case with large operands of 8 bits that was right: in a run in which the tensor cores take
// other products, check_follows(), C is the sum of these.
void multiplied_as_altered(struct check* c, const struct product* p);

// Of one call: the wavefronts that only bank conflicts make, in parts of the others, of which
// `most` count: loads that nobody needs could hide the conflicts of others. A few are forgiven.
// Half as many again are too many: lanes that go one after another could avoid conflicts.
void multiplied_without_conflicts(struct check* c, const struct arena_traffic* t, double most);

// The same of loads alone, which each product needs. Where nothing is aligned numbers may come into
// shared memory one by one, and those of a row may meet others there.
void multiplied_loads_without_conflicts(struct check* c, const struct arena_traffic* t,
                                        double most);

// Of one call whose last tiles are not whole, like check_loaded_once() of A and of B. A seventh of
// what is loaded is allowed: who keeps addresses inside of the arrays, instead of guarding loads,
// has the last row and column of the matrices several times, too. Who loads both twice has a
// quarter of it again.
void multiplied_loaded_once(struct check* c, const struct arena_traffic* t);

#endif
