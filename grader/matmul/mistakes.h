// mistakes.h: what known mistakes make of C = A B. For hypothesis lists whose problem is a product.
//
// Most mistakes are sums of other terms, or of more or fewer terms. One line of a lesson's list
// describes such a sum:
//
//     SUM(inner_tail, TILES, right_term, whole_tiles),
//     SUM(transposed, TILES, A_turned, all_tiles),
//
// Sums are compared element by element while they are made: with a slack.of_largest they take long.
#ifndef MATMUL_MISTAKES_H
#define MATMUL_MISTAKES_H

#include "check/hypothesis.h"
#include "matmul/product.h"

// The k-th term of C[i][j]; `size` is a tile or a row length of the kernel.
struct term {
    int64_t size, i, k, j;
};

// How many terms are summed, with which size; after each round_every terms (0: never) the sum is
// rounded to the matrices' dtype, as it is at the end.
struct extent {
    int64_t size, terms, round_every;
};

// A mistake: what the terms are, and how far the sums go. extent() returns false if there is no
// such variant in this case; `back` is its own.
struct sum {
    double (*term)(const struct product* p, struct term at);
    bool (*extent)(const struct product* p, const struct sum* sum, int variant, struct extent* e);
    int back;
};

// A hypothesis' make(): like is a struct sum.
bool make_sum(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);
#define SUM(cause, variants, term, extent) SUM_BACK(cause, variants, term, extent, 0)
#define SUM_BACK(cause, variants, term, extent, back) \
    { CAUSE_##cause, make_sum, variants, LIKE(sum, term, extent, back) }

// Places in packed matrices that are computed wrongly, terms left out or kept. Ends with {0}.
extern const struct hypothesis packed_mistakes[];

// ---- extents. The tile T of a variant is of->smallest_tile << variant.

enum { TILES = 5, SIZES = 6, STEPS = 6, OF_PACKED = 3 };  // the first SIZES are M, N and K

bool all_terms(const struct product* p, const struct sum* sum, int variant, struct extent* e);
// Without the part of K beyond whole tiles, if that leaves something of a K of usual tiles.
bool whole_tiles(const struct product* p, const struct sum* sum, int variant, struct extent* e);
// size = T; up to the end of the last tile.
bool all_tiles(const struct product* p, const struct sum* sum, int variant, struct extent* e);
// size = 1, 2, 4, ..., if K is larger: STEPS variants.
bool beyond_a_step(const struct product* p, const struct sum* sum, int variant, struct extent* e);
// Up to the end of the last tile, with size = back * T, if K is not smaller.
bool tiles_back(const struct product* p, const struct sum* sum, int variant, struct extent* e);
// size = T, if K is larger.
bool beyond_a_tile(const struct product* p, const struct sum* sum, int variant, struct extent* e);
// size = M, N, K, then the strides of C, A and B: SIZES variants.
bool size_of_another(const struct product* p, const struct sum* sum, int variant, struct extent* e);
// So many terms.
bool terms_of_another(const struct product* p, const struct sum* sum, int variant,
                      struct extent* e);

// Rounded after each T terms, of at least 16.
bool rounded_on_the_way(const struct product* p, const struct sum* sum, int variant,
                        struct extent* e);

// ---- elements

// By row and column: a tile holds 0 outside its matrix.
double in_tile(const struct matrix* m, int64_t row, int64_t col);
// By the distance from the matrix's first element in memory: around an array lies a guard band of
// NaN.
double in_memory(const struct matrix* m, int64_t distance);

// ---- terms

double right_term(const struct product* p, struct term at);
// Beyond K, the last element of a row of A, and the last row of B, again.
double last_again(const struct product* p, struct term at);
// The row of A is that of the column in its square of `size`; the column of B that of the row.
double A_of_the_column(const struct product* p, struct term at);
double B_of_the_row(const struct product* p, struct term at);
// No term if an operand is 0.
double nonzero_term(const struct product* p, struct term at);
// None before `size`.
double later_term(const struct product* p, struct term at);
// Only the last `size` elements along K, counted in whole tiles.
double last_tile_term(const struct product* p, struct term at);
// All but the first, or the last, of each `size` elements along K.
double late_term(const struct product* p, struct term at);
double early_term(const struct product* p, struct term at);
// From the first tile on, or from the second on, the tile of A, or of B, is always the same.
double A_first_again(const struct product* p, struct term at);
double A_second_again(const struct product* p, struct term at);
double B_first_again(const struct product* p, struct term at);
double B_second_again(const struct product* p, struct term at);
// Beyond K, the last tile still holds what was there `size` elements before.
double stale_tail(const struct product* p, struct term at);
// Of one matrix alone: it is multiplied by the other's zeros, and shows where it is not finite.
double A_tail_stale(const struct product* p, struct term at);
double B_tail_stale(const struct product* p, struct term at);
// Rows of A, or of B, are `size` elements long.
double A_row_length(const struct product* p, struct term at);
double B_row_length(const struct product* p, struct term at);
// A, or B, is read as if it were stored column by column, columns of `size` elements.
double A_by_columns(const struct product* p, struct term at);
double B_by_columns(const struct product* p, struct term at);
// Each square of `size` rows and columns of A, or of B, is transposed.
double A_turned(const struct product* p, struct term at);
double B_turned(const struct product* p, struct term at);
// In a square of `size` one index of A, or of B, is another one: its row or its column is the row
// i, the column j or the k of the term, counted in the square.
double A_row_as_k(const struct product* p, struct term at);
double A_column_as_i(const struct product* p, struct term at);
double A_column_as_j(const struct product* p, struct term at);
double B_row_as_i(const struct product* p, struct term at);
double B_row_as_j(const struct product* p, struct term at);
double B_column_as_k(const struct product* p, struct term at);
// The block, or the tile, that the row or the column is counted from is left out.
double A_row_in_tile(const struct product* p, struct term at);
double B_column_in_tile(const struct product* p, struct term at);
// B is that of the first call.
double stale_B(const struct product* p, struct term at);
// Nobody asks where a row ends.
double unguarded(const struct product* p, struct term at);

// ---- C as a whole

// A hypothesis' make(): the sum for (i, j) stands at element j * M + i. Of a packed C.
bool make_turned(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);

// A hypothesis' make(): every sum is truncated to the matrices' dtype, instead of rounded; or only
// those of even columns, or of odd ones: variant = 1, 2.
bool make_truncated(const struct suspect* s, const struct hypothesis* h, int variant,
                    double* guess);

// A hypothesis' make(): what lies halfway between two numbers of 16 bits goes away from 0, or
// towards 0, and not to the even one.
bool make_ties(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);

// A hypothesis' make(): rows of C, which is not wider than its array, are M, N, K or a stride of
// elements long: SIZES variants.
bool make_C_rows(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);

// A hypothesis' make(): element e of a packed C is taken for that of row e / length and column
// e % length, where length is M or K. OF_PACKED variants.
bool make_flat(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);

// A hypothesis' make(): a block takes several tiles of a row of tiles, or of a column, and each sum
// goes on from the one that it has made before: variant = 0, 1.
bool make_going_on(const struct suspect* s, const struct hypothesis* h, int variant, double* guess);

// K = 0: some sums were never written, or are what stood in the registers.
enum cause explain_no_terms(const struct suspect* s);

// Terms that are left out, the same in all sums that are wrong: at the end or at the beginning; or
// anywhere, and then they may also count several times, if K is small and many sums are wrong.
// tile_skipped, or tile_twice if none is left out.
enum cause explain_counted(const struct suspect* s);

bool element_is_wrong(const struct suspect* s, int64_t i);

// Is all right within some rows and columns of a packed C, and little beyond them? If these are as
// many as columns and rows, sizes were swapped; if they are whole tiles, the tail was dropped.
enum cause explain_cut(const struct suspect* s);

// Some elements are NaN and should not be; all others are right. If all are NaN, the NaN comes from
// shared memory that nothing was written to, which the instrumented build finds.
bool nan_leaked(const struct product* p);

#endif
