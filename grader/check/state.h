// state.h: what the files of check/ share about the running item. Lessons do not include this.
#ifndef STATE_H
#define STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "check/check.h"
#include "check/compare.h"
#include "report/result.h"
#include "wall/arena.h"
#include "wall/wall.h"

enum { MEMORY_LIMIT_GB = 1, MEMORY_LIMIT_GPU_GB = 32 };  // of a case: on the CPU device, a GPU
// The CPU device maps at most so much: 8 * WORKER_STACKS, of which threads touch a few pages each,
// and HEAP_SPACE (cpu/device/limits.h).
enum { RESERVED_GB = 6 };

// The values of an output after another run of the case: as got and poison below; NULL if not
// tried.
struct left {
    double* got;
    bool* poison;
};

struct tensor_state {
    uint32_t role;  // enum arena_role
    bool on_host;
    bool beside;      // see check_ends_no_part()
    bool by_host;     // of an output: no kernel is asked for it
    uint32_t nulls;   // bit r: see check_vary_null()
    uint32_t shifts;  // bit r: see check_vary_later()
    uint32_t same;    // see check_same()
    int64_t later;    // bytes: see check_begin_later()
    struct arena_far far;
    int64_t ends, length;  // see check_ends()
    int64_t row, read;     // see check_unread()
    int64_t per_round;     // elements
    double* handed;        // see check_hand_over(); NULL: the values
    double* value;         // all rounds, one after another; likewise below
    double* want;
    double* got;
    bool* untouched;
    bool* poison;         // after the run: the element was never written
    struct left second;   // of an output: what no kernel has made of it (run/origin.h)
    struct left altered;  // what it holds when mma.sync multiplies wrongly
};

enum { REPLACED = 4 };  // arguments of a case

// An argument that is declared as something else: see check_replace().
struct replaced {
    const char* name;
    int64_t value;
    bool met;  // the argument was declared
};

// How a whole grade runs; the same for every item.
struct session {
    enum wall_level level;
    bool gpu;
    bool shares_gpu;   // several processes may use it at the same time
    bool asks_nvcc;    // about a file that the CPU device runs
    int program;       // memfd of the built submission
    int watched;       // likewise: its instrumented build for the CPU device
    const char* text;  // the submission
    size_t text_size;
    uint64_t seed;
    int at_once;    // grades that share this machine: limits by the clock are so many times as long
    char card[32];  // "CUDEV_CARD=...": the card that the CPU device poses as
    // Of CPU time; on a GPU, by the clock.
    double seconds;       // that one case has
    double item_seconds;  // that all runs of an item have together
    // make debug and make profile call it for a case that is laid out, before it runs; NULL in a
    // grade. It ends the item (check_end), or returns and the case is judged.
    void (*visit)(struct check* c);
    const char* format;  // of what visit() prints; NULL if it prints nothing
    bool judges_costs;   // counts above their limits fail; make profile only shows them
    bool unset;  // a warning of the build names a variable that is used before it has a value
    const char* no_return;  // ... a function that ends without its value; see struct build
    int broken;             // the cause for a promise that an item before this one saw broken
    bool safe;              // an item with WATCH_CHECK has passed
    FILE* log;              // everything, for the student to read
};

struct check {
    const struct session* session;
    const struct item* item;
    struct result_item* record;  // in memory shared with the process that runs the items
    uint64_t random;             // state of the generator
    double normal;               // the next of check_normal(), if has_normal
    bool has_normal;
    int cases;         // started so far in this item
    int64_t compared;  // elements compared so far in this item
    int twins;         // watched cases of this item so far that trial_twin() has seen
    struct told {
        enum cause cause;                       // CAUSE_NONE: nothing
        int count;                              // of findings of which the text tells
        struct finding_values value[FINDINGS];  // they, as values
        char text[2048];
    } twin;  // see trial_twin()

