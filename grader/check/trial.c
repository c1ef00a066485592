// trial.c: one case behind the wall: pack the arguments, run the program, take what it left.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/dtype.h"
#include "check/state.h"
#include "course.h"

// Tries to seal, 4 ms apart: on a busy machine the end of a program that had terabytes of addresses
// takes longer than a moment, and is no survivor.
enum { SEAL_TRIES = 500 };

// A run of a case: as it is; with mma.sync that multiplies wrongly.
enum run { REAL, ALTERED };

// ---- before

// See check_hand_over().
static void pack_what_arrives(const struct check* c, const struct arena* a, unsigned char* map) {
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor* t = &c->tensor[i];
        const struct arena_tensor* to = &a->layout.tensor[i];
        for (int r = 0; r < c->rounds && arena_is_sent(to); r++)
            memcpy(map + to->second[r], map + to->offset[r], to->bytes);
        for (int64_t k = 0; t->state->handed && k < t->count; k++)
            dtype_store(t->dtype, map + to->second[0] + k * dtype_size(t->dtype),
                        t->state->handed[k]);
    }
}

// Lays the case out in an arena of its own: the layout, the inputs, and poison everywhere else.
static void pack(struct check* c, struct arena* a, enum run run) {
    *a = (struct arena){.fd = -1};
    a->layout.rounds = (uint32_t)c->rounds;
    a->layout.scalar_count = (uint32_t)c->scalar_count;
    a->layout.tensor_count = (uint32_t)c->tensor_count;
    a->altered = run == ALTERED ? trial_products(c)->key : 0;
    a->by_both = c->how.by_both;
    a->layout.few_blocks = c->few_blocks;
    a->layout.few_bytes = c->huge;
    a->layout.one_block = c->one_block;
    a->layout.by_wgmma = lesson.by_wgmma;
    a->layout.fail_at = c->fail_at;
    memcpy(a->layout.fail_call, c->fail_call, sizeof c->fail_call);
    memcpy(a->layout.scalar, c->scalar, sizeof c->scalar);
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor* t = &c->tensor[i];
        struct arena_tensor* to = &a->layout.tensor[i];
        snprintf(to->name, sizeof to->name, "%s", t->name);
        to->role = c->null_if_empty && t->count == 0 ? ARENA_NULL : t->state->role;
        to->on_host = t->state->on_host;
        to->beside = t->state->beside;
        to->nulls = t->state->nulls;
        to->shifts = t->state->shifts;
        to->element = (uint32_t)dtype_size(t->dtype);
        to->same = t->state->same;
        to->handed = t->state->handed != NULL;
        to->later = (uint64_t)t->state->later;
        to->far = t->state->far;
        to->row = (uint64_t)(t->state->row * dtype_size(t->dtype));
        to->read = (uint64_t)(t->state->read * dtype_size(t->dtype));
        to->ends = (uint64_t)t->state->ends;
        to->pitch = (uint64_t)(t->state->length * dtype_size(t->dtype));
        to->bytes = (uint64_t)(t->count * dtype_size(t->dtype));
    }
    unsigned char* map;
    if (arena_open(a, &map) != 0) check_error(c, "no shared memory: %s", strerror(errno));
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor* t = &c->tensor[i];
        if (!arena_is_read(t->state->role)) continue;
        for (int r = 0; r < c->rounds; r++) {
            double* value = t->state->value + t->state->per_round * r;
            unsigned char* to = map + a->layout.tensor[i].offset[r];
            for (int64_t k = 0; k < t->count; k++) {
                value[k] = dtype_round(t->dtype, value[k]);
                dtype_store(t->dtype, to + k * dtype_size(t->dtype), value[k]);
            }
        }
    }
    pack_what_arrives(c, a, map);
    if (arena_close_writing(a, map) != 0) check_error(c, "munmap: %s", strerror(errno));
}

// ---- after

static void log_output(const struct check* c, const struct wall_result* r) {
    FILE* log = c->session->log;
    if (!log) return;
    fprintf(log, "-- %s: %s (%.2f s)\n", c->item->name, c->name, r->seconds);
    text_print(log, "", r->output ? r->output : "");
    if (r->truncated) fputs("(more was printed)\n", log);
    fflush(log);
}

bool trial_seal(struct check* c, struct arena* a) {
    for (int i = 0; i < SEAL_TRIES; i++) {
        if (arena_seal(a) == 0) return true;
        if (errno == EPERM) return false;
        if (errno != EBUSY) check_error(c, "the results could not be sealed: %s", strerror(errno));
        usleep(4000);
    }
    return false;
}

