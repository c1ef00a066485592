// check.h: what a lesson's check.c sees. Trusted C; no student code runs in this process.
//
// A lesson is a list of graded items. An item runs one or more cases. A case declares its
// arguments, fills the inputs, runs the student's kernel behind the wall, computes what it wants in
// fp64, and compares:
//
//     check_case(c, "n = %lld", (long long)n);
//     check_int(c, "n", n);
//     struct tensor* a = check_input(c, "a", F32, SHAPE(n));
//     struct tensor* out = check_output(c, "c", F32, SHAPE(n));
//     fill_normal(c, a, 0.0, 1.0);
//     check_run(c);
//     for (int64_t i = 0; i < n; i++) out->want[i] = a->value[i];
//     check_compare(c, out, budget_exact());
//
// Every check_*() that finds something wrong records it and ends the item there, so a case reads
// straight down. An item that compared nothing is a grader error, never a pass: an untouched stub
// scores 0 in every item.
#ifndef GRADER_CHECK_H
#define GRADER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "cause.h"

struct shape {
    int rank;        // 1 to 4
    int64_t dim[4];  // outermost first; the last one is contiguous
};
#define SHAPE(...)                                                                     \
    ((struct shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                    .dim = {__VA_ARGS__}})

// One array argument. Elements are doubles on this side; they are rounded to dtype when they cross.
// Owned by the case and freed with it.
struct tensor {
    const char* name;
    enum dtype dtype;
    struct shape shape;
    int64_t count;  // elements of one round
    double* value;  // inputs: what the kernel reads. Set it (or fill_*), then check_run() rounds it
    double* want;   // outputs: what it should hold; set it after check_run()
    double* got;    // outputs: what it holds after check_run()
    // Elements (gaps between rows, say) that must not be written, of an output, or that nobody has
    // to read, of an input (check_traffic).
    bool* untouched;
    struct tensor_state* state;  // check/'s own
};

struct check;
struct hypothesis;

// ---- a case

// Starts a case; the text names it in the report ("B = 2, N_q = 64, d = 32"). Frees the case
// before.
void check_case(struct check* c, const char* format, ...) __attribute__((format(printf, 2, 3)));

// The launcher is called `rounds` times (1 to 8) in one process, with new data each time: a kernel
// that remembers its first answer shows. The first two calls have the same arrays; after them these
// are gone, and others hold the data: a kernel that keeps pointers shows, too. A case of more than
// two calls has no array with far rows or ends. Call it right after check_case(). Then
// check_round(c, r) selects the round that value, want, got and untouched of every tensor show.
void check_rounds(struct check* c, int rounds);
void check_round(struct check* c, int round);

// Gives t, an input, in all rounds the values that it has in the selected round.
void check_in_all_rounds(struct check* c, const struct tensor* t);

// Arguments, by the names call.c asks for. A tensor starts as zeros; an empty one (a 0 in its
// shape) is legal. check_null() passes NULL for a tensor that is not declared.
void check_int(struct check* c, const char* name, int64_t value);
void check_real(struct check* c, const char* name, double value);
struct tensor* check_input(struct check* c, const char* name, enum dtype dtype, struct shape shape);
struct tensor* check_output(struct check* c, const char* name, enum dtype dtype,
                            struct shape shape);
// An input that the launcher overwrites with an output. Its elements count as never written while
// they hold what they held, unless that is what is wanted.
struct tensor* check_in_place(struct check* c, const char* name, enum dtype dtype,
                              struct shape shape);
void check_null(struct check* c, const char* name);
// The launcher gets the array of `as` for t, too: both are inputs of one shape, and t is filled as
// `as` is.
void check_same(struct check* c, const struct tensor* t, const struct tensor* as);
void check_on_host(struct tensor* t);  // run_cpu() instead of run_gpu()
// On the host, and of an output: host code is to compute it. Only for what the contract asks of a
// function of the host; it needs no kernel.
void check_by_host(struct tensor* t);

// In this round the argument `name`, declared by check_int() or check_real(), is another number.
// Where the rounds of a case are calls of different sizes, the first is judged first: if a later
// one goes wrong, the launcher has kept something.
void check_vary(struct check* c, const char* name, int round, int64_t value);
void check_vary_real(struct check* c, const char* name, int round, double value);

// In this round NULL is passed for the tensor or workspace `name`.
void check_vary_null(struct check* c, const char* name, int round);

