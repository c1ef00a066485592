// forward_simulate.c: what a forward kernel with a mistake writes, and whether that is what a
// student's kernel wrote.
#include <stdlib.h>

#include "attention/forward_mistakes.h"
#include "attention/places.h"

struct forward_mistake forward_right(const struct problem* p) {
    struct forward_mistake w = {.scale = p->scale,
                                .causal = p->causal,
                                .offset = p->N_k - p->N_q,
                                .keys = p->N_k,
                                .blocks = blocks_of(p),
                                .columns = p->d,
                                .block_q = 16,
                                .block_k = 16,
                                .tile = MAX_N,
                                .m = -INFINITY};
    for (int a = 0; a < ARRAYS; a++) {
        const struct array* from = &p->array[a];
        w.view[a] = (struct view){from->tensor ? from->tensor->value : NULL, from->stride, 0};
    }
    return w;
}

// Row i of query head h in Q or O.
static int64_t query_row(const struct problem* p, const struct view* v, int64_t b, int64_t h,
                         int64_t i) {
    int64_t in_group = h % p->group;
    int64_t more = v->step ? in_group * (v->step - v->stride.h) : 0;
    return place(v->stride, b, h, i) + more;
}

// Which head of K and V query head h takes.
static int64_t key_head(const struct problem* p, const struct forward_mistake* w, int64_t h) {
    if (w->grouping == HEADS_FROM_KEY) return w->taken_head;
    if (w->grouping == HEADS_SHIFTED) {
        int64_t head = h;
        for (int64_t size = p->group; size > 1; size /= 2) head /= 2;
        return head;
    }
    return w->grouping == INTERLEAVED ? h % (p->H / p->group) : h / p->group;
}

// HEADS_FROM_KEY, heads counted over all batches: which key heads make query head h of batch b? The
// number of them; *one is one.
static int64_t makers_of(const struct problem* p, int64_t b, int64_t h, int64_t* one) {
    int64_t makers = 0;
    for (int64_t k = 0; k < p->B * (p->H / p->group); k++) {
        const int64_t n = b * p->H + h - k;
        if (n >= 0 && n < p->group) *one = k, makers++;
    }
    return makers;
}

// FIRST_BY_HEADS: is query i of head h a row of some block? A block's first row is query
// first % N_q and head first / N_q of the group.
static bool is_in_a_block(const struct problem* p, const struct forward_mistake* w, int64_t i,
                          int64_t h) {
    for (int64_t first = 0; first < p->N_q * p->group; first += w->block_q) {
        const int64_t left = p->N_q * p->group - first;
        const int64_t rows = left < w->block_q ? left : w->block_q;
        const int64_t behind =
            (i - first % p->N_q) * p->group + h % p->group - first / p->N_q;  // the first row
        if (behind >= 0 && behind < rows) return true;
    }
    return false;
}

// True if some packed row of a kernel with this mistake is query i of head h.
static bool has_a_row(const struct problem* p, const struct forward_mistake* w, int64_t i,
                      int64_t h) {
    int64_t n = 1, g = h % p->group;
    if (w->grouping == FIRST_BY_HEADS) return is_in_a_block(p, w, i, h);
    while (n < p->group) n *= 2;
    // In place of r % n such kernels have r & (group - 1), which leaves bits out.
    return w->grouping != POWERS_OF_TWO ||
           ((g & (p->group - 1)) == g && i * n + g < p->N_q * p->group);
}

static int64_t packed_row(const struct problem* p, int64_t h, int64_t i) {
    return i * p->group + h % p->group;
}

// The query whose mask row i of head h gets.
static int64_t masked_as(const struct problem* p, const struct forward_mistake* w, int64_t h,
                         int64_t i) {
    if (w->grouping == ROW_FOR_A_QUERY) return packed_row(p, h, i);
    if (w->grouping == QUERIES_FIRST) return packed_row(p, h, i) % p->N_q;
    return w->grouping == HEADS_FIRST ? (h % p->group * p->N_q + i) / p->group : i;
}

// The keys of one row: those of [first, visible) count, those of [visible, loaded) as the flaw
// says; the mask is applied from `unmasked` on.
struct range {
    int64_t first, visible, loaded, unmasked;
    int64_t again, again_end;  // keys that count twice
};

