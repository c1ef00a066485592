// problem.h: one attention problem, forward or backward: the sizes of the case that runs, and the
// places of its arrays.
//
// An item of a lesson makes a problem, changes what its case is about, and declares it:
//
//     struct problem p = problem_of(c, &contract, 32, 48, false);
//     p.H = 2;
//     problem_begin(&p, GAPS, "");
//     problem_declare(&p, GAPS);
//
// The other functions of this folder take it as an argument. explain() gets it from
// problem_of_case().
#ifndef ATTENTION_PROBLEM_H
#define ATTENTION_PROBLEM_H

#include <math.h>

#include "attention/block_mask.h"
#include "attention/index_mask.h"
#include "check/arguments.h"
#include "check/check.h"
#include "course.h"

enum {
    MAX_N = 16896,   // the largest N_k of a case, a tile beyond it included
    MAX_HEAD = 256,  // the largest d
};

// A row has d elements; a row of LSE is one number. Inputs of the backward pass come first.
enum which {
    ARRAY_Q,
    ARRAY_K,
    ARRAY_V,
    ARRAY_O,
    ARRAY_dO,
    ARRAY_dQ,
    ARRAY_dK,
    ARRAY_dV,
    ARRAY_LSE,
    ARRAYS
};

// Row n of batch b and head h begins at element b * stride.b + n * stride.n + h * stride.h of the
// tensor.
struct array {
    struct tensor* tensor;  // NULL if the case does not pass it, or passes NULL
    struct strides stride;
};

// The case that runs. The wanted results and the budgets depend on nothing else. Made by
// problem_of().
struct problem {
    struct check* check;
    const struct contract* contract;
    int64_t B, N_q, N_k, H, d;
    int64_t group;  // heads of Q that share a head of K and V, which have H / group heads
    double scale;
    bool causal;                 // query i sees the keys up to i + N_k - N_q
    unsigned later;              // bit a: array a begins one element behind an aligned address
    bool uneven;                 // PACKED, with gaps that differ from call to call
    bool unused;                 // the stride of an axis with one index is 0
    int64_t flag;                // what asks for that: any number but 0
    bool rounded_once;           // gradients must be as exact as what is rounded once
    const char* card;            // the case poses as this one: check_pose_as(); NULL: the grade's
    const char* first_card;      // of two calls, the first is on this one
    bool nan_gaps;               // NaN stands between the rows of inputs, not random numbers
    struct tensor* mask;         // (B, H, T_q, T_k) bytes, of blocks of S; NULL: all blocks count
    struct index_mask index;     // of indices, with a `causal` of its own; all zero: none
    struct array array[ARRAYS];  // set by problem_declare()
    void* own;                   // the lesson's: data for the hooks of its contract
};

// The arguments of a launcher, and the arrays of its cases. A constant for each launcher.
struct contract {
    bool backward;  // takes Q, K, V, O, LSE, dO and gives dQ, dK, dV; else Q, K, V and gives O, LSE
    bool no_heads;  // arrays are (B, N, d); the names of strides are "stride_qb" and "stride_qn"
    enum dtype dtype;      // of all arrays but LSE, which is F32
    bool rounded_weights;  // P and dS are rounded to dtype before they are multiplied
    bool any_heads;        // takes more heads than a grid has rows, 65535
    bool by_wgmma;         // products are to be made by wgmma, not by mma.sync
    bool LSE_alone;        // a kernel may give LSE, and nothing else, for one tile after the other
    int64_t d;             // the usual head dimension

    // In layout GAPS an array has gap[] elements after each head, row_gaps * gap[] elements after
    // each row, and gap[] rows after each batch.
    int64_t gap[ARRAYS], row_gaps;
    int64_t LSE_gap;  // with no_heads, in all layouts but PACKED: numbers after each batch

    // Hooks; each may be NULL. workspace_bytes() returns the bytes of the argument "workspace".
    // declare_more() declares the arguments that only this launcher has. judge_more() compares the
    // outputs among them, in every judged case of a forward pass. show_more() and is_more_right()
    // are for cases that have the ends of arrays alone (reach.h): the first calls check_ends() for
    // outputs among them, the second computes what is wanted of them and looks at the last row;
    // show_heads() does what show_more() does where it is the heads that are many.
    // follow_more() calls check_follows() for outputs among them, in forward_by_mma(); more_bytes()
    // returns how many bytes they have.
    int64_t (*workspace_bytes)(const struct problem* p);
    void (*declare_more)(struct problem* p);
    void (*judge_more)(const struct problem* p);
    void (*show_more)(const struct problem* p, int64_t queries);
    void (*show_heads)(const struct problem* p, int64_t heads);
    bool (*is_more_right)(const struct problem* p);
    void (*follow_more)(const struct problem* p);
    int64_t (*more_bytes)(const struct problem* p);
};