// In this round the pointer that is passed for the tensor `name` is one element behind its first.
// For calls that must be refused.
void check_vary_later(struct check* c, const char* name, int round);

// On the device the tensor begins so many elements behind an address that is aligned for every
// access: a float4 of its first elements is not. elements >= 0.
void check_begin_later(struct tensor* t, int64_t elements);

// Of each of t's `rows` rows the first `read` elements alone are put on the device. A kernel that
// reads elements behind them reads what nobody has written, and an instrumented build finds it. t
// is an input.
void check_unread(struct tensor* t, int64_t rows, int64_t read);

// The rows of t, count[0] x count[1] x count[2] of them, one behind the other in the case, lie far
// apart in the memory that the launcher gets: an index of 32 bits does not reach from one to the
// next. step[]: the elements from one to the next along each axis, of which the lower 32 bits lead
// nowhere. t is not empty. Its rows begin as check_begin_later() said before. The case runs the
// instrumented build, on the CPU device.
void check_far(struct check* c, struct tensor* t, const int64_t count[3], int64_t step[3]);

// The launcher gets an array of `rows` rows of `length` elements, one behind the other, of which t
// holds the ends: t->count / rows elements of each. The others hold anything, take no memory and do
// not count. For a case in which few blocks run (reach.h); it runs on the CPU device. On the host
// an array is one row.
void check_ends(struct check* c, struct tensor* t, int64_t rows, int64_t length);

// Has this machine addresses for arrays of which little is there?
bool check_can_be_huge(void);

// Can this machine map memory so? If not, the log says that the case is left out.
bool check_can_be_far(struct check* c);

// The case runs on the CPU device, in the instrumented build, within the limits of another card
// than the one that is graded on: `id` as in CARD=. It is a grader error if there is no such card.
void check_pose_as(struct check* c, const char* id);

// The same for the first of two rounds alone: in the second round another device is current, the
// card that is graded on. An answer of the first device, or a setting for it, does not hold for the
// second. The status of check_expect() is the first round's; the second has to return COURSE_OK. id
// NULL: a GPU of the same kind as the one that is graded on.
void check_begin_on(struct check* c, const char* id);

// How many bytes of shared memory a block may have on the card that is graded on: CARD=, or the
// lesson's.
size_t check_shared_memory(const struct check* c);

// The case asks for much work of one launch: that may take three times what others may, and the
// case half as much again. A right kernel should need a sixth of its limits at most: there are
// machines that are slower, or busy.
void check_long_launch(struct check* c);

// On the CPU device the blocks of the case begin in another order than their numbers': CUDA
// promises none. Not for a kernel whose blocks wait for earlier ones.
void check_mix_blocks(struct check* c);

// For explain(): runs the call that is compared once more, by itself and with its inputs as they
// are now. Is every element of t then written, and a number?
bool check_has_numbers(struct check* c, const struct tensor* t);

// Likewise, with 1 in place of each int that is not 0 and has one of these names (NULL ends the
// list): is every element of t right then?
bool check_is_right_with_ones(struct check* c, const struct tensor* t, double tolerance,
                              const char* const* flag);

// On the CPU device as many blocks of the case run at a time as can, also on few processors: what
// depends on who comes first comes out in more ways. In the instrumented build it is a mistake if
// blocks add floats to one place, and nothing says who comes first.
void check_crowd_blocks(struct check* c);

// Scratch memory for the launcher, poisoned before every round; bytes >= 0.
void check_workspace(struct check* c, const char* name, int64_t bytes);

// From here on the case passes something else in place of the argument that is declared by this
// name: an int or a real of this value; NULL for a tensor or a workspace, and check_input() and
// check_output() return NULL for it. At most 4 in a case. It is a grader error if no such argument
// is declared between check_case() and check_run(). check_idle_calls() (arguments.h) runs a list of
// calls with such arguments.
void check_replace(struct check* c, const char* name, int64_t value);

// From here on the case passes NULL for each tensor without elements.
void check_null_if_empty(struct check* c);

// Make the n-th CUDA call of this kind in the launcher fail (1 = the first): "cudaMalloc",
// "cudaMemcpy"; of a case with several rounds, in the first. On both devices the call does nothing
// and returns an error. For a "launch" (<<<>>>) cudaGetLastError() tells the error, no kernel of
// the round runs, and what the outputs on the device hold afterwards does not matter: see
// check_launches_fail() (arguments.h). The later rounds must return COURSE_OK.
void check_fail_call(struct check* c, const char* function, int n);

