// index_mask.h: masks that are computed from indices: windows, documents, prefixes; and a softcap
// of the scores. Lesson 18's contract says what the numbers mean.
#ifndef ATTENTION_INDEX_MASK_H
#define ATTENTION_INDEX_MASK_H

#include "check/check.h"

// How a kernel may mistake the mask; INDEX_RIGHT is none. Those from UNMASKED on depend on tiles.
// The order counts: is_possible() (index_mistakes.c) takes what is about one part of the mask from
// its first to its last.
enum index_flaw {
    INDEX_RIGHT,
    WINDOW_MORE,         // one key more
    WINDOW_LESS,         // one key less
    WINDOW_IGNORED,      // on both sides
    WINDOW_ONE_SIDED,    // a symmetric window is one of W keys up to the query
    WINDOW_ENDS_EARLY,   // a symmetric window reaches W - 1 keys beyond the query
    WINDOW_BEGINS_LATE,  // ... W - 1 keys before it
    WINDOW_BOTH_WAYS,    // a causal window is symmetric
    WINDOW_OF_INDEX,     // query i stands at position i, for the window alone
    DIAGONAL_MORE,       // the query sees the next key, too
    DIAGONAL_LESS,       // not its own
    CAUSAL_IGNORED,
    TOP_LEFT,              // query i stands at position i
    DOCUMENT_OF_INDEX,     // ... for its document alone
    BOTTOM_RIGHT_ONLY_UP,  // positions below 0 are taken for 0
    SINKS_IGNORED,
    SINKS_MORE,
    SINKS_LESS,
    SINKS_OF_SEQUENCE,  // the sequence's first keys, if they are in the query's document
    SINKS_OF_ALL,       // the sequence's first keys, seen from all documents
    SINKS_ABOVE,        // a sink is seen by earlier queries, too
    SINKS_FROM_ZERO,    // all keys before the end of the sinks, of other documents as well
    PREFIX_IGNORED,
    PREFIX_MORE,
    PREFIX_LESS,
    PREFIX_OF_SEQUENCE,
    PREFIX_OF_QUERIES,  // the prefix's queries see all keys of the document
    PREFIX_INSIDE,      // the prefix's keys are seen early by the prefix's queries alone
    PREFIX_UNBOUNDED,   // it reaches beyond its document
    PREFIX_ALONE,       // with neither `causal` nor a window what is behind both is too late
    PREFIX_KEPT,        // the window does not hide it
    DOCUMENTS_IGNORED,
    DOCUMENTS_UNENDED,     // a document ends with the last one
    DOCUMENTS_BEGIN_LATE,  // a document's first position belongs to the one before
    DOCUMENTS_OF_FIRST,    // of the first batch
    DOCUMENTS_EMPTY,       // of those that begin at a position the first is taken, an empty one
    DOCUMENTS_END_LATE,    // a document sees the first key of the next one
    DOCUMENTS_PADDED,      // what is behind the last document belongs to it
    DOCUMENTS_PACKED,      // all batches' numbers lie without their last one: b * documents
    DOCUMENTS_FEW,         // of the first 16 documents alone
    UNMASKED,              // tiles that are visited are seen whole
    DOCUMENT_OF_FIRST,     // a tile of queries is in the document of its first one
    DOCUMENT_OF_LAST,
    WALK_TOP_LEFT,       // which tiles a tile of queries visits is asked as if query i stood at i
    END_OF_FIRST,        // a tile of queries visits the tiles up to those of its first one
    BEGIN_OF_LAST,       // ... from those of its last one on
    LOW_EDGE_UNMASKED,   // a tile that the first query sees from its first key on is seen whole
    HIGH_EDGE_UNMASKED,  // a tile that the last query sees up to its last key is seen whole
    SINK_TILE_TWICE,     // the first tile of a window counts twice if it has a sink
    SINK_TILE_LOST,
    SINK_TILE_UNMASKED,  // a tile that is visited for its sinks alone is seen whole
    LAST_TILE_LOST,
    FIRST_TILE_LOST,
    END_ROUNDED_DOWN,  // of what is visited
    BEGIN_ROUNDED_UP,
    WHOLE_ROUNDED_DOWN,  // where what is seen whole begins
    WHOLE_END_ROUNDED_UP,
    ROW_IN_BLOCK,  // in a tile that is masked a query's number in the block is taken for its own
    KEY_IN_TILE,   // in a tile that is masked a key's number in the tile is taken for its position
    RANGE_OPEN,    // in a tile that is masked the first key that is seen is hidden
    RANGE_REVERSED,  // in a tile that is masked no key is behind the end and before the beginning
    RANGE_INVERTED,  // in a tile that is masked what is seen is hidden, and the other way round
    DOCUMENT_OF_FIRST_KEY,  // the same mistakes of a tile of keys, and the queries that see it
    DOCUMENT_OF_LAST_KEY,
    WALK_OF_KEYS_TOP_LEFT,
    END_OF_FIRST_KEY,
    END_OF_LAST_KEY,  // sinks are forgotten
    BEGIN_OF_LAST_KEY,
    LOW_EDGE_OF_KEYS_UNMASKED,
    HIGH_EDGE_OF_KEYS_UNMASKED,
    LONGEST_OF_KEYS_WHOLE,       // what is seen whole ends where the key does that is seen longest
    DOCUMENTS_OF_KEYS_UNMASKED,  // two documents in a tile are not asked about
    LAST_TILE_OF_QUERIES_LOST,
    FIRST_TILE_OF_QUERIES_LOST,
    END_OF_QUERIES_ROUNDED_DOWN,
    BEGIN_OF_QUERIES_ROUNDED_UP,
    WHOLE_OF_QUERIES_ROUNDED_DOWN,
    WHOLE_END_OF_QUERIES_ROUNDED_UP,
    KEY_IN_BLOCK,
    QUERY_IN_TILE,
    RANGE_OF_QUERIES_REVERSED,
    RANGE_OF_QUERIES_INVERTED,
    KEYS_UNMASKED,
    KEYS_BEHIND_DOCUMENTS,  // what is behind the last document, in its last tile, belongs to it
    UNCAPPED,
    CAPPED_BEFORE_SCALE,
    CAPPED_AFTER_MASK,  // a hidden key of a tile that is visited has the score -softcap
    SLOPE_LOST,         // dS lacks the derivative
    SLOPE_HALF,         // the derivative is 1 - tanh
    SLOPE_OF_P,         // 1 - P^2: the weight stands where the capped score stood
    SLOPE_OF_PRODUCT,   // 1 - (Q K)^2: the tanh is not taken yet
    SLOPE_OF_SCORE,     // ... of the score
    SLOPE_OF_INSIDE,    // ... of the score by softcap
    SLOPE_OF_CAPPED,    // 1 - capped^2: it is not divided by softcap
    INDEX_FLAWS
};

