// twin.c: does a file do the same where nobody watches? A watched case is run by the plain program,
// too, and what the device counts in both builds is held against each other. So a kernel cannot be
// cheap or safe in the instrumented build alone, however it finds out which one it is in.
#include <stdlib.h>

#include "check/state.h"

// One watched case in so many is run by both, drawn by the seed. Of each item the first one is.
enum { ONE_IN = 3 };

static bool is_drawn(const struct check* c) {
    uint64_t x = c->session->seed + 0x9e3779b97f4a7c15u * (uint64_t)(c->cases + 1);
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    return !c->twins || (x ^ x >> 29) % ONE_IN == 0;
}

// Counts of both runs. Those of threads that meet may depend on which block comes first: they may
// be a quarter and a few apart.
struct twin {
    const char* name;
    int64_t watched, plain, few;
};

static bool are_alike(const struct twin* t) {
    const int64_t most = t->watched > t->plain ? t->watched : t->plain;
    return t->few < 0 ? t->watched == t->plain : llabs(t->watched - t->plain) <= t->few + most / 4;
}

static void compare_round(struct check* c, const struct arena_answer* plain, int r) {
    const struct arena_answer* w = &c->answer;
    const struct arena_meetings *met = &w->met[r], *plain_met = &plain->met[r];
    const struct twin counts[] = {
        {"launches", w->launches[r], plain->launches[r], -1},
        {"blocks", w->blocks[r], plain->blocks[r], -1},
        {"blocks of the largest grid", w->largest_grid[r], plain->largest_grid[r], -1},
        {"barriers that open", met->barriers, plain_met->barriers, 8},
        {"words that lanes exchange", met->words, plain_met->words, 512},
        {"matrices that warps load", met->matrices, plain_met->matrices, 64},
        {"products of tensor cores", met->products, plain_met->products, 16},
        {"copies by cp.async or TMA", met->copies, plain_met->copies, 64},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !c->twin[0]; i++)
        if (!are_alike(&counts[i]))
            snprintf(c->twin, sizeof c->twin,
                     "case: %s\n%s: %lld where accesses are watched, and %lld where they are not\n"
                     "  next: let the kernel do the same in every call of these sizes\n",
                     c->name, counts[i].name, (long long)counts[i].watched,
                     (long long)counts[i].plain);
}

void trial_twin(struct check* c) {
    const struct session* s = c->session;
    if (!c->watch || c->huge || c->few_blocks || c->fail_at || c->expected || s->gpu || s->visit ||
        !s->judges_costs || c->twin[0] || !is_drawn(c))
        return;
    struct arena left;
    struct wall_result r = trial_run_plain(c, &left);
    c->twins++;
    free(r.output);
    if (r.end == WALL_EXITED && trial_seal(c, &left)) {
        const struct arena_answer plain = arena_answer(&left);
        for (int round = 0; round < c->rounds && (uint32_t)round < plain.rounds_done; round++)
            compare_round(c, &plain, round);
    }
    arena_free(&left);
}

void trial_twin_judge(struct check* c) {
    if (!c->twin[0]) return;
    record_append(c->record, "%s", c->twin);
    check_end_failed(c, CAUSE_watched_otherwise);
}
