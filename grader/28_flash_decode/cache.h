// cache.h: one problem of lesson 28: queries, and a cache of keys in pages; what a kernel should
// leave in O and LSE, and what it leaves if it looks for keys elsewhere.
#ifndef FLASH_DECODE_CACHE_H
#define FLASH_DECODE_CACHE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention/forward.h"
#include "flash_decode.h"

enum {
    MOST_BATCHES = 40,
    MOST_PAGES = 520,     // of a sequence
    NOWHERE = INT32_MAX,  // a page that does not exist
};

// The case that runs. decode_of() makes one; an item changes what its case is about.
struct decode {
    struct check* check;
    int64_t B, N_q, H_k, group, d, page_size, max_pages;
    int64_t pages;  // that exist; but if they are far, more than needed: others belong to nobody
    double scale;
    int64_t length[MOST_BATCHES];
    int32_t page[MOST_BATCHES][MOST_PAGES];  // the table
    bool judges_tickets;                     // else they do not count as outputs, nor as inputs
    // If not 0, the launcher is told of so many pages a sequence, and of the table there is the row
    // of the last sequence, which alone has keys.
    int64_t told_pages;
    bool is_mixed;   // blocks begin in another order
    bool zero_tail;  // slots behind a sequence's last key hold 0, not NaN
    bool nowhere;    // what the table says behind a sequence's last page is no page at all
    bool NaN_stays;  // explain() has found: outputs are NaN as well if nothing in the pages is
    bool is_far;     // pages lie more than 2^32 elements apart: page n is called n * far
    int64_t far;
    struct tensor *O, *LSE, *Q, *K, *V, *table, *lengths, *tickets;
};

static const struct contract decode_contract = {.dtype = BF16, .rounded_weights = true, .d = 64};

static int64_t heads_of(const struct decode* p) {
    return p->H_k * p->group;
}

static int64_t pages_used(const struct decode* p, int64_t b) {
    return CEIL_DIV(p->length[b], p->page_size);
}

// Key j of sequence b, or its value, in head g.
static double* row_of_key(const struct decode* p, const struct tensor* of, int64_t b, int64_t g,
                          int64_t j) {
    int64_t page = p->page[b][j / p->page_size], slot = j % p->page_size;
    return of->value + ((page * p->H_k + g) * p->page_size + slot) * p->d;
}

// The first element of slot 0 in head g of a page, in K and V of the case.
static int64_t place_of_page(const struct decode* p, int64_t page, int64_t g) {
    return (page * p->H_k + g) * p->page_size * p->d;
}

// ---- the case ------------------------------------------------------------------------------

// One sequence of `length` keys in pages of 16, one query, `group` query heads for one key head.
// How many pages there are is found when they are dealt.
static struct decode decode_of(struct check* c, int64_t group, int64_t length) {
    struct decode p = {.check = c,
                       .B = 1,
                       .N_q = 1,
                       .H_k = 1,
                       .group = group,
                       .d = 64,
                       .page_size = 16,
                       .max_pages = -1,
                       .pages = -1};
    p.length[0] = length;
    p.scale = (double)(1.0f / sqrtf(64.0f));
    return p;
}

// Gives each sequence pages of its own, in a random order. The numbers behind the last page of a
// sequence are one of a page that belongs to nobody, or of none. Call it when all sizes are set.
static void deal_pages(struct decode* p) {
    int64_t needed = 0, most = 0, next = 0;
    for (int64_t b = 0; b < p->B; b++) {
        needed += pages_used(p, b);
        if (pages_used(p, b) > most) most = pages_used(p, b);
    }
    if (p->max_pages < 0) p->max_pages = most + 2;
    if (p->pages < 0) p->pages = p->is_far ? needed : needed + needed / 2 + 1;
    int64_t* deck = check_allocate(p->check, p->pages, sizeof *deck);
    for (int64_t i = 0; i < p->pages; i++) {
        int64_t other = check_pick(p->check, 0, i);
        deck[i] = deck[other];
        deck[other] = i;
    }
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t n = 0; n < MOST_PAGES; n++)
            p->page[b][n] = (int32_t)(n < pages_used(p, b)      ? deck[next++]
                                      : p->nowhere || p->is_far ? NOWHERE
                                                                : deck[p->pages - 1]);
    free(deck);
}

