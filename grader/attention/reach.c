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
    return TILES + queries % MASK_BLOCK;
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

// Is the last row right to a few bits? A kernel that takes another row, or none, is farther off.
static bool is_last_right(const struct tensor* t, int64_t width) {
    double largest = 0, off = 0;
    for (int64_t e = t->count - width; e < t->count; e++) {
        largest = fmax(largest, fabs(t->want[e]));
        off = fmax(off, isnan(t->got[e]) ? INFINITY : fabs(t->got[e] - t->want[e]));
    }
    return off <= largest / 64;
}

static bool is_forward_right(struct problem* p) {
    forward_want(p);
    return is_last_right(p->array[ARRAY_O].tensor, p->d) &&
           is_last_right(p->array[ARRAY_LSE].tensor, 1) &&
           (!p->contract->is_more_right || p->contract->is_more_right(p));
}

static bool is_backward_right(const struct problem* p) {
    const struct backward right = backward_right(p);
    double* want[GRADIENTS];
    for (int a = 0; a < GRADIENTS; a++) want[a] = p->array[ARRAY_dQ + a].tensor->want;
    backward(p, &right, false, want);
    return is_last_right(p->array[ARRAY_dQ].tensor, p->d);
}

// Lesson 12 takes powers of two.
static int64_t power_of_2(int64_t most) {
    int64_t power = 1;
    while (power <= most / 2) power *= 2;
    return power;
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
    if (is_backward)
        backward_fill(&p), backward_forward(&p);
    else
        forward_fill(&p);
    check_run_few_blocks(c);
    check_run(c);
    return is_backward ? is_backward_right(&p) : is_forward_right(&p);
}

enum { FEWER = 1 << 12 };

void attention_reaches_first(struct problem p, int64_t queries) {
    check_first_indexes(p.check, queries, FEWER, reached, &p);
}

void attention_reaches(struct problem p, int64_t queries) {
    check_indexes(p.check, queries, FEWER, reached, &p);
}
