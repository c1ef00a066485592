// contract.c: did a run keep what every contract asks for beside right numbers? It ended, returned
// the status, launched kernels, left inputs, guard bands and refused outputs as they were.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "check/state.h"
#include "course.h"

// The first lines of what the program printed, as evidence under a failure, and what to do next.
static void excerpt(const char* text, char* to, size_t size) {
    int lines = 0;
    size_t n = 0;
    for (; text[n] && n + 1 < size && lines < 12; n++) lines += text[n] == '\n';
    memcpy(to, text, n);
    const char* next = strstr(text + n, "  next: ");
    snprintf(to + n, size - n, "%s", next ? next : "");
}

// ---- which call

enum { CALL_WORDS = 120 };

// "call 3: " of several; and what is special about it, where that is known.
static const char* call_words(const struct check* c, int round, char words[CALL_WORDS]) {
    const char* text = c->idle && round < c->rounds ? c->idle_call[round].text : "";
    words[0] = '\0';
    if (c->rounds > 1)
        snprintf(words, CALL_WORDS, "call %d%s%s: ", round + 1, *text ? ", " : "", text);
    return words;
}

// In calls that have nothing to do each has a status of its own.
static void expect_of(struct check* c, int round) {
    if (!c->idle || round >= c->rounds) return;
    const int status = c->idle_call[round].status;
    check_expect(c, status, status == COURSE_OK ? CAUSE_empty_input : CAUSE_argument_check);
    c->crashes = status == COURSE_OK ? CAUSE_NONE : c->otherwise;
}

// ---- how it ended

// A wrong number ended the run, as an address or as a divisor.
static bool is_of_number(const char* kind) {
    return strcmp(kind, "bad_address") == 0 || strcmp(kind, "divided_by_zero") == 0;
}

// An access outside of arrays has another cause where it is known what the program cannot do: bad
// arguments, or a size. And where the arrays of calls before are gone.
static void fail_crash(struct check* c, const char* text) {
    const int round = (int)c->answer.rounds_done;
    const bool of_number = is_of_number(c->answer.kind);
    if (arena_is_elsewhere(c->answer.rounds_done) && of_number)
        check_fail(c, CAUSE_stale_state, "%s", text);
    // The same call by itself has no such number: it comes from a call before.
    if (of_number && round > 0 && round < c->rounds && !trial_fails_alone(c, round, NULL, NULL))
        check_fail(c, CAUSE_stale_state, "in call %d: %s", round + 1, text);
    if (c->crashes) check_fail(c, c->crashes, "%s", text);
}

enum cause contract_cause(const char* kind) {
    if (strcmp(kind, "assert") == 0) return CAUSE_assertion;
    if (strcmp(kind, "read_only") == 0) return CAUSE_input_changed;
    if (strcmp(kind, FINDING_COPIED) == 0) return CAUSE_uninitialised;
    if (strcmp(kind, FINDING_STORED) == 0) return CAUSE_out_of_bounds;
    if (strcmp(kind, FINDING_ORDER) == 0) return CAUSE_not_repeatable;
    enum cause cause = cause_from_id(kind);
    return cause ? cause : CAUSE_cuda_error;
}

static _Noreturn void fail_finding(struct check* c) {
    record_findings(c->record, c->answer.finding, arena_findings(&c->answer));
    check_fail(c, contract_cause(c->answer.finding[0].kind), "%s%s", c->answer.finding_text,
               c->answer.findings > 1 ? "and more; the log has them all" : "");
}

static _Noreturn void fail_found(struct check* c, const struct finding* found) {
    record_findings(c->record, found->value, found->count);
    check_fail(c, found->cause, "%s", found->text);
}

// Guard bands tell that memory was overwritten. Only the instrumented build can name the line.
static _Noreturn void fail_guards(struct check* c, const char* text) {
    struct finding found;
    trial_find(c, &found);
    if (found.cause == CAUSE_out_of_bounds) fail_found(c, &found);
    check_fail(c, CAUSE_out_of_bounds, "%s", text);
}