static int64_t seen_by(const struct forward_mistake* w, int64_t i) {
    if (w->as_one) i = (i / w->as_one + 1) * w->as_one - 1;
    int64_t seen = w->causal ? i + 1 + w->offset : w->keys;
    return seen < 0 ? 0 : seen > w->keys ? w->keys : seen;
}

// `row` is the packed one of query i: of a group of heads a tile has block_q such rows.
static struct range range_of(const struct problem* p, const struct forward_mistake* w, int64_t i,
                             int64_t row) {
    int64_t first = row / w->block_q * w->block_q;
    int64_t first_row = first / p->group, last_row = (first + w->block_q - 1) / p->group;
    int64_t visible = seen_by(w, i), end = seen_by(w, last_row);
    int64_t whole = end / w->block_k * w->block_k;
    switch (w->flaw) {
    case NO_FLAW:
        break;
    case TAIL_COUNTS:
        if (!w->causal) visible = round_up(p->N_k, w->block_k);
        break;
    case ONE_KEY_MORE:
        if (visible < round_up(end, w->block_k)) visible++;
        break;
    case LAST_TILE_DROPPED:
        if (visible > whole) visible = whole;
        break;
    case END_OF_FIRST_ROW:
        if (visible > round_up(seen_by(w, first_row), w->block_k))
            visible = round_up(seen_by(w, first_row), w->block_k);
        break;
    case ONE_TILE_IN_PART_2:
        if (visible > (seen_by(w, first_row) / w->block_k + 1) * w->block_k)
            visible = (seen_by(w, first_row) / w->block_k + 1) * w->block_k;
        break;
    case DIAGONAL_UNMASKED:
        if (visible < whole) visible = whole;
        break;
    case LAST_TILES_MASKED: {
        int64_t unmasked = round_up(end, w->block_k) - (int64_t)w->masked * w->block_k;
        if (visible < unmasked) visible = unmasked;
        break;
    }
    case END_UNMASKED:
        visible = round_up(end, w->block_k);
        break;
    case PART_1_LOST: {
        int64_t full_end = seen_by(w, first_row) / w->block_k * w->block_k;
        return (struct range){.first = full_end < end ? full_end : 0,  // or no part 2
                              .visible = visible,
                              .loaded = visible};
    }
    case PARTS_OVERLAP: {
        const int64_t full_end = seen_by(w, first_row), part_1 = round_up(full_end, w->block_k);
        const int64_t twice = visible < part_1 ? visible : part_1;
        if (visible < part_1) visible = part_1;
        return (struct range){0, visible, visible, 0, full_end, twice};
    }
    case SEEN_BY_PACKED_ROW:
        visible = seen_by(w, row);
        if (visible > round_up(end, w->block_k)) visible = round_up(end, w->block_k);
        break;
    case WHOLE_BY_PACKED_ROW: {
        const int64_t seen = seen_by(w, first);
        const int64_t unmasked = (seen < end ? seen : end) / w->block_k * w->block_k;
        if (visible < unmasked) visible = unmasked;
        break;
    }
    case MASK_BY_COLUMN:
    case MASK_OF_WARP_16:
    case MASK_OF_WARP_32:
    case MASK_BY_ROW: {
        const int64_t full_end = seen_by(w, first_row) / w->block_k * w->block_k;
        const int64_t rows = w->flaw == MASK_OF_WARP_16 ? 16 : 32, in_warp = (row - first) % rows;
        if (w->flaw == MASK_OF_WARP_16 || w->flaw == MASK_OF_WARP_32)
            visible = seen_by(w, (first + in_warp) / p->group);
        if (w->flaw == MASK_BY_ROW) visible = seen_by(w, i - first_row);
        if (w->flaw == MASK_BY_ROW && visible < full_end) visible = full_end;
        return (struct range){
            .visible = visible, .loaded = round_up(end, w->block_k), .unmasked = full_end};
    }
    case MASKED_COUNT:
    case MASKED_IN_MAXIMUM:
        return (struct range){.visible = visible, .loaded = round_up(end, w->block_k)};
    case MASKED_COUNT_TO_N_K:
        return (struct range){.visible = visible, .loaded = round_up(p->N_k, w->block_k)};
    }
    return (struct range){.visible = visible, .loaded = visible};
}

