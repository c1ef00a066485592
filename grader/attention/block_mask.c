// block_mask.c: what known mistakes take for the mask of a problem.
#include "attention/problem.h"

#include <math.h>
#include <stdlib.h>

enum mask_mistake {
    MASK_IGNORED,
    MASK_IS_1,             // a byte of 1 alone is active
    MASK_LOWEST_BIT,       // an odd one
    MASK_POSITIVE,         // one that is above 0 with a sign
    MASK_TRANSPOSED,       // byte [j][i], where there are as many rows as columns
    MASK_ROWS_OF_T_q,      // byte i T_q + j of a head
    MASK_COLUMNS_OF_T_q,   // byte j + i T_q of a head, of the transposed mask
    MASK_OF_HEAD,          // head 0 of the batch
    MASK_OF_FIRST,         // head 0 of batch 0
    MASK_OF_BATCH,         // batch 0
    MASK_OF_LAST_BATCH,    // all batches store their lists in one place
    MASK_ROW_LACKS_FIRST,  // the first active block of each row
    MASK_ROW_LACKS_LAST,   // the last
    MASK_COLUMN_LACKS_FIRST,
    MASK_COLUMN_LACKS_LAST,
    MASK_SHORT_COLUMN,  // the last column of blocks, if it is short
    MASK_SHORT_ROW,     // the last row, if it is
    MASK_KEYS_BY_TILE,  // a block is a tile's keys
    MASK_ROWS_BY_TILE,  // a block is a tile's queries
    MASK_FIRST_KEYS,    // of a block the keys of its first tile count alone
    MASK_FIRST_ROWS,    // the queries
    MASK_ROW_AS_TILES,  // a row has as many tiles as it should have blocks; so a column
    MASK_COLUMN_AS_TILES,
    MASK_LAST_KEYS_SHORT,  // the last active block of each row is as short as the last of all
    MASK_LAST_ROWS_SHORT,  // of each column
    MASK_ROW_ENDS,         // a row of blocks has so many at most; so a column
    MASK_COLUMN_ENDS,
    MASK_LIST_ENDS,  // a row has so many active blocks at most; so a column
    MASK_COLUMN_LIST_ENDS,
    MASK_ROW_WRAPS,  // a list of a row names blocks by their place among so many; so of a column
    MASK_COLUMN_WRAPS,
    MASK_ROW_LISTS,  // lists of rows are read from where none begins; so lists of columns
    MASK_COLUMN_LISTS,
};

// Where a list is looked for: see begin_of().
enum {
    HEAD_SHORT = 1,
    LIST_SHORT,
    BOTH_SHORT = 4,
    HEADS_PACKED = 8,
    SIZES_SWAPPED = 16,
    COUNT_SWAPPED = 32,
};

