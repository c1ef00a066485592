// reach.c: see reach.h.
#include "attention/reach.h"

#include <math.h>

#include "attention/backward.h"
#include "attention/backward_cases.h"
#include "attention/forward.h"
#include "check/reach.h"

// Rows of the case: whole tiles and blocks of a mask, and what `queries` have beyond them.
static int64_t shown_of(int64_t queries) {
    enum { TILES = 2 * MASK_BLOCK };
    const int64_t shown = TILES + queries % MASK_BLOCK;
    return queries < shown ? queries : shown;
}

// The launcher is told of `queries`, in arrays of (B, H, N, d).
static void tell(const struct problem* p, int64_t queries) {
    struct check* c = p->check;
    check_vary(c, "N_q", 0, queries);
    for (enum which a = ARRAY_Q; a < ARRAYS; a++) {
        const int64_t width = width_of(p, a), head = queries * width;
        if (!p->array[a].tensor || is_of_keys(a)) continue;
        check_ends(c, p->array[a].tensor, p->B * p->H, head);
        if (a == ARRAY_LSE && !p->contract->no_heads) continue;
        problem_vary_strides(p, a, 0, (struct strides){.b = p->H * head, .n = width, .h = head});
    }
    if (p->contract->workspace_bytes) {
        struct problem told = *p;
        told.N_q = queries;
        check_ends(c, check_tensor(c, "workspace"), 1,
                   CEIL_DIV(p->contract->workspace_bytes(&told), (int64_t)sizeof(float)));
    }
    if (p->mask)
        check_ends(c, p->mask, p->B * p->H,
                   CEIL_DIV(queries, MASK_BLOCK) * CEIL_DIV(p->N_k, MASK_BLOCK));
    if (p->contract->show_more) p->contract->show_more(p, queries);
}

bool attention_is_last_right(const struct tensor* t, int64_t width) {
    double largest = 0, off = 0;
    for (int64_t e = t->count - width; e < t->count; e++) {
        largest = fmax(largest, fabs(t->want[e]));
        off = fmax(off, isnan(t->got[e]) ? INFINITY : fabs(t->got[e] - t->want[e]));
    }
    return off <= largest / 64;
}

static bool is_forward_right(struct problem* p) {
    forward_want(p);
    return attention_is_last_right(p->array[ARRAY_O].tensor, p->d) &&
           attention_is_last_right(p->array[ARRAY_LSE].tensor, 1) &&
           (!p->contract->is_more_right || p->contract->is_more_right(p));
}

static bool is_backward_right(const struct problem* p) {
    const struct backward right = backward_right(p);
    double* want[GRADIENTS];
    for (int a = 0; a < GRADIENTS; a++) want[a] = p->array[ARRAY_dQ + a].tensor->want;
    backward(p, &right, false, want);
    return attention_is_last_right(p->array[ARRAY_dQ].tensor, p->d);
}

// Lesson 12 takes powers of two.
static int64_t power_of_2(int64_t most) {
    int64_t power = 1;
    while (power <= most / 2) power *= 2;
    return power;
}

// Of many blocks of keys the first and the last are active: with all a case would take long.
static void thin_mask(const struct problem* p) {
    const int64_t T_k = CEIL_DIV(p->N_k, MASK_BLOCK);
    for (int64_t e = 0; e < p->mask->count; e++)
        if (e % T_k > 0 && e % T_k < T_k - 1) p->mask->value[e] = 0;
}

// forward_fill() of the keys that such a mask shows; the others are 0.
static void fill_thinly(const struct problem* p) {
    fill_normal(p->check, p->array[ARRAY_Q].tensor, 0, 1);
    for (int a = ARRAY_K; a <= ARRAY_V; a++)
        for (int64_t b = 0; b < p->B; b++)
            for (int64_t h = 0; h < p->H / p->group; h++)
                for (int64_t j = 0; j < p->N_k; j++) {
                    if (j >= MASK_BLOCK && j < (p->N_k - 1) / MASK_BLOCK * MASK_BLOCK) continue;
                    double* row = row_of(p, (enum which)a, b, h, j);
                    for (int64_t x = 0; x < p->d; x++) row[x] = check_normal(p->check);
                }
}

