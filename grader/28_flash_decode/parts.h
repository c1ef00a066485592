// parts.h: the parts of a row put together wrongly, of lesson 28. For mistakes.h.
#ifndef PARTS_H
#define PARTS_H

#include "28_flash_decode/cache.h"
#include "check/hypothesis.h"

// The state of the online softmax over some keys of a row: of 16 keys each, made once.
enum { UNIT = 16 };
struct part {
    double m, l, *O;
};

static void part_add(struct part* to, const struct part* from, int64_t d) {
    if (from->m == -INFINITY) return;
    double m = fmax(to->m, from->m), old = exp(to->m - m), new = exp(from->m - m);
    for (int64_t x = 0; x < d; x++) to->O[x] = old * to->O[x] + new * from->O[x];
    to->l = old * to->l + new * from->l;
    to->m = m;
}

static void part_clear(struct part* part, int64_t d) {
    part->m = -INFINITY, part->l = 0;
    for (int64_t x = 0; x < d; x++) part->O[x] = 0;
}

enum { LONG = 4096 };  // sequences that take too long to explain

// How keys are divided: in tiles of so many units; a block's warps take turns at its tiles. Blocks
// do so, too, or have ranges. And how the parts become one.
struct division {
    int64_t units, warps, splits;
    bool ranges;
    enum {
        MERGE_RIGHT,
        BY_EXP,          // exp of LSE in base 2
        BY_EXP2,         // exp2 of LSE in base e
        UNWEIGHTED,      // parts of blocks count alike
        ALL_UNWEIGHTED,  // those of warps, too
        EMPTY_COUNT,     // and those that have no keys
        BY_SUMS,         // by l alone, without the maximum
        NOT_MOVED,       // what was summed is not moved to a larger maximum
        SUM_NOT_MOVED,   // the sum of the weights is not, and O is
        O_NOT_MOVED,
        LAST_BLOCK,  // the last block's part is all there is
        FIRST_BLOCK,
        ALL_BUT_LAST,
        FIRST_WARP,  // of each block
        FIRST_32,    // parts of blocks: for these a sequence may be long
        FIRST_64,
        MERGES
    } merge;
};

// Adds a part to a sum of them, as the mistake does.
static void merge_part(struct part* sum, const struct part* part, const struct division* w,
                       bool of_warp, int64_t d) {
    if (w->merge >= NOT_MOVED && w->merge <= O_NOT_MOVED) {
        if (part->l == 0) return;
        const double LSE = part->m + log(part->l), m = fmax(sum->m, LSE), moved = exp(sum->m - m);
        const double O = w->merge == SUM_NOT_MOVED ? moved : 1;
        sum->m = m;
        for (int64_t x = 0; x < d; x++)
            sum->O[x] = O * sum->O[x] + exp(LSE - m) * part->O[x] / part->l;
        sum->l = (w->merge == O_NOT_MOVED ? moved : 1) * sum->l + exp(LSE - m);
        return;
    }
    if (w->merge == BY_EXP || w->merge == BY_EXP2) {
        const double to_base = w->merge == BY_EXP ? M_LOG2E : M_LN2;
        if (part->l == 0) return;
        const double LSE = part->m + log(part->l), m = fmax(sum->m, LSE);
        const double old = exp(to_base * (sum->m - m)), new = exp(to_base * (LSE - m));
        for (int64_t x = 0; x < d; x++) sum->O[x] = old * sum->O[x] + new * part->O[x] / part->l;
        sum->l = old * sum->l + new;
        sum->m = m;
        return;
    }
    bool alike = w->merge >= ALL_UNWEIGHTED && w->merge <= EMPTY_COUNT;
    if (w->merge == UNWEIGHTED) alike = !of_warp;
    if (w->merge == BY_SUMS && part->l > 0) {
        for (int64_t x = 0; x < d; x++) sum->O[x] += part->O[x];
        sum->l += part->l;
        sum->m = fmax(sum->m, part->m);
    } else if (alike) {
        if (part->l == 0 && w->merge != EMPTY_COUNT) return;
        for (int64_t x = 0; x < d && part->l > 0; x++) sum->O[x] += part->O[x] / part->l;
        sum->l += 1;
        sum->m = fmax(sum->m, part->l > 0 ? part->m + log(part->l) : -INFINITY);
    } else {
        part_add(sum, part, d);
    }
}

