// case.c: the arguments of a case, and how an item begins and ends.
#include <check.h>  // libcheck; ours is check/check.h
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/dtype.h"
#include "check/state.h"
#include "cpu/cards/cards.h"

// ---- the record

static void record_append_v(struct result_item* record, const char* format, va_list args) {
    size_t used = strlen(record->message);
    vsnprintf(record->message + used, sizeof record->message - used, format, args);
}

void record_append(struct result_item* record, const char* format, ...) {
    va_list args;
    va_start(args, format);
    record_append_v(record, format, args);
    va_end(args);
}

void record_findings(struct result_item* record, const struct finding_values* value, int count) {
    record->finding_count = count;
    memcpy(record->finding, value, (size_t)count * sizeof *value);
}

void record_cause(struct result_item* record, enum cause cause) {
    record->rank = (int)cause_rank(cause);
    snprintf(record->cause, sizeof record->cause, "%s", cause_id(cause));
    snprintf(record->sentence, sizeof record->sentence, "%s", cause_sentence(cause));
}

void record_case(const struct check* c, const char* of_calls) {
    record_append(c->record, "case: %s%s\n%s", c->name, of_calls,
                  c->ordinary == IS_ORDINARY ? RESULT_ORDINARY : "");
}

// libcheck ends the process that runs the item.
void check_end(void) {
    ck_abort_msg("the item ends here");
    abort();
}

void check_error(struct check* c, const char* format, ...) {
    va_list args;
    c->record->outcome = OUTCOME_ERROR;
    if (c->cases) record_append(c->record, "case: %s\n", c->name);
    va_start(args, format);
    record_append_v(c->record, format, args);
    va_end(args);
    check_end();
}

void check_end_failed(struct check* c, enum cause cause) {
    c->record->outcome = OUTCOME_FAIL;
    c->record->missing |= cause == CAUSE_no_answer;
    record_cause(c->record, cause);
    check_end();
}

void check_withhold(struct check* c, const struct withheld* what) {
    c->withheld = what;
}

const char* check_withheld_words(struct check* c, enum cause cause) {
    const char* words = c->withheld ? c->withheld->words(cause) : NULL;
    c->record->own_words = words != NULL;
    return words;
}

// Where a function ends without the value that it has to return, the compiler takes it that no
// thread comes there. One that does goes on anywhere.
static bool is_gone_astray(const struct check* c, enum cause cause) {
    return c->session->no_return && (cause == CAUSE_crash || cause == CAUSE_bad_address);
}

void check_fail(struct check* c, enum cause cause, const char* format, ...) {
    va_list args;
    const bool astray = is_gone_astray(c, cause);
    if (astray) cause = CAUSE_no_return;
    const char* words = check_withheld_words(c, cause);
    record_case(c, "");
    if (words) {
        c->record->finding_count = 0;
        record_append(c->record, "%s", words);
        check_end_failed(c, c->withheld->instead);
    }
    va_start(args, format);
    record_append_v(c->record, format, args);
    va_end(args);
    if (astray && c->session->no_return[0])
        record_append(c->record, "%s: this function ends here without a value\n",
                      c->session->no_return);
    check_end_failed(c, cause);
}

void* check_allocate(struct check* c, int64_t count, size_t size) {
    void* memory = calloc((size_t)count + 1, size);
    if (!memory) check_error(c, "out of memory: %lld times %zu bytes", (long long)count, size);
    return memory;
}

// ---- an item

static void free_case(struct check* c) {
    for (int i = 0; i < c->tensor_count; i++) {
        struct tensor_state* s = &c->state[i];
        free(s->value), free(s->want), free(s->got), free(s->untouched), free(s->poison);
        free(s->second.got), free(s->second.poison);
        free(s->altered.got), free(s->altered.poison);
        free(s->handed);
    }
    if (c->ran) arena_free(&c->arena);
    c->tensor_count = c->scalar_count = c->replaced_count = 0;
    c->ran = false;
}

void check_start(struct check* c, const struct session* session, const struct item* item, int index,
                 struct result_item* record) {
    memset(c, 0, sizeof *c);
    c->session = session;
    c->item = item;
    c->record = record;
    // Far apart for neighbouring items and seeds; check_random() mixes the rest.
    c->random = session->seed ^ (uint64_t)(index + 1) * 0xd1342543de82ef95ull;
}

void check_finish(struct check* c) {
    if (c->compared == 0) check_error(c, "this item compared nothing");
    contract_promises(c);
    trial_twin_judge(c);
    free_case(c);
    c->record->outcome = OUTCOME_PASS;
    c->record->safe = c->watch == WATCH_CHECK;
    c->record->points = c->record->max_points;
}

// ---- the file

