// cache.h: one problem of lesson 28: queries, and a cache of keys in pages; what a kernel should
// leave in O and LSE, and what it leaves if it looks for keys elsewhere.
#ifndef CACHE_H
#define CACHE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention/forward.h"
#include "flash_decode.h"

enum {
    MOST_BATCHES = 8,
    MOST_PAGES = 520,     // of a sequence
    NOWHERE = INT32_MAX,  // a page that does not exist
};

// The case that runs. decode_of() makes one; an item changes what its case is about.
struct decode {
    struct check* check;
    int64_t B, N_q, H_k, group, d, page_size, max_pages;
    int64_t pages;  // that exist; more than the sequences need: the others belong to nobody
    double scale;
    int64_t length[MOST_BATCHES];
    int64_t page[MOST_BATCHES][MOST_PAGES];  // the table
    int64_t far;                             // if not 0: page n lies at n * far pages
    struct tensor *O, *LSE, *Q, *K, *V, *table, *lengths, *tickets;
};

static const struct contract decode_contract = {.dtype = BF16, .rounded_weights = true, .d = 64};

static int64_t heads_of(const struct decode* p) {
    return p->H_k * p->group;
}

static int64_t pages_used(const struct decode* p, int64_t b) {
    return CEIL_DIV(p->length[b], p->page_size);
}

// The first element of slot 0 in head g of a page, in K and V of the case.
static int64_t place_of_page(const struct decode* p, int64_t page, int64_t g) {
    return (page * p->H_k + g) * p->page_size * p->d;
}

// ---- the case ------------------------------------------------------------------------------

// One sequence of `length` keys in pages of 16, one query, `group` query heads for one key head.
static struct decode decode_of(struct check* c, int64_t group, int64_t length) {
    struct decode p = {
        .check = c, .B = 1, .N_q = 1, .H_k = 1, .group = group, .d = 64, .page_size = 16};
    p.length[0] = length;
    p.scale = (double)(1.0f / sqrtf(64.0f));
    return p;
}

// Gives each sequence pages of its own, in a random order, among others that belong to nobody.
// The numbers behind the last page of a sequence are of no page. Call it when all sizes are set.
static void deal_pages(struct decode* p) {
    int64_t needed = 0, most = 0;
    for (int64_t b = 0; b < p->B; b++) {
        needed += pages_used(p, b);
        if (pages_used(p, b) > most) most = pages_used(p, b);
    }
    if (p->max_pages == 0) p->max_pages = most + 2;
    p->pages = p->far ? needed : needed + needed / 2 + 1;
    int64_t* deck = check_allocate(p->check, p->pages, sizeof *deck);
    for (int64_t i = 0; i < p->pages; i++) {
        int64_t other = check_pick(p->check, 0, i);
        deck[i] = deck[other];
        deck[other] = i;
    }
    int64_t next = 0;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t n = 0; n < p->max_pages; n++)
            p->page[b][n] = n < pages_used(p, b) ? deck[next++] : NOWHERE;
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
    p->table = check_input(c, "page_table", I32, SHAPE(p->B, p->max_pages));
    p->lengths = check_input(c, "lengths", I32, SHAPE(p->B));
    p->O = check_output(c, "O", BF16, SHAPE(p->B, p->N_q, H, p->d));
    p->LSE = check_output(c, "LSE", F32, SHAPE(p->B, H, p->N_q));
    p->tickets = check_in_place(c, "tickets", I32, SHAPE(p->B, H));
    check_workspace(c, "workspace",
                    (int64_t)flash_decode_workspace_bytes((int)p->B, (int)p->N_q, (int)H,
                                                          (int)p->H_k, (int)p->d));
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

static bool is_key(const struct decode* p, int64_t page, int64_t slot) {
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t n = 0; n < pages_used(p, b); n++)
            if (p->page[b][n] == page) return n * p->page_size + slot < p->length[b];
    return false;
}

