// forward_mistakes.h: a forward kernel with a mistake, and the O and LSE that it writes. For the
// files that explain a wrong O or LSE.
#ifndef ATTENTION_FORWARD_MISTAKES_H
#define ATTENTION_FORWARD_MISTAKES_H

#include "attention/forward.h"
#include "check/hypothesis.h"

// How a kernel finds the rows of one array.
struct view {
    const double* value;  // NULL for an output
    struct strides stride;
    int64_t step;  // from a head of a group to the next; 0: stride.h
};

// How the kernel computes. forward_right() describes a right kernel; a mistake changes fields of
// it.
struct forward_mistake {
    struct view view[ARRAYS];  // of Q, K, V, O, LSE
    double scale;
    // Which keys a query sees: those up to i + offset with `causal`, in active blocks, below
    // `keys`.
    bool causal;
    int64_t offset, keys;
    struct block_mask blocks;
    int64_t columns;  // that are summed for a score
    int64_t as_one;   // if not 0: so many queries see the same keys, those of the last of them

    // Tiles of queries and keys, for masks that depend on them.
    int64_t block_q, block_k;
    enum {
        NO_FLAW,
        TAIL_COUNTS,          // rows of the last tile beyond N_k count as keys of zeros
        ONE_KEY_MORE,         // each row sees a key too many, if a tile that is loaded has it
        LAST_TILE_DROPPED,    // the sweep of a block ends with its last whole tile
        END_OF_FIRST_ROW,     // it ends with the tile of the last key that its first row sees
        ONE_TILE_IN_PART_2,   // it ends a tile behind the last whole tile that the first row sees
        DIAGONAL_UNMASKED,    // tiles up to the last whole tile of the last row are not masked
        LAST_TILES_MASKED,    // the mask is applied to the last tiles alone: so many as `masked`
        END_UNMASKED,         // the mask is applied to no tile that is loaded
        PART_1_LOST,          // only the tiles from full_end on count
        PARTS_OVERLAP,        // full_end is no whole number of tiles: part 1 ends behind it
        MASKED_COUNT,         // masked keys count with the score `masked`
        MASKED_COUNT_TO_N_K,  // MASKED_COUNT, without skipping tiles
        MASKED_IN_MAXIMUM,    // masked keys have no weight, but count for the maximum
        MASK_BY_COLUMN,       // the mask takes a key's number in its tile for the key
        MASK_BY_ROW,          // it takes a query's number in its tile for the query
        MASK_OF_WARP_16,      // each warp, of 16 or 32 rows, takes the rows of the tile's first one
        MASK_OF_WARP_32,
        SEEN_BY_PACKED_ROW,   // each row sees what a query of its packed number would, if loaded
        WHOLE_BY_PACKED_ROW,  // which tiles all rows see is asked of the first row's packed number
    } flaw;
    double masked;

    // If not 0, S is made in squares of so many queries and keys, and in a square the query is that
    // of the key's number, or the key that of the query's.
    int64_t square;
    bool query_of_key, key_of_query;
    // ... or the value's key is that of the column's number in its square, or of the query's.
    enum { VALUE_OF_KEY, VALUE_OF_COLUMN, VALUE_OF_QUERY } value_of;
    // In squares of so many rows and columns of an array, row and column are exchanged: 1 <<
    // ARRAY_Q and so on.
    unsigned turned;

    // How query heads that share keys, and the rows of a packed tile, are numbered (lesson 17).
    enum {
        NEIGHBOURS,       // no mistake: key head h / group
        INTERLEAVED,      // key head h % (H / group)
        POWERS_OF_TWO,    // row r is query r / n and head r % n, n the next power of two
        ROW_FOR_A_QUERY,  // the mask takes the packed row for the query
        HEADS_FIRST,      // row r is query r % N_q, and r / group for the mask
        QUERIES_FIRST,    // row r is query r / group, and r % N_q for the mask
        ROWS_UP_TO_N_Q,   // packed rows from N_q on are zeros
        HEADS_FROM_KEY,   // a group's heads begin at the number of the key head
        FIRST_BY_HEADS,  // a block's first row r is query r % N_q, the others follow query by query
        HEADS_SHIFTED,   // the group's size is taken for a power of two: h >> log2(group)
    } grouping;
    int64_t taken_head;  // HEADS_FROM_KEY: of keys, by the row that is simulated

