// twin.c: does a file do the same whether it is watched or not? Some cases are run by both builds.
//
// A watched case is run by the plain program, too, and what the device counts in both is held
// against each other: a kernel cannot be cheap in the instrumented build alone, however it finds
// out which one it is in. And an ordinary case of few numbers is run by the instrumented program,
// which looks for races: a kernel cannot race in all calls but those of the item on safety.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check/state.h"

// One case in so many is run by both, drawn by the seed. Of the watched ones of an item the first
// one is. An ordinary one has at most so many numbers: to watch a run takes ten times as long.
enum { WATCHED_ONE_IN = 3, ORDINARY_ONE_IN = 6, NUMBERS = 1 << 15 };

static bool is_drawn(const struct check* c, unsigned one_in) {
    uint64_t x = c->session->seed + 0x9e3779b97f4a7c15u * (uint64_t)(c->cases + 1);
    for (const char* p = c->item->name; *p; p++) x = (x ^ (uint64_t)*p) * 0x100000001b3u;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    return (x ^ x >> 29) % one_in == 0;
}

static void tell(struct check* c, enum cause cause, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
static void tell(struct check* c, enum cause cause, const char* format, ...) {
    struct told* told = &c->twin;
    va_list values;
    va_start(values, format);
    const int n = snprintf(told->text, sizeof told->text, "case: %s\n", c->name);
    vsnprintf(told->text + n, sizeof told->text - (size_t)n, format, values);
    va_end(values);
    told->cause = cause;
}

// Counts of both runs. What the launcher does is the same (few: -1). How often threads meet may
// depend on which block comes first: such counts may be a quarter, and `few`, apart.
struct twin {
    const char* name;
    int64_t watched, plain, few;
};

static bool are_alike(const struct twin* t) {
    const int64_t most = t->watched > t->plain ? t->watched : t->plain;
    return t->few < 0 ? t->watched == t->plain : llabs(t->watched - t->plain) <= t->few + most / 4;
}

static void compare_round(struct check* c, const struct arena_answer* w,
                          const struct arena_answer* plain, int r) {
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
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !c->twin.cause; i++)
        if (!are_alike(&counts[i]))
            tell(c, CAUSE_watched_otherwise,
                 "%s: %lld where accesses are watched, and %lld where they are not\n"
                 "  next: let the kernel do the same in every call of these sizes\n",
                 counts[i].name, (long long)counts[i].watched, (long long)counts[i].plain);
}

static bool is_race(enum cause cause) {
    return cause == CAUSE_race || cause == CAUSE_race_of_writes || cause == CAUSE_async_order ||
           cause == CAUSE_copy_on_its_way || cause == CAUSE_copy_not_awaited;
}

// Runs the case in the build that has not run it yet, and looks at both.
static void run_other(struct check* c) {
    struct arena left;
    const bool was_watched = trial_is_watched(c);
    struct wall_result r = trial_run_as(c, &left, !was_watched);
    free(r.output);
    if (r.end == WALL_EXITED && trial_seal(c, &left)) {
        const struct arena_answer other = arena_answer(&left);
        const struct arena_answer* watched = was_watched ? &c->answer : &other;
        const bool finds = watched->findings > 0;  // a finding may end a launch, or a round
        const enum cause found = finds ? contract_cause(watched->finding[0].kind) : CAUSE_NONE;
        for (int round = 0; round < c->rounds && (uint32_t)round < other.rounds_done; round++)
            if (!finds) compare_round(c, watched, was_watched ? &other : &c->answer, round);
        if (!c->twin.cause && !was_watched && is_race(found)) {
            tell(c, found, "%s", other.finding_text);
            c->twin.count = arena_findings(&other);
            memcpy(c->twin.value, other.finding, sizeof other.finding);
        }
    }
    arena_free(&left);
}

static int64_t numbers(const struct check* c) {
    int64_t sum = 0;
    for (int i = 0; i < c->tensor_count; i++) sum += c->tensor[i].count;
    return sum;
}

void trial_twin(struct check* c) {
    const struct session* s = c->session;
    if (c->huge || c->few_blocks || c->fail_at || c->expected || s->gpu || s->visit ||
        !s->judges_costs || c->twin.cause)
        return;
    const bool watched = trial_is_watched(c);
    if (watched ? !c->twins || is_drawn(c, WATCHED_ONE_IN)
                : numbers(c) <= NUMBERS && is_drawn(c, ORDINARY_ONE_IN))
        run_other(c);
    c->twins += watched;
}

void trial_twin_judge(struct check* c) {
    const bool is_found = c->twin.cause && c->twin.cause != CAUSE_watched_otherwise;
    // The item on safety pays for a race, and another one only if that has found none.
    c->record->asked_safe |= is_found;
    if (!c->twin.cause || (is_found && !c->session->safe)) return;
    record_append(c->record, "%s", c->twin.text);
    record_findings(c->record, c->twin.value, c->twin.count);
    check_end_failed(c, c->twin.cause);
}