    char name[160];                                             // of the case
    enum { NO_ORDINARY, IS_ORDINARY, NEXT_ORDINARY } ordinary;  // the case; see check_ordinary()
    int rounds, round;
    bool varied;  // an argument differs between rounds
    // No round has anything to do. Of each: the status, and what is special about the call.
    bool idle;
    struct {
        int status;
        char text[80];
    } idle_call[ARENA_ROUNDS];
    int tensor_count;
    struct tensor tensor[ARENA_TENSORS];
    struct tensor_state state[ARENA_TENSORS];
    int scalar_count;
    struct arena_scalar scalar[ARENA_SCALARS];
    bool is_real[ARENA_SCALARS];  // declared by check_real()
    int replaced_count;
    struct replaced replaced[REPLACED];
    void* description;  // check_describe()
    char fail_call[32];
    int fail_at;
    bool null_if_empty;
    enum arena_blocks few_blocks;
    uint32_t one_block;  // of ARENA_ONE
    // Of its altered run: the key, 0: not drawn yet; what has to be given, see check_multiplied();
    // what it moved.
    struct arena_products how;
    struct arena_traffic altered;
    struct arena_traffic counted;  // what check_traffic() says: with atomics as loads and stores
    int expected;                  // status
    enum cause otherwise;          // the cause if another status is returned
    enum cause crashes;  // the cause if an access ends the program; CAUSE_NONE: what it is
    enum watch watch;
    bool far;                         // rows of an array are far apart: check_far()
    bool huge;                        // of an array only the ends are there: check_ends()
    bool beyond;                      // a case of few blocks may crash, or not end: reach.c
    bool may_fill;                    // ... may need more memory than there is
    bool unfinished;                  // such a case took too long, or too much memory
    bool crashed;                     // or ended with an access outside of arrays
    bool counting, all_blocks;        // cases of few blocks run no kernel, or all blocks: reach.c
    bool all_of_small;                // ... all of launches of less than 8
    double moment;                    // CPU seconds that a case has, if not 0: reach.c
    bool is_long;                     // check_long_launch()
    bool posed;                       // as another card than the session's
    char card[32];                    // "CUDEV_CARD=...", as in the session
    char first_card[40];              // "CUDEV_FIRST_CARD=...", of the first round; or ""
    const struct withheld* withheld;  // NULL: nothing is
    bool ran;
    bool judged;  // outputs were compared since check_run()
    struct arena arena;
    struct arena_answer answer;
};

// The item that is running, for the functions that end it.
void check_start(struct check* c, const struct session* session, const struct item* item, int index,
                 struct result_item* record);
void check_finish(struct check* c);

// Ends the item; its record says already how.
_Noreturn void check_end(void);

// Ends the item as failed; the record's message says already what was found.
_Noreturn void check_end_failed(struct check* c, enum cause cause);

// The words that stand in place of a failure with this cause; NULL: it is told as it is.
const char* check_withheld_words(struct check* c, enum cause cause);

// Seconds that a run of the case has: CPU time, on a GPU by the clock.
double case_seconds(const struct check* c);

// The id of the card that the case runs on, as in CARD=.
const char* case_card(const struct check* c);

// Names the cause in the item's record.
void record_cause(struct result_item* record, enum cause cause);

// Begins a message: the case, which of its calls (text to be shown, or ""), and whether it is an
// ordinary one.
void record_case(const struct check* c, const char* of_calls);