// The row of these units; block and warp have room for O.
static void merge_row(const struct part* unit, int64_t count, const struct division* w, int64_t d,
                      struct part* row, struct part* block, struct part* warp) {
    const int64_t tiles = CEIL_DIV(count, w->units), turns = CEIL_DIV(tiles, w->warps);
    const int64_t share = CEIL_DIV(turns, w->splits) * w->warps;
    const int64_t blocks = w->ranges           ? CEIL_DIV(tiles, share)
                           : turns < w->splits ? turns
                                               : w->splits;
    part_clear(row, d);
    for (int64_t s = 0; s < blocks; s++) {
        if (w->merge == LAST_BLOCK && s < blocks - 1) continue;
        if (w->merge == FIRST_BLOCK && s > 0) continue;
        if (w->merge == ALL_BUT_LAST && s == blocks - 1) continue;
        if (w->merge == FIRST_32 && s >= 32) continue;
        if (w->merge == FIRST_64 && s >= 64) continue;
        const int64_t step = w->ranges ? w->warps : blocks * w->warps;
        const int64_t first = w->ranges ? s * share : s * w->warps;
        const int64_t end = w->ranges && first + share < tiles ? first + share : tiles;
        part_clear(block, d);
        for (int64_t n = 0; n < (w->merge == FIRST_WARP ? 1 : w->warps); n++) {
            part_clear(warp, d);
            for (int64_t tile = first + n; tile < end; tile += step)
                for (int64_t u = tile * w->units; u < (tile + 1) * w->units && u < count; u++)
                    part_add(warp, &unit[u], d);
            merge_part(block, warp, w, true, d);
        }
        merge_part(row, block, w, false, d);
    }
}

// The units of query i of head h of the only sequence, to be freed: all O in one piece.
static struct part* units_of(const struct sequence* s, int64_t h, int64_t i) {
    const struct problem* p = &s->problem;
    int64_t count = CEIL_DIV(p->N_k, UNIT);
    struct part* unit = check_allocate(p->check, count, sizeof *unit);
    double* O = check_allocate(p->check, count * p->d, sizeof *O);
    for (int64_t n = 0; n < count; n++) {
        unit[n].O = O + n * p->d;
        part_clear(&unit[n], p->d);
        for (int64_t j = n * UNIT; j < (n + 1) * UNIT && j < keys_seen(p, i) && j < p->N_k; j++) {
            struct part key = {score(p, 0, h, i, j), 1, row_of(p, ARRAY_V, 0, h, j)};
            part_add(&unit[n], &key, p->d);
        }
    }
    return unit;
}

// A row of a sequence: where its part of O begins, and its LSE.
struct row {
    int64_t h, i, O, LSE;
};

// Finds a row in which an element is wrong, behind so many other such rows; false if there is none.
static bool find_wrong(const struct suspect* s, const struct sequence* of, int behind,
                       struct row* found) {
    const struct problem* p = &of->problem;
    const bool is_LSE = s->tensor == ((const struct decode*)s->problem)->LSE;
    const struct tensor* t = is_LSE ? &of->LSE : &of->O;
    FOR_EACH_QUERY(p, b, h, i) {
        struct row row = {h, i, place_in(p, ARRAY_O, b, h, i), place_in(p, ARRAY_LSE, b, h, i)};
        const int64_t first = is_LSE ? row.LSE : row.O;
        bool wrong = false;
        for (int64_t e = first; e < first + (is_LSE ? 1 : p->d); e++)
            wrong |= !(fabs(t->got[e] - t->want[e]) <= s->budget.max);
        if (wrong && behind-- == 0) {
            *found = row;
            return true;
        }
    }
    return false;
}