// The operands of such a number may have been spoiled before: by another thread, by a store behind
// an array, or because nobody has written it. Only the instrumented build can tell.
static _Noreturn void fail_number(struct check* c, const char* text) {
    struct finding found;
    trial_find(c, &found);
    const bool is_taken = found.cause == CAUSE_uninitialised || found.stored;
    const bool is_elsewhere = found.line && found.line != c->answer.line;
    const bool is_spoiled = found.cause == CAUSE_race || found.cause == CAUSE_race_of_writes ||
                            (is_taken && !found.note && is_elsewhere);
    if (is_spoiled) fail_found(c, &found);
    check_fail(c, contract_cause(c->answer.kind), "%s", text);
}

// The program's own main() was not reached. A program that needs more memory at once than it may
// have does not start; if nothing else starts here, the machine is to blame.
static _Noreturn void judge_start(struct check* c, const struct wall_result* r) {
    const char* why;
    char said[2048];
    excerpt(r->output ? r->output : "", said, sizeof said);
    if (!wall_probe(c->session->level, &why)) check_error(c, "no program can be started: %s", why);
    check_fail(
        c, CAUSE_out_of_memory,
        "the program does not start; its variables at file scope and the program itself have "
        "%d GB\n%s",
        c->session->gpu ? MEMORY_LIMIT_GPU_GB : MEMORY_LIMIT_GB, said);
}

// A call that must be refused, and a kernel that died of its arguments: NULL, say.
static void judge_death_of_refused(struct check* c, const struct wall_result* r, const char* text) {
    char call[CALL_WORDS];
    bool refusal = c->expected == COURSE_BAD_ARGUMENT || c->expected == COURSE_UNSUPPORTED;
    bool died = c->answer.kind[0] ? is_of_number(c->answer.kind) : r->end == WALL_SIGNALED;
    if (refusal && died && c->otherwise == CAUSE_argument_check)
        check_fail(c, c->otherwise, "%sthe call must be refused, and a kernel ran:\n%s",
                   call_words(c, (int)c->answer.rounds_done, call), text);
}

// May the case need more memory than there is? Of arrays on the host alone: those on the device
// are there by their ends.
static bool may_fill(const struct check* c) {
    bool on_host = false;
    for (int i = 0; i < c->tensor_count; i++) on_host |= c->tensor[i].state->on_host;
    return c->may_fill && on_host;
}

// What one block of a grid does wrong counts as a crash: where all run, a mistake may have a name.
static bool is_found_in_one(const struct check* c) {
    return c->few_blocks == ARENA_ONE && c->answer.findings > 0 &&
           (c->session->safe || c->answer.status[0] != COURSE_OK);
}

// Ends the item if the program did not run to its own end.
void contract_end(struct check* c, const struct wall_result* r) {
    char said[2048], text[2048];
    excerpt(r->output ? r->output : "", said, sizeof said);
    if (!trial_seal(c, &c->arena))
        check_fail(c, CAUSE_survivor, "the results were still open for writing");
    c->answer = arena_answer(&c->arena);
    if (trial_failed_to_start(&c->arena, r)) judge_start(c, r);
    excerpt(c->answer.text, text, sizeof text);
    c->unfinished =
        ((c->beyond || may_fill(c)) && r->end == WALL_MEMORY) ||
        (c->beyond && (r->end == WALL_TIMEOUT || strcmp(c->answer.kind, "endless_loop") == 0));
    c->crashed = c->beyond && !c->unfinished &&
                 (c->answer.kind[0] || r->end == WALL_SIGNALED || is_found_in_one(c));
    if (c->unfinished || c->crashed) return;
    expect_of(c, (int)c->answer.rounds_done);
    judge_death_of_refused(c, r, text);
    // an access that no GPU survives ends the launch with an error; the finding names the access
    if (c->answer.kind[0] || r->end == WALL_SIGNALED)
        fail_crash(c, c->answer.kind[0] ? text : said);
    if (strcmp(c->answer.kind, "cuda_error") == 0 && c->answer.findings > 0) fail_finding(c);
    if (strcmp(c->answer.kind, "out_of_bounds") == 0) fail_guards(c, text);
    if (is_of_number(c->answer.kind)) fail_number(c, text);
    if (c->answer.kind[0]) check_fail(c, contract_cause(c->answer.kind), "%s", text);
    if (r->end == WALL_TIMEOUT)
        check_fail(c, CAUSE_endless_loop, "not finished after %.0f s%s\n%s", case_seconds(c),
                   c->session->gpu && !trial_is_watched(c) ? "" : " of CPU time", said);
    if (r->end == WALL_IDLE)
        check_fail(c, CAUSE_endless_loop,
                   "it waits for something that does not come: it slept most of %.0f s\n%s",
                   r->seconds, said);
    if (r->end == WALL_MEMORY)
        check_fail(c, CAUSE_out_of_memory, "stopped at %d GB\n%s",
                   c->session->gpu ? MEMORY_LIMIT_GPU_GB : MEMORY_LIMIT_GB, said);
    if (r->end == WALL_SIGNALED)
        check_fail(c, CAUSE_crash, "ended by signal %d (%s)\n%s", r->code, strsignal(r->code),
                   said);
    if (c->answer.rounds_done != (uint32_t)c->rounds || r->code != 0)
        check_fail(c, CAUSE_crash, "ended with exit status %d %s\n%s", r->code,
                   c->answer.rounds_done ? "in a later call" : "before the launcher returned",
                   said);
}