// Of `index`, the number in its square is that of `other` in another square.
static int64_t in_square(int64_t index, int64_t other, int64_t square) {
    return index - index % square + other % square;
}

// Element (n, x) of an array whose squares may be turned; 0 in rows that do not exist.
static double turned(const struct problem* p, const struct forward_mistake* w, enum which a,
                     int64_t b, int64_t h, int64_t n, int64_t x) {
    const struct view* v = &w->view[a];
    if (w->turned >> a & 1) {
        const int64_t row = in_square(n, x, w->square), column = in_square(x, n, w->square);
        n = row, x = column;
    }
    if (n >= rows_of(p, a) || x >= p->d) return 0;
    return v->value[x + (is_of_keys(a) ? place(v->stride, b, key_head(p, w, h), n)
                                       : query_row(p, v, b, h, n))];
}

// Column x of the value that is multiplied with the weight of query i and key j.
static double value_at(const struct problem* p, const struct forward_mistake* w, int64_t b,
                       int64_t h, int64_t i, int64_t j, int64_t x) {
    if (w->value_of == VALUE_OF_COLUMN) j = in_square(j, x, w->square);
    if (w->value_of == VALUE_OF_QUERY) j = in_square(j, i, w->square);
    return turned(p, w, ARRAY_V, b, h, j, x);
}

// S of query i and key j, not scaled.
static double product(const struct problem* p, const struct forward_mistake* w, int64_t b,
                      int64_t h, int64_t i, int64_t j) {
    const struct view *Q = &w->view[ARRAY_Q], *K = &w->view[ARRAY_K];
    const int64_t query = w->query_of_key ? in_square(i, j, w->square) : i;
    const int64_t key = w->key_of_query ? in_square(j, i, w->square) : j;
    if (query >= p->N_q || key >= p->N_k) return 0;
    const double* q = Q->value + query_row(p, Q, b, h, query);
    const double* k = K->value + place(K->stride, b, key_head(p, w, h), key);
    double sum = 0;
    if (w->turned) {
        for (int64_t x = 0; x < w->columns; x++)
            sum += turned(p, w, ARRAY_Q, b, h, query, x) * turned(p, w, ARRAY_K, b, h, key, x);
        return sum;
    }
    for (int64_t x = 0; x < w->columns; x++)
        sum += w->online.half_products ? dtype_round(F16, q[x] * k[x]) : q[x] * k[x];
    return sum;
}

// Is key j hidden from the query?
static bool is_hidden(const struct forward_mistake* w, struct range keys, int64_t j) {
    if (w->flaw == MASKED_IN_MAXIMUM) return false;
    if (w->flaw == MASK_BY_COLUMN) return j >= keys.unmasked && j % w->block_k >= keys.visible;
    return j >= keys.visible;
}

// The scores of query i, to be read from row i of Q, with the keys in range; the mask of row `as`
// applies.
static void score_row(const struct problem* p, const struct forward_mistake* w, int64_t b,
                      int64_t h, int64_t i, struct range keys, double* S) {
    for (int64_t j = keys.first; j < keys.loaded; j++) {
        S[j] = index_capped(p, w->scale * product(p, w, b, h, i, j));
        if (j < p->N_k && !pair_times(p, w->blocks, b, h, i, j)) S[j] = -INFINITY;
        if (is_hidden(w, keys, j)) S[j] = w->masked;
    }
}

static double power(bool of_2, double x) {
    return exp32(of_2 ? x * log(2) : x);
}

static double weight_of(const struct online* f, double S, double m) {
    return S == -INFINITY && !f->unguarded ? 0 : power(f->P_of_2, S - m);
}

// The tile that is the n-th to be walked over, of `tiles` in all.
static int64_t tile_of(const struct online* f, int64_t n, int64_t tiles) {
    if (f->tiles == FIRST_AGAIN) return n > 0 ? n - 1 : 0;
    if (f->tiles == LAST_AGAIN) return n < tiles ? n : tiles - 1;
    if (f->tiles == BACKWARDS) return tiles - 1 - n;
    return n;
}