enum layout {
    PACKED,         // (B, N, H, d)
    GAPS,           // the same, with gaps: see struct contract; arrays begin 16 bytes later
    HEADS_OUTSIDE,  // (B, H, N, d)
    SHARED,         // some inputs are (B, N, d): all heads read the same; see problem_declare()
    LAYOUTS,
    BATCHES_INSIDE = LAYOUTS,  // (N, B, d), with no_heads
    MIXED,  // batches, rows and heads in another order in each array: K is (H, B, N, d), and so on
    ONE_BATCH,   // inputs are (N, H, d): all batches read the same
    ROWS_APART,  // PACKED heads, with a gap after all heads of a row: see struct contract
    // PACKED in the case, but for a last tile of rows that is made whole. The launcher finds each
    // row of d elements more than 2^32 elements from the next; or, with no_heads, each batch of
    // LSE.
    FAR,
    FAR_LSE,
};

// One batch of one head with the contract's usual d, and the scale 1 / sqrt(d).
struct problem problem_of(struct check* c, const struct contract* contract, int64_t N_q,
                          int64_t N_k, bool causal);

// Sets d, and the scale for it. with_d() returns the changed problem.
void problem_set_d(struct problem* p, int64_t d);
struct problem with_d(struct problem p, int64_t d);

// The problem on another card than the grade's: check_pose_as().
struct problem on_card(struct problem p, const char* card);

// The problem with B batches of H heads, or with its scale times a factor.
struct problem with_heads(struct problem p, int64_t B, int64_t H);
struct problem with_scale(struct problem p, double factor);

// The problem with 2 or 3 batches of 3 to 5 heads, or of 2 groups. A launcher knows how many there
// are: what is counted, and watched, of one head alone says nothing of the calls of real use.
struct problem with_drawn_heads(struct problem p);

// A factor that makes of a power of two what 16 bits do not hold: bf16 is off by 0.4 %.
#define NOT_OF_16_BITS (1 + 0x1p-8 + 0x1p-12)

// The problem with another number than 1 for `causal`, which is not 0.
struct problem with_flag(struct problem p, int64_t flag);

// The problem with arrays of rows that begin one element behind an aligned address. A kernel of
// pieces has another way for these, whose indices are others.
struct problem with_late_rows(struct problem p);

// The problem with strides of 0 where there is one batch or one head: nobody steps along such an
// axis, and so its stride may be any number.
struct problem with_unused_strides(struct problem p);

// The problem with NaN between the rows of its inputs, wherever their strides leave room.
struct problem with_nan_gaps(struct problem p);

// Declares all arguments of the case, and describes the case for explain(). They are: the arrays,
// by their names; their strides, "stride_dq.n" and the like; B, N_q, N_k, H (of queries), H_k, d,
// causal, backward, scale; "workspace" if the contract has one. A forward pass gets NULL for K and
// V without keys. In layout SHARED the heads share K and V in a forward pass, all inputs in a
// backward pass; the other arrays are PACKED. p has to live as long as the case.
void problem_declare(struct problem* p, enum layout layout);

// Starts a case that is named by its sizes, its layout and `what`; problem_begin() declares it,
// too.
void problem_name(const struct problem* p, enum layout layout, const char* what);
void problem_begin(struct problem* p, enum layout layout, const char* what);

// In this round an array of rows has these strides, after problem_declare().
void problem_vary_strides(const struct problem* p, enum which a, int round, struct strides s);

// Makes `first` the problem of this round of a case that declared p, packed in p's arrays, and with
// another scale. None of its sizes is above p's.
void problem_call_first(struct problem* first, const struct problem* p, int round);

// Runs the n calls of the declared case, call r of the problem calls[r]: fill() sets its inputs,
// judge() compares what it stored.
void problem_run_calls(struct problem* const calls[], int n,
                       void (*fill)(struct problem* p, int round),
                       void (*judge)(struct problem* p));

// Vector accesses that trust a stride: four calls, in which the strides of all arrays are multiples
// of 8 elements except for one axis. problem_uneven_each() is of a forward pass: one axis of one
// array is odd, of each array in turn; then 2 or 4 beyond a multiple. fill() sets the inputs of a
// call. What is stored is not compared. B > 1, and H > 1 with heads. For WATCH_CHECK.
void problem_uneven(struct problem p, void (*fill)(struct problem* p));
void problem_uneven_each(struct problem p, void (*fill)(struct problem* p));