// Declares all arguments.
static void decode_declare(struct decode* p) {
    struct check* c = p->check;
    const int64_t H = heads_of(p);
    check_describe(c, p);
    check_int(c, "B", p->B);
    check_int(c, "N_q", p->N_q);
    check_int(c, "H", H);
    check_int(c, "H_k", p->H_k);
    check_int(c, "d", p->d);
    check_int(c, "page_size", p->page_size);
    check_int(c, "max_pages", p->max_pages);
    check_real(c, "scale", p->scale);
    p->Q = check_input(c, "Q", BF16, SHAPE(p->B, p->N_q, H, p->d));
    p->K = check_input(c, "K_pages", BF16, SHAPE(p->pages, p->H_k, p->page_size, p->d));
    p->V = check_input(c, "V_pages", BF16, SHAPE(p->pages, p->H_k, p->page_size, p->d));
    if (p->is_far) {
        const int64_t count[] = {p->pages, 1, 1};
        int64_t step[3];
        check_far(c, p->K, count, step);
        check_far(c, p->V, count, step);
        p->far = step[0] / (p->H_k * p->page_size * p->d);
    }
    p->table = check_input(c, "page_table", I32, SHAPE(p->told_pages ? 1 : p->B, p->max_pages));
    if (p->told_pages) {
        check_vary(c, "max_pages", 0, p->told_pages);
        check_ends(c, p->table, 1, (p->B - 1) * p->told_pages + p->max_pages);
    }
    p->lengths = check_input(c, "lengths", I32, SHAPE(p->B));
    p->O = check_output(c, "O", BF16, SHAPE(p->B, p->N_q, H, p->d));
    p->LSE = check_output(c, "LSE", F32, SHAPE(p->B, H, p->N_q));
    p->tickets = check_in_place(c, "tickets", I32, SHAPE(p->B, H));
    check_workspace(c, "workspace",
                    (int64_t)flash_decode_workspace_bytes((int)p->B, (int)p->N_q, (int)H,
                                                          (int)p->H_k, (int)p->d));
}

// Makes p a later round of the case that declared `first`: the same arrays.
static void decode_share(struct decode* p, const struct decode* first) {
    p->O = first->O, p->LSE = first->LSE, p->tickets = first->tickets, p->Q = first->Q;
    p->K = first->K, p->V = first->V, p->table = first->table, p->lengths = first->lengths;
}

// Starts a case that is named by its sizes and `what`.
static void decode_name(const struct decode* p, const char* what) {
    char lengths[MOST_BATCHES * 12] = "";
    for (int64_t b = 0; b < p->B; b++)
        snprintf(lengths + strlen(lengths), sizeof lengths - strlen(lengths), "%s%d", b ? ", " : "",
                 (int)p->length[b]);
    check_case(p->check, "B = %d, N_q = %d, H_q = %d, H_k = %d, length%s %s, d = %d, pages of %d%s",
               (int)p->B, (int)p->N_q, (int)heads_of(p), (int)p->H_k, p->B > 1 ? "s" : "", lengths,
               (int)p->d, (int)p->page_size, what);
}

// Is slot n of the pool, page n / page_size, a key's?
static void mark_keys(const struct decode* p, bool* is_key) {
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t j = 0; j < p->length[b]; j++)
            is_key[p->page[b][j / p->page_size] * p->page_size + j % p->page_size] = true;
}