// How often key j is summed, which is number n in its tile.
static double count_of(const struct forward_mistake* w, struct range keys, int64_t j, int64_t n) {
    if (w->online.keys == WITHOUT_FIRST && n == 0) return 0;
    if (w->online.keys == WITHOUT_LAST && n == w->tile - 1) return 0;
    return j >= keys.again && j < keys.again_end ? 2 : 1;
}

// What m is multiplied by once more.
static double again_of(const struct forward_mistake* w) {
    return w->online.in_base_2 ? w->scale / M_LN2 : w->scale;
}

// The scale times the larger of m and of the keys' largest score, before the scale.
static double scaled_maximum(const struct forward_mistake* w, const double* S, int64_t j0,
                             int64_t end, double m) {
    const double unit = w->online.in_base_2 ? M_LN2 : 1;
    double raw = m / unit;
    for (int64_t j = j0; j < end; j++) raw = fmax(raw, S[j] == -INFINITY ? S[j] : S[j] / w->scale);
    return raw * w->scale;
}

// What is subtracted behind keys j0 to end, if it was m before them.
static double maximum_of(const struct forward_mistake* w, const double* S, int64_t j0, int64_t end,
                         double m) {
    const struct online* f = &w->online;
    if (f->subtracted == LARGEST_OF_TILE) m = -INFINITY;
    if (f->m_again == SCALED_IN_TILES) return scaled_maximum(w, S, j0, end, m);
    for (int64_t j = j0; j < end; j++) {
        if (f->subtracted == LARGEST || f->subtracted == LARGEST_OF_TILE ||
            (f->subtracted != CONSTANT && f->subtracted != RAW && j == 0))
            m = fmax(m, S[j]);
        if (f->subtracted == SMALLEST) m = fmin(m, S[j]);
        if (f->subtracted == RAW) m = fmax(m, S[j] / w->scale * log(2));
    }
    return m;
}

static double alpha_of(const struct forward_mistake* w, double m, double m_new, bool first_tile) {
    const struct online* f = &w->online;
    if (f->unscaled_first && first_tile) return 1;
    if (m_new == -INFINITY && !f->unguarded) return 1;
    if (f->alpha_raw) return exp32((m - m_new) / w->scale);
    if (f->m_again == SCALED_IN_EXP) return exp32(again_of(w) * (m - m_new));
    return power(f->alpha_of_2, f->reversed ? m_new - m : m - m_new);
}