const char* check_text(struct check* c, size_t* size) {
    *size = c->session->text_size;
    return c->session->text;
}

void check_line(struct check* c, int line) {
    c->record->line = line;
}

bool check_number(struct check* c, double got, double want, double tolerance) {
    c->compared++;
    return fabs(got - want) <= tolerance * fabs(want);
}

// ---- a case

void check_case(struct check* c, const char* format, ...) {
    va_list args;
    free_case(c);
    va_start(args, format);
    vsnprintf(c->name, sizeof c->name, format, args);
    va_end(args);
    snprintf(c->record->tested, sizeof c->record->tested, "%s", c->name);
    c->cases++;
    c->ordinary = c->ordinary == NEXT_ORDINARY ? IS_ORDINARY : NO_ORDINARY;
    c->rounds = 1;
    c->round = 0;
    c->varied = c->idle = false;
    c->description = NULL;
    c->fail_call[0] = '\0';
    c->fail_at = 0;
    c->null_if_empty = false;
    c->few_blocks = ARENA_ALL;
    c->how.key = 0;
    c->expected = 0;
    c->otherwise = CAUSE_wrong_status;
    c->crashes = CAUSE_NONE;
    c->judged = false;
    c->far = c->huge = false;
    c->is_long = false;
    c->posed = false;
    c->first_card[0] = '\0';
    memcpy(c->card, c->session->card, sizeof c->card);
}

void check_watch(struct check* c, enum watch watch) {
    c->watch = watch;
    if (watch == WATCH_PROFILE) c->record->profiled = true;
}

static void select_round(struct check* c, struct tensor* t) {
    struct tensor_state* s = t->state;
    int64_t first = s->per_round * c->round;
    t->value = s->value + first;
    t->want = s->want + first;
    t->got = s->got + first;
    t->untouched = s->untouched + first;
}

void check_rounds(struct check* c, int rounds) {
    if (c->tensor_count || rounds < 1 || rounds > ARENA_ROUNDS)
        check_error(c, "check_rounds(%d) after a tensor, or not 1 to %d", rounds, ARENA_ROUNDS);
    c->rounds = rounds;
}

void check_in_all_rounds(struct check* c, const struct tensor* t) {
    for (int r = 0; r < c->rounds; r++)
        if (r != c->round)
            memcpy(t->state->value + t->state->per_round * r, t->value,
                   (size_t)t->count * sizeof *t->value);
}

void check_round(struct check* c, int round) {
    c->round = round;
    for (int i = 0; i < c->tensor_count; i++) select_round(c, &c->tensor[i]);
}

// ---- arguments

void check_replace(struct check* c, const char* name, int64_t value) {
    if (c->replaced_count == REPLACED) check_error(c, "more than %d arguments replaced", REPLACED);
    c->replaced[c->replaced_count++] = (struct replaced){name, value, false};
}

// The replacement of an argument, now marked as met; or NULL.
static const struct replaced* replacement(struct check* c, const char* name) {
    for (int i = 0; i < c->replaced_count; i++) {
        if (strcmp(c->replaced[i].name, name) != 0) continue;
        c->replaced[i].met = true;
        return &c->replaced[i];
    }
    return NULL;
}

static struct tensor* add_tensor(struct check* c, const char* name, enum dtype dtype,
                                 struct shape shape, uint32_t role) {
    if (c->tensor_count == ARENA_TENSORS) check_error(c, "more than %d tensors", ARENA_TENSORS);
    struct tensor* t = &c->tensor[c->tensor_count];
    struct tensor_state* s = &c->state[c->tensor_count++];
    int64_t count = role == ARENA_NULL ? 0 : 1;
    for (int i = 0; i < shape.rank; i++) count *= shape.dim[i];
    if (count < 0) check_error(c, "%s has a negative size", name);
    int64_t all = count * c->rounds;
    *s = (struct tensor_state){.role = role, .per_round = count};
    s->value = check_allocate(c, all, sizeof(double));
    s->want = check_allocate(c, all, sizeof(double));
    s->got = check_allocate(c, all, sizeof(double));
    s->untouched = check_allocate(c, all, sizeof(bool));
    s->poison = check_allocate(c, all, sizeof(bool));
    *t = (struct tensor){.name = name, .dtype = dtype, .shape = shape, .count = count, .state = s};
    select_round(c, t);
    return t;
}

// The tensor that the case passes as the argument of this name; NULL if it passes NULL.
static struct tensor* pass_tensor(struct check* c, const char* name, enum dtype dtype,
                                  struct shape shape, uint32_t role) {
    if (!replacement(c, name)) return add_tensor(c, name, dtype, shape, role);
    check_null(c, name);
    return NULL;
}

struct tensor* check_input(struct check* c, const char* name, enum dtype dtype,
                           struct shape shape) {
    return pass_tensor(c, name, dtype, shape, ARENA_INPUT);
}