// ---- data. Fresh every run, the same for the same seed, item and case.

uint64_t check_random(struct check* c);                          // 64 random bits
int64_t check_pick(struct check* c, int64_t low, int64_t high);  // one of low..high, both included
double check_normal(struct check* c);                            // mean 0, standard deviation 1
double check_uniform(struct check* c, double low, double high);  // evenly in [low, high)
void fill_normal(struct check* c, struct tensor* t, double mean, double deviation);
void fill_uniform(struct check* c, struct tensor* t, double low, double high);
void fill_integers(struct check* c, struct tensor* t, int64_t low, int64_t high);
// The first `count` elements: 128 to 255 units, or -255 to -128, all the digits that bf16 has.
void fill_digits(struct check* c, struct tensor* t, int64_t count, double unit);

// ---- running and judging

// Runs the case behind the wall. Ends the item if the program did not finish, a launcher did not
// return COURSE_OK (see check_expect), a guard band or an input changed, or a process still held
// the results open. Afterwards got of every output holds what the kernel left there.
void check_run(struct check* c);

// The status that every round of the coming check_run() must return instead of COURSE_OK. If a
// round returns a different status, the item fails with this cause. With an expected status other
// than COURSE_OK every output must stay untouched.
void check_expect(struct check* c, int status, enum cause otherwise);

// ---- looking inside: the instrumented build of the same file, always on the CPU device

enum watch {
    WATCH_NONE,
    WATCH_CHECK,  // races, out-of-bounds, uninitialised and misaligned accesses: any ends the item
    WATCH_PROFILE,  // memory traffic, for check_traffic()
};

// From here on this item runs the instrumented build. Its cases should be small: this build is 4 to
// 6 times slower.
void check_watch(struct check* c, enum watch watch);

// The traffic of one round of a WATCH_PROFILE run (wall/arena.h names the fields). Call it after
// the outputs were compared. The round must have launched a kernel, and have read and written at
// least as many bytes of device memory as the inputs and outputs of the case have; and none of its
// atomics was on an input. Otherwise the item ends here. Bytes that atomics move count as loaded
// and as stored, if the atomics are more than tickets and the lesson is not one that
// adds_by_atomics.
struct arena_traffic;
const struct arena_traffic* check_traffic(struct check* c);

// A budget on something counted: the item fails with the cause if value > limit (or is NaN). `what`
// is read by students: "32-byte sectors per load request".
void check_at_most(struct check* c, enum cause cause, const char* what, double value, double limit);

// Fails as loaded_again if warps load bytes of an array again that they have loaded from global
// memory before (grader/cpu/README.md, Profile). Tiles may have any size, and belong to a block or
// to a warp. A warp that has stored in an output or a workspace may load anew for the next results.
// A tenth of all bytes that the round loads is allowed: a kernel that keeps addresses inside of the
// array, instead of guarding loads, may have a small tile more than it needs. Call it after
// check_traffic().
void check_loaded_once(struct check* c, const char* array);

// A warp that has stored in t, an output, may not load anew for that: there is more to come of the
// same rows.
void check_ends_no_part(struct tensor* t);

// The bytes of an array that warps load again.
int64_t check_loaded_again(struct check* c, const char* array);

// The same with so many bytes allowed instead of that tenth, for a small array beside large ones.
void check_loaded_once_of(struct check* c, const char* array, int64_t more);

// A budget on what the round stored, by kernels and by the launcher's fills: the bytes of this
// output once. A hundredth more is free, for what a launcher clears that is its own: a counter.
void check_stored_once(struct check* c, const char* output);

// A budget on what the kernels of the round kept. The item fails with the cause if for each of
// `units`, each a `unit` ("query"), more than `limit` bytes were allocated, if kernels used more
// than 1 KB of static variables, or if a thread had more than of_a_thread bytes of local variables.
// On the CPU device a register is local memory, too: solutions and right variants have 2.3 KB at
// most. Memory that host and kernels share fails in check_run(); a workspace is as large as the
// contract says.
void check_kept(struct check* c, enum cause cause, const char* unit, double units, double limit,
                int64_t of_a_thread);

// The last of these limits alone: a thread's local arrays and variables have at most `of_a_thread`
// bytes.
void check_local(struct check* c, enum cause cause, int64_t of_a_thread);