// One row of O and its LSE, from its scores, tile by tile.
static double sum_row(const struct problem* p, const struct forward_mistake* w, int64_t b,
                      int64_t h, int64_t i, struct range keys, const double* S, double* O) {
    const struct online* f = &w->online;
    const struct view* V = &w->view[ARRAY_V];
    const int64_t kh = key_head(p, w, h);
    int64_t counted = w->flaw == MASKED_IN_MAXIMUM ? keys.visible : keys.loaded;
    double m = w->m, l = f->l, late = 0;
    for (int64_t x = 0; x < p->d; x++) O[x] = 0;
    int64_t tiles = CEIL_DIV(keys.loaded - keys.first, w->tile);
    int64_t walked =
        tiles > 0 && (f->tiles == FIRST_AGAIN || f->tiles == LAST_AGAIN) ? tiles + 1 : tiles;
    for (int64_t n = f->tiles == FIRST_LOST; n < walked; n++) {
        int64_t j0 = keys.first + tile_of(f, n, tiles) * w->tile;
        int64_t end = j0 + w->tile < keys.loaded ? j0 + w->tile : keys.loaded;
        const double m_new = maximum_of(w, S, j0, end, m), alpha = alpha_of(w, m, m_new, n == 0);
        double base = f->P_before && n > 0 ? m : m_new;
        if (f->m_again > SCALED_IN_TILES) base *= again_of(w);
        double sum = 0;
        if (end > counted) end = counted;
        for (int64_t j = j0; j < end; j++) {
            if (f->l_each_key) sum *= alpha;
            sum += weight_of(f, S[j], base) * count_of(w, keys, j, j - j0);
        }
        if (f->l_late) {
            l = alpha * (l + late);
            late = sum;
        } else {
            l = pow(alpha, f->l_kept ? 0 : f->l_each_key ? w->tile : 1 + f->l_more) * l + sum;
        }
        double of_O = f->O_of_2 ? power(true, m - m_new) : alpha;
        for (int64_t x = 0; x < p->d; x++) O[x] *= f->O_kept || f->O_each_key ? 1 : of_O;
        for (int64_t j = j0; j < end; j++) {
            const double* v = V->value + place(V->stride, b, kh, j);
            double weight = weight_of(f, S[j], base) * count_of(w, keys, j, j - j0);
            if (f->divided == IN_LOOP || f->divided == IN_LOOP_AND_AT_END) weight /= l;
            for (int64_t x = 0; x < p->d && f->O_each_key; x++) O[x] *= of_O;
            for (int64_t x = 0; x < p->d && j < p->N_k; x++)
                O[x] += weight * (w->turned || w->value_of ? value_at(p, w, b, h, i, j, x) : v[x]);
        }
        const bool O_divided = f->divided == O_IN_LOOP || f->divided == O_IN_LOOP_AND_AT_END;
        for (int64_t x = 0; x < p->d && O_divided; x++) O[x] /= l;
        if (!f->m_kept) m = m_new;
        if (f->subtracted != LARGEST_OF_TILE && !f->m_again) continue;
        l = (double)(float)l;  // alpha may be large, or P
        for (int64_t x = 0; x < p->d; x++) O[x] = (double)(float)O[x];
    }
    bool divided = f->divided == AT_END || f->divided == IN_LOOP_AND_AT_END ||
                   f->divided == O_IN_LOOP_AND_AT_END;
    for (int64_t x = 0; x < p->d && divided; x++) O[x] = l > 0 || f->unguarded ? O[x] / l : 0;
    return m + log(l);
}

// True if the kernel finds the rows of this head within its arrays. Behind them anything may lie.
static bool is_within(const struct problem* p, const struct forward_mistake* w, int64_t b,
                      int64_t h) {
    int64_t last = query_row(p, &w->view[ARRAY_Q], b, h, p->N_q - 1) + p->d;
    bool within = last <= p->array[ARRAY_Q].tensor->count;
    for (enum which a = ARRAY_K; a <= ARRAY_V && p->N_k > 0; a++)
        within &= head_fits(p, a, w->view[a].stride, b, h);
    return within;
}

static void put(double* to, double value) {
    *to = *to == NOT_WRITTEN ? value : ANYTHING;
}

// The row of O and the LSE of a query that a kernel with this mistake gives; ANYTHING if it reads
// what lies behind an array. False if no row of the kernel is this query.
static bool simulate_row(const struct problem* p, const struct forward_mistake* w, int64_t b,
                         int64_t h, int64_t i, double* row, double* lse) {
    double S[MAX_N];
    if (!has_a_row(p, w, i, h)) return false;
    struct forward_mistake of_row = *w;
    if (w->grouping == ROWS_UP_TO_N_Q && packed_row(p, h, i) >= p->N_q) of_row.columns = 0;
    const int64_t as = masked_as(p, w, h, i);
    struct range keys = range_of(p, w, as, packed_row(p, h, as));
    for (int64_t x = 0; x < p->d; x++) row[x] = ANYTHING;
    *lse = ANYTHING;
    if (w->grouping == HEADS_FROM_KEY) {
        const int64_t makers = makers_of(p, b, h, &of_row.taken_head), heads = p->H / p->group;
        if (makers == 0) return false;
        if (makers > 1 || of_row.taken_head / heads != b) return true;
        of_row.taken_head %= heads;
    }
    if (is_unknown(w->blocks, b, h, i, false)) return true;
    if (!is_within(p, &of_row, b, h) || key_head(p, &of_row, h) >= p->H / p->group) return true;
    score_row(p, &of_row, b, h, i, keys, S);
    *lse = sum_row(p, &of_row, b, h, i, keys, S, row);
    return true;
}