struct tensor* check_output(struct check* c, const char* name, enum dtype dtype,
                            struct shape shape) {
    return pass_tensor(c, name, dtype, shape, ARENA_OUTPUT);
}

struct tensor* check_in_place(struct check* c, const char* name, enum dtype dtype,
                              struct shape shape) {
    return pass_tensor(c, name, dtype, shape, ARENA_IN_PLACE);
}

void check_workspace(struct check* c, const char* name, int64_t bytes) {
    pass_tensor(c, name, F32, SHAPE((bytes + 3) / 4), ARENA_WORKSPACE);
}

void check_null(struct check* c, const char* name) {
    add_tensor(c, name, F32, SHAPE(0), ARENA_NULL);
}

void check_vary_null(struct check* c, const char* name, int round) {
    for (int i = 0; i < c->tensor_count; i++)
        if (strcmp(c->tensor[i].name, name) == 0) c->state[i].nulls |= 1u << round;
    c->varied = true;
}

void check_vary_later(struct check* c, const char* name, int round) {
    for (int i = 0; i < c->tensor_count; i++)
        if (strcmp(c->tensor[i].name, name) == 0) c->state[i].shifts |= 1u << round;
    c->varied = true;
}

void check_same(struct check* c, const struct tensor* t, const struct tensor* as) {
    t->state->same = (uint32_t)(as - c->tensor) + 1;
    memcpy(t->value, as->value, (size_t)t->count * sizeof *t->value);
}

void check_on_host(struct tensor* t) {
    t->state->on_host = true;
}

void check_by_host(struct tensor* t) {
    t->state->on_host = t->state->by_host = true;
}

void check_ends_no_part(struct tensor* t) {
    t->state->beside = true;
}

void check_begin_later(struct tensor* t, int64_t elements) {
    t->state->later = elements * dtype_size(t->dtype);
}

void check_unread(struct tensor* t, int64_t rows, int64_t read) {
    t->state->row = read < t->count / rows ? t->count / rows : 0;
    t->state->read = read;
}

void check_far(struct check* c, struct tensor* t, const int64_t count[3], int64_t step[3]) {
    const uint64_t element = (uint64_t)dtype_size(t->dtype);
    const uint64_t rows = (uint64_t)(count[0] * count[1] * count[2]);
    struct arena_far* far = &t->state->far;
    if (rows == 0 || (uint64_t)t->count % rows) check_error(c, "%s has no such rows", t->name);
    *far = (struct arena_far){.count = {(uint64_t)count[0], (uint64_t)count[1], (uint64_t)count[2]},
                              .row_bytes = (uint64_t)t->count / rows * element,
                              .element = element};
    if (arena_far_pitch(far) < far->row_bytes + t->state->later)
        check_error(c, "the rows of %s begin too late", t->name);
    uint64_t near = arena_far_pitch(far) / element;
    for (int axis = 2; axis >= 0; near *= far->count[axis--])
        step[axis] = (int64_t)(near + arena_far_unit(far) / element);
    c->far = true;
}

void check_ends(struct check* c, struct tensor* t, int64_t rows, int64_t length) {
    if (t->count == 0 || t->count % rows) check_error(c, "%s has no such ends", t->name);
    t->state->ends = rows;
    t->state->length = length;
    c->huge = true;
}

void check_pose_as(struct check* c, const char* id) {
    const struct known_card* card = card_named(id);
    if (!card) check_error(c, "check_pose_as(%s): there is no such card", id);
    snprintf(c->card, sizeof c->card, "CUDEV_CARD=%s", card->id);
    c->posed = true;
}

const char* case_card(const struct check* c) {
    return c->card + strlen("CUDEV_CARD=");
}

void check_begin_on(struct check* c, const char* id) {
    if (!id) id = case_card(c);
    if (!card_named(id)) check_error(c, "check_begin_on(%s): there is no such card", id);
    snprintf(c->first_card, sizeof c->first_card, "CUDEV_FIRST_CARD=%s", id);
    c->posed = true;
}

size_t check_shared_memory(const struct check* c) {
    return card_named(c->session->card + strlen("CUDEV_CARD="))->shared_block;
}

double case_seconds(const struct check* c) {
    if (c->moment > 0) return c->moment;
    return (c->is_long ? 1.5 : 1) * c->session->seconds;
}

void check_long_launch(struct check* c) {
    c->is_long = true;
}

void check_mix_blocks(struct check* c) {
    c->few_blocks = ARENA_MIXED;
}

void check_crowd_blocks(struct check* c) {
    c->few_blocks = ARENA_CROWDED;
}