// ---- the status

static const char* status_name(int status, char number[16]) {
    static const char* const names[] = {"COURSE_OK", "COURSE_BAD_ARGUMENT", "COURSE_UNSUPPORTED",
                                        "COURSE_CUDA_ERROR"};
    if (status >= 0 && status < (int)(sizeof names / sizeof names[0])) return names[status];
    snprintf(number, 16, "%d", status);
    return number;
}

// If a launcher passes on an error, its status is right: the refused call is the mistake.
static void judge_call(struct check* c, int status) {
    char number[16];
    if (c->otherwise != CAUSE_wrong_status || !c->answer.refused_text[0]) return;
    bool launch = c->answer.refused_launches > 0;
    check_fail(
        c, launch ? CAUSE_bad_launch : CAUSE_cuda_error, "%sthe launcher returned %s\n  next: %s\n",
        c->answer.refused_text, status_name(status, number),
        launch ? "threads of a block, blocks, bytes of shared memory: which is too many, or 0?"
               : "look at that call: the pointers, the direction, the number of bytes");
}

static bool fails_a_launch(const struct check* c) {
    return c->fail_at > 0 && strcmp(c->fail_call, "launch") == 0;
}

static bool fails_a_query(const struct check* c) {
    return c->fail_at > 0 && strcmp(c->fail_call, "query") == 0;
}

// The call that was to fail never came: there are not so many.
static bool no_call_failed(const struct check* c, int round) {
    return c->fail_at > 1 && !c->answer.failed[round] && !fails_a_query(c);
}

// A launcher that gets no answer may do without.
static bool does_without(const struct check* c, int round) {
    return fails_a_query(c) && c->answer.status[round] == COURSE_OK;
}

int contract_expected(const struct check* c, int round) {
    if (fails_a_query(c)) return c->answer.failed[round] ? c->expected : COURSE_OK;
    return round > 0 && (c->fail_at > 0 || c->first_card[0]) ? COURSE_OK : c->expected;
}

// The place to begin a file that is still a stub: the line of the item, and the end of its message;
// else nothing.
static const char* begin_words(const struct check* c, char* words, size_t size) {
    const int line = judge_stub_line(c);
    words[0] = '\0';
    if (line) snprintf(words, size, ": begin in line %d, `" RESULT_STUB "`", line);
    c->record->line = line;
    return words;
}