// Appends to the message of the item's record.
// The message tells of these findings.
void record_findings(struct result_item* record, const struct finding_values* value, int count);
void record_append(struct result_item* record, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// The general patterns: what the errors of t look like (diagnose.c).
enum cause diagnose(struct check* c, const struct tensor* t, struct budget budget,
                    const struct comparison* found);

// Words of cudev_on_finding(): uninitialised, read by a copy to the host; a store out of bounds;
// blocks add floats, and nothing says who comes first.
#define FINDING_COPIED "uninitialised_copy"
#define FINDING_ORDER "order_of_sum"
#define FINDING_STORED "out_of_bounds_store"

// The findings of the instrumented build: the cause that the first one names, and the text of the
// first ones; CAUSE_NONE and "" if nothing.
struct finding {
    enum cause cause;
    int count;                              // of the findings of which the text tells
    struct finding_values value[FINDINGS];  // they, as values
    bool note;    // nothing was found; this may explain NaN, and a result may be right all the same
    bool copied;  // uninitialised: the copy to the host read it, no kernel
    bool stored;  // out_of_bounds: by a store
    unsigned line;  // of the submission; 0: none is known
    bool unset;     // an output holds what local variables without a value hold: diagnose_unset()
    char text[sizeof((struct arena_answer*)NULL)->finding_text];
};

// Takes the finding from the run of this case. If that run was not watched, runs the case once more
// (trial.c).
void trial_find(struct check* c, struct finding* found);
// Runs a watched case in the plain program: does that crash, or use an address outside of all?
bool trial_dies_unwatched(struct check* c);

// Seals what a run has left, in several tries. False if a process still has it open, or has
// forbidden to seal it (trial.c).
bool trial_seal(struct check* c, struct arena* a);

// Does the case itself run the instrumented program? (trial.c)
bool trial_is_watched(const struct check* c);

// Did the program not even begin, though there was time? (trial.c)
bool trial_failed_to_start(const struct arena* a, const struct wall_result* r);

// Runs the case in an arena that the caller frees, and judges nothing (trial.c).
struct wall_result trial_run(struct check* c, struct arena* a);

// The same by the instrumented program or by the plain one, whatever the case is.
struct wall_result trial_run_as(struct check* c, struct arena* a, bool watched);

// A case has run and kept what every contract asks for: the other build runs it, too, if it is
// drawn, and c->twin says what that does in another way, or what it has found (twin.c).
void trial_twin(struct check* c);
// At the end of an item that has passed: fails it for what was said.
void trial_twin_judge(struct check* c);

// Does this call of the case fail, too, if it is the only one? It launches nothing, returns another
// status, or leaves a wrong t, if that is not NULL; what t is to hold in this call is selected
// (alone.c).
bool trial_fails_alone(struct check* c, int round, const struct tensor* t,
                       const struct budget* budget);
// The same of a case of one call, whose blocks run one after the other, in the order of their
// numbers.
bool trial_fails_in_order(struct check* c, const struct tensor* t, const struct budget* budget);

// Every contract asks for this beside right numbers (contract.c): each function may fail the item.
//
// A run has ended as it should: on return c->answer is what it left, sealed, or c->unfinished or
// c->crashed says that the case may end so.
void contract_end(struct check* c, const struct wall_result* r);

// In one of its rounds: the status, kernels that did the work, guard bands, inputs, outputs.
// output: what the program printed, or NULL.
void contract_round(struct check* c, int round, const char* output);

// Nothing was found by the instrumented build that this item is to pay for.
void contract_findings(struct check* c);

// At the end of an item that has passed: the launcher kept the lesson's promises.
void contract_promises(struct check* c);

// The status that the contract asks for in this round: of the call after one of which a CUDA call
// failed, or that was made on another device, OK.
int contract_expected(const struct check* c, int round);

// The cause that a word of the CPU device names: of a finding, a note or a diagnosis.
enum cause contract_cause(const char* kind);

// The line in which the file still says `your code goes here`; 0: in none (judge.c).
int judge_stub_line(const struct check* c);

// In a case on safety: fails the item unless kernels read something and wrote at least half of t
// (counted.c).
void trial_demand(struct check* c, const struct tensor* t);

// How the running case's altered run multiplies, the same each time. `given` is what check.c wants.
struct arena_products* trial_products(struct check* c);

// Runs the case once more with mma.sync that multiplies wrongly, if that was not done yet, and sets
// `altered` of the case and of every output; c->arena is that run's from then on. A program that
// does not end as it should fails the item for that reason, as in check_run() (trial.c).
void trial_alter(struct check* c);

// True if most elements of t hold the poison as a sum passes it on: the kernel added to its output.
bool diagnose_added(struct check* c, const struct tensor* t);
// True if an output that the instrumented build left holds what its local variables without a value
// hold: NaN of ones alone.
bool diagnose_unset(const struct check* c, const struct arena* left);

// t as rows x columns: the last dimension is the columns; a vector is one row per element.
void tensor_matrix(const struct tensor* t, int64_t* rows, int64_t* columns);

// Writes "[2, 0, 17]" for an element.
void tensor_index(const struct tensor* t, int64_t element, char* text, size_t size);

#endif