// The first one that fits is named: so a last column that is short comes before a last active
// block, lists that end come before tiles, and what is known in part comes last.
static const struct {
    enum mask_mistake what;
    enum cause cause;
    int64_t smallest, largest;  // size of a tile, or of a list: all powers of two between; 0: none
} mask_mistakes[] = {
    {MASK_IS_1, CAUSE_block_lost, 0, 0},
    {MASK_LOWEST_BIT, CAUSE_block_lost, 0, 0},
    {MASK_POSITIVE, CAUSE_block_lost, 0, 0},
    {MASK_IGNORED, CAUSE_mask_ignored, 0, 0},
    {MASK_TRANSPOSED, CAUSE_mask_transposed, 0, 0},
    {MASK_ROWS_OF_T_q, CAUSE_swapped_sizes, 0, 0},
    {MASK_COLUMNS_OF_T_q, CAUSE_swapped_sizes, 0, 0},
    {MASK_OF_HEAD, CAUSE_head_ignored, 0, 0},
    {MASK_OF_FIRST, CAUSE_head_ignored, 0, 0},
    {MASK_OF_BATCH, CAUSE_batch_ignored, 0, 0},
    {MASK_OF_LAST_BATCH, CAUSE_batch_ignored, 0, 0},
    {MASK_ROW_LACKS_FIRST, CAUSE_block_lost, 0, 0},
    {MASK_COLUMN_LACKS_FIRST, CAUSE_block_lost, 0, 0},
    {MASK_SHORT_COLUMN, CAUSE_inner_tail, 0, 0},
    {MASK_SHORT_ROW, CAUSE_inner_tail, 0, 0},
    {MASK_ROW_LACKS_LAST, CAUSE_block_lost, 0, 0},
    {MASK_COLUMN_LACKS_LAST, CAUSE_block_lost, 0, 0},
    {MASK_ROW_ENDS, CAUSE_block_lost, 4, 128},
    {MASK_COLUMN_ENDS, CAUSE_block_lost, 4, 128},
    {MASK_LIST_ENDS, CAUSE_block_lost, 4, 128},
    {MASK_COLUMN_LIST_ENDS, CAUSE_block_lost, 4, 128},
    {MASK_ROW_WRAPS, CAUSE_place_in_tile, 32, 32},
    {MASK_COLUMN_WRAPS, CAUSE_place_in_tile, 32, 32},
    {MASK_LAST_KEYS_SHORT, CAUSE_inner_tail, 16, 64},
    {MASK_LAST_ROWS_SHORT, CAUSE_inner_tail, 16, 64},
    {MASK_KEYS_BY_TILE, CAUSE_mask_tile, 16, 64},
    {MASK_ROWS_BY_TILE, CAUSE_mask_tile, 16, 64},
    {MASK_ROWS_BY_TILE, CAUSE_mask_tile, 192, 192},
    {MASK_FIRST_KEYS, CAUSE_mask_tile, 16, 64},
    {MASK_FIRST_ROWS, CAUSE_mask_tile, 16, 64},
    {MASK_ROW_AS_TILES, CAUSE_mask_tile, MASK_BLOCK / 2, MASK_BLOCK / 2},
    {MASK_COLUMN_AS_TILES, CAUSE_mask_tile, MASK_BLOCK / 2, MASK_BLOCK / 2},
    {MASK_ROW_LISTS, CAUSE_list_begin, HEAD_SHORT, COUNT_SWAPPED},
    {MASK_COLUMN_LISTS, CAUSE_list_begin, HEAD_SHORT, COUNT_SWAPPED},
};
enum { KINDS = sizeof mask_mistakes / sizeof mask_mistakes[0] };

// The n-th mistake, of all kinds in all their sizes: its kind, and *size. KINDS: there are no more.
static int kind_of(int n, int64_t* size) {
    int kind = 0;
    *size = mask_mistakes[0].smallest;
    for (; n > 0 && kind < KINDS; n--) {
        if (*size < mask_mistakes[kind].largest)
            *size *= 2;
        else if (++kind < KINDS)
            *size = mask_mistakes[kind].smallest;
    }
    return kind;
}

// Is the block the first (step -1) or last (step 1) active one along a row, or along a column?
static bool is_end(struct block_mask m, int64_t b, int64_t h, int64_t I, int64_t J, bool along_row,
                   int step) {
    do {
        if (along_row) J += step;
        if (!along_row) I += step;
        if (I < 0 || J < 0 || I >= m.T_q || J >= m.T_k) return true;
    } while (!is_active(m, b, h, I * MASK_BLOCK, J * MASK_BLOCK));
    return false;
}

// How many active blocks come before block (I, J) in its row, or in its column.
static int64_t before(const double* head, struct block_mask m, int64_t I, int64_t J,
                      bool along_row) {
    int64_t count = 0;
    for (int64_t n = 0; n < (along_row ? J : I); n++)
        count += head[along_row ? I * m.T_k + n : n * m.T_k + J] != 0;
    return count;
}

// Where a mistake looks for list n of a head, among lists (heads, lists, 1 + entries).
static int64_t begin_of(int64_t way, int64_t head, int64_t n, int64_t lists, int64_t entries) {
    switch (way) {
    case HEAD_SHORT:  // the lists of the heads before have no lengths
        return head * lists * entries + n * (1 + entries);
    case LIST_SHORT:  // the lists before of the same head
        return head * lists * (1 + entries) + n * entries;
    case BOTH_SHORT:
        return (head * lists + n) * entries;
    case HEADS_PACKED:  // a head has one list
        return (head + n) * (1 + entries);
    case SIZES_SWAPPED:  // the lists are those of the other side
        return (head * entries + n) * (1 + lists);
    default:  // COUNT_SWAPPED: a head has as many lists as the other side
        return (head * entries + n) * (1 + entries);
    }
}

