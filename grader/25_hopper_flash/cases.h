// cases.h: the problems of lesson 25: what its launcher takes, masks and lists. For check.c.
#ifndef CASES_H
#define CASES_H

#include <stdio.h>

#include "25_hopper_flash/mistakes.h"
#include "attention/forward.h"
#include "hopper_flash.h"

// ---- the launcher's own arguments

// The problem with documents, of each batch one number more than there are; or with lists, of which
// the text is the mask: see mask_set(). Both are p->own, and live as long as the case.
static struct problem with_documents(struct problem p, int64_t documents,
                                     const int64_t* cu_seqlens) {
    p.index.used = true, p.index.causal = p.causal, p.index.documents = documents;
    p.own = (void*)cu_seqlens;
    return p;
}
static struct problem with_lists(struct problem p, const char* mask) {
    p.own = (void*)mask;
    return p;
}
static bool has_lists(const struct problem* p) {
    return p->own && !p->index.documents;
}

// The mask of the selected call, as it is computed with, and as the kernel gets it. Behind a list
// stands what names no block.
static void set_lists(struct problem* p, const char* mask) {
    struct tensor* lists = check_tensor(p->check, "lists");
    mask_set(p, mask);
    const int64_t T_k = CEIL_DIV(p->N_k, LIST_BLOCK), length = 1 + T_k;
    for (int64_t n = 0; n < lists->count / length; n++) {
        double* list = lists->value + n * length;
        int64_t blocks = 0;
        for (int64_t j = 0; j < T_k; j++)
            if (p->mask->value[n * T_k + j] != 0) list[++blocks] = (double)j;
        list[0] = (double)blocks;
        for (int64_t j = blocks + 1; j < length; j++) list[j] = 1 << 20;
    }
}

static void needless(struct tensor* t) {
    for (int64_t e = 0; t && e < t->count; e++) t->untouched[e] = true;
}

static void declare_masks(struct problem* p) {
    struct check* c = p->check;
    struct tensor* cu_seqlens = NULL;
    check_int(c, "window", p->index.window);
    check_int(c, "documents", p->index.documents);
    if (p->index.documents) {
        cu_seqlens = check_input(c, "cu_seqlens", I32, SHAPE(p->B, p->index.documents + 1));
        if (cu_seqlens) check_begin_later(cu_seqlens, p->later >> ARRAYS & 1);
        for (int64_t e = 0; cu_seqlens && e < cu_seqlens->count; e++)
            cu_seqlens->value[e] = (double)((const int64_t*)p->own)[e];
    } else {
        check_null(c, "cu_seqlens");
    }
    p->index.cu_seqlens = cu_seqlens;
    if (has_lists(p)) {
        const int64_t T_q = CEIL_DIV(p->N_q, LIST_BLOCK), T_k = CEIL_DIV(p->N_k, LIST_BLOCK);
        mask_declare(p);
        struct tensor* lists = check_input(c, "lists", I32, SHAPE(p->B, p->H, T_q, 1 + T_k));
        if (lists) check_begin_later(lists, p->later >> ARRAYS & 1);
        needless(lists);
        needless(p->mask);
        if (p->mask) set_lists(p, p->own);
    } else {
        check_null(c, "lists");
    }
    for (enum which a = ARRAY_Q; a <= ARRAY_V && p->own; a++) needless(p->array[a].tensor);
}

// The tickets are 0 before the call.
static void declare_more(struct problem* p) {
    declare_masks(p);
    struct tensor* tickets = check_in_place(p->check, "tickets", I32, SHAPE(TICKETS));
    for (int64_t e = 0; e < tickets->count; e++) tickets->untouched[e] = true;
}

// So many tickets as if all later tiles were taken: who draws one is done with its first tile.
static void take_tickets(const struct problem* p, int64_t queries) {
    (void)queries;
    check_tensor(p->check, "tickets")->value[0] = 1 << 30;
}

// A block's last thread may set them back.
static int64_t bytes_of_tickets(const struct problem* p) {
    (void)p;
    return TICKETS * (int64_t)sizeof(int);
}

// Gaps are multiples of 8 elements, 16 bytes: the contract promises that rows begin there.
static const struct contract contract = {
    .dtype = BF16,
    .rounded_weights = true,
    .any_heads = true,
    .by_wgmma = true,
    .d = 64,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 16, [ARRAY_K] = 24, [ARRAY_V] = 40},
    .row_gaps = 2,
    .declare_more = declare_more,
    .show_more = take_tickets,
    .more_bytes = bytes_of_tickets,
};

static struct problem all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, false);
}

static struct problem causal(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, true);
}

static struct problem windowed(struct check* c, int64_t N_q, int64_t N_k, int64_t window) {
    struct problem p = causal(c, N_q, N_k);
    p.index = (struct index_mask){.used = true, .causal = true, .window = window};
    return p;
}

// H heads, of which `group` share a head of keys.
static struct problem grouped(struct problem p, int64_t H, int64_t group) {
    p.H = H;
    p.group = group;
    return p;
}

static void judge_O(struct problem p) {
    forward_case(p, PACKED, "", JUDGE_O);
}

static void judge_lists(struct problem p, const char* mask) {
    char name[MASK_TEXT + 16];
    snprintf(name, sizeof name, ", blocks %s", mask);
    forward_case(with_lists(p, mask), PACKED, name, JUDGE_O);
}

#endif