// Which outputs came from the tensor cores: the case runs once more, on the CPU device, and
// mma.sync takes a product 2 to 7 times if one operand is 1024 or more (or -1024 or less), or both
// are: as often as their digits and a number that is drawn for this run say together. Call it after
// the output was compared, for `count` elements from `first` on. Those that are wanted to be 0 do
// not count. Each is a sum of such operands in the product `what` ("P V"), and at least half of
// them must be another number now; else the item fails as no_tensor_cores. If the program does not
// end in that run, or crashes, the item fails for that.
void check_changes(struct check* c, const struct tensor* t, int64_t first, int64_t count,
                   const char* what);

// Stronger, where a lesson can say what the run with other products makes: element k of t has to be
// altered[k] there, within allowed[k]; check_altered(c, a, b) is what mma.sync takes for a * b. A
// kernel that finds out that the run is altered still has to have each pair of large operands
// multiplied by mma.sync, to know its product; of a large one and others each large number. The
// arrays have t->count elements. Call it after the output was compared.
double check_altered(struct check* c, double a, double b);
void check_follows(struct check* c, const struct tensor* t, const double* altered,
                   const double* allowed, const char* what);

// And what the instructions multiply in that run: each product that outputs are made of has to be
// given to them, as often as it occurs there. check_multiplied() is check_altered() and says so. Of
// two operands one or both have to be large; a factor that kernels compute may have any value that
// is neither large nor 0. check_pairs(), in front of all this: both operands are always inputs, and
// both matter. check_given(), behind check_follows(), fails the item if products are missing, or if
// the kernel moved more or less data in that run: it has found out about it.
void check_pairs(struct check* c);
double check_multiplied(struct check* c, double a, double b);
void check_given(struct check* c, const char* what);

// Does the result come from what a kernel was given? In a case whose inputs lie on the host, other
// numbers arrive on the device: wherever a copy takes a number of one of the `count` inputs there,
// from the input itself or from memory of the launcher's, and wherever it lies in memory that both
// sides reach, while a kernel runs. check_handed() is what arrives for t->value. F32, one round,
// after the values were set. A result that host code has made of its own numbers does not follow
// from those that arrive.
void check_hand_over(struct check* c, struct tensor* const* t, int count);
const double* check_handed(const struct tensor* t);
// After check_run(): has the launcher given the device so much beside its inputs that a part of t
// could have been made on the host? In a case of other numbers: has it brought so much back, before
// its last kernel began, that host code could know what has arrived, and then sent as much as t?
// That is a failure.
bool check_may_be_sent(struct check* c, const struct tensor* t);
void check_not_fetched(struct check* c, const struct tensor* t);

// How far an output may be from the wanted values: |got - want| <= max for every element, and the
// mean of |got - want| <= mean. And how far the errors may go to one side: the mean of what is
// added to |want| is from -bias to bias; 0: no matter. All absolute, in the output's own unit.
struct budget {
    double max, mean, bias;
};
struct budget budget_exact(void);

// A budget from a standard implementation of the same precision (grading reference): in fp32, 8
// times its error, per tensor, for the maximum and for the mean. Some units in the last place of
// the largest wanted value are added: 8 to the maximum, 2 to the mean. In 16 bits it is 3 times and
// 1 unit, twice and 1/32 unit, more where numbers cancel, and the errors may not all go to one
// side. standard holds t->count values computed the plain way in t's working precision.
struct budget budget_from(const struct tensor* t, const double* standard);

// Compares an output with want. On a failure: the first wrong element, how many, where, the error
// as % of the budget, and the likely cause (judge.c: a race, say; the lesson's mistakes and its
// explain(); then the patterns of diagnose.c).
void check_compare(struct check* c, struct tensor* t, struct budget budget);

// Was the call made that check_fail_call() wanted to fail? And, if it was a launch, has the
// launcher left its error for the next cudaGetLastError()? Of the first round, after check_run().
bool check_call_failed(const struct check* c);
bool check_error_left(const struct check* c);

// Device memory that this round's launcher allocated and did not free, in bytes; only meaningful
// next to a check_compare() of the same run.
int64_t check_leaked(struct check* c);

// The blocks of all kernels that this round's launcher launched; and how many kernels.
int64_t check_blocks(struct check* c);
int64_t check_largest_grid(struct check* c);  // the blocks of the largest
int64_t check_launches(struct check* c);

