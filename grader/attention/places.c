// places.c: see places.h.
#include "attention/places.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BATCH,
    FIRST_HEAD,
    PACKED_ROWS,     // rows are d elements apart
    PACKED_HEADS,    // heads are
    PACKED_BATCHES,  // batches follow one another
    PACKED_ARRAY,
    OF_OTHER_ARRAY,  // EACH for each array: its batch, row, head stride, all three, all but rows'
    EACH = 5,
    OF_OTHER_AXIS = OF_OTHER_ARRAY + EACH * ARRAYS,  // 6, for each pair of axes
    OF_LSE = OF_OTHER_AXIS + 6,                      // 6 orders of heads and batches
    ROWS_OF_LSE = OF_LSE + 6,                        // (B, N, H), as the rows of other arrays
    WAYS
};

// True if some row of the array is elsewhere with these strides.
static bool moves(const struct problem* p, enum which a, struct strides s) {
    const struct strides own = p->array[a].stride;
    return (p->B > 1 && s.b != own.b) || (rows_of(p, a) > 1 && s.n != own.n) ||
           (p->H / sharing(p, a) > 1 && s.h != own.h);
}

bool head_fits(const struct problem* p, enum which a, struct strides s, int64_t b, int64_t h) {
    int64_t last = place(s, b, h / sharing(p, a), rows_of(p, a) - 1);
    return last + width_of(p, a) <= p->array[a].tensor->count;
}

static struct strides of_other_array(struct strides own, struct strides other, int64_t axis) {
    if (axis == 0) own.b = other.b;
    if (axis == 1) own.n = other.n;
    if (axis == 2) own.h = other.h;
    if (axis == 4) other.n = own.n;
    return axis >= 3 ? other : own;
}

static struct strides of_other_axis(struct strides s, int64_t pair) {
    int64_t step[] = {s.b, s.n, s.h};
    int64_t axis = pair / 2, other = (axis + 1 + pair % 2) % 3;
    step[axis] = step[other];
    return (struct strides){.b = step[0], .n = step[1], .h = step[2]};
}

// LSE of batch b and head h begins at (b * the first + h * the second) * N_q.
static struct strides of_LSE(const struct problem* p, int64_t n) {
    const int64_t steps[][2] = {{p->H, 0}, {0, 0},    {0, 1},
                                {1, p->B}, {p->B, 1}, {p->H / p->group, 1}};
    return (struct strides){.b = steps[n][0] * p->N_q, .n = 1, .h = steps[n][1] * p->N_q};
}

// The strides of an array, with a mistake. *cause is its cause.
static struct strides mistaken(const struct problem* p, enum which a, int64_t way,
                               enum cause* cause) {
    const int64_t N = rows_of(p, a), H = p->H / sharing(p, a), d = width_of(p, a);
    struct strides s = p->array[a].stride;
    *cause = CAUSE_stride_ignored;
    if (way == ROWS_OF_LSE) return (struct strides){.b = H * N, .n = H, .h = 1};
    if (way >= OF_LSE) {
        *cause = way < OF_LSE + 2 ? CAUSE_head_ignored : CAUSE_batch_ignored;
        return of_LSE(p, way - OF_LSE);
    }
    if (way >= OF_OTHER_ARRAY) {
        int64_t n = way - OF_OTHER_ARRAY;
        struct strides other = way >= OF_OTHER_AXIS
                                   ? of_other_axis(s, way - OF_OTHER_AXIS)
                                   : of_other_array(s, p->array[n / EACH].stride, n % EACH);
        // LSE of heads is packed: nobody passes strides that could be ignored.
        if (a == ARRAY_LSE && !p->contract->no_heads && other.n == s.n)
            *cause = other.b != s.b ? CAUSE_batch_ignored : CAUSE_head_ignored;
        return other;
    }
    switch (way) {
    case FIRST_BATCH:
        *cause = CAUSE_batch_ignored;
        s.b = 0;
        break;
    case FIRST_HEAD:
        *cause = CAUSE_head_ignored;
        s.h = 0;
        break;
    case PACKED_ROWS:
        s.n = d;
        break;
    case PACKED_HEADS:
        s.h = a == ARRAY_LSE ? N : d;
        break;
    case PACKED_BATCHES:
        s.b = a == ARRAY_LSE ? H * N : N * s.n;
        break;
    default:
        s = a == ARRAY_LSE ? (struct strides){N * H, 1, N} : (struct strides){N * H * d, H * d, d};
    }
    return s;
}

// Sets the strides for one way and set; false if that is no mistake here.
static bool misplace(struct places* at, int64_t way, unsigned set) {
    const struct problem* p = at->problem;
    for (enum which a = 0; a < ARRAYS; a++) {
        at->stride[a] = p->array[a].stride;
        if (!(set >> a & 1)) continue;
        bool exists = p->array[a].tensor && rows_of(p, a) > 0;
        if (way >= OF_LSE && set != 1u << ARRAY_LSE) return false;
        at->stride[a] = mistaken(p, a, way, &at->cause);
        if (!exists || !moves(p, a, at->stride[a]) || !head_fits(p, a, at->stride[a], 0, 0))
            return false;
    }
    return true;
}

bool next_places(struct places* at) {
    int64_t sets = 0;
    while (at->sets[sets]) sets++;
    while (at->next < WAYS * sets) {
        int64_t n = at->next++, way = n / sets;
        int64_t other = (way - OF_OTHER_ARRAY) / EACH;
        if (way >= OF_OTHER_ARRAY && way < OF_OTHER_AXIS && !at->problem->array[other].tensor)
            continue;
        if (misplace(at, way, at->sets[n % sets])) return true;
    }
    return false;
}

double* rows_of_places(const struct places* at, enum which a) {
    const struct problem* p = at->problem;
    const struct tensor* t = p->array[a].tensor;
    if (!moves(p, a, at->stride[a])) return NULL;
    double* rows = check_allocate(p->check, t->count, sizeof *rows);
    memcpy(rows, t->value, (size_t)t->count * sizeof *rows);
    bool within = true;
    FOR_EACH_QUERY(p, b, h, i) {
        within = within && head_fits(p, a, at->stride[a], b, h);
        if (within)
            memcpy(rows + place_in(p, a, b, h, i), t->value + place(at->stride[a], b, h, i),
                   (size_t)p->d * sizeof *rows);
    }
    if (within) return rows;
    free(rows);
    return NULL;
}