// Does an element of the arena hold what the grader put there? This is the poison, or in an array
// that is overwritten in place the input.
static bool is_unwritten(const struct arena* a, const struct tensor* t, uint64_t at, int64_t k) {
    const int size = dtype_size(t->dtype);
    unsigned char before[8];
    if (t->state->role != ARENA_IN_PLACE || at >= a->layout.seconds)
        return arena_is_poison(a, at, size);
    dtype_store(t->dtype, before, t->state->value[k]);
    return memcmp(before, a->bytes + at, (size_t)size) == 0;
}

// Reads an array of tensor i from the arena, which begins in each round at an offset of its own.
static void take(struct check* c, const struct arena* a, int i, const uint64_t offset[ARENA_ROUNDS],
                 double* got, bool* poison) {
    const struct tensor* t = &c->tensor[i];
    int size = dtype_size(t->dtype);
    for (int r = 0; r < c->rounds; r++) {
        uint64_t at = offset[r];
        int64_t first = t->state->per_round * r;
        for (int64_t k = first; k < first + t->count; k++, at += (uint64_t)size) {
            got[k] = dtype_load(t->dtype, a->bytes + at);
            poison[k] = is_unwritten(a, t, at, k);
        }
    }
}

// The same for an array that is kept beside the tensor.
static void keep(struct check* c, const struct arena* a, int i, const uint64_t offset[ARENA_ROUNDS],
                 struct left* left) {
    int64_t count = c->state[i].per_round * c->rounds;
    left->got = check_allocate(c, count, sizeof(double));
    left->poison = check_allocate(c, count, sizeof(bool));
    take(c, a, i, offset, left->got, left->poison);
}

// Reads every output of the arena.
static void unpack(struct check* c, const struct arena* a, enum run run) {
    for (int i = 0; i < c->tensor_count; i++) {
        struct tensor_state* s = &c->state[i];
        const struct arena_tensor* from = &a->layout.tensor[i];
        if (!arena_is_written(s->role)) continue;
        if (run == ALTERED) keep(c, a, i, from->offset, &s->altered);
        if (run == REAL) take(c, a, i, from->offset, s->got, s->poison);
        if (run == REAL && c->expected == 0 && !c->idle) keep(c, a, i, from->second, &s->second);
    }
}

// ---- running it

bool trial_is_watched(const struct check* c) {
    return c->watch || c->far || c->posed;
}

// Runs the plain program, or the instrumented one if it is watched. The runs of an item have its
// time together: the case that finds none left fails.
static struct wall_result run_program(struct check* c, const struct arena* a, bool watched) {
    static const char* const argv[] = {"run", NULL};
    const struct session* s = c->session;
    const double most = case_seconds(c);
    double left = s->item_seconds - c->record->spent;
    if (left <= 0)
        check_fail(c, CAUSE_too_slow, "not run: this item's runs before it took %.0f s\n",
                   c->record->spent);
    // A launch has a part of the CPU time of its case, so that an endless loop has its line named.
    // A watched one may take four times what CUDEV_TIMEOUT says. The clock is the wall's to watch.
    // A run for the diagnosis alone has no more in a long case: without it the verdict is the same.
    const bool is_long = c->is_long && watched == trial_is_watched(c);
    const double part = (is_long ? 0.6 : 0.2) / (watched ? 2 : 1);
    char launch[48], clock[48];
    snprintf(launch, sizeof launch, "CUDEV_TIMEOUT=%g", part * s->seconds);
    snprintf(clock, sizeof clock, "CUDEV_CLOCK_TIMEOUT=%g", 2 * WALL_PATIENCE * s->seconds);
    // Findings and counts in one run, so that a kernel cannot be safe in one and cheap in another.
    const char* const environment[] = {launch,
                                       clock,
                                       c->card,
                                       c->first_card[0] ? c->first_card : "CUDEV_FIRST_CARD=",
                                       watched ? "CUDEV_WATCH=check,profile" : NULL,
                                       NULL};
    bool gpu = s->gpu && !watched && !c->huge;
    struct wall_job job = {
        .argv = argv,
        .program = watched || (s->gpu && c->huge) ? s->watched : s->program,
        .arena = a->fd,
        .environment = environment,
        .seconds = left < most ? left : most,
        .memory = (size_t)(gpu ? MEMORY_LIMIT_GPU_GB : MEMORY_LIMIT_GB) << 30,
        .reserved = (size_t)RESERVED_GB << 30,
        .gpu = gpu,
    };
    struct wall_result r = wall_run(s->level, &job);
    c->record->spent += r.seconds;
    return r;
}