struct problem;

// All zero: every pair of a query and a key counts once, and scores are what they are.
struct index_mask {
    bool used;  // the problem has such a mask, though it may hide nothing
    bool causal;
    int64_t window, sinks, prefix, documents;
    double softcap;
    struct tensor* cu_seqlens;  // (B, documents + 1), or NULL
    enum index_flaw flaw;
    int64_t tile_q, tile_k;  // for flaws that depend on tiles
    bool by_keys;  // a mistaken document is that of a key, for who sees it; not that of a query
    struct index_lines* lines;  // see index_find_lines()
};

// What each query sees and each key is seen by, p->index.lines, found once for a mask that is asked
// about many pairs. The documents must be set before. The caller frees it, which sets NULL again.
void index_find_lines(struct problem* p);
void index_free_lines(struct problem* p);

// How often query i and key j of batch b count as a pair: 0 or 1; with some flaws 2, or -1: once,
// with a score that was -infinity. i < N_q, j < index_keys().
int index_times(const struct problem* p, int64_t b, int64_t i, int64_t j);

// How many keys a kernel may count: with a mistake that depends on tiles also the zeros in the last
// one, for which index_times() tells as well.
int64_t index_keys(const struct problem* p);

// What becomes of a score; and by how much that grows with the score, from what it has become. P is
// its weight.
double index_capped(const struct problem* p, double score);
double index_slope(const struct problem* p, double capped, double P);

// What a kernel visits of S that leaves out the tiles in which nobody sees anything, of one head of
// batch 0, for tiles of index_tile(q) queries and index_tile(k) keys.
enum { INDEX_TILES = 8 };
struct index_visits {
    double scores[INDEX_TILES][INDEX_TILES];   // in whole tiles
    double keys[INDEX_TILES][INDEX_TILES];     // rows of K that are loaded, for each tile
    double queries[INDEX_TILES][INDEX_TILES];  // rows of Q
};
static inline int64_t index_tile(int n) {
    return 16 * (n + 1);
}
void index_visit(const struct problem* p, struct index_visits* v);

// ---- the mask of a case

// For contract.declare_more(): declares "mask.causal", "mask.window" and so on, and "cu_seqlens",
// which is NULL without documents.
void index_declare(struct problem* p);

// The mask in words, for a case's name: "causal, window 5, 2 sinks".
enum { INDEX_TEXT = 200 };
void index_name(const struct index_mask* m, char text[INDEX_TEXT]);

// Sets the documents of a batch in the selected call: documents + 1 numbers.
void index_set_documents(const struct problem* p, int64_t b, const int64_t* cu_seqlens);

// ---- mistakes (index_mistakes.c)

// lesson.explain() of both passes.
enum cause index_explain(struct check* c, const struct tensor* t, struct budget budget);

#endif