// Two calls whose current devices differ: the first is one like `first` (CARD=), and `status` is
// what the launcher returns there; the second is the card that is graded on. Nothing that was asked
// of the one, or set for it, may be kept for the other. fill() sets the inputs of a call, judge()
// compares what it stored.
void problem_on_two_devices(struct problem p, const char* first, int status,
                            void (*fill)(struct problem* p), void (*judge)(struct problem* p));

// check_idle_calls() with packed arrays.
void problem_refused(struct problem p, const struct idle_call* bad);

// For a list of calls of a forward pass that are not supported: d, and scales that are not above 0.
#define PROBLEM_UNSUPPORTED(wide)                                              \
    {COURSE_UNSUPPORTED, {{"d", wide}}}, {COURSE_UNSUPPORTED, {{"scale", 0}}}, \
        {COURSE_UNSUPPORTED, {{"scale", -1}}}, {                               \
        COURSE_UNSUPPORTED, {                                                  \
            { "scale", NAN }                                                   \
        }                                                                      \
    }

// For a list of calls with two mistakes: what comes first in the contract's order counts, sizes,
// what is not supported, nothing to do, pointers and strides. `wide` is a d that is not supported.
#define PROBLEM_ORDER(wide)                                     \
    {COURSE_BAD_ARGUMENT, {{"d", wide}, {"N_k", -1}}},          \
        {COURSE_BAD_ARGUMENT, {{"B", 65536}, {"N_q", -1}}},     \
        {COURSE_UNSUPPORTED, {{"d", wide}, {"B", 0}}},          \
        {COURSE_UNSUPPORTED, {{"d", wide}, {"N_q", 0}}},        \
        {COURSE_UNSUPPORTED, {{"d", wide}, {"H", 0}}},          \
        {COURSE_UNSUPPORTED, {{"d", wide}, {"Q", 0}}},          \
        {COURSE_UNSUPPORTED, {{"d", wide}, {"stride_k.n", 8}}}, \
        {COURSE_OK, {{"B", 0}, {"stride_k.n", 8}, {"O", 0}}}, { \
        COURSE_OK, {                                            \
            {"H", 0}, {                                         \
                "stride_v.b", -1                                \
            }                                                   \
        }                                                       \
    }

// problem_refused() for these strides, each axis of each array of rows by itself.
void problem_strides_refused(struct problem p, int status, struct strides bad);

// What every launcher refuses as COURSE_BAD_ARGUMENT: negative sizes and d = 0; these strides; and
// NULL in the place of each array, and of the workspace. But not that inputs are one array.
void problem_bad_arguments(struct problem p, struct strides bad);

// All inputs are one array; where heads share keys, those of keys are one, the others another.
// Inputs may lie in the same place: who refuses it refuses too much.
void problem_one_array(struct problem p);

// A call of p, packed, that must return this status.
void problem_must_return(struct problem p, int status, const char* what);

// A call for each array of rows, in which it begins at no multiple of 16 bytes: the launcher must
// return COURSE_UNSUPPORTED. And calls in which all do, and something that comes first in the
// contract's list is wrong, too, or there is nothing to do.
void problem_misaligned_refused(struct problem p);

// problem_refused() for more heads than a grid has rows: 65536 of one batch, unless the contract
// has any_heads; and 65536 of 65536 batches, which are 0 in 32 bits. And 65536 of no
// batch are nothing to do.
void problem_too_many_heads(struct problem p);

// check_large_calls() with packed arrays, whose launch fails.
void problem_large(struct problem p, const struct idle_call* good);

// As many keys as an int counts, and a launch that fails: they must not be refused.
void problem_many_keys(struct problem p);

// The most heads that a grid has, 65535, must be taken: without rows, which would take their time.
void problem_most_heads(struct problem p);

// check_launches_fail() with packed arrays; then without keys.
void problem_launches_fail(struct problem p);

// The traffic of a judged case with WATCH_PROFILE. Fails if more memory was taken than a row of
// fp32 for each query, or local arrays could hold a query's scores of thousands of keys; or if a
// forward pass stored an element of O or LSE twice, in a kernel or by a fill of the launcher.
struct arena_traffic;
const struct arena_traffic* problem_traffic(const struct problem* p);

// In this case of a mask inputs need not be read where nobody sees them. Before it runs.
void problem_skips_unseen(const struct problem* p);

// After a case with WATCH_PROFILE that was judged: fails if for ten useful wavefronts more than one
// is lost to bank conflicts. More than `most` do not count as useful: loads that nobody needs could
// hide the conflicts of others. Half as many again are too many: lanes that go one after another
// could avoid them.
void judge_conflicts(struct check* c, double most);