bool trial_failed_to_start(const struct arena* a, const struct wall_result* r) {
    return r->end != WALL_TIMEOUT && r->end != WALL_IDLE && r->end != WALL_MEMORY &&
           !arena_started(a);
}

// Lays the case out in the arena, which the caller frees, and runs it. A program that does not
// start is tried once more: the machine may have had no process left.
static struct wall_result run_packed(struct check* c, struct arena* a, enum run run, bool watched) {
    pack(c, a, run);
    if (run == REAL && a == &c->arena && c->session->visit) {
        c->session->visit(c);
        arena_free(a);  // the program has run there: what is changed in place has other numbers now
        pack(c, a, run);
    }
    struct wall_result r = run_program(c, a, watched);
    if (!trial_failed_to_start(a, &r)) return r;
    free(r.output);
    return run_program(c, a, watched);
}

struct wall_result trial_run(struct check* c, struct arena* a) {
    return run_packed(c, a, REAL, trial_is_watched(c));
}

static void take_finding(const struct arena_answer* answer, struct finding* found) {
    found->note = answer->findings == 0 && answer->note_kind[0];
    if (answer->findings == 0 && !found->note) return;
    const char* kind = found->note ? answer->note_kind : answer->finding[0].kind;
    found->cause = contract_cause(kind);
    found->line = found->note ? answer->note_line : answer->finding[0].first;
    found->copied = strcmp(kind, FINDING_COPIED) == 0;
    found->stored = strcmp(kind, FINDING_STORED) == 0;
    snprintf(found->text, sizeof found->text, "%s",
             found->note ? answer->note_text : answer->finding_text);
    found->count = arena_findings(answer);
    memcpy(found->value, answer->finding, sizeof found->value);
}

void trial_find(struct check* c, struct finding* found) {
    *found = (struct finding){.cause = CAUSE_NONE};
    if (trial_is_watched(c)) {
        take_finding(&c->answer, found);
        found->unset = diagnose_unset(c, &c->arena);
        return;
    }
    struct arena left;
    struct wall_result r = run_packed(c, &left, REAL, true);
    free(r.output);
    if (trial_seal(c, &left)) {
        struct arena_answer answer = arena_answer(&left);
        take_finding(&answer, found);
        found->unset = diagnose_unset(c, &left);
    }
    arena_free(&left);
}

struct wall_result trial_run_as(struct check* c, struct arena* a, bool watched) {
    return run_packed(c, a, REAL, watched);
}

bool trial_dies_unwatched(struct check* c) {
    struct arena left;
    if (!c->watch || c->far || c->posed || c->session->gpu) return false;
    struct wall_result r = run_packed(c, &left, REAL, false);
    free(r.output);
    const bool dies =
        r.end == WALL_SIGNALED ||
        (trial_seal(c, &left) && strcmp(arena_answer(&left).kind, "bad_address") == 0);
    arena_free(&left);
    return dies;
}

// The key does not follow from the grade's seed, which a student may know or find in the data.
struct arena_products* trial_products(struct check* c) {
    if (c->how.key) return &c->how;
    memset(&c->how, 0, sizeof c->how);
    (void)check_random(c);  // an old seed keeps its data
    while (c->how.key == 0)
        if (getrandom(&c->how.key, sizeof c->how.key, 0) != sizeof c->how.key)
            check_error(c, "no random numbers: %s", strerror(errno));
    return &c->how;
}

// The outputs of the case have been taken from its arena, which this run gets.
void trial_alter(struct check* c) {
    const struct arena_answer answer = c->answer;
    const size_t length = strlen(c->name);
    for (int i = 0; i < c->tensor_count; i++)
        if (c->state[i].altered.got) return;
    snprintf(c->name + length, sizeof c->name - length, ", with other products of %s",
             lesson.by_wgmma ? "wgmma" : "mma.sync");
    arena_free(&c->arena);
    struct wall_result r = run_packed(c, &c->arena, ALTERED, true);
    log_output(c, &r);
    contract_end(c, &r);
    unpack(c, &c->arena, ALTERED);
    free(r.output);
    c->name[length] = '\0';
    c->altered = c->answer.traffic[0];
    c->answer = answer;
}

void check_run(struct check* c) {
    c->ran = true;
    struct wall_result r = run_packed(c, &c->arena, REAL, trial_is_watched(c));
    log_output(c, &r);
    contract_end(c, &r);
    unpack(c, &c->arena, REAL);
    for (int round = 0; round < c->rounds && !c->unfinished && !c->crashed; round++)
        contract_round(c, round, r.output);
    free(r.output);
    contract_findings(c);
    trial_twin(c);
}