// Normal random numbers for queries and keys; NaN where there is no key: in pages of nobody, and
// behind the last key of a sequence.
static void decode_fill(struct decode* p) {
    fill_normal(p->check, p->Q, 0, 1);
    fill_normal(p->check, p->K, 0, 1);
    fill_normal(p->check, p->V, 0, 1);
    for (int64_t page = 0; page < p->pages; page++)
        for (int64_t slot = 0; slot < p->page_size; slot++) {
            if (is_key(p, page, slot)) continue;
            for (int64_t g = 0; g < p->H_k; g++)
                for (int64_t x = 0; x < p->d; x++) {
                    int64_t at = place_of_page(p, page, g) + slot * p->d + x;
                    p->K->value[at] = p->V->value[at] = NAN;
                    p->K->untouched[at] = p->V->untouched[at] = true;
                }
        }
    for (int64_t b = 0; b < p->B; b++) {
        p->lengths->value[b] = (double)p->length[b];
        for (int64_t n = 0; n < p->max_pages; n++) {
            int64_t at = b * p->max_pages + n, factor = p->far ? p->far : 1;
            bool is_used = n < pages_used(p, b);
            p->table->value[at] = (double)(is_used ? factor * p->page[b][n] : NOWHERE);
            p->table->untouched[at] = !is_used;
        }
    }
}

// ---- the reference -------------------------------------------------------------------------

// Where a kernel looks for a sequence's keys, and what it does with them. right_view() is right.
struct view {
    int64_t length;            // the last queries' keys
    int64_t sequence;          // whose pages
    int64_t page[MOST_PAGES];  // of this table
    int64_t from, keys;        // keys [from, from + keys) of them count
    bool causal;
    double scale;
};

static struct view right_view(const struct decode* p, int64_t b) {
    struct view v = {.length = p->length[b],
                     .sequence = b,
                     .keys = p->length[b],
                     .causal = true,
                     .scale = p->scale};
    memcpy(v.page, p->page[b], sizeof v.page);
    return v;
}

// Key or value rows (keys, H_k, d) of a view, to be freed. Rows that do not exist are NaN.
static double* rows_of_view(const struct decode* p, const struct view* v, const struct tensor* of) {
    double* rows = check_allocate(p->check, v->keys * p->H_k * p->d, sizeof *rows);
    for (int64_t n = 0; n < v->keys; n++)
        for (int64_t g = 0; g < p->H_k; g++) {
            int64_t j = v->from + n, page = v->page[j / p->page_size];
            bool exists = page >= 0 && page < p->pages;
            const double* from =
                of->value + (exists ? place_of_page(p, page, g) + j % p->page_size * p->d : 0);
            for (int64_t x = 0; x < p->d; x++)
                rows[(n * p->H_k + g) * p->d + x] = exists ? from[x] : NAN;
        }
    return rows;
}

// O and LSE of sequence b as a kernel with this view makes them, in the order of the outputs.
// `single` as in forward_reference().
static void attend(const struct decode* p, int64_t b, const struct view* v, bool single, double* O,
                   double* LSE) {
    const int64_t H = heads_of(p), d = p->d;
    double *K = rows_of_view(p, v, p->K), *V = rows_of_view(p, v, p->V);
    struct tensor Q = *p->Q, of_K = {.value = K}, of_V = {.value = V};
    Q.value += b * p->N_q * H * d;
    struct problem sequence = {.check = p->check,
                               .contract = &decode_contract,
                               .B = 1,
                               .N_q = p->N_q,
                               .N_k = v->keys,
                               .H = H,
                               .group = p->group,
                               .d = d,
                               .scale = v->scale,
                               .causal = v->causal};
    struct array* a = sequence.array;
    a[ARRAY_Q] = (struct array){&Q, {.n = H * d, .h = d}};
    a[ARRAY_K] = (struct array){&of_K, {.n = p->H_k * d, .h = d}};
    a[ARRAY_V] = (struct array){&of_V, {.n = p->H_k * d, .h = d}};
    a[ARRAY_O].stride = a[ARRAY_Q].stride;
    a[ARRAY_LSE].stride = (struct strides){.n = 1, .h = p->N_q};
    forward_reference(&sequence, single, O + b * p->N_q * H * d, LSE + b * H * p->N_q);
    free(K);
    free(V);
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

// Compares the outputs of the selected call; `what` as in forward_judge(). The tickets are zeros.
static void decode_judge(struct decode* p, int what) {
    struct forward_budgets budgets = decode_want(p);
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