static bool reached(struct check* c, const void* problem, int64_t queries) {
    struct problem p = *(const struct problem*)problem;
    const bool is_backward = p.contract->backward;
    if (p.contract->no_heads) queries = power_of_2(queries);
    p.N_q = shown_of(queries);
    check_case(c, "the last of %lld queries of %d heads, N_k = %d, d = %d", (long long)queries,
               (int)(p.B * p.H), (int)p.N_k, (int)p.d);
    problem_declare(&p, p.contract->no_heads ? PACKED : HEADS_OUTSIDE);
    tell(&p, queries);
    if (p.mask) thin_mask(&p);
    if (is_backward)
        backward_fill(&p), backward_forward(&p);
    else if (p.mask)
        fill_thinly(&p);
    else
        forward_fill(&p);
    check_run_few_blocks(c);
    check_run(c);
    return is_backward ? is_backward_right(&p) : is_forward_right(&p);
}

// The launcher is told of `keys`, in arrays of (B, H, N, d).
static void tell_keys(const struct problem* p, int64_t keys) {
    struct check* c = p->check;
    check_vary(c, "N_k", 0, keys);
    for (enum which a = ARRAY_Q; a < ARRAYS; a++) {
        const int64_t width = width_of(p, a), head = keys * width;
        if (!p->array[a].tensor || !is_of_keys(a)) continue;
        check_ends(c, p->array[a].tensor, p->B * p->H, head);
        problem_vary_strides(p, a, 0, (struct strides){.b = p->H * head, .n = width, .h = head});
    }
    if (!p->mask) return;
    check_ends(c, p->mask, p->B * p->H * CEIL_DIV(p->N_q, MASK_BLOCK), CEIL_DIV(keys, MASK_BLOCK));
    struct problem told = *p;
    told.N_k = keys;
    check_ends(c, check_tensor(c, "workspace"), 1,
               CEIL_DIV(p->contract->workspace_bytes(&told), (int64_t)sizeof(float)));
}

enum { FEWER = 1 << 12, EIGHTH = 8 };

// Are the last rows right that so many blocks have made? Of fewer heads than an eighth is of, no
// block of delta's kernel has run: dK has no delta.
static bool is_last_key_right(const struct problem* p, bool all_blocks) {
    const struct tensor *dQ = p->array[ARRAY_dQ].tensor, *dK = p->array[ARRAY_dK].tensor,
                        *dV = p->array[ARRAY_dV].tensor;
    const struct backward right = backward_right(p);
    double* want[GRADIENTS];
    for (int a = 0; a < GRADIENTS; a++) want[a] = p->array[ARRAY_dQ + a].tensor->want;
    backward(p, &right, false, want);
    const bool is_with_dK = all_blocks || p->B * p->H >= EIGHTH;
    return (!all_blocks || attention_is_last_right(dQ, p->d)) &&
           (!is_with_dK || attention_is_last_right(dK, p->d)) && attention_is_last_right(dV, p->d);
}

// The launcher is told of `keys`, of which the case has the last.
static bool keys_reached_by(struct check* c, const void* problem, int64_t keys, bool all_blocks) {
    struct problem p = *(const struct problem*)problem;
    p.N_k = shown_of(keys);
    check_case(c, "the last of %lld keys of %d heads, N_q = %d, d = %d", (long long)keys,
               (int)(p.B * p.H), (int)p.N_q, (int)p.d);
    problem_declare(&p, HEADS_OUTSIDE);
    tell_keys(&p, keys);
    if (p.contract->backward)
        backward_fill(&p), backward_forward(&p);
    else
        forward_fill(&p);
    if (all_blocks)
        check_run_all_blocks(c);
    else
        check_run_few_blocks(c);
    check_run(c);
    return p.contract->backward ? is_last_key_right(&p, all_blocks) : is_forward_right(&p);
}

static bool keys_reached(struct check* c, const void* problem, int64_t keys) {
    return keys_reached_by(c, problem, keys, false);
}

static bool keys_reached_by_all(struct check* c, const void* problem, int64_t keys) {
    return keys_reached_by(c, problem, keys, true);
}

void attention_far_blocks(struct problem p, int64_t blocks) {
    struct check* c = p.check;
    p.N_k = 2 * MASK_BLOCK;
    check_case(c, "N_q = %d, d = %d, %d blocks of keys, of which the first and the last are active",
               (int)p.N_q, (int)p.d, (int)blocks);
    problem_declare(&p, HEADS_OUTSIDE);
    tell_keys(&p, blocks * MASK_BLOCK);
    forward_fill(&p);
    forward_run(&p, JUDGE_O);
}