// The message shows the program's output: there the CPU device says why it refused a call.
static void judge_status(struct check* c, int round, const char* output) {
    char said[2048], returned[16], wanted[16], begin[64] = "";
    const int status = c->answer.status[round], expected = contract_expected(c, round);
    if (status == expected || no_call_failed(c, round) || does_without(c, round)) return;
    if (c->answer.findings > 0) fail_finding(c);
    const bool asks_another = c->answer.refused_devices > 0 || c->answer.asked_elsewhere[round];
    // A call that fails by itself, too, on the second device, and asks no other, is not blamed on
    // call 1.
    if (round > 0 && c->first_card[0] && (asks_another || !trial_fails_alone(c, round, NULL, NULL)))
        check_fail(c, asks_another ? CAUSE_other_device : CAUSE_stale_state,
                   "%sthe launcher returned %s in call 2, whose device is another one than that of "
                   "call 1\n",
                   c->answer.refused_text, status_name(status, returned));
    // Either the error itself was left, or the launcher remembers as done what was refused.
    if (round > 0 && expected != c->expected && !trial_fails_alone(c, round, NULL, NULL))
        check_fail(
            c, c->answer.error_left[round - 1] ? CAUSE_error_left : CAUSE_stale_state,
            "%safter a call %s the launcher returned %s for a good one\n", c->answer.refused_text,
            fails_a_query(c) ? "in which the runtime refused an answer" : "whose launch failed",
            status_name(status, returned));
    // A good call that fails by itself, too.
    if (expected != c->expected) c->expected = expected, c->otherwise = CAUSE_wrong_status;
    if (round > 0 && c->varied && c->expected == 0 && !trial_fails_alone(c, round, NULL, NULL))
        check_fail(c, CAUSE_stale_state, "%sthe launcher returned %s in call %d, of other sizes\n",
                   c->answer.refused_text, status_name(status, returned), round + 1);
    judge_call(c, status);
    excerpt(output ? output : "", said, sizeof said);
    enum cause cause = c->otherwise;
    if (cause == CAUSE_bad_launch && status != COURSE_CUDA_ERROR) cause = CAUSE_wrong_status;
    // Refused is a good call, whose launch was to fail: it is no bad argument.
    if (cause == CAUSE_argument_check && expected == COURSE_CUDA_ERROR && status != COURSE_OK)
        cause = CAUSE_wrong_status;
    // Nothing has failed: the launcher refused before it called anything.
    if (cause == CAUSE_error_ignored && !c->answer.failed[round] && expected == COURSE_CUDA_ERROR &&
        (status == COURSE_BAD_ARGUMENT || status == COURSE_UNSUPPORTED))
        cause = CAUSE_wrong_status;
    // The call was made and failed, and nobody asked.
    if (cause == CAUSE_argument_check && c->answer.failed[round] && status == COURSE_OK)
        cause = CAUSE_error_ignored;
    // A fill or a copy of arrays of which a case has large ends: it is the bytes that are wrong.
    if (cause == CAUSE_bad_launch && c->few_blocks != ARENA_ALL &&
        c->answer.refused_launches == 0 && c->answer.refused_moves > 0)
        cause = CAUSE_wrapped_index;
    char call[CALL_WORDS];
    if (expected == COURSE_OK && c->answer.launches[round] == 0)
        begin_words(c, begin, sizeof begin);
    check_fail(c, cause, "%sthe launcher returned %s, the contract asks for %s%s\n%s",
               call_words(c, round, call), status_name(status, returned),
               status_name(c->expected, wanted), begin, said);
}

// The call that chooses another device is refused here. A launcher that goes on regardless has
// chosen it.
static void judge_device(struct check* c) {
    if (c->first_card[0] && c->answer.refused_devices > 0)
        check_fail(c, CAUSE_other_device, "%s", c->answer.refused_text);
}

// ---- arrays

static void judge_guards(struct check* c, int i, int r) {
    const struct tensor* t = &c->tensor[i];
    int64_t offset, bytes = t->count * dtype_size(t->dtype);
    if (arena_guards_intact(&c->arena, i, r, &offset)) return;
    int64_t distance = offset < 0 ? -offset : offset - bytes + 1;
    char text[160];
    snprintf(text, sizeof text, "memory %lld byte%s %s the %lld bytes of %s was overwritten",
             (long long)distance, distance == 1 ? "" : "s",
             offset < 0 ? "before the start of" : "past the end of", (long long)bytes, t->name);
    fail_guards(c, text);
}