// Normal random numbers for queries and keys, and tickets of 0, which have to be 0 again; NaN where
// there is no key: in pages of nobody, and behind the last key of a sequence. Keys that not all
// queries see have values 32 times as large: it shows who sees one too many or too few.
static void decode_fill(struct decode* p) {
    fill_normal(p->check, p->Q, 0, 1);
    fill_normal(p->check, p->K, 0, 1);
    fill_normal(p->check, p->V, 0, 1);
    bool* is_key = check_allocate(p->check, p->pages * p->page_size, sizeof *is_key);
    mark_keys(p, is_key);
    for (int64_t page = 0; page < p->pages; page++)
        for (int64_t slot = 0; slot < p->page_size; slot++)
            for (int64_t g = 0; g < p->H_k && !is_key[page * p->page_size + slot]; g++)
                for (int64_t x = 0; x < p->d; x++) {
                    int64_t at = place_of_page(p, page, g) + slot * p->d + x;
                    bool is_tail = is_key[page * p->page_size];
                    p->K->value[at] = p->V->value[at] = p->zero_tail && is_tail ? 0 : NAN;
                    p->K->untouched[at] = p->V->untouched[at] = true;
                }
    free(is_key);
    for (int64_t b = 0; b < p->B && p->N_q > 1; b++)
        for (int64_t n = 1; n < p->N_q && n <= p->length[b]; n++)
            for (int64_t g = 0; g < p->H_k; g++)
                for (int64_t x = 0; x < p->d; x++)
                    row_of_key(p, p->V, b, g, p->length[b] - n)[x] *= 32;
    for (int64_t e = 0; e < p->tickets->count; e++) p->tickets->untouched[e] = !p->judges_tickets;
    for (int64_t b = 0; b < p->B; b++) {
        p->lengths->value[b] = (double)p->length[b];
        const int64_t row = p->told_pages ? b - (p->B - 1) : b;
        for (int64_t n = 0; n < p->max_pages && row >= 0; n++) {
            int64_t at = row * p->max_pages + n, page = p->page[b][n];
            p->table->value[at] = (double)(p->is_far && page != NOWHERE ? page * p->far : page);
            p->table->untouched[at] = n >= pages_used(p, b);
        }
    }
}

// ---- the reference -------------------------------------------------------------------------

// Where a kernel looks for the keys of a sequence. right_view() is right.
struct view {
    int64_t keys;       // that it takes for the sequence's
    int64_t page_size;  // key j is in slot j % page_size of page[j / page_size]
    int64_t slots;      // of a page in memory
    bool masked;        // key j is in slot j & (page_size - 1)
    int64_t tile;       // not 0: of so many keys the first one's page is taken for the page of all
    // where a head's slots are: side by side in the page, as they should; the heads of a slot side
    // by side; all pages of a head; pages as if there were one head
    // (in part: of the 16 keys of a page those that lanes copy at a time)
    enum { IN_PAGE, IN_SLOT, IN_SLOT_IN_PART, OUTSIDE, OF_ONE_HEAD, PLACES } heads;
    int32_t page[MOST_PAGES];  // which may be negative: rows of zeros
    int64_t zeros_from;        // keys from this one on are rows of zeros
    int64_t queries_of;        // the sequence whose queries it takes
    bool causal;
};

static struct view right_view(const struct decode* p, int64_t b) {
    struct view v = {.keys = p->length[b],
                     .page_size = p->page_size,
                     .slots = p->page_size,
                     .zeros_from = p->length[b],
                     .queries_of = b,
                     .causal = true};
    memcpy(v.page, p->page[b], sizeof v.page);
    return v;
}

// A sequence with its keys one behind the other, as a problem of grader/attention: H heads of Q,
// H_k heads of K and V. sequence_free() frees it. O and LSE of the problem are parts of the case's.
struct sequence {
    struct problem problem;
    struct tensor Q, K, V, O, LSE;
};

// Where it looks for slot `slot` of a page, in head g.
static int64_t place_in_view(const struct decode* p, const struct view* v, int64_t page,
                             int64_t slot, int64_t g) {
    int64_t row = (page * p->H_k + g) * v->slots + slot;
    if (v->heads == IN_SLOT) row = (page * v->slots + slot) * p->H_k + g;
    if (v->heads == IN_SLOT_IN_PART) {
        const int64_t at_once = 32 * 8 / p->d, before = slot % 16 / at_once * at_once;
        row = (page * v->slots + slot - before) * p->H_k + g + before;
    }
    if (v->heads == OUTSIDE) row = (g * p->pages + page) * v->slots + slot;
    if (v->heads == OF_ONE_HEAD) row = (page + g) * v->slots + slot;
    return row * p->d;
}

// Rows (keys, H_k, d) of a view, to be freed. NaN for what lies in no page.
static double* rows_of_view(const struct decode* p, const struct view* v, const struct tensor* of) {
    double* rows = check_allocate(p->check, v->keys * p->H_k * p->d, sizeof *rows);
    for (int64_t j = 0; j < v->keys; j++)
        for (int64_t g = 0; g < p->H_k; g++) {
            const int64_t ahead = v->tile ? j % v->tile : 0, n = (j - ahead) / v->page_size;
            const int64_t slot =
                v->masked ? j & (v->page_size - 1) : (j - ahead) % v->page_size + ahead;
            const int64_t page = n < MOST_PAGES ? v->page[n] : -1;
            const int64_t at = place_in_view(p, v, page, slot, g);
            double* row = &rows[(j * p->H_k + g) * p->d];
            for (int64_t x = 0; x < p->d && j < v->zeros_from; x++)
                row[x] = page >= 0 && at + x < of->count ? of->value[at + x] : NAN;
        }
    return rows;
}