// What the lists hold, UNKNOWN where nobody has written, in the order of the mask.
enum { UNKNOWN = -1 };
static int64_t* lists_of(const struct problem* p, struct block_mask m, bool of_rows) {
    const int64_t lists = of_rows ? m.T_q : m.T_k, entries = of_rows ? m.T_k : m.T_q;
    int64_t* all = check_allocate(p->check, p->B * m.H * lists * (1 + entries), sizeof *all);
    for (int64_t n = 0; n < p->B * m.H * lists; n++) {
        const double* head = m.value + n / lists * lists * entries;
        int64_t* list = all + n * (1 + entries);
        for (int64_t e = 0; e <= entries; e++) list[e] = e ? UNKNOWN : 0;
        for (int64_t e = 0; e < entries; e++)
            if (head[of_rows ? n % lists * m.T_k + e : e * m.T_k + n % lists] != 0)
                list[++list[0]] = e;
    }
    return all;
}

// Which of its blocks does a kernel walk over that looks for list n of a head there? False if it
// reads what nobody has written, or no mask says what it does.
static bool read_list(const int64_t* list, int64_t left, int64_t entries, bool* active) {
    for (int64_t e = 0; e < entries; e++) active[e] = false;
    if (left <= 0 || list[0] == UNKNOWN || list[0] > entries || list[0] >= left) return false;
    for (int64_t e = 1; e <= list[0]; e++) {
        if (list[e] == UNKNOWN || list[e] >= entries || active[list[e]]) return false;
        active[list[e]] = true;
    }
    return true;
}

// The mask that a kernel sees which reads all lists from wrong places.
static void read_lists(const struct problem* p, struct block_mask m, bool of_rows, int64_t way,
                       double* value) {
    const int64_t lists = of_rows ? m.T_q : m.T_k, entries = of_rows ? m.T_k : m.T_q;
    const int64_t count = p->B * m.H * lists, end = count * (1 + entries);
    int64_t* all = lists_of(p, m, of_rows);
    bool* active = check_allocate(p->check, entries, sizeof *active);
    for (int64_t n = 0; n < count; n++) {
        const int64_t at = begin_of(way, n / lists, n % lists, lists, entries);
        const bool known = read_list(all + (at < end ? at : 0), end - at, entries, active);
        double* head = value + n / lists * lists * entries;
        for (int64_t e = 0; e < entries; e++)
            head[of_rows ? n % lists * m.T_k + e : e * m.T_k + n % lists] =
                known ? (double)active[e] : NAN;
    }
    free(active);
    free(all);
}

bool is_unknown(struct block_mask m, int64_t b, int64_t h, int64_t i, bool is_key) {
    const double* head = m.value + (b * m.H + h) * m.T_q * m.T_k;
    if (!m.in_part) return false;
    for (int64_t n = 0; n < (is_key ? m.T_q : m.T_k); n++)
        if (isnan(head[is_key ? n * m.T_k + i / MASK_BLOCK : i / MASK_BLOCK * m.T_k + n]))
            return true;
    return false;
}

// Is one of the blocks active that is so many along a row, or a column, or twice as many, ...?
static bool is_any_active(struct block_mask m, int64_t b, int64_t h, int64_t I, int64_t J,
                          bool along_row, int64_t step) {
    if ((along_row ? J : I) >= step) return false;
    for (; I < m.T_q && J < m.T_k; *(along_row ? &J : &I) += step)
        if (is_active(m, b, h, I * MASK_BLOCK, J * MASK_BLOCK)) return true;
    return false;
}

