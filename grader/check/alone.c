// alone.c: would a later call of a case go wrong by itself, too? Then nothing is to blame that the
// launcher keeps.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "check/state.h"
#include "course.h"

// The case whose only call is this one of c's, to be freed. Its pointers are c's. A failure that
// was asked for, and another device, were a part of the first call.
static struct check* case_of_call(struct check* c, int round) {
    struct check* one = check_allocate(c, 1, sizeof *one);
    *one = *c;
    one->rounds = 1;
    one->round = 0;
    one->expected = contract_expected(c, round);
    if (round > 0) one->fail_at = 0, one->first_card[0] = '\0';
    for (int i = 0; i < c->scalar_count; i++) {
        one->scalar[i].integer[0] = c->scalar[i].integer[round];
        one->scalar[i].real[0] = c->scalar[i].real[round];
    }
    for (int i = 0; i < c->tensor_count; i++) {
        struct tensor_state* s = one->tensor[i].state = &one->state[i];
        s->nulls = s->nulls >> round & 1;
        s->shifts = s->shifts >> round & 1;
        if (s->value) s->value += s->per_round * round;
    }
    return one;
}

static bool is_right(struct check* c, const struct arena* a, int i, struct budget budget) {
    const struct tensor* t = &c->tensor[i];
    const int size = dtype_size(t->dtype);
    uint64_t at = a->layout.tensor[i].offset[0];
    double* got = check_allocate(c, t->count, sizeof *got);
    bool* unwritten = check_allocate(c, t->count, sizeof *unwritten);
    for (int64_t k = 0; k < t->count; k++, at += (uint64_t)size) {
        unwritten[k] = t->state->role != ARENA_IN_PLACE && arena_is_poison(a, at, size);
        got[k] = dtype_load(t->dtype, a->bytes + at);
    }
    const struct comparison found =
        compare(t->want, got, unwritten, t->untouched, t->count, budget);
    free(got);
    free(unwritten);
    return comparison_passes(&found);
}

// The tensor of c is looked at, or none. Frees `one`.
static bool fails(struct check* c, struct check* one, const struct tensor* t,
                  const struct budget* budget) {
    struct arena left;
    struct wall_result r = trial_run(one, &left);
    bool right = r.end == WALL_EXITED && r.code == 0 && trial_seal(c, &left);
    if (right) {
        const struct arena_answer answer = arena_answer(&left);
        right = answer.rounds_done == 1 && answer.status[0] == one->expected &&
                (answer.launches[0] > 0 || one->idle) &&
                (!t || is_right(c, &left, (int)(t - c->tensor), *budget));
    }
    free(r.output);
    free(one);
    arena_free(&left);
    return !right;
}

bool trial_fails_alone(struct check* c, int round, const struct tensor* t,
                       const struct budget* budget) {
    return fails(c, case_of_call(c, round), t, budget);
}

bool trial_fails_in_order(struct check* c, const struct tensor* t, const struct budget* budget) {
    struct check* one = case_of_call(c, 0);
    one->few_blocks = ARENA_IN_TURN;
    return fails(c, one, t, budget);
}

bool check_is_right_with_ones(struct check* c, const struct tensor* t, double tolerance,
                              const char* const* flag) {
    struct check* one = case_of_call(c, c->round);
    for (; *flag; flag++)
        for (int i = 0; i < one->scalar_count; i++)
            if (strcmp(one->scalar[i].name, *flag) == 0 && one->scalar[i].integer[0] != 0)
                one->scalar[i].integer[0] = 1;
    const struct budget budget = {.max = tolerance, .mean = tolerance};
    return !fails(c, one, t, &budget);
}

bool check_has_numbers(struct check* c, const struct tensor* t) {
    const struct budget any = {.max = INFINITY, .mean = INFINITY};
    return !trial_fails_alone(c, c->round, t, &any);
}
