// batch.h: rows of fp32 numbers that a kernel reduces or transforms: the case that runs, and its
// data.
//
//     struct batch b = batch_of(c, &contract, 8, 1024);
//     b.stride = 1030;
//     batch_begin(&b, "gaps between the rows");
//     batch_fill(&b, -9, 1);
//     check_run(c);
//     ... sets b.out[0]->want, and compares
//
// A lesson's mistakes find the batch as their problem (mistakes.h).
#ifndef ROWS_BATCH_H
#define ROWS_BATCH_H

#include "check/arguments.h"
#include "check/check.h"
#include "check/hypothesis.h"
#include "course.h"
#include "rows/row.h"
#include "wall/arena.h"

// The arguments of a lesson's launcher. A constant for each lesson.
struct rows {
    // Its outputs: one number of a row each, and a NULL if there is but one.
    const char* out[2];
    // What each is for a row of equal numbers: 1 divided by how many there are, the number, how
    // many, or their sum.
    enum { SHARE, ITSELF, COUNT, SUM } of_equal[2];
    // out[0] has rows of cols numbers instead: the launcher takes "stride_y" and "stride_x", else
    // "stride_row".
    bool writes_rows;
};

// A running case. Set strides, firsts and calls, if at all, before batch_begin().
struct batch {
    struct check* check;
    const struct rows* of;
    int64_t rows, cols;
    int64_t stride, stride_out;  // elements from row to row of x and of an output's rows; >= cols
    int64_t before;              // rows before these, of which nothing is looked at: check_ends()
    int64_t first, first_out;    // elements of x's and an output's array before their first row
    int64_t narrower, step;      // calls for rows of fewer numbers, too: see batch_launches()
    bool far;   // rows 2^32 elements apart, where the launcher finds them: see batch_begin_far()
    int calls;  // in the same arrays: rounds of the case
    struct tensor *x, *out[2];  // set by batch_begin(); NULL if the case passes NULL
    // For mistakes: how far each output may be from the output of a mistake. The lesson sets this
    // before it compares.
    double tolerance[2];
    struct slack slack[2];
};

// Packed rows, one call.
struct batch batch_of(struct check* c, const struct rows* of, int64_t rows, int64_t cols);

// Starts the case, whose name begins with `what`; declares its arguments, "rows", "cols", the
// strides, the outputs and "x"; marks what lies between the rows of an output; and describes it for
// the mistakes: b has to live as long as the case.
void batch_begin(struct batch* b, const char* what);

// Row `row` of x in the selected call.
static inline double* batch_row(const struct batch* b, int64_t row) {
    return b->x->value + b->first + row * b->stride;
}

// The same with rows so far apart that an index of 32 bits does not reach from one to the next, and
// the usual strides in the case. Comes after a case with gaps: what fails there is of another kind.
// False, and nothing has begun, if this machine has no addresses for that.
bool batch_begin_far(struct batch* b);

// ---- data, row by row

// Evenly between low and high.
void batch_fill_row(const struct batch* b, int64_t row, double low, double high);
void batch_fill(const struct batch* b, double low, double high);

// From -9 at the left end to between 1 and 2 at the right: every few elements raise the maximum,
// and elements lost at the end are not small.
void batch_fill_rising(const struct batch* b);

// One score, 5, in each of several rows, above others of -9: they weigh a millionth each, and in
// thousands of columns a hundredth together. It is the first of the first row, the last of the
// last.
void batch_fill_long_tail(const struct batch* b);

// For 8 rows of at least 701: -infinity in place of all elements, all but one, all but the last
// 124, all but the first 124, most, all, half, none.
void batch_hide(const struct batch* b);

// Cases of 33, 2 and 1 columns: every other row is -infinity whole.
void batch_hide_narrow(struct check* c, const struct rows* of,
                       void (*judge)(struct check* c, struct batch* b));

// ---- calls of different sizes

// What fills the rows of a call, and what sets the wanted outputs and compares.
struct batch_call {
    void (*fill)(struct check* c, const struct batch* b);
    void (*judge)(struct check* c, struct batch* b);
};

// Rows that begin anywhere and are apart. Between them stand whole numbers, `least` to twice that,
// larger than those of the rows, so that they show; then NaN. Then there is a column for each lane
// of a warp, and last there are rows of 24 K: for either a launcher may have another kernel.
void batch_apart(struct check* c, const struct rows* of, int64_t rows, int64_t cols, int64_t least,
                 struct batch_call call);