// True if the mistake takes block (I, J) for active.
static bool mistaken_block(const struct problem* p, struct block_mask m, enum mask_mistake what,
                           int64_t size, int64_t b, int64_t h, int64_t I, int64_t J) {
    const double* head = m.value + (b * m.H + h) * m.T_q * m.T_k;
    double byte = head[I * m.T_k + J];
    bool right = byte != 0, square = m.T_q == m.T_k;
    int64_t count = m.T_q * m.T_k, i = I * MASK_BLOCK, j = J * MASK_BLOCK;
    switch (what) {
    case MASK_IGNORED:
        return true;
    case MASK_IS_1:
        return byte == 1;
    case MASK_LOWEST_BIT:
        return (int)byte % 2;
    case MASK_POSITIVE:
        return right && byte < 128;
    case MASK_TRANSPOSED:
        return square ? head[J * m.T_k + I] != 0 : right;
    case MASK_ROWS_OF_T_q:
        return I * m.T_q + J >= count || head[I * m.T_q + J] != 0;
    case MASK_COLUMNS_OF_T_q:
        return J * m.T_q + I >= count || head[J * m.T_q + I] != 0;
    case MASK_OF_HEAD:
        return is_active(m, b, 0, i, j);
    case MASK_OF_FIRST:
        return is_active(m, 0, 0, i, j);
    case MASK_OF_BATCH:
        return is_active(m, 0, h, i, j);
    case MASK_OF_LAST_BATCH:
        return is_active(m, p->B - 1, h, i, j);
    case MASK_ROW_LACKS_FIRST:
        return right && !is_end(m, b, h, I, J, true, -1);
    case MASK_ROW_LACKS_LAST:
        return right && !is_end(m, b, h, I, J, true, 1);
    case MASK_COLUMN_LACKS_FIRST:
        return right && !is_end(m, b, h, I, J, false, -1);
    case MASK_COLUMN_LACKS_LAST:
        return right && !is_end(m, b, h, I, J, false, 1);
    case MASK_SHORT_COLUMN:
        return right && !(p->N_k % MASK_BLOCK != 0 && J == m.T_k - 1);
    case MASK_SHORT_ROW:
        return right && !(p->N_q % MASK_BLOCK != 0 && I == m.T_q - 1);
    case MASK_ROW_ENDS:
        return right && J < size;
    case MASK_COLUMN_ENDS:
        return right && I < size;
    case MASK_LIST_ENDS:
        return right && before(head, m, I, J, true) < size;
    case MASK_COLUMN_LIST_ENDS:
        return right && before(head, m, I, J, false) < size;
    case MASK_ROW_WRAPS:
        return is_any_active(m, b, h, I, J, true, size);
    case MASK_COLUMN_WRAPS:
        return is_any_active(m, b, h, I, J, false, size);
    case MASK_ROW_AS_TILES:
    case MASK_COLUMN_AS_TILES:
    case MASK_LAST_KEYS_SHORT:
    case MASK_LAST_ROWS_SHORT:
    case MASK_KEYS_BY_TILE:
    case MASK_ROWS_BY_TILE:
    case MASK_FIRST_KEYS:
    case MASK_FIRST_ROWS:
    case MASK_ROW_LISTS:
    case MASK_COLUMN_LISTS:
        break;
    }
    return right;
}

// Marks the blocks that the mistake takes for as short as the last one of all: the last of each row
// that is active, or of each column.
static void mark_last(const struct problem* p, struct block_mask m, bool along_row, double* value) {
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < m.H; h++)
            for (int64_t I = 0; I < m.T_q; I++)
                for (int64_t J = 0; J < m.T_k; J++, value++)
                    if (*value != 0 && is_end(m, b, h, I, J, along_row, 1)) *value = MASK_SHORTENED;
}

// Of the active blocks of each row, or column, half as many tiles are left as there should be: of
// an odd number the last block has its first half alone.
static void halve(const struct problem* p, struct block_mask m, bool along_row, double* value) {
    const double* head = m.value;
    for (int64_t n = 0; n < p->B * m.H; n++, head += m.T_q * m.T_k)
        for (int64_t I = 0; I < m.T_q; I++)
            for (int64_t J = 0; J < m.T_k; J++, value++) {
                const int64_t tiles =
                    along_row ? before(head, m, I, m.T_k, true) : before(head, m, m.T_q, J, false);
                const int64_t first = 2 * before(head, m, I, J, along_row);
                if (*value == 0 || first + 1 < tiles) continue;
                *value = first < tiles ? MASK_SHORTENED : 0;
            }
}

