// trial.c: from a case to a verdict: case.c, trial.c, judge.c, diagnose.c and item.c of check/,
// with a program behind the wall that does each thing that a kernel can do wrong (behind/runner.c).
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"
#include "check/command.h"
#include "check/state.h"
#include "test/unit/behind/modes.h"
#include "wall/cache.h"

enum { SIDE = 6 };

enum kind {
    PLAIN,
    WATCHED,   // an item on safety
    LONG,      // of a launch with much to do
    REFUSAL,   // the contract asks the launcher to return 1 and to write nothing
    NO_TIME,   // the item's time is used up
    NO_CASE,   // the item compares nothing
    BAD_CASE,  // the lesson's own mistake
};

static const struct {
    enum kind kind;
    enum mode mode;
    enum outcome outcome;
    enum cause cause;
    const char* says;  // stands in the message
} wanted[] = {
    {PLAIN, COPIES, OUTCOME_PASS, CAUSE_NONE, ""},
    {PLAIN, TWICE, OUTCOME_FAIL, CAUSE_constant_ratio, "36 of 36 elements of out are wrong"},
    {PLAIN, TRANSPOSED, OUTCOME_FAIL, CAUSE_transposed, "first wrong: out[0, 1] is"},
    {PLAIN, ADDS, OUTCOME_FAIL, CAUSE_accumulates, "is NaN"},
    {PLAIN, TAIL, OUTCOME_FAIL, CAUSE_tail_dropped, "first wrong: out[4, 0] is 0"},
    {PLAIN, NOTHING, OUTCOME_FAIL, CAUSE_never_written, "out[0, 0] was never written"},
    {PLAIN, STALE, OUTCOME_FAIL, CAUSE_stale_state, "(call 2 of 2)"},
    {PLAIN, RACES, OUTCOME_FAIL, CAUSE_race, "line 9 writes"},
    {WATCHED, COPIES, OUTCOME_PASS, CAUSE_NONE, ""},
    {WATCHED, RACES, OUTCOME_FAIL, CAUSE_race, "line 9 writes"},
    {PLAIN, STATUS, OUTCOME_FAIL, CAUSE_wrong_status, "COURSE_CUDA_ERROR, the contract asks"},
    {PLAIN, REFUSED_LAUNCH, OUTCOME_FAIL, CAUSE_bad_launch, "refused at line 8"},
    {PLAIN, REFUSED_CALL, OUTCOME_FAIL, CAUSE_cuda_error, "refused at line 8"},
    {PLAIN, GUARD, OUTCOME_FAIL, CAUSE_out_of_bounds, "1 byte past the end of the 144 bytes"},
    {PLAIN, INPUT, OUTCOME_FAIL, CAUSE_input_changed, "in[0, 0] was"},
    {PLAIN, DIVERGES, OUTCOME_FAIL, CAUSE_barrier_divergence, "line 7"},
    {PLAIN, BAD_KIND, OUTCOME_FAIL, CAUSE_cuda_error, "line 7"},
    {PLAIN, CRASHES, OUTCOME_FAIL, CAUSE_crash, "ended"},
    {PLAIN, LOOPS, OUTCOME_FAIL, CAUSE_endless_loop, "not finished after"},
    {PLAIN, SLEEPS, OUTCOME_FAIL, CAUSE_endless_loop, "it slept most of"},
    {LONG, NEEDS_TIME, OUTCOME_PASS, CAUSE_NONE, ""},
    {PLAIN, NEEDS_TIME, OUTCOME_FAIL, CAUSE_never_written, "out[0, 0] was never written"},
    {PLAIN, NO_KERNEL, OUTCOME_FAIL, CAUSE_host_computed, "launched no kernel"},
    {PLAIN, TO_HOST, OUTCOME_FAIL, CAUSE_host_computed, "brought 4 bytes"},
    {PLAIN, ON_DEVICE, OUTCOME_FAIL, CAUSE_host_computed, "copied 4 bytes between places"},
    {PLAIN, ON_HOST, OUTCOME_FAIL, CAUSE_host_computed, "36 of 36 elements of out are right"},
    {PLAIN, HALF_ON_HOST, OUTCOME_PASS, CAUSE_NONE, ""},
    {PLAIN, SEALED, OUTCOME_FAIL, CAUSE_survivor, "still open"},
    {PLAIN, STARTLESS, OUTCOME_FAIL, CAUSE_out_of_memory, "does not start"},
    {NO_TIME, COPIES, OUTCOME_FAIL, CAUSE_too_slow, "not run: this item's runs before it"},
    {REFUSAL, COPIES, OUTCOME_FAIL, CAUSE_argument_check, "contract asks for COURSE_BAD_ARGUMENT"},
    {NO_CASE, COPIES, OUTCOME_ERROR, CAUSE_NONE, "compared nothing"},
    {BAD_CASE, COPIES, OUTCOME_ERROR, CAUSE_NONE, "check_rounds(9)"},
};
enum { ITEMS = sizeof wanted / sizeof wanted[0] };