// The way of the device (cpu/device/far.c): memory is mapped a second time, at a high address.
static bool maps_far(void) {
    void *const high = (void*)((uintptr_t)1 << 46), *again = MAP_FAILED;
    void* page = mmap(NULL, ARENA_GUARD, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    void* room = mmap(high, ARENA_GUARD, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (room == high) again = mremap(page, 0, ARENA_GUARD, MREMAP_MAYMOVE | MREMAP_FIXED, high);
    munmap(page, ARENA_GUARD);
    if (room != MAP_FAILED) munmap(room, ARENA_GUARD);
    return again == high;
}

// Likewise (cpu/device/malloc.c): room for a few such arrays.
bool check_can_be_huge(void) {
    void* const high = (void*)(((uintptr_t)1 << 46) - ((uintptr_t)1 << 43));
    const size_t room = (size_t)1 << 42;
    void* got = mmap(high, room, PROT_NONE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED) munmap(got, room);
    return got == high;
}

bool check_can_be_far(struct check* c) {
    bool can = maps_far();
    if (!can && c->session->log)
        fputs("this machine cannot map rows 2^32 elements apart: the case is left out\n",
              c->session->log);
    return can;
}

static struct arena_scalar* add_scalar(struct check* c, const char* name) {
    if (c->scalar_count == ARENA_SCALARS) check_error(c, "more than %d scalars", ARENA_SCALARS);
    struct arena_scalar* s = &c->scalar[c->scalar_count++];
    *s = (struct arena_scalar){.integer = {0}};
    c->is_real[s - c->scalar] = false;
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

void check_int(struct check* c, const char* name, int64_t value) {
    struct arena_scalar* s = add_scalar(c, name);
    const struct replaced* other = replacement(c, name);
    if (other) value = other->value;
    for (int r = 0; r < ARENA_ROUNDS; r++) {
        s->integer[r] = value;
        s->real[r] = (double)value;
    }
}

void check_vary(struct check* c, const char* name, int round, int64_t value) {
    for (int i = 0; i < c->scalar_count; i++)
        if (strcmp(c->scalar[i].name, name) == 0) c->scalar[i].integer[round] = value;
    c->varied = true;
}

void check_vary_real(struct check* c, const char* name, int round, double value) {
    for (int i = 0; i < c->scalar_count; i++)
        if (strcmp(c->scalar[i].name, name) == 0) c->scalar[i].real[round] = value;
    c->varied = true;
}

void check_real(struct check* c, const char* name, double value) {
    const struct replaced* other = replacement(c, name);
    struct arena_scalar* s = add_scalar(c, name);
    c->is_real[s - c->scalar] = true;
    for (int r = 0; r < ARENA_ROUNDS; r++) s->real[r] = other ? (double)other->value : value;
}

void check_null_if_empty(struct check* c) {
    c->null_if_empty = true;
}

void check_fail_call(struct check* c, const char* function, int n) {
    snprintf(c->fail_call, sizeof c->fail_call, "%s", function);
    c->fail_at = n;
}

void check_expect(struct check* c, int status, enum cause otherwise) {
    c->expected = status;
    c->otherwise = otherwise;
}

// ---- for explain()

void check_describe(struct check* c, void* description) {
    c->description = description;
}

void* check_description(const struct check* c) {
    return c->description;
}

const double* check_values_of(const struct tensor* t, int round) {
    return t->state->value + t->state->per_round * round;
}

bool check_was_written(const struct tensor* t, int64_t element) {
    return !t->state->poison[t->got - t->state->got + element];
}

struct tensor* check_tensor(struct check* c, const char* name) {
    for (int i = 0; i < c->tensor_count; i++)
        if (strcmp(c->tensor[i].name, name) == 0) return &c->tensor[i];
    return NULL;
}

static const struct arena_scalar* find_scalar(const struct check* c, const char* name) {
    static const struct arena_scalar none;
    for (int i = 0; i < c->scalar_count; i++)
        if (strcmp(c->scalar[i].name, name) == 0) return &c->scalar[i];
    return &none;
}

int64_t check_int_of(struct check* c, const char* name) {
    return find_scalar(c, name)->integer[c->round];
}

void tensor_matrix(const struct tensor* t, int64_t* rows, int64_t* columns) {
    *columns = t->shape.rank > 1 ? t->shape.dim[t->shape.rank - 1] : 1;
    *rows = *columns ? t->count / *columns : 0;
}

void tensor_index(const struct tensor* t, int64_t element, char* text, size_t size) {
    int64_t index[4];
    for (int i = t->shape.rank - 1; i >= 0; i--) {
        index[i] = element % t->shape.dim[i];
        element /= t->shape.dim[i];
    }
    size_t used = 0;
    for (int i = 0; i < t->shape.rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "[",
                                 (long long)index[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}