    // The online softmax, in tiles of so many keys (lesson 12). All zero in `online` is right.
    int64_t tile;
    double m;  // first value of the running maximum
    struct online {
        double l;                     // first value of the running sum
        bool l_kept, O_kept;          // not multiplied by alpha
        bool l_each_key, O_each_key;  // multiplied by alpha for each key of the tile
        int64_t l_more;               // times that alpha multiplies l, beyond the first
        bool reversed;                // alpha is exp(m_new - m)
        bool unscaled_first;          // the first tile does not multiply by alpha at all
        bool m_kept;                  // m stays what it was before the first tile
        bool half_products;           // Q K is multiplied in fp16
        bool P_of_2, alpha_of_2;      // powers of 2 in place of exp
        bool O_of_2;                  // alpha is one for O, and not for l
        bool P_before;                // P is relative to the maximum before the tile
        bool alpha_raw;               // alpha is of scores before the scale
        bool l_late;                  // l gets the sum of a tile in the next one
        enum { ONCE_EACH, FIRST_AGAIN, LAST_AGAIN, FIRST_LOST, BACKWARDS } tiles;
        enum { ALL_KEYS, WITHOUT_FIRST, WITHOUT_LAST } keys;  // of each tile that are summed
        // by exp; CONSTANT is the first m, RAW the largest score before the scale, in base 2,
        // LARGEST_OF_TILE the largest of the tile alone
        enum { LARGEST, CONSTANT, FIRST_SCORE, SMALLEST, RAW, LARGEST_OF_TILE } subtracted;
        // m, of scores that are scaled, is scaled once more: whenever a tile raises it, where exp
        // makes P of it, or where it makes P and alpha. In base 2 the scale has log2(e) in it.
        enum { SCALED_ONCE, SCALED_IN_TILES, SCALED_IN_P, SCALED_IN_EXP } m_again;
        bool in_base_2;
        // P, or with O_ all of O, behind each tile, by the l so far
        enum {
            AT_END,
            NEVER,
            IN_LOOP,
            IN_LOOP_AND_AT_END,
            O_IN_LOOP,
            O_IN_LOOP_AND_AT_END
        } divided;
        bool unguarded;  // not asked: is a score -infinity, is l 0
    } online;
    int64_t rows;           // if not 0: of every `rows` rows of O the first is where it belongs
    bool needs_LSE;         // proved only if LSE is NaN in the same rows, too
    bool needs_all_of_LSE;  // ... and about the same number in the others
    bool needs_O;           // proved by LSE only if O is about right, too
};

struct forward_mistake forward_right(const struct problem* p);

// A guard may have stored 0 in rows of O whose l is NaN. explain() is then asked about LSE, and of
// O without it: NaN says more.
enum cause explain_behind_guard(struct check* c, const struct tensor* t, struct budget budget,
                                enum cause (*explain)(struct check*, const struct tensor*,
                                                      struct budget));

// The output that was found wrong. Is it O, and not LSE? Does it hold this guess, which has as many
// elements? Is it what a kernel with this mistake writes?
struct suspect forward_suspect(struct check* c, const struct tensor* t, struct budget budget);
bool is_O(const struct suspect* s);
bool is_guess(const struct suspect* s, const double* guess);
bool is_forward(const struct suspect* s, const struct forward_mistake* w);

// Looked at before all of a guess is made: false if the first few wrong rows do not hold it.
// row_of() gives the row of O and the LSE of a query, stored in their places; false: not known.
typedef bool forward_row(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i,
                         double* O, double* LSE);
bool forward_rows_fit(const struct suspect* s, forward_row* row_of, const void* how);

// Is the output what row_of() gives for each query?
bool forward_is_made_of_rows(const struct suspect* s, forward_row* row_of, const void* how);

// The same of a mistake whose rows are computed `rows` at a time, as a warp does: rows_of() gives
// those from query i0 on, a multiple of it. O is (rows, d), LSE (rows); behind the last query they
// may hold anything. rows <= MAX_ROWS. False also where rows_of() does not know some row.
enum { MAX_ROWS = 16 };
typedef bool forward_rows(const struct problem* p, const void* how, int64_t b, int64_t h,
                          int64_t i0, double* O, double* LSE);
bool forward_is_made_of_tiles(const struct suspect* s, int64_t rows, forward_rows* rows_of,
                              const void* how);