// Would this division, with its mistake, have left these numbers in the row of O, or its LSE? One
// column tells most divisions apart.
static bool is_row(const struct suspect* s, const struct sequence* of, struct row at,
                   const struct part* unit, const struct division* w, struct part scratch[3]) {
    const struct problem* p = &of->problem;
    const struct decode* decode = s->problem;
    const int64_t count = CEIL_DIV(p->N_k, UNIT);
    const double *got = of->O.got + at.O, *want = of->O.want + at.O;
    struct part* row = &scratch[0];
    merge_row(unit, count, w, 1, row, &scratch[1], &scratch[2]);
    if (s->tensor == decode->LSE) {
        double guess = row->m + log(row->l);
        return fabs(of->LSE.got[at.LSE] - guess) <= s->budget.max &&
               fabs(of->LSE.want[at.LSE] - guess) > s->budget.max;
    }
    if (!(fabs(got[0] - row->O[0] / row->l) <= s->budget.max)) return false;
    merge_row(unit, count, w, p->d, row, &scratch[1], &scratch[2]);
    bool differs = false;
    for (int64_t x = 0; x < p->d; x++) {
        double guess = row->O[x] / row->l;
        if (!(fabs(got[x] - guess) <= s->budget.max)) return false;
        differs |= fabs(want[x] - guess) > s->budget.max;
    }
    return differs;
}

// Is it so in the next wrong rows as well? One alone may be like many divisions.
static bool are_next_rows(const struct suspect* s, const struct sequence* of,
                          const struct division* w, struct part scratch[3]) {
    enum { ROWS = 4 };
    struct row row;
    bool all = true;
    for (int n = 1; n < ROWS && all && find_wrong(s, of, n, &row); n++) {
        struct part* unit = units_of(of, row.h, row.i);
        all = is_row(s, of, row, unit, w, scratch);
        free(unit[0].O);
        free(unit);
    }
    return all;
}

static enum cause explain_merge(const struct suspect* s, int64_t b) {
    static const enum cause causes[MERGES] = {
        [BY_EXP] = CAUSE_merge_base,         [BY_EXP2] = CAUSE_merge_base,
        [UNWEIGHTED] = CAUSE_merge_weights,  [ALL_UNWEIGHTED] = CAUSE_merge_weights,
        [EMPTY_COUNT] = CAUSE_merge_weights, [BY_SUMS] = CAUSE_merge_weights,
        [NOT_MOVED] = CAUSE_merge_weights,   [SUM_NOT_MOVED] = CAUSE_merge_weights,
        [O_NOT_MOVED] = CAUSE_merge_weights, [ALL_BUT_LAST] = CAUSE_merge_lost,
        [LAST_BLOCK] = CAUSE_merge_lost,     [FIRST_BLOCK] = CAUSE_merge_lost,
        [FIRST_32] = CAUSE_merge_lost,       [FIRST_64] = CAUSE_merge_lost,
        [FIRST_WARP] = CAUSE_merge_lost,
    };
    const struct decode* p = s->problem;
    struct view v = right_view(p, b);
    struct sequence of;
    sequence_make(&of, p, b, &v);
    struct row row = {0};
    find_wrong(s, &of, 0, &row);
    struct part* unit = units_of(&of, row.h, row.i);
    double* room = check_allocate(p->check, 3 * p->d, sizeof *room);
    struct part scratch[] = {{.O = room}, {.O = room + p->d}, {.O = room + 2 * p->d}};
    enum cause cause = CAUSE_NONE;
    const int64_t most = CEIL_DIV(of.problem.N_k, UNIT);
    for (int merge = p->length[b] < LONG ? BY_EXP : FIRST_32; merge < MERGES; merge++)
        for (int64_t units = 1; units <= 4; units *= 2)
            for (int64_t warps = 1; warps <= 8; warps *= 2)
                for (int64_t splits = 1; splits <= most && !cause; splits++)
                    for (int ranges = 0; ranges < 2 && !cause; ranges++) {
                        struct division w = {units, warps, splits, ranges, merge};
                        if (is_row(s, &of, row, unit, &w, scratch) &&
                            are_next_rows(s, &of, &w, scratch))
                            cause = causes[merge];
                    }
    free(room);
    free(unit[0].O);
    free(unit);
    sequence_free(&of);
    return cause;
}

#endif
