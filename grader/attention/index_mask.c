// index_mask.c: who sees whom, rightly or with a mistake: as a kernel finds it that walks over
// tiles.
#include "attention/index_mask.h"

#include <stdio.h>
#include <stdlib.h>

#include "attention/problem.h"

// ---- one query -----------------------------------------------------------------------------

struct range {
    int64_t from, to;
};

// Of a query: the keys [start, sinks) and [from, to).
struct keys {
    int64_t start, sinks, from, to;
};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

// So many of the first documents, but not the last one, end more than one key before a position.
static int64_t documents_before(const struct index_mask* m, const double* begin, int64_t position) {
    int64_t low = 0, high = m->documents - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (begin[middle + 1] < (double)(position - 1))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The document of a position; an empty one if it is in none.
static struct range document_of(const struct problem* p, int64_t b, int64_t position) {
    const struct index_mask* m = &p->index;
    if (position < 0 && m->flaw == BOTTOM_RIGHT_ONLY_UP) position = 0;
    if (position < 0) return (struct range){0, 0};
    if (!m->documents || !m->cu_seqlens || m->flaw == DOCUMENTS_IGNORED)
        return (struct range){0, p->N_k};
    int64_t row = m->flaw == DOCUMENTS_OF_FIRST ? 0 : b;
    int64_t step = m->flaw == DOCUMENTS_PACKED ? m->documents : m->documents + 1;
    const double* begin = m->cu_seqlens->value + row * step;
    const int64_t first = m->flaw == DOCUMENTS_FEW ? 0 : documents_before(m, begin, position);
    for (int64_t n = first; n < m->documents && !(m->flaw == DOCUMENTS_FEW && n == 16); n++) {
        struct range document = {(int64_t)begin[n], (int64_t)begin[n + 1]};
        int64_t late = m->flaw == DOCUMENTS_BEGIN_LATE && document.to < begin[m->documents];
        bool taken = m->flaw == DOCUMENTS_EMPTY && position == document.from;
        if (document.from == document.to && !late && !taken) continue;
        if (taken) return document;
        if (n == m->documents - 1 && m->flaw == DOCUMENTS_PADDED) document.to = p->N_k;
        if (position >= document.to + late) continue;
        if (m->flaw == DOCUMENTS_UNENDED) document.to = (int64_t)begin[m->documents];
        if (m->flaw == DOCUMENTS_END_LATE) document.to = least(document.to + 1, p->N_k);
        return document;
    }
    int64_t end = (int64_t)begin[m->documents];
    return (struct range){end, end};
}

// What the query at `position` sees if this is its document.
static struct keys keys_in(const struct problem* p, struct range document, int64_t position) {
    const struct index_mask* m = &p->index;
    const enum index_flaw flaw = m->flaw;
    int64_t start = document.from, end = document.to, window = m->window;
    if (start >= end) return (struct keys){start, start, start, start};
    bool causal = m->causal && flaw != CAUSAL_IGNORED;
    bool symmetric = (!causal && flaw != WINDOW_ONE_SIDED) || flaw == WINDOW_BOTH_WAYS;
    int64_t before = window - !symmetric, after = symmetric ? window : 0;
    before += (flaw == WINDOW_MORE) - (flaw == WINDOW_LESS) - (flaw == WINDOW_BEGINS_LATE);
    if (symmetric && flaw == WINDOW_MORE) after++;
    if (symmetric && (flaw == WINDOW_LESS || flaw == WINDOW_ENDS_EARLY)) after--;
    after += (flaw == DIAGONAL_MORE) - (flaw == DIAGONAL_LESS);
    bool bounded = window > 0 && flaw != WINDOW_IGNORED;
    int64_t prefix = flaw == PREFIX_IGNORED ? 0 : m->prefix, sinks = m->sinks;
    prefix += (flaw == PREFIX_MORE) - (flaw == PREFIX_LESS);
    sinks += (flaw == SINKS_MORE) - (flaw == SINKS_LESS);
    if (flaw == PREFIX_KEPT) sinks = most(sinks, prefix);
    int64_t prefix_end = (flaw == PREFIX_OF_SEQUENCE ? 0 : start) + prefix;
    if (flaw == PREFIX_OF_QUERIES) prefix_end = position < prefix_end ? end : 0;
    if (flaw == PREFIX_INSIDE && position >= prefix_end) prefix_end = 0;
    struct keys seen = {start, start, start, end};
    if (causal || bounded || flaw == PREFIX_ALONE) {
        int64_t to = most(position + after + 1, prefix_end);
        seen.to = flaw == PREFIX_UNBOUNDED ? least(to, p->N_k) : least(end, to);
    }
    const int64_t of_window = flaw == WINDOW_OF_INDEX ? position - (p->N_k - p->N_q) : position;
    if (bounded) seen.from = most(start, of_window - before);
    if (bounded && flaw != SINKS_IGNORED) {
        bool of_sequence = flaw == SINKS_OF_SEQUENCE || flaw == SINKS_OF_ALL;
        seen.sinks = (of_sequence ? 0 : start) + sinks;
        if (flaw == SINKS_FROM_ZERO || flaw == SINKS_OF_ALL) seen.start = 0;
        seen.sinks = least(most(seen.sinks, seen.start), seen.from);
    }
    if (seen.to < seen.from) seen.to = seen.from;
    return seen;
}

static int64_t position_of(const struct problem* p, int64_t i) {
    return p->index.flaw == TOP_LEFT ? i : i + p->N_k - p->N_q;
}

struct index_lines {
    struct keys* keys;       // (B, N_q)
    struct range* queries;   // (B, N_k)
    struct range* document;  // (B, N_k), of a key
};

static struct keys keys_of(const struct problem* p, int64_t b, int64_t i) {
    if (p->index.lines) return p->index.lines->keys[b * p->N_q + i];
    int64_t q = position_of(p, i);
    return keys_in(p, document_of(p, b, p->index.flaw == DOCUMENT_OF_INDEX ? i : q), q);
}

static bool is_seen(struct keys seen, int64_t j) {
    return (j >= seen.start && j < seen.sinks) || (j >= seen.from && j < seen.to);
}

// The queries that see key j of this document, if query i stands at position i + shift.
static struct range queries_in(const struct problem* p, struct range document, int64_t j,
                               int64_t shift) {
    const struct index_mask* m = &p->index;
    int64_t from = document.from, to = document.to;
    if (m->causal || m->window) from = most(from, m->causal ? j : j - m->window);
    if (j < document.from + m->prefix) from = document.from;
    if (m->window && j >= document.from + m->sinks) to = least(to, j + m->window + !m->causal);
    from = least(most(from - shift, 0), p->N_q);
    return (struct range){from, least(most(to - shift, from), p->N_q)};
}

static struct range queries_at(const struct problem* p, int64_t b, int64_t j, int64_t shift) {
    return queries_in(p, document_of(p, b, j), j, shift);
}

static struct range queries_of(const struct problem* p, int64_t b, int64_t j) {
    if (p->index.lines) return p->index.lines->queries[b * p->N_k + j];
    return queries_at(p, b, j, p->N_k - p->N_q);
}

static struct range document_of_key(const struct problem* p, int64_t b, int64_t j) {
    return p->index.lines ? p->index.lines->document[b * p->N_k + j] : document_of(p, b, j);
}

void index_find_lines(struct problem* p) {
    struct index_lines* l = check_allocate(p->check, 1, sizeof *l);
    l->keys = check_allocate(p->check, p->B * p->N_q, sizeof *l->keys);
    l->queries = check_allocate(p->check, p->B * p->N_k, sizeof *l->queries);
    l->document = check_allocate(p->check, p->B * p->N_k, sizeof *l->document);
    p->index.lines = NULL;
    for (int64_t b = 0; b < p->B; b++) {
        for (int64_t i = 0; i < p->N_q; i++) l->keys[b * p->N_q + i] = keys_of(p, b, i);
        for (int64_t j = 0; j < p->N_k; j++) {
            l->queries[b * p->N_k + j] = queries_of(p, b, j);
            l->document[b * p->N_k + j] = document_of(p, b, j);
        }
    }
    p->index.lines = l;
}

void index_free_lines(struct problem* p) {
    struct index_lines* l = p->index.lines;
    free(l->keys), free(l->queries), free(l->document);
    free(l);
    p->index.lines = NULL;
}

// ---- tiles ---------------------------------------------------------------------------------

static bool between(int64_t j, int64_t from, int64_t to, int64_t tile) {
    return from < to && j >= from / tile * tile && j < CEIL_DIV(to, tile) * tile;
}

// A tile of queries walks over tiles of keys.
static int times_by_queries(const struct problem* p, int64_t b, int64_t i, int64_t j) {
    const enum index_flaw flaw = p->index.flaw;
    const int64_t T_q = p->index.tile_q, T_k = p->index.tile_k;
    int64_t first_row = i / T_q * T_q, last_row = least(first_row + T_q, p->N_q) - 1;
    struct keys first = keys_of(p, b, first_row), last = keys_of(p, b, last_row);
    if (flaw == WALK_TOP_LEFT) {
        first = keys_in(p, document_of(p, b, first_row), first_row);
        last = keys_in(p, document_of(p, b, last_row), last_row);
    }
    struct keys seen = keys_of(p, b, flaw == ROW_IN_BLOCK ? i % T_q : i);
    if (flaw == DOCUMENT_OF_FIRST || flaw == DOCUMENT_OF_LAST) {
        int64_t q = position_of(p, i);
        int64_t of = position_of(p, flaw == DOCUMENT_OF_FIRST ? first_row : last_row);
        struct range document = document_of(p, b, of);
        return is_seen(keys_in(p, document, q), j);
    }
    int64_t from = flaw == BEGIN_OF_LAST ? last.from : first.from;
    int64_t to = flaw == END_OF_FIRST ? first.to : last.to;
    bool sink = between(j, first.start, first.sinks, T_k);
    bool visited = between(j, from, to, T_k);
    if (flaw == LAST_TILE_LOST && j >= (to - 1) / T_k * T_k) visited = false;
    if (flaw == FIRST_TILE_LOST && j < (from / T_k + 1) * T_k) visited = false;
    if (flaw == END_ROUNDED_DOWN && j >= to / T_k * T_k) visited = false;
    if (flaw == BEGIN_ROUNDED_UP && j < CEIL_DIV(from, T_k) * T_k) visited = false;
    int64_t whole = flaw == LOW_EDGE_UNMASKED ? first.from : last.from;
    int64_t whole_end = flaw == HIGH_EDGE_UNMASKED ? last.to : first.to;
    int64_t first_whole = flaw == WHOLE_ROUNDED_DOWN ? whole / T_k : CEIL_DIV(whole, T_k);
    int64_t end_whole = flaw == WHOLE_END_ROUNDED_UP ? CEIL_DIV(whole_end, T_k) : whole_end / T_k;
    bool is_whole = j / T_k >= first_whole && j / T_k < end_whole;
    if (flaw == HIGH_EDGE_UNMASKED) is_whole |= visited && j / T_k >= first_whole;
    if (flaw == LOW_EDGE_UNMASKED) is_whole |= visited && j / T_k < end_whole;
    if (flaw == UNMASKED || (flaw == SINK_TILE_UNMASKED && sink && !visited)) is_whole = true;
    int times = visited || sink;
    if (flaw == SINK_TILE_TWICE) times = visited + sink;
    if (flaw == SINK_TILE_LOST) times = visited && !sink;
    if (flaw == CAPPED_AFTER_MASK && times && !is_seen(seen, j)) return is_whole ? 1 : -1;
    bool yes = is_seen(seen, j);
    if (flaw == KEY_IN_TILE) yes = is_seen(seen, j % T_k);
    if (flaw == RANGE_OPEN) yes = is_seen(seen, j) && j != seen.from;
    if (flaw == RANGE_REVERSED) yes = j >= seen.start && j < seen.sinks;
    if (flaw == RANGE_INVERTED) yes = !yes;
    return is_whole || yes ? times : 0;
}

// The queries that see key j, of the tile in which the last document ends, if it belongs to that.
static struct range queries_behind(const struct problem* p, int64_t b, int64_t j) {
    const struct index_mask* m = &p->index;
    const int64_t end = (int64_t)m->cu_seqlens->value[(b + 1) * (m->documents + 1) - 1];
    if (j < end || j >= CEIL_DIV(end, m->tile_k) * m->tile_k) return queries_of(p, b, j);
    return queries_in(p, document_of(p, b, end - 1), j, p->N_k - p->N_q);
}

// A tile of keys walks over tiles of queries.
static int times_by_keys(const struct problem* p, int64_t b, int64_t i, int64_t j) {
    const enum index_flaw flaw = p->index.flaw;
    const int64_t T_q = p->index.tile_q, T_k = p->index.tile_k;
    int64_t first_key = j / T_k * T_k, last_key = least(first_key + T_k, p->N_k) - 1;
    bool seen = is_seen(keys_of(p, b, flaw == QUERY_IN_TILE ? i % T_q : i), j);
    const bool is_behind = flaw == KEYS_BEHIND_DOCUMENTS;
    struct range seen_by = is_behind ? queries_behind(p, b, j) : queries_of(p, b, j % T_k);
    if (is_behind) return i >= seen_by.from && i < seen_by.to;
    if (flaw == KEY_IN_BLOCK) seen = i >= seen_by.from && i < seen_by.to;
    if (flaw == RANGE_OF_QUERIES_REVERSED) seen = false;
    if (flaw == RANGE_OF_QUERIES_INVERTED) seen = !seen;
    if (flaw == DOCUMENT_OF_FIRST_KEY || flaw == DOCUMENT_OF_LAST_KEY) {
        int64_t q = position_of(p, i), key = flaw == DOCUMENT_OF_FIRST_KEY ? first_key : last_key;
        const struct range of = document_of_key(p, b, key);
        return q >= of.from && q < of.to && is_seen(keys_in(p, of, q), j);
    }
    struct range first = queries_of(p, b, first_key), last = queries_of(p, b, last_key);
    const struct range d = document_of_key(p, b, last_key);
    int64_t longest = most(first_key, d.from);  // of those that are seen longest, or shortest
    int64_t shortest = least(most(first_key, d.from + p->index.sinks), last_key);
    struct range all = {first.from, most(last.to, queries_of(p, b, longest).to)};
    struct range whole = {last.from, queries_of(p, b, shortest).to};
    if (flaw == WALK_OF_KEYS_TOP_LEFT) {
        first = queries_at(p, b, first_key, 0), last = queries_at(p, b, last_key, 0);
        all = (struct range){first.from, most(last.to, queries_at(p, b, longest, 0).to)};
        whole = (struct range){last.from, queries_at(p, b, shortest, 0).to};
    }
    if (d.from > first_key && flaw != DOCUMENTS_OF_KEYS_UNMASKED) whole.to = 0;
    if (flaw == LONGEST_OF_KEYS_WHOLE && d.from <= first_key) whole.to = all.to;
    if (flaw == END_OF_FIRST_KEY) all.to = first.to;
    if (flaw == END_OF_LAST_KEY) all.to = last.to;
    if (flaw == BEGIN_OF_LAST_KEY) all.from = last.from;
    if (flaw == LOW_EDGE_OF_KEYS_UNMASKED) whole.from = all.from / T_q * T_q;
    if (flaw == HIGH_EDGE_OF_KEYS_UNMASKED) whole.to = CEIL_DIV(all.to, T_q) * T_q;
    bool visited = between(i, all.from, all.to, T_q);
    if (flaw == LAST_TILE_OF_QUERIES_LOST && i >= (all.to - 1) / T_q * T_q) visited = false;
    if (flaw == FIRST_TILE_OF_QUERIES_LOST && i < (all.from / T_q + 1) * T_q) visited = false;
    if (flaw == END_OF_QUERIES_ROUNDED_DOWN && i >= all.to / T_q * T_q) visited = false;
    if (flaw == BEGIN_OF_QUERIES_ROUNDED_UP && i < CEIL_DIV(all.from, T_q) * T_q) visited = false;
    if (flaw == WHOLE_OF_QUERIES_ROUNDED_DOWN) whole.from = whole.from / T_q * T_q;
    if (flaw == WHOLE_END_OF_QUERIES_ROUNDED_UP) whole.to = CEIL_DIV(whole.to, T_q) * T_q;
    bool is_whole = i / T_q >= CEIL_DIV(whole.from, T_q) && i / T_q < whole.to / T_q;
    return visited && (is_whole || seen || flaw == KEYS_UNMASKED);
}

int index_times(const struct problem* p, int64_t b, int64_t i, int64_t j) {
    const enum index_flaw flaw = p->index.flaw;
    if (!p->index.used) return 1;
    if (p->index.by_keys) {
        struct range seen_by = queries_of(p, b, j);
        return i >= seen_by.from && i < seen_by.to;
    }
    if ((flaw >= UNMASKED && flaw < DOCUMENT_OF_FIRST_KEY) || flaw == CAPPED_AFTER_MASK)
        return times_by_queries(p, b, i, j);
    if (flaw >= DOCUMENT_OF_FIRST_KEY && flaw < UNCAPPED)
        return j < p->N_k ? times_by_keys(p, b, i, j) : 0;
    if (flaw == SINKS_ABOVE) {
        struct range d = document_of(p, b, position_of(p, i));
        if (d.from < d.to && j >= d.from && j < least(d.from + p->index.sinks, d.to)) return 1;
    }
    return is_seen(keys_of(p, b, i), j);
}

int64_t index_keys(const struct problem* p) {
    const int64_t tile = p->index.flaw == INDEX_RIGHT ? 0 : p->index.tile_k;
    return tile ? CEIL_DIV(p->N_k, tile) * tile : p->N_k;
}

// ---- the softcap ---------------------------------------------------------------------------

double index_capped(const struct problem* p, double score) {
    const struct index_mask* m = &p->index;
    if (m->softcap == 0 || m->flaw == UNCAPPED) return score;
    if (m->flaw == CAPPED_BEFORE_SCALE)
        return p->scale * m->softcap * tanh(score / p->scale / m->softcap);
    return m->softcap * tanh(score / m->softcap);
}

double index_slope(const struct problem* p, double capped, double P) {
    const struct index_mask* m = &p->index;
    if (m->softcap == 0 || m->flaw == UNCAPPED || m->flaw == SLOPE_LOST) return 1;
    if (m->flaw == SLOPE_OF_P) return 1 - P * P;
    double t = capped / m->softcap;
    if (m->flaw == CAPPED_BEFORE_SCALE) t /= p->scale;
    const double inside = atanh(t);
    if (m->flaw == SLOPE_OF_PRODUCT) t = inside * m->softcap / p->scale;
    if (m->flaw == SLOPE_OF_SCORE) t = inside * m->softcap;
    if (m->flaw == SLOPE_OF_INSIDE) t = inside;
    if (m->flaw == SLOPE_OF_CAPPED) t = capped;
    return 1 - (m->flaw == SLOPE_HALF ? t : t * t);
}

// ---- what is visited -----------------------------------------------------------------------

// above[i][j], (N_q + 1, N_k + 1): the pairs that count of the queries before i and keys before j.
static int64_t* count_pairs(const struct problem* p) {
    int64_t width = p->N_k + 1;
    int64_t* above = check_allocate(p->check, (p->N_q + 1) * width, sizeof *above);
    for (int64_t i = 0; i < p->N_q; i++)
        for (int64_t j = 0; j < p->N_k; j++) {
            int64_t* at = above + i * width + j;
            at[width + 1] = at[width] + at[1] - at[0] + (index_times(p, 0, i, j) != 0);
        }
    return above;
}

void index_visit(const struct problem* p, struct index_visits* v) {
    int64_t *above = count_pairs(p), width = p->N_k + 1;
    for (int q = 0; q < INDEX_TILES; q++)
        for (int k = 0; k < INDEX_TILES; k++) {
            int64_t T_q = index_tile(q), T_k = index_tile(k);
            int64_t tiles = 0, keys = 0, queries = 0;
            for (int64_t i = 0; i < p->N_q; i += T_q)
                for (int64_t j = 0; j < p->N_k; j += T_k) {
                    int64_t i_end = least(i + T_q, p->N_q), j_end = least(j + T_k, p->N_k);
                    int64_t pairs = above[i_end * width + j_end] - above[i * width + j_end] -
                                    above[i_end * width + j] + above[i * width + j];
                    if (!pairs) continue;
                    tiles++;
                    keys += j_end - j;
                    queries += i_end - i;
                }
            v->scores[q][k] = (double)(tiles * T_q * T_k);
            v->keys[q][k] = (double)keys;
            v->queries[q][k] = (double)queries;
        }
    free(above);
}

// ---- the mask of a case --------------------------------------------------------------------

void index_declare(struct problem* p) {
    struct index_mask* m = &p->index;
    struct check* c = p->check;
    m->cu_seqlens = NULL;
    check_int(c, "mask.causal", m->causal ? p->flag : 0);
    check_int(c, "mask.window", m->window);
    check_int(c, "mask.sinks", m->sinks);
    check_int(c, "mask.prefix", m->prefix);
    check_int(c, "mask.documents", m->documents);
    check_real(c, "mask.softcap", m->softcap);
    if (!m->documents)
        check_null(c, "cu_seqlens");
    else
        m->cu_seqlens = check_input(c, "cu_seqlens", I32, SHAPE(p->B, m->documents + 1));
    if (m->cu_seqlens) check_begin_later(m->cu_seqlens, p->later >> ARRAYS & 1);
    for (int64_t e = 0; m->cu_seqlens && e < m->cu_seqlens->count; e++)  // one, of all keys
        m->cu_seqlens->value[e] = e % (m->documents + 1) ? (double)p->N_k : 0;
    if (m->cu_seqlens) check_in_all_rounds(c, m->cu_seqlens);
}

void index_name(const struct index_mask* m, char text[INDEX_TEXT]) {
    char window[32] = "", sinks[32] = "", prefix[32] = "", documents[32] = "", softcap[32] = "";
    if (m->window) snprintf(window, sizeof window, ", window %d", (int)m->window);
    if (m->sinks) snprintf(sinks, sizeof sinks, ", %d sinks", (int)m->sinks);
    if (m->prefix) snprintf(prefix, sizeof prefix, ", prefix %d", (int)m->prefix);
    if (m->documents) snprintf(documents, sizeof documents, ", %d documents", (int)m->documents);
    if (m->softcap > 0) snprintf(softcap, sizeof softcap, ", softcap %g", m->softcap);
    snprintf(text, INDEX_TEXT, ", %s%s%s%s%s%s", m->causal ? "causal" : "not causal", window, sinks,
             prefix, documents, softcap);
}

void index_set_documents(const struct problem* p, int64_t b, const int64_t* cu_seqlens) {
    const struct index_mask* m = &p->index;
    for (int64_t n = 0; n <= m->documents; n++)
        m->cu_seqlens->value[b * (m->documents + 1) + n] = (double)cu_seqlens[n];
}