// What a causal mask hides is not to be read. A case of N queries and N keys read `masked` bytes
// of what is read again for each tile, one with MORE_KEYS more keys `more` bytes. These keys come
// first and all queries see them, so what they cost is what this same kernel reads where nothing is
// hidden: no other case that reads more than it needs makes the share look small. Fails if the
// share of N keys that is read exceeds the limit. With tiles of n queries and n keys, whole ones,
// it is (N + n) / 2N.
enum { MORE_KEYS = 128 };
void judge_masked_reads(struct check* c, int64_t N, double masked, double more, double limit);

// The same where heads are wide, and N queries would take long: of a case with as many queries as
// keys `few` bytes were read again, of one with many more queries, which see nothing, `many`. The
// queries that see something may lie in one tile more.
void judge_unseen_reads(struct check* c, double few, double many);

// Fails if mma.sync, or wgmma, has made fewer multiplications than the products of a case need, two
// of a forward pass or five of a backward pass, without those that a mask hides.
void judge_mma_count(const struct problem* p, const struct arena_traffic* t);

// The problem of the running case.
struct problem* problem_of_case(const struct check* c);

// ---- places --------------------------------------------------------------------------------

static inline bool is_of_keys(enum which a) {
    return a == ARRAY_K || a == ARRAY_V || a == ARRAY_dK || a == ARRAY_dV;
}

// N of the array.
static inline int64_t rows_of(const struct problem* p, enum which a) {
    return is_of_keys(a) ? p->N_k : p->N_q;
}

// How many query heads share a head of the array.
static inline int64_t sharing(const struct problem* p, enum which a) {
    return is_of_keys(a) ? p->group : 1;
}

// Elements of a row.
static inline int64_t width_of(const struct problem* p, enum which a) {
    return a == ARRAY_LSE ? 1 : p->d;
}

static inline int64_t place(struct strides s, int64_t b, int64_t h, int64_t n) {
    return b * s.b + n * s.n + h * s.h;
}

// The first element of row n of batch b, in the head that belongs to query head h.
static inline int64_t place_in(const struct problem* p, enum which a, int64_t b, int64_t h,
                               int64_t n) {
    return place(p->array[a].stride, b, h / sharing(p, a), n);
}

// The values of an input's row at place_in().
static inline double* row_of(const struct problem* p, enum which a, int64_t b, int64_t h,
                             int64_t n) {
    return p->array[a].tensor->value + place_in(p, a, b, h, n);
}

// Sets the elements between the rows of an input to a value.
void fill_gaps(const struct problem* p, enum which a, double value);

// Declares that the elements between the rows of an output must not be written.
void guard_gaps(const struct problem* p, enum which a);

// Every query i of every head h of every batch b.
#define FOR_EACH_QUERY(p, b, h, i)           \
    for (int64_t b = 0; b < (p)->B; b++)     \
        for (int64_t h = 0; h < (p)->H; h++) \
            for (int64_t i = 0; i < (p)->N_q; i++)

// ---- scores --------------------------------------------------------------------------------

// The sum of x_k y_k over d elements.
static inline double dot(const struct problem* p, const double* x, const double* y) {
    double sum = 0;
    for (int64_t k = 0; k < p->d; k++) sum += x[k] * y[k];
    return sum;
}

// S_ij = scale Q_i K_j, capped if the mask says so, in fp64.
static inline double score(const struct problem* p, int64_t b, int64_t h, int64_t i, int64_t j) {
    double s = p->scale * dot(p, row_of(p, ARRAY_Q, b, h, i), row_of(p, ARRAY_K, b, h, j));
    return index_capped(p, s);
}

// How many keys query i sees, except for masks of blocks and of indices. With `causal` the number
// may exceed N_k if i is no query.
static inline int64_t keys_seen(const struct problem* p, int64_t i) {
    int64_t seen = p->causal ? i + 1 + p->N_k - p->N_q : p->N_k;
    return seen < 0 ? 0 : seen;
}

// How often query i and key j, of the keys_seen() first ones, count as a pair: see index_times().
// With `blocks` in place of the problem's own.
static inline int pair_times(const struct problem* p, struct block_mask blocks, int64_t b,
                             int64_t h, int64_t i, int64_t j) {
    return is_active(blocks, b, h, i, j) ? index_times(p, b, i, j) : 0;
}

static inline struct block_mask blocks_of(const struct problem* p) {
    return block_mask_of(p->mask, p->H, p->N_q, p->N_k);
}

#endif