// The launcher is told of `heads`, one behind the other, of which the case has the last ones.
static bool head_reached(struct check* c, const void* problem, int64_t heads) {
    enum { SHOWN = 2 };
    struct problem p = *(const struct problem*)problem, told;
    const bool is_backward = p.contract->backward, no_heads = p.contract->no_heads;
    *(no_heads ? &p.B : &p.H) = SHOWN;
    check_case(c, "the last of %d %s, N_q = %d, N_k = %d, d = %d", (int)heads,
               no_heads ? "batches" : "heads", (int)p.N_q, (int)p.N_k, (int)p.d);
    problem_declare(&p, no_heads ? PACKED : HEADS_OUTSIDE);
    check_vary(c, no_heads ? "B" : "H", 0, heads);
    check_vary(c, "H_k", 0, no_heads ? 1 : heads);
    for (enum which a = ARRAY_Q; a < ARRAYS; a++) {
        struct tensor* t = p.array[a].tensor;
        if (!t) continue;
        check_ends(c, t, 1, t->count / SHOWN * heads);
        if (no_heads || a == ARRAY_LSE) continue;
        struct strides s = p.array[a].stride;
        s.b = heads * s.h;
        problem_vary_strides(&p, a, 0, s);
    }
    told = p;
    *(no_heads ? &told.B : &told.H) = heads;
    if (p.contract->workspace_bytes)
        check_ends(c, check_tensor(c, "workspace"), 1,
                   CEIL_DIV(p.contract->workspace_bytes(&told), (int64_t)sizeof(float)));
    if (p.mask) check_ends(c, p.mask, 1, p.mask->count / SHOWN * heads);
    if (p.contract->show_heads) p.contract->show_heads(&p, heads);
    if (is_backward)
        backward_fill(&p), backward_forward(&p);
    else
        forward_fill(&p);
    check_run_few_blocks(c);
    check_run(c);
    return is_backward ? is_backward_right(&p) : is_forward_right(&p);
}

void attention_most_heads(struct problem p) {
    enum { MOST = 65535, MORE = 70000 };  // as a grid of all heads has in y or z
    check_most(p.check, p.contract->any_heads ? MORE : MOST, FEWER, head_reached, &p);
}

void attention_reaches_first(struct problem p, int64_t queries) {
    check_first_indexes(p.check, queries, FEWER, reached, &p);
}

void attention_reaches_last(struct problem p, int64_t queries) {
    const double moment = 3;  // for a few tiles of many keys
    check_last_indexes(p.check, queries, 0, moment, reached, &p);
}

// A grid of 2^n blocks that goes on from row to row comes to the last ones of 2^m rows with its
// last blocks. Of these few run: if they have a row each, no more rows may lack. `queries`, or
// more.
static int64_t near_power_of_2(int64_t queries, int64_t heads) {
    enum { RUN = 16 };
    int64_t power = 1;
    while (power < queries) power *= 2;
    const int64_t most = (RUN - 1) / heads, lacking = power - queries;
    return lacking > most && lacking < RUN && power - most <= REACH_MOST ? power - most : queries;
}

void attention_reaches(struct problem p, int64_t queries) {
    check_indexes(p.check, near_power_of_2(queries, p.B * p.H), FEWER, reached, &p);
}

void attention_reaches_in_order(struct problem p, int64_t queries) {
    enum { FEWER_IN_ORDER = 1 << 18 };
    check_indexes(p.check, near_power_of_2(queries, p.B * p.H), FEWER_IN_ORDER, reached, &p);
}

void attention_reaches_limit(struct problem p, int64_t queries) {
    check_reaches_limit(p.check, queries, reached, &p);
}

void attention_goes_on(struct problem p, int64_t queries) {
    enum { GROWING = 1 << 16 };  // queries for which a grid is not at its end
    struct check* c = p.check;
    if (!check_can_be_huge()) return;
    const int64_t blocks = check_blocks_at(c, reached, &p, queries);
    if (blocks != check_blocks_at(c, reached, &p, queries / 2)) return;
    const int64_t growing = check_blocks_at(c, reached, &p, GROWING);
    if (growing < 1 || GROWING % growing > 0) return;
    // The last block of a second round has the last rows of twice as many.
    const int64_t whole = blocks * (GROWING / growing);
    if (growing >= blocks || 2 * whole > queries || !reached(c, &p, whole)) return;
    if (!reached(c, &p, 2 * whole))
        check_fail(c, CAUSE_grid_limit, "%lld blocks take %lld queries, and of %lld not the last\n",
                   (long long)blocks, (long long)whole, (long long)(2 * whole));
}

void attention_counts_keys(struct problem p, int64_t keys) {
    check_first_indexes(p.check, keys, FEWER,
                        p.contract->backward ? keys_reached_by_all : keys_reached, &p);
}

void attention_reaches_keys(struct problem p, int64_t keys) {
    enum { IN_16_BITS = 1 << 15 };  // up to twice as many
    const double moment = 0.5;      // who goes over all keys takes hours
    check_last_indexes(p.check, keys, IN_16_BITS, moment, keys_reached, &p);
}