// One call for each array, which begins alone at an odd float. rows and cols: multiples of 4, so
// that nothing else keeps a kernel from taking several floats at once. Then batch_rows_anywhere().
void batch_misaligned(struct check* c, const struct rows* of, int64_t rows, int64_t cols,
                      struct batch_call call);

// x is aligned, and so wide that each thread has whole pieces, but its stride is odd; then y's.
// Without a judge the accesses alone are watched.
void batch_rows_anywhere(struct check* c, const struct rows* of, struct batch_call call);

// A call with rows of `narrow` numbers, packed, on another GPU, and one with rows of `wide` ones:
// what the first has asked of CUDA is too little for the second, and asked for another device.
void batch_widens(struct check* c, const struct rows* of, int64_t narrow, int64_t wide,
                  struct batch_call call);

// A call on a GPU whose blocks may have 227 KB of shared memory, and two on one with 99, of packed
// rows. cols[1] is the most: rows that the first GPU might keep and the second one not.
void batch_moves(struct check* c, const struct rows* of, const int64_t cols[3],
                 struct batch_call call);

// Two calls, each by itself; then three in the same arrays, packed. The first of the three takes
// half of the rows and a 16th of the columns, the last a quarter and an eighth. rows: a multiple of
// 4; cols: of 16.
void batch_grows(struct check* c, const struct rows* of, int64_t rows, int64_t cols,
                 struct batch_call call);

// Two calls of few rows, so wide that several blocks may share one: what they count with has to be
// set back.
void batch_shared_again(struct check* c, const struct rows* of, int64_t cols,
                        struct batch_call call);

// ---- rows that are not computed

// More rows than any fixed grid has blocks, of `cols` numbers, as many as are no trap; a fixed grid
// of more blocks than that is seen whole, too, with twice as many narrow rows. One of very few
// blocks gets some hundred rows for each: it takes long for a row. And few blocks of that, which
// take one row after another, for an item that is watched: is there a barrier between two rows?
// Those have as many numbers as make a block work on one row.
void batch_many_rows(struct check* c, const struct rows* of, int64_t cols, struct batch_call call);
void batch_row_after_row(struct check* c, const struct rows* of, int64_t cols);

// More rows than a grid has blocks in y or z, or 16 bits can count, and more numbers than 32 bits:
// check_reaches().
void batch_reaches(struct check* c, const struct rows* of);

// As many rows of other widths, for which a launcher may have other kernels with other grids:
// check_takes().
void batch_many_rows_of(struct check* c, const struct rows* of, const int64_t cols[], int count);

// Many rows that are wide as well: blocks that share a row may have no room for the parts of so
// many. check_reaches(); of grids that have a block for each row, or more.
void batch_many_wide_rows(struct check* c, const struct rows* of);

// A row of more numbers than 32 bits can count, of a launcher whose outputs have the maximum:
// check_walks().
void batch_wide(struct check* c, const struct rows* of);

// Rows of every width from `narrowest` to `widest`: does a GPU take each of the launches? A
// block has at most 1024 threads: a kernel whose blocks depend on the width has its limit there.
void batch_launches(struct check* c, const struct rows* of, int64_t narrowest, int64_t widest);

// A row of every fourth width up to `widest`, which is a limit of shared memory in floats: some 30
// rows that fit, beside a few arrays of a block, and some that do not. They are computed, as what
// the arrays take is known when a block runs; nothing is compared.
void batch_fits(struct check* c, const struct rows* of, int64_t widest);

// ---- cost

// Of a case that has run with WATCH_PROFILE: each score is loaded once. A look at one more, the
// first of the row, say, by each of up to 32 warps is forgiven, by one lane or by all.
void batch_at_most_once(struct check* c, const struct batch* b, const struct arena_traffic* t);

// ---- no kernel runs

// check_queries_fail() with one row of so many.
void batch_queries_fail(struct check* c, const struct rows* of, int64_t cols);

// check_idle_calls() with arrays of 4 rows of 128, then check_launches_fail(), and a call with
// 2^31 - 1 rows and those of `large`: check_large_calls().
void batch_idle_calls(struct check* c, const struct rows* of, const struct idle_call* calls,
                      const struct idle_call* large);

#endif