// A store outside of another array may have ended here: then its line says more.
static _Noreturn void fail_input(struct check* c, const struct tensor* t, int64_t k, double was,
                                 const unsigned char* bytes) {
    char index[80];
    struct finding found;
    trial_find(c, &found);
    if (found.stored) fail_found(c, &found);
    tensor_index(t, k, index, sizeof index);
    check_fail(c, CAUSE_input_changed, "%s%s was %g and is %g after the launcher", t->name, index,
               was, dtype_load(t->dtype, bytes));
}

// In pieces: a comparison for each element takes a few hundredths of a grade.
static void judge_input(struct check* c, int i, int r) {
    enum { PIECE = 256 };
    const struct tensor* t = &c->tensor[i];
    const double* value = t->state->value + t->state->per_round * r;
    const unsigned char* bytes = c->arena.bytes + c->arena.layout.tensor[i].offset[r];
    const int64_t size = dtype_size(t->dtype);
    for (int64_t first = 0; first < t->count; first += PIECE) {
        unsigned char original[PIECE * 8];
        const int64_t n = t->count - first < PIECE ? t->count - first : PIECE;
        for (int64_t k = 0; k < n; k++)
            dtype_store(t->dtype, original + k * size, value[first + k]);
        const unsigned char* now = bytes + first * size;
        if (memcmp(original, now, (size_t)(n * size)) == 0) continue;
        int64_t k = 0;
        while (memcmp(original + k * size, now + k * size, (size_t)size) == 0) k++;
        fail_input(c, t, first + k, value[first + k], now + k * size);
    }
}

// After a refused call an output must be as it was before. If a launch fails, calls before it may
// have cleared an output on the device.
static void judge_refused(struct check* c, int i, int r) {
    const struct tensor* t = &c->tensor[i];
    const bool* poison = t->state->poison + t->state->per_round * r;
    if (no_call_failed(c, r) || does_without(c, r)) return;
    if (fails_a_launch(c) && !t->state->on_host) return;
    bool status_is_right = c->otherwise == CAUSE_error_ignored;
    char call[CALL_WORDS];
    for (int64_t k = 0; k < t->count; k++)
        if (!poison[k])
            check_fail(c, status_is_right ? CAUSE_written_on_error : c->otherwise,
                       status_is_right ? "%sthe launcher returned the error, but %s was written"
                                       : "%sthe call must be refused, but %s was written",
                       call_words(c, r, call), t->name);
}

// ---- what the launcher did

// The promise of the contract that the launcher broke in this round, as a cause.
static enum cause broken_promise(const struct check* c, int round) {
    const struct arena_answer* a = &c->answer;
    if ((lesson.promises & ALLOCATES_NOTHING) && a->traffic[round].allocated_bytes > 0)
        return CAUSE_allocates;
    if ((lesson.promises & DEFAULT_STREAM) && a->elsewhere[round] > 0) return CAUSE_other_stream;
    return (lesson.promises & DOES_NOT_WAIT) && a->waits[round] > 0 ? CAUSE_waits : CAUSE_NONE;
}

