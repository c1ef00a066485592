// product.h: one matrix product, C = A B: the case that runs, and the right answer.
//
// An item of a lesson makes a product, changes what its case is about, declares, fills and runs it:
//
//     struct product p = product_of(c, &contract, 129, 17, 33);
//     check_case(c, "M = 129, N = 17, K = 33");
//     product_declare(&p);
//     product_fill(&p, -4, 4);
//     check_run(c);
//     product_compare(&p);
//
// or calls one of the cases that are the same in all lessons (cases.h). A lesson's mistakes find
// the product as their problem (mistakes.h).
#ifndef MATMUL_PRODUCT_H
#define MATMUL_PRODUCT_H

#include "check/check.h"
#include "course.h"

// The arguments of a lesson's launcher, and the numbers of its cases. A constant for each lesson.
struct matmul {
    enum dtype dtype;  // of A, B and C
    bool strides;      // it takes the strides, too: matrices may be columns of wider arrays
    bool transposes;   // it takes flags that say whether A and B are stored transposed
    int64_t align;     // strides are multiples of so many elements; 0: of any number
    int64_t max_size;  // the largest M, N or K; beyond it, COURSE_UNSUPPORTED
    bool sizes_first;  // strides are looked at behind sizes that are too large or 0, not before
    // Elements: a whole number of tiles of any usual size.
    int64_t whole_M, whole_N, whole_K;
    int64_t largest;        // the whole numbers that are multiplied are -largest .. largest
    int64_t smallest_tile;  // rows or columns of a student's tile: so many, or 2, 4, ... times that
    void (*more)(struct check* c);  // declares arguments that only this lesson has; may be NULL
};

// Columns first .. first + cols of an array with `stride` columns. Stored transposed, each row of
// the array holds a column of the matrix.
struct matrix {
    struct tensor* t;  // (rows, stride), or (cols, stride); NULL if the case passes NULL
    int64_t rows, cols, stride, first;
    bool transposed;
};

// Of the columns of an array, `gap` are not the matrix's, and `first` of these stand before it. If
// there is no gap, the matrix is packed, and begins `first` elements into its array.
struct part {
    int64_t gap, first;
};

// A running case. Set the parts, `far` or what is before, if at all, before product_declare().
struct product {
    struct check* check;
    const struct matmul* of;
    int64_t M, N, K;
    int64_t before_M, before_N;  // rows of A and C, columns of B and C, before these, of which
                                 // nothing is looked at: check_ends(). M is 1, all is packed
    struct part C_part, A_part, B_part;
    bool transpose_A, transpose_B;  // as they are stored
    bool far;  // packed in the case; the launcher finds rows more than 2^32 elements apart
    struct matrix C, A, B;  // (M, N), (M, K), (K, N); set by product_declare()
};

// A product of packed matrices.
struct product product_of(struct check* c, const struct matmul* of, int64_t M, int64_t N,
                          int64_t K);

// Declares all arguments of the case, and describes it for the mistakes: p has to live as long as
// the case. Arguments: "C", "A", "B", "M", "N", "K", "first_C" and so on; with strides also
// "stride_C" and so on, with transposes "transpose_A" and "transpose_B".
void product_declare(struct product* p);

// The product that a round of p's case makes instead, in the same arrays: M x N x K, none larger
// than p's, and packed from their first elements on. For p, which is declared.
struct product product_smaller(const struct product* p, int round, int64_t M, int64_t N, int64_t K);

// Whole numbers of low .. high in all of A, then in all of B, of the selected round.
void product_fill(const struct product* p, int64_t low, int64_t high);

// What stands around A and B in every second row of their arrays becomes NaN: it belongs to
// neither. Not all of C is NaN then, if a kernel lets it into sums.
void product_surround(const struct product* p);

// Sets want in the selected round to the right C for A and B, rounded once to the contract's dtype
// if that has 16 bits. The columns around C must stay untouched.
void product_want(const struct product* p);

// Computes C in fp32, summed pairwise: the error grows with log K. standard has room for all of C's
// array; K > 0.
void product_standard(const struct product* p, double* standard);

// product_want(), then compares exactly.
void product_compare(const struct product* p);

// Element (row, col) in the matrix's array.
static inline int64_t place_in(const struct matrix* m, int64_t row, int64_t col) {
    return m->transposed ? col * m->stride + m->first + row : row * m->stride + m->first + col;
}

#endif