static void sequence_make(struct sequence* s, const struct decode* p, int64_t b,
                          const struct view* v) {
    const int64_t H = heads_of(p), d = p->d, of_O = p->N_q * H * d, of_LSE = H * p->N_q;
    *s = (struct sequence){
        .problem = {.check = p->check,
                    .contract = &decode_contract,
                    .B = 1,
                    .N_q = p->N_q,
                    .N_k = v->keys,
                    .H = H,
                    .group = p->group,
                    .d = d,
                    .scale = p->scale,
                    .causal = v->causal},
        .Q = *p->Q,
        .K = *p->K,
        .V = *p->V,
        .O = *p->O,
        .LSE = *p->LSE,
    };
    s->Q.value += v->queries_of * of_O;
    s->O.want += b * of_O, s->O.got += b * of_O, s->O.untouched += b * of_O;
    s->LSE.want += b * of_LSE, s->LSE.got += b * of_LSE, s->LSE.untouched += b * of_LSE;
    s->Q.count = s->O.count = of_O, s->LSE.count = of_LSE;
    s->K.count = s->V.count = v->keys * p->H_k * d;
    s->K.value = rows_of_view(p, v, p->K), s->V.value = rows_of_view(p, v, p->V);
    const struct strides of_query = {.b = of_O, .n = H * d, .h = d};
    const struct strides of_key = {.b = s->K.count, .n = p->H_k * d, .h = d};
    struct array* a = s->problem.array;
    a[ARRAY_Q] = (struct array){&s->Q, of_query};
    a[ARRAY_K] = (struct array){&s->K, of_key};
    a[ARRAY_V] = (struct array){&s->V, of_key};
    a[ARRAY_O] = (struct array){&s->O, of_query};
    a[ARRAY_LSE] = (struct array){&s->LSE, {.b = of_LSE, .n = 1, .h = p->N_q}};
}

static void sequence_free(struct sequence* s) {
    free(s->K.value);
    free(s->V.value);
}

// O and LSE of sequence b as a kernel with this view makes them: as many elements as its part of
// the outputs has. `single` as in forward_reference().
static void attend(const struct decode* p, int64_t b, const struct view* v, bool single, double* O,
                   double* LSE) {
    struct sequence s;
    sequence_make(&s, p, b, v);
    forward_reference(&s.problem, single, O + b * s.O.count, LSE + b * s.LSE.count);
    sequence_free(&s);
}

// Sets want of all outputs of the selected call, and returns the budgets of O and LSE.
static struct forward_budgets decode_want(struct decode* p) {
    double* standard_O = check_allocate(p->check, p->O->count, sizeof *standard_O);
    double* standard_LSE = check_allocate(p->check, p->LSE->count, sizeof *standard_LSE);
    for (int64_t b = 0; b < p->B; b++) {
        struct view right = right_view(p, b);
        attend(p, b, &right, false, p->O->want, p->LSE->want);
        attend(p, b, &right, true, standard_O, standard_LSE);
    }
    struct forward_budgets budgets = {budget_from(p->O, standard_O),
                                      budget_from(p->LSE, standard_LSE)};
    free(standard_O);
    free(standard_LSE);
    return budgets;
}

enum { JUDGE_TICKETS = 4 };

// Compares the outputs of the selected call; `what` as in forward_judge().
static void decode_judge(struct decode* p, int what) {
    struct forward_budgets budgets = decode_want(p);
    if (what & JUDGE_TICKETS) check_compare(p->check, p->tickets, budget_exact());
    if (what & JUDGE_O) check_compare(p->check, p->O, budgets.O);
    if (what & JUDGE_LSE) check_compare(p->check, p->LSE, budgets.LSE);
}

static void decode_begin(struct decode* p, const char* what) {
    deal_pages(p);
    decode_name(p, what);
    decode_declare(p);
    decode_fill(p);
}

// A whole case.
static void decode_case(struct decode p, const char* what, int judged) {
    decode_begin(&p, what);
    check_run(p.check);
    decode_judge(&p, judged);
}

#endif
