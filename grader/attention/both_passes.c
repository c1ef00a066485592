// both_passes.c: what lessons share that have a forward and a backward pass.
#include <math.h>

#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"
#include "attention/forward_mistakes.h"

void backward_or_forward_run(struct problem* p, int what) {
    if (p->contract->backward)
        backward_run(p);
    else
        forward_run(p, what);
}

// ---- explain()

// True if LSE is right but in the rows that see no key, and nobody has written any of these.
static bool is_unseen_LSE_unwritten(const struct problem* p, const struct tensor* t,
                                    struct budget budget) {
    bool any = false;
    if (t != p->array[ARRAY_LSE].tensor || p->mask) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        int64_t e = place_in(p, ARRAY_LSE, b, h, i);
        bool right = check_was_written(t, e) && fabs(t->got[e] - t->want[e]) <= budget.max;
        if (keys_seen(p, i) > 0 ? !right : check_was_written(t, e)) return false;
        any |= keys_seen(p, i) == 0;
    }
    return any;
}

// A mask's last block of keys is short, and tiles of it that do not exist are walked over, before
// any other: (-inf) - (-inf) makes O and LSE NaN in every row that has the block, and in no other.
static bool are_missing_tiles_walked(const struct problem* p, const struct tensor* t,
                                     struct budget budget) {
    enum { SMALLEST_TILE = 32 };
    const struct block_mask blocks = blocks_of(p);
    const enum which a = t == p->array[ARRAY_O].tensor ? ARRAY_O : ARRAY_LSE;
    const int64_t rest = p->N_k % MASK_BLOCK;
    bool any = false;
    if (!p->mask || rest == 0 || rest > MASK_BLOCK - SMALLEST_TILE) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, a, b, h, i);
        const bool walked = is_active(blocks, b, h, i, p->N_k - 1);
        const double LSE = p->array[ARRAY_LSE].tensor->got[place_in(p, ARRAY_LSE, b, h, i)];
        if (walked && !isnan(LSE)) return false;
        for (int64_t e = first; e < first + width_of(p, a); e++) {
            const bool right =
                t->got[e] == t->want[e] || fabs(t->got[e] - t->want[e]) <= budget.max;
            if (walked ? !isnan(t->got[e]) || !check_was_written(t, e) : !right) return false;
        }
        any |= walked;
    }
    return any;
}

enum cause backward_or_forward_explain(struct check* c, const struct tensor* t,
                                       struct budget budget) {
    const struct problem* p = problem_of_case(c);
    const bool on_tensor_cores = p->contract->rounded_weights;
    // Rows that see nothing have no numbers that tell one mistake from another.
    if (p->mask && check_is_only_unwritten(t, budget)) return CAUSE_NONE;
    if (p->contract->backward)
        return on_tensor_cores ? backward_explain_products(c, t, budget)
                               : backward_explain(c, t, budget);
    // No tile came, where there are several; to a block whose first row sees none, maybe.
    if (!p->mask && p->N_k > 16 && saw_nothing(p))
        return t == p->array[ARRAY_O].tensor && keys_seen(p, 0) > 0 ? CAUSE_all_zero
                                                                    : CAUSE_tile_skipped;
    if (is_unseen_LSE_unwritten(p, t, budget)) return CAUSE_never_written;
    if (are_missing_tiles_walked(p, t, budget)) return CAUSE_inner_tail;
    return on_tensor_cores ? fragment_explain(c, t, budget) : forward_explain(c, t, budget);
}