// Is each row of O the wanted one times a number, and are these different numbers? What divides a
// row is not its own l. For the end of an explain(): many mistakes that have a name give that, too.
bool are_rows_scaled(const struct suspect* s);

// Is all of O 0 in some row whose l is not? Its LSE is above 0, which no logarithm of 0 is, and
// none of a small number in its place.
bool has_sum_beside_zeros(const struct problem* p);

// Another factor of the scores than the scale; Q that was scaled, by log2(e) as well, and rounded
// to 16 bits; another start of the running maximum; that, or another base or end of the online
// softmax. `right` is a right kernel.
enum cause explain_scale(const struct suspect* s, struct forward_mistake right);
enum cause explain_scaled_Q(const struct suspect* s, struct forward_mistake right);
enum cause explain_start(const struct suspect* s, struct forward_mistake right);
enum cause explain_online(const struct suspect* s, struct forward_mistake right);

// In a square of S, or of what it is made of, an index of the query stands for one of the key.
enum cause explain_square(const struct suspect* s, struct forward_mistake right);

// O is too large and LSE too small by the same factor, in each row its own: l lacks weights that O
// has.
bool is_l_short(const struct suspect* s);

// O has 16 bits, and nearly all its numbers that are not what is wanted, rounded, are what is
// wanted, cut off; or it is wanted to be 1 everywhere, and is a little smaller.
bool is_cut_off(const struct suspect* s);

// Most values are subnormal in fp16, and O is what it is if such numbers are taken for 0: in V, in
// K, where O is stored, or in several of these.
bool is_subnormal_lost(const struct suspect* s);

// The errors of O are small beside the values that were summed, which are large and cancel:
// rounding is relative to the sums on the way, not to the result.
bool is_rounded_on_the_way(const struct suspect* s);

// O is wanted to be far below the values, since small weights make it, and is wrong by no more than
// other small weights would make it.
bool is_by_small_weights(const struct suspect* s);

// In all rows whose scores are far below 0, and only there, l came out as 0: the running maximum
// began above these scores.
bool is_lost_below(const struct suspect* s);

// O is NaN only in rows whose LSE is right: m and l are right there, and so are Q and K. An LSE of
// -infinity is right only `with_empty_rows`.
bool is_LSE_right_beside_NaN(const struct suspect* s, bool with_empty_rows);

// Blocks take several tiles of rows, and a row begins with the m and l, or with all, that the one
// before in its place has left.
bool is_row_before_kept(const struct suspect* s);

// Rows have the largest score of several rows in common, and one far below it has no weight left:
// CAUSE_max_of_rows; or that of keys which are hidden from them.
enum cause explain_maximum_of_rows(const struct suspect* s);

// A scale that fp16 does not hold has made NaN, or rows in which nothing counts.
bool is_scale_lost(const struct suspect* s);

// With a scale below 0 the maximum is the smallest score.
bool is_smallest_subtracted(const struct suspect* s);

// The scale is 0, and some LSE is NaN.
bool is_NaN_of_no_scale(const struct suspect* s);

// O has infinities, and only in rows whose LSE is right: m and l are right there, and the weighted
// sum of values was too large for fp32.
bool is_O_infinite_beside_LSE(const struct suspect* s);

// Each row that is wrong lacks the last of the keys that it sees: those of its last tile of this
// size.
bool is_without_last_keys(const struct suspect* s, int64_t tile);

// LSE is another function of m and l, or stands in another order.
enum cause explain_LSE(const struct suspect* s);

// Other masks of blocks than the right one (lesson 19).
enum cause explain_forward_blocks(const struct suspect* s);

// Rows looked for in wrong places: some of Q, K, V and O have wrong strides, in the same way; or
// the inputs are those of an earlier call.
enum cause explain_forward_places(const struct suspect* s);

// True if every LSE is -infinity and O has no number but 0, though some query sees a key: the
// kernel saw none at all.
bool saw_nothing(const struct problem* p);

// All wrong elements are in rows that see no key.
enum cause explain_empty_rows(const struct suspect* s);

// exp with the range of fp32: overflows to infinity, underflows to 0.
static inline double exp32(double x) {
    return (double)(float)exp(x);
}

static inline int64_t round_up(int64_t n, int64_t tile) {
    return (n + tile - 1) / tile * tile;
}

#endif