bool mistake_mask(const struct problem* p, int n, struct block_mask* m, enum cause* cause) {
    const struct block_mask right = blocks_of(p);
    int64_t size;
    const int kind = kind_of(n, &size);
    if (!right.value || kind == KINDS) return false;
    const enum mask_mistake what = mask_mistakes[kind].what;
    double* value = check_allocate(p->check, p->B * right.H * right.T_q * right.T_k, sizeof *value);
    *m = right;
    m->value = value;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < m->H; h++)
            for (int64_t I = 0; I < m->T_q; I++)
                for (int64_t J = 0; J < m->T_k; J++)
                    *value++ = mistaken_block(p, right, what, size, b, h, I, J);
    if (what == MASK_ROW_LISTS || what == MASK_COLUMN_LISTS) {
        read_lists(p, right, what == MASK_ROW_LISTS, size, (double*)(uintptr_t)m->value);
        m->in_part = true;
    }
    // In whole tiles.
    if (what == MASK_LAST_KEYS_SHORT) m->short_k = CEIL_DIV(p->N_k % MASK_BLOCK, size) * size;
    if (what == MASK_LAST_ROWS_SHORT) m->short_q = CEIL_DIV(p->N_q % MASK_BLOCK, size) * size;
    if (m->short_k || m->short_q) mark_last(p, right, m->short_k > 0, (double*)(uintptr_t)m->value);
    if (what == MASK_ROW_AS_TILES || what == MASK_COLUMN_AS_TILES) {
        *(what == MASK_ROW_AS_TILES ? &m->short_k : &m->short_q) = size;
        halve(p, right, what == MASK_ROW_AS_TILES, (double*)(uintptr_t)m->value);
    }
    if (what == MASK_KEYS_BY_TILE) m->k = size;
    if (what == MASK_ROWS_BY_TILE) m->q = size;
    if (what == MASK_FIRST_KEYS) m->first_k = size;
    if (what == MASK_FIRST_ROWS) m->first_q = size;
    *cause = mask_mistakes[kind].cause;
    return true;
}

void free_mask(struct block_mask m) {
    free((double*)(uintptr_t)m.value);
}

// ---- the mask of a case --------------------------------------------------------------------

void mask_declare(struct problem* p) {
    struct block_mask all = block_mask_of(NULL, p->H, p->N_q, p->N_k);
    p->mask = check_input(p->check, "mask", U8, SHAPE(p->B, p->H, all.T_q, all.T_k));
    if (p->mask) check_begin_later(p->mask, p->later >> ARRAYS & 1);
    // Bytes other than 1 are in the cases that set a mask.
    for (int64_t e = 0; p->mask && e < p->mask->count; e++) p->mask->value[e] = 1;
    if (p->mask) check_in_all_rounds(p->check, p->mask);
}

// An active block may hold anything but 0.
void mask_set(const struct problem* p, const char* text) {
    static const double values[] = {1, 255, 2, 128};
    const char* from = text;
    for (int64_t e = 0; e < p->mask->count; from++) {
        if (*from == '\0') from = text;
        if (*from != '0' && *from != '1') continue;
        p->mask->value[e++] = *from == '1' ? values[check_random(p->check) % 4] : 0;
    }
}

// True if a kernel that takes rows of the mask to have T_q bytes sees another mask.
static bool shows_row_length(bool active[4][4], int64_t T_q, int64_t T_k) {
    for (int64_t I = 0; I < T_q; I++)
        for (int64_t J = 0; J < T_k; J++) {
            int64_t byte = I * T_q + J;
            if (byte < T_q * T_k && active[byte / T_k][byte % T_k] != active[I][J]) return true;
        }
    return false;
}

// True if T_q x T_k blocks are as mask_random() promises.
static bool is_general(bool active[4][4], int64_t T_q, int64_t T_k) {
    int64_t rows = 0, columns = 0, count = 0, symmetric = 0;
    for (int64_t n = 0; n < 4; n++) {
        bool in_row = false, in_column = false;
        for (int64_t m = 0; m < 4; m++) {
            in_row |= active[n][m];
            in_column |= active[m][n];
            count += active[n][m];
            symmetric += active[n][m] == active[m][n];
        }
        rows += in_row;
        columns += in_column;
    }
    return rows == T_q && columns == T_k && count < T_q * T_k &&
           (T_q == T_k ? symmetric < 16 : shows_row_length(active, T_q, T_k));
}

void mask_random(struct check* c, int64_t T_q, int64_t T_k, char text[MASK_TEXT]) {
    bool active[4][4] = {{false}};
    do {
        for (int64_t I = 0; I < T_q; I++)
            for (int64_t J = 0; J < T_k; J++) active[I][J] = check_random(c) % 2;
    } while (!is_general(active, T_q, T_k));
    for (int64_t I = 0; I < T_q; I++) {
        for (int64_t J = 0; J < T_k; J++) *text++ = active[I][J] ? '1' : '0';
        *text++ = I < T_q - 1 ? '/' : '\0';
    }
}