// Ends the item as failed: for a mistake that only the lesson can know.
_Noreturn void check_fail(struct check* c, enum cause cause, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// The file as it was handed in, *size bytes and a NUL behind them; it may hold anything.
const char* check_text(struct check* c, size_t* size);

// ---- lessons without a kernel (they have no call.c): the file is a text that the items read

// The findings of this item from here on are about this line of the file; 0: about none. Editors
// show it there.
void check_line(struct check* c, int line);

// Compares one number of the text with the wanted number: true if |got - want| <= tolerance *
// |want|.
bool check_number(struct check* c, double got, double want, double tolerance);

// ---- what a student is to find out alone (lessons 22, 23)

// Other words for a failure, while the student has not said what he suspects.
struct withheld {
    enum cause instead;  // the cause that is named
    // Of a failure with the cause `found`: what shows, and what to look with, in lines. NULL: this
    // failure is no secret.
    const char* (*words)(enum cause found);
};

// From here on a failure of this item says `words` in place of what was found and of its cause. An
// output that is wrong is still shown. *what has to live as long as the item.
void check_withhold(struct check* c, const struct withheld* what);

// ---- a lesson

struct item {
    int points;        // all items of a lesson add up to 100
    const char* name;  // what a student reads: "keys in several tiles"
    void (*run)(struct check* c);
};

// The idea of a lesson: what a file lacks that gives right answers in a naive way. It is counted or
// observed by items of its own, worth IDEA_POINTS or more, so that the naive file gets at most
// NAIVE_POINTS (`make test` grades it; lessons/IDEAS.md is the table).
enum { IDEA_POINTS = 40, NAIVE_POINTS = 100 - IDEA_POINTS };
struct idea {
    const char* what;                     // "K and V are read once per tile of queries"
    void (*paid_by[6])(struct check* c);  // the items that pay for it, by their functions
    const char* naive;  // the naive file. NULL: the idea is the right answer itself
};

// Promises that a contract may make for the launcher. The grader looks at them in each call that is
// to succeed. A launcher that breaks one loses the first item with WATCH_CHECK, or, if that is seen
// later, the item in which it is seen.
enum promise {
    ALLOCATES_NOTHING = 1,
    DEFAULT_STREAM = 2,  // kernels run in it
    DOES_NOT_WAIT = 4,   // for kernels
};

struct lesson {
    const char* name;          // "12_flash_forward"
    int promises;              // enum promise
    const struct item* items;  // ends with {0}
    struct idea idea;
    const char* card;  // that a grade without CARD= is of; NULL: CARD_STRICTEST
    // Sums grow in global memory by atomics: these are no part of what is counted as loaded and
    // stored. Elsewhere they are.
    bool adds_by_atomics;
    bool by_wgmma;     // its products are wgmma's: in an altered run mma.sync multiplies as ever
    bool without_exp;  // nothing in it is an exponential that could leave its range
    // The mistakes that are tried when check_compare() found an output wrong, if check_describe()
    // has described the case: see hypothesis.h. May be NULL.
    const struct hypothesis* mistakes;
    // Called if no mistake of the list fits. Returns the cause, or CAUSE_NONE to let the general
    // patterns decide. May be NULL. All tensors of the case are still there; see check_tensor().
    enum cause (*explain)(struct check* c, const struct tensor* t, struct budget budget);
    // The same where nothing of t was written. May be NULL.
    enum cause (*explain_nothing)(struct check* c, const struct tensor* t);
};

// For explain(): the inputs of another round of this case, whether an element of an output was
// written at all, and whether something is wrong that nobody has written, and nothing else.
const double* check_values_of(const struct tensor* t, int round);
bool check_was_written(const struct tensor* t, int64_t element);
bool check_is_only_unwritten(const struct tensor* t, struct budget budget);

// The running case, for explain(): a tensor or scalar by name (NULL, 0 if the case has none); and
// the description that the lesson gave with check_describe(), a pointer to a struct of its own, or
// NULL. check_case() forgets the description.
struct tensor* check_tensor(struct check* c, const char* name);
int64_t check_int_of(struct check* c, const char* name);
void check_describe(struct check* c, void* description);
void* check_description(const struct check* c);

// Ends the item with a message: an error of the grader, or of the machine. It never counts against
// the student.
_Noreturn void check_error(struct check* c, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// count zeros of `size` bytes, to be freed by the caller; check_error() if there is no memory.
// count >= 0.
void* check_allocate(struct check* c, int64_t count, size_t size);

// Each lesson's check.c defines this.
extern const struct lesson lesson;

#endif