// Host code may move arguments, not results: only lesson 01, whose arrays live on the host, copies
// back. A case that has nothing to read, or nothing that kernels have to write, needs no kernel.
static void judge_host(struct check* c, int round) {
    int64_t to_read = 0, to_write = 0;
    bool on_host = false, written = false;
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor_state* s = c->tensor[i].state;
        const bool* untouched = s->untouched + s->per_round * round;
        if (arena_is_read(s->role)) to_read += s->per_round;
        bool written_here = arena_is_written(s->role) && !s->by_host;
        for (int64_t k = 0; written_here && k < s->per_round; k++) {
            to_write += !untouched[k];
            written |= !s->poison[s->per_round * round + k];
        }
        on_host |= s->on_host;
    }
    if (to_read == 0 || to_write == 0 || c->expected != 0) return;
    const bool allocates = broken_promise(c, round) == CAUSE_allocates;
    char begin[64], returned[16];
    const bool none = c->answer.launches[round] == 0 && c->answer.traffic[round].filled_bytes == 0;
    if (none && c->counting && c->beyond) return;  // the counting caller asks why
    // Where launches are counted alone, no status has been looked at.
    if (none && c->counting && !allocates && c->answer.status[round] != COURSE_OK)
        check_fail(c, CAUSE_wrong_status, "the launcher returned %s, the contract asks for %s\n",
                   status_name(c->answer.status[round], returned), "COURSE_OK");
    // Outputs that are 0 everywhere may be filled.
    if (none)
        check_fail(c,
                   written                                                 ? CAUSE_host_computed
                   : allocates                                             ? CAUSE_allocates
                   : round > 0 && !trial_fails_alone(c, round, NULL, NULL) ? CAUSE_stale_state
                                                                           : CAUSE_never_written,
                   "the launcher launched no kernel%s", begin_words(c, begin, sizeof begin));
    // Fewer bytes than the outputs have elements are no result, but the copy waits for them.
    const bool waits = (lesson.promises & DOES_NOT_WAIT) && c->answer.to_host[round] < to_write;
    if (!on_host && c->answer.to_host[round] > 0)
        check_fail(c, waits ? CAUSE_waits : CAUSE_host_computed,
                   "the launcher brought %lld bytes to the host, or allocated them where host code "
                   "reaches them (cudaMallocManaged, cudaMallocHost)",
                   (long long)c->answer.to_host[round]);
    if (!on_host && c->answer.on_device[round] > 0)
        check_fail(
            c, CAUSE_host_computed,
            "the launcher copied %lld bytes between places of the device, into an output, with "
            "pitches or in many pieces: that is the work of a kernel",
            (long long)c->answer.on_device[round]);
}

static void note_promises(struct check* c, int round) {
    enum cause broken = c->expected == 0 ? broken_promise(c, round) : CAUSE_NONE;
    if (broken && !c->record->broken) c->record->broken = (int)broken;
}

void contract_promises(struct check* c) {
    static const struct {
        enum cause cause;
        const char *said, *next;
    } broken_by[] = {
        {CAUSE_allocates, "the launcher called cudaMalloc or one of its relatives",
         "what the kernel needs between its blocks has to fit into the outputs"},
        {CAUSE_other_stream,
         "the launcher launched a kernel in another stream than the default one",
         "launch in the default stream: leave the fourth number of <<< >>> away"},
        {CAUSE_waits,
         "the launcher called cudaDeviceSynchronize, cudaStreamSynchronize or "
         "cudaEventSynchronize, "
         "or asked more than once whether a launch has ended",
         "leave it away: who needs the result waits for the stream"},
    };
    const struct session* s = c->session;
    int broken = c->record->broken ? c->record->broken : s->broken;
    c->record->asked_safe |= c->watch != WATCH_CHECK && c->record->broken;
    c->record->asked_broken |= c->watch == WATCH_CHECK && !c->record->broken;
    if (c->watch != WATCH_CHECK && !(s->safe && c->record->broken)) return;
    for (size_t i = 0; i < sizeof broken_by / sizeof *broken_by; i++)
        if (broken == (int)broken_by[i].cause)
            check_fail(c, broken_by[i].cause, "%s\n  next: %s\n", broken_by[i].said,
                       broken_by[i].next);
}

// ---- all of it

void contract_round(struct check* c, int round, const char* output) {
    expect_of(c, round);
    judge_status(c, round, output);
    judge_device(c);
    judge_host(c, round);
    note_promises(c, round);
    for (int i = 0; i < c->tensor_count; i++) {
        uint32_t role = c->arena.layout.tensor[i].role;
        if (role == ARENA_NULL) continue;
        judge_guards(c, i, round);
        if (role == ARENA_INPUT) judge_input(c, i, round);
        if (arena_is_written(role) && contract_expected(c, round) != 0) judge_refused(c, i, round);
    }
}

// A finding costs the points of the item on safety. If that item has passed, the finding costs the
// points of this item instead: the kernel behaves differently for these sizes. An order of sums is
// looked for where the item is about it.
void contract_findings(struct check* c) {
    const bool is_order = strcmp(c->answer.finding[0].kind, FINDING_ORDER) == 0;
    if (c->answer.findings == 0 || c->crashed) return;
    c->record->asked_safe |= c->watch != WATCH_CHECK && !is_order;
    if (c->watch == WATCH_CHECK || c->session->safe || is_order) fail_finding(c);
}