// The outputs of a kernel with this mistake. O and LSE have as many elements as their tensors:
// NOT_WRITTEN where nothing is written, ANYTHING in an element that is written twice, or made of
// what lies behind an array.
static void forward_simulate(const struct problem* p, const struct forward_mistake* w, double* O,
                             double* LSE) {
    const struct strides of_LSE = w->view[ARRAY_LSE].stride;
    double row[MAX_HEAD], lse;
    for (int64_t e = 0; e < p->array[ARRAY_O].tensor->count; e++) O[e] = NOT_WRITTEN;
    for (int64_t e = 0; e < p->array[ARRAY_LSE].tensor->count; e++) LSE[e] = NOT_WRITTEN;
    FOR_EACH_QUERY(p, b, h, i) {
        if (!simulate_row(p, w, b, h, i, row, &lse)) continue;
        int64_t first = w->rows ? i / w->rows * w->rows : 0;  // this row is where it belongs
        int64_t o =
            query_row(p, &w->view[ARRAY_O], b, h, i - first) + first * p->array[ARRAY_O].stride.n;
        bool fits = o >= 0 && o + p->d <= p->array[ARRAY_O].tensor->count;
        for (int64_t x = 0; x < p->d && fits; x++) put(&O[o + x], row[x]);
        if (head_fits(p, ARRAY_LSE, of_LSE, b, h)) put(&LSE[place(of_LSE, b, h, i)], lse);
    }
}

// ---- is it what the kernel wrote? ----------------------------------------------------------

// Are the elements of this query what the guess for it says?
static bool is_row_like(const struct suspect* s, int64_t b, int64_t h, int64_t i, const double* O,
                        double LSE, double reach) {
    const struct problem* p = s->problem;
    if (!is_O(s))
        return LSE == ANYTHING ||
               !hypothesis_refuted_within(s, place_in(p, ARRAY_LSE, b, h, i), LSE, reach);
    int64_t first = place_in(p, ARRAY_O, b, h, i);
    for (int64_t x = 0; x < p->d; x++)
        if (O[x] != ANYTHING && hypothesis_refuted_within(s, first + x, O[x], reach)) return false;
    return true;
}

// True if some element of the query is wrong.
static bool is_row_wrong(const struct suspect* s, int64_t b, int64_t h, int64_t i) {
    const struct problem* p = s->problem;
    enum which a = is_O(s) ? ARRAY_O : ARRAY_LSE;
    int64_t first = place_in(p, a, b, h, i);
    for (int64_t e = first; e < first + width_of(p, a); e++)
        if (hypothesis_refuted_within(s, e, s->tensor->want[e], s->budget.max)) return true;
    return false;
}

bool forward_rows_fit(const struct suspect* s, forward_row* row_of, const void* how) {
    enum { ROWS = 4 };  // few are enough to rule most guesses out
    const struct problem* p = s->problem;
    const double reach = hypothesis_reach(s);
    double O[MAX_HEAD], LSE;
    int rows = 0;
    FOR_EACH_QUERY(p, b, h, i) {
        if (rows == ROWS || !is_row_wrong(s, b, h, i)) continue;
        rows++;
        if (row_of(p, how, b, h, i, O, &LSE) && !is_row_like(s, b, h, i, O, LSE, reach))
            return false;
    }
    return true;
}

static bool row_of_mistake(const struct problem* p, const void* how, int64_t b, int64_t h,
                           int64_t i, double* O, double* LSE) {
    return simulate_row(p, how, b, h, i, O, LSE);
}

bool is_without_last_keys(const struct suspect* s, int64_t tile) {
    const struct problem* p = s->problem;
    struct forward_mistake w = forward_right(p);
    const double reach = hypothesis_reach(s);
    double O[MAX_HEAD], LSE;
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        if (!is_row_wrong(s, b, h, i)) continue;
        const int64_t seen = keys_seen(p, i) < p->N_k ? keys_seen(p, i) : p->N_k;
        w.keys = (seen - 1) / tile * tile;
        if (w.keys <= 0 || !simulate_row(p, &w, b, h, i, O, &LSE)) return false;
        if (!is_row_like(s, b, h, i, O, LSE, reach)) return false;
        any = true;
    }
    return any;
}

