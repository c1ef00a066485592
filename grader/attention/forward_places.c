// forward_places.c: rows of Q, K, V or O that a forward kernel looks for in wrong places. See
// forward_mistakes.h.
#include <stdlib.h>

#include "attention/forward_mistakes.h"
#include "attention/places.h"

// True if the inputs are those of an earlier call.
static bool is_first_call(const struct suspect* s, int set) {
    const struct problem* p = s->problem;
    struct forward_mistake w = forward_right(p);
    for (enum which a = ARRAY_Q; a <= ARRAY_V; a++) {
        if (!(set >> a & 1)) continue;
        w.view[a].value = check_values_of(p->array[a].tensor, 0);
        if (w.view[a].value == p->array[a].tensor->value) return false;
    }
    return is_forward(s, &w);
}

// True if an input's tiles are where they belong, but within a tile rows are `step` elements apart.
static bool is_tile_elsewhere(const struct suspect* s, enum which a, int64_t step, int64_t tile) {
    const struct problem* p = s->problem;
    const struct tensor* t = p->array[a].tensor;
    struct forward_mistake w = forward_right(p);
    double* value = check_allocate(p->check, t->count, sizeof *value);
    bool fits = true;
    for (int64_t b = 0; b < p->B && fits; b++)
        for (int64_t h = 0; h < p->H && fits; h += sharing(p, a))
            for (int64_t n = 0; n < rows_of(p, a) && fits; n++) {
                int64_t from = place_in(p, a, b, h, n / tile * tile) + n % tile * step;
                fits = from >= 0 && from + p->d <= t->count;
                for (int64_t x = 0; x < p->d && fits; x++)
                    value[place_in(p, a, b, h, n) + x] = t->value[from + x];
            }
    w.view[a].value = value;
    fits = fits && is_forward(s, &w);
    free(value);
    return fits;
}

static bool is_any_tile_elsewhere(const struct suspect* s) {
    const struct problem* p = s->problem;
    for (enum which a = ARRAY_Q; a <= ARRAY_V; a++)
        for (int64_t tile = 16; tile <= 128 && tile < 2 * rows_of(p, a); tile *= 2)
            for (int other = ARRAY_Q; other <= ARRAYS; other++) {
                int64_t step = other == ARRAYS ? p->d : p->array[other].stride.n;
                bool exists = other == ARRAYS || (p->array[other].tensor && other != ARRAY_LSE);
                if (exists && step != p->array[a].stride.n && is_tile_elsewhere(s, a, step, tile))
                    return true;
            }
    return false;
}

// True if the wrong strides are those within a group of heads, or those from group to group.
static bool is_group_elsewhere(const struct suspect* s, const struct places* at) {
    const struct problem* p = s->problem;
    for (int within = 0; within < 2; within++) {
        struct forward_mistake w = forward_right(p);
        for (enum which a = ARRAY_Q; a <= ARRAY_O; a++) {
            const struct strides own = p->array[a].stride, other = at->stride[a];
            if (is_of_keys(a)) continue;
            w.view[a].stride = within ? own : other;
            w.view[a].stride.n = within ? other.n : own.n;
            w.view[a].step = within ? other.h : own.h;
        }
        if (is_forward(s, &w)) return true;
    }
    return false;
}

enum cause explain_forward_places(const struct suspect* s) {
    enum { Q = 1 << ARRAY_Q, K = 1 << ARRAY_K, V = 1 << ARRAY_V, O = 1 << ARRAY_O };
    static const unsigned of_O[] = {Q,     K,     V,         O,         K | V,         Q | K,
                                    Q | V, Q | O, Q | K | V, K | V | O, Q | K | V | O, K | O,
                                    V | O, 0};
    static const unsigned of_LSE[] = {1 << ARRAY_LSE, Q, K, Q | K, 0};
    const struct problem* p = s->problem;
    if (p->N_k == 0) return CAUSE_NONE;
    for (struct places at = {.problem = p, .sets = is_O(s) ? of_O : of_LSE}; next_places(&at);) {
        struct forward_mistake w = forward_right(p);
        for (int a = 0; a < ARRAYS; a++) w.view[a].stride = at.stride[a];
        if (is_forward(s, &w)) return at.cause;
        if (p->group > 1 && is_group_elsewhere(s, &at)) return at.cause;
    }
    for (int set = 1; set < 8; set++)
        if (is_first_call(s, set)) return CAUSE_stale_state;
    return is_any_tile_elsewhere(s) ? CAUSE_stride_ignored : CAUSE_NONE;
}