static void run(struct check* c);
static struct item items[ITEMS + 1];
const struct lesson lesson = {.name = "00_none", .items = items};

static void run(struct check* c) {
    int i = (int)(c->item - items);
    if (wanted[i].kind == NO_CASE) return;
    if (wanted[i].kind == WATCHED) check_watch(c, WATCH_CHECK);
    if (wanted[i].kind == NO_TIME) c->record->spent = c->session->item_seconds;
    check_case(c, "mode %d", wanted[i].mode);
    check_rounds(c, wanted[i].kind == BAD_CASE ? 9 : 2);
    if (wanted[i].kind == LONG) check_long_launch(c);
    check_int(c, "mode", wanted[i].mode);
    struct tensor* in = check_input(c, "in", F32, SHAPE(SIDE, SIDE));
    struct tensor* out = check_output(c, "out", F32, SHAPE(SIDE, SIDE));
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        fill_normal(c, in, 3, 1);
    }
    if (wanted[i].kind == REFUSAL) check_expect(c, 1, CAUSE_argument_check);
    check_run(c);
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        for (int64_t k = 0; k < in->count; k++) out->want[k] = in->value[k];
        check_compare(c, out, budget_exact());
    }
}

int main(void) {
    static const char program[] = BUILD_FOLDER "/test/unit/runner";
    if (system("gcc -O1 -static -D_GNU_SOURCE -Igrader grader/test/unit/behind/runner.c -o "
               "'" BUILD_FOLDER "/test/unit/runner'") != 0)
        return EXIT_FAILURE;
    // Between the limit on its memory and the program, the new process allocates a little. The
    // address sanitizer has passed that limit, and needs what was allocated and freed before.
    void* warm[256];
    for (size_t i = 0; i < 256; i++) warm[i] = malloc(16 * i + 1);
    for (size_t i = 0; i < 256; i++) free(warm[i]);
    struct session session = {
        .level = wall_strongest(), .seed = 1, .at_once = 1, .seconds = 2, .item_seconds = 100};
    session.program = session.watched = cache_load_program(program);
    session.judges_costs = true;
    session.log = fopen("/dev/null", "we");
    struct result* r =
        mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (session.program < 0 || !session.log || r == MAP_FAILED) return EXIT_FAILURE;
    int failed = 0;
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (struct item){.points = 4, .name = "an item", .run = run};
        r->item_count = 0;
        memset(r->item, 0, sizeof r->item[0]);
        struct result_item* record = item_record(r, &items[i]);
        item_run(&session, i, record);
        bool passed = wanted[i].outcome == OUTCOME_PASS;
        if (record->outcome == wanted[i].outcome && record->points == (passed ? 4 : 0) &&
            strcmp(record->cause, cause_id(wanted[i].cause)) == 0 &&
            strstr(record->message, wanted[i].says) &&
            record->safe == (passed && wanted[i].kind == WATCHED))
            continue;
        printf("row %d: %s [%s], not %s [%s] with \"%s\":\n%s\n", i, outcome_name(record->outcome),
               record->cause, outcome_name(wanted[i].outcome), cause_id(wanted[i].cause),
               wanted[i].says, record->message);
        failed++;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