// False if rows are stored elsewhere, and perhaps over one another.
static bool stores_in_place(const struct problem* p, const struct forward_mistake* w) {
    for (enum which a = ARRAY_O; a < ARRAYS; a++) {
        struct strides own = p->array[a].stride, of = w->view[a].stride;
        if ((a == ARRAY_O || a == ARRAY_LSE) &&
            (own.b != of.b || own.n != of.n || own.h != of.h || w->view[a].step))
            return false;
    }
    return !w->rows;
}

struct suspect forward_suspect(struct check* c, const struct tensor* t, struct budget budget) {
    // P is rounded to bf16 by the kernel, but not in the guess.
    const struct problem* p = problem_of_case(c);
    double unexplained = p->contract->rounded_weights ? 0.5 : 0.25;
    double rounding = t->dtype == F16 ? 0x1p-9 : t->dtype == BF16 ? 0x1p-8 : 0x1p-20;
    return (struct suspect){.tensor = t,
                            .budget = budget,
                            .slack = {.of_largest = rounding, .unexplained = unexplained},
                            .problem = p};
}

bool is_O(const struct suspect* s) {
    const struct problem* p = s->problem;
    return s->tensor == p->array[ARRAY_O].tensor;
}

bool is_guess(const struct suspect* s, const double* guess) {
    return hypothesis_fit(s->tensor, guess, s->budget, s->slack) == FIT_SHOWN;
}

bool is_cut_off(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    const int64_t width = t->shape.dim[t->shape.rank - 1];
    int64_t count = 0, cut = 0, wrong = 0, ones = 0;
    int64_t differ = 0;  // from the number above: of equal rows there are too few numbers
    for (int64_t e = 0; e < t->count && is_O(s); e++) {
        if (t->untouched[e]) continue;
        double got = t->got[e], want = t->want[e], nearest = dtype_round(t->dtype, want);
        double ulp = dtype_ulp(t->dtype, want);
        count++;
        wrong += got != nearest;
        differ += got != nearest && e >= width && got != t->got[e - width];
        cut += got != nearest && got == nearest - copysign(ulp, want) && fabs(nearest) > fabs(want);
        ones += want == 1 && got <= 1 && got >= 1 - 2 * ulp;
    }
    return count > 0 &&
           ((differ >= 8 && wrong >= count / 64 && cut >= wrong * 15 / 16) ||
            (ones == count && 8 * wrong > 5 * count));  // an alpha that was rounded is of some rows
}

// True if LSE is NaN in just the rows where the guess is, and with `numbers` about the guess in the
// others.
static bool is_LSE_like(const struct problem* p, const double* LSE, bool numbers) {
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t e = place_in(p, ARRAY_LSE, b, h, i);
        const double got = p->array[ARRAY_LSE].tensor->got[e], guess = LSE[e];
        if (isnan(got) != isnan(guess)) return false;
        if (numbers && !isnan(got) && got != guess &&
            !(fabs(got - guess) <= 1e-3 * (1 + fabs(guess))))
            return false;
    }
    return true;
}

// True if O is about what the guess says.
static bool is_O_like(const struct problem* p, const double* guess) {
    const struct tensor* O = p->array[ARRAY_O].tensor;
    double largest = 0, off = 0;
    for (int64_t e = 0; e < O->count; e++) {
        if (O->untouched[e] || fabs(guess[e]) == ANYTHING) continue;
        largest = fmax(largest, fabs(guess[e]));
        off = fmax(off, fabs(O->got[e] - guess[e]));
    }
    return off <= largest / 64;
}

bool is_forward(const struct suspect* s, const struct forward_mistake* w) {
    const struct problem* p = s->problem;
    if (stores_in_place(p, w) && !forward_rows_fit(s, row_of_mistake, w)) return false;
    int64_t count = p->array[ARRAY_O].tensor->count;
    double* O = check_allocate(p->check, count + p->array[ARRAY_LSE].tensor->count, sizeof *O);
    double* LSE = O + count;
    forward_simulate(p, w, O, LSE);
    bool yes = is_guess(s, is_O(s) ? O : LSE) &&
               (!w->needs_LSE || is_LSE_like(p, LSE, w->needs_all_of_LSE)) &&
               (!w->needs_O || is_O(s) || is_O_like(p, O));
    free(O);
    return yes;
}
