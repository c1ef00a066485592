// text.h: what the text of a submission of lesson 22 says: how many lines of a section differ from
// the given file, and what its bug is called. The check reads the file itself; nothing of this is
// asked of the program.
#ifndef TEXT_H
#define TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bug_hunt.h"
#include "check/check.h"
#include "check/edits.h"
#include "given.h"

static const char* const bug_names[] = {
    [BUG_NOT_NAMED] = "BUG_NOT_NAMED",
    [BUG_MISSING_SYNCTHREADS] = "BUG_MISSING_SYNCTHREADS",
    [BUG_MISSING_SYNCWARP] = "BUG_MISSING_SYNCWARP",
    [BUG_BARRIER_NOT_REACHED] = "BUG_BARRIER_NOT_REACHED",
    [BUG_WAIT_AFTER_BARRIER] = "BUG_WAIT_AFTER_BARRIER",
    [BUG_TOO_FEW_STAGES] = "BUG_TOO_FEW_STAGES",
    [BUG_OUT_OF_BOUNDS] = "BUG_OUT_OF_BOUNDS",
    [BUG_INDEX_OF_32_BITS] = "BUG_INDEX_OF_32_BITS",
    [BUG_MEMORY_NOT_CLEARED] = "BUG_MEMORY_NOT_CLEARED",
    [BUG_LIMIT_OF_ONE_CARD] = "BUG_LIMIT_OF_ONE_CARD",
    [BUG_WRONG_STRIDE] = "BUG_WRONG_STRIDE",
    [BUG_UNCOALESCED] = "BUG_UNCOALESCED",
    [BUG_BANK_CONFLICTS] = "BUG_BANK_CONFLICTS",
    [BUG_ARRAY_IN_LOCAL_MEMORY] = "BUG_ARRAY_IN_LOCAL_MEMORY",
    [BUG_PARTIAL_WARP] = "BUG_PARTIAL_WARP",
    [BUG_FINITE_MASK] = "BUG_FINITE_MASK",
    [BUG_MAX_STARTS_AT_0] = "BUG_MAX_STARTS_AT_0",
    [BUG_SUM_STARTS_AT_1] = "BUG_SUM_STARTS_AT_1",
    [BUG_NOT_RESCALED] = "BUG_NOT_RESCALED",
    [BUG_LOW_PRECISION] = "BUG_LOW_PRECISION",
};

// The kernels as the file names them, and their bugs.
static const struct {
    const char* name;
    enum bug bug;
} hunted[] = {
    [BUG_HUNT_WARP_SUMS] = {"warp_sums", BUG_MISSING_SYNCWARP},
    [BUG_HUNT_TRANSPOSE] = {"transpose", BUG_WAIT_AFTER_BARRIER},
    [BUG_HUNT_SCALE_ROWS] = {"scale_rows", BUG_INDEX_OF_32_BITS},
    [BUG_HUNT_DIVIDE_BY_COUNT] = {"divide_by_count", BUG_MEMORY_NOT_CLEARED},
    [BUG_HUNT_REVERSE_ROWS] = {"reverse_rows", BUG_LIMIT_OF_ONE_CARD},
    [BUG_HUNT_ATTEND] = {"attend", BUG_WRONG_STRIDE},
    [BUG_HUNT_GROUP_SUMS] = {"group_sums", BUG_ARRAY_IN_LOCAL_MEMORY},
    [BUG_HUNT_CHUNK_SUMS] = {"chunk_sums", BUG_PARTIAL_WARP},
    [BUG_HUNT_MASKED_SOFTMAX] = {"masked_softmax", BUG_FINITE_MASK},
    [BUG_HUNT_LOGSUMEXP] = {"logsumexp", BUG_SUM_STARTS_AT_1},
};

// How the constants begin that name the bugs.
#define CONSTANTS "bug_of_"

// ---- what the bug is called

// What the file says of a kernel's bug.
struct answer {
    char constant[64], value[64];
    enum bug bug;  // BUG_NOT_NAMED also if the value is no name of enum bug
};

static struct answer answer_of(struct check* c, enum bug_hunt_kernel kernel) {
    struct answer a = {.bug = BUG_NOT_NAMED};
    size_t size;
    const char* text = check_text(c, &size);
    snprintf(a.constant, sizeof a.constant, CONSTANTS "%s", hunted[kernel].name);
    edits_constant(text, size, a.constant, a.value, sizeof a.value);
    for (size_t i = 0; i < sizeof bug_names / sizeof *bug_names; i++)
        if (strcmp(a.value, bug_names[i]) == 0) a.bug = (enum bug)i;
    return a;
}

// What shows of a bug, and what to look with: what it is, the student is to find out.
static const char* symptom(enum cause found) {
    switch (found) {
    // what hides no bug
    case CAUSE_edit_too_long:
    case CAUSE_cost_grew:
    case CAUSE_bug_not_named:
    case CAUSE_crash:
    case CAUSE_endless_loop:
    case CAUSE_too_slow:
    case CAUSE_out_of_memory:
    case CAUSE_survivor:
    case CAUSE_host_computed:
    case CAUSE_no_traffic:
    case CAUSE_allocates:
    case CAUSE_waits:
    case CAUSE_other_stream:
    case CAUSE_bad_launch:
    case CAUSE_unsupported:
        return NULL;
    case CAUSE_race:
    case CAUSE_race_of_writes:
    case CAUSE_block_order:
        return "symptom: right on one run and wrong on another, or under another scheduler\n"
               "look with: compute-sanitizer --tool racecheck\n";
    case CAUSE_uninitialised:
    case CAUSE_workspace_uncleared:
        return "symptom: right in a fresh process, wrong where memory was used before\n"
               "look with: compute-sanitizer --tool initcheck; a second call\n";
    case CAUSE_wrapped_index:
    case CAUSE_out_of_bounds:
    case CAUSE_bad_address:
    case CAUSE_divided_by_zero:
    case CAUSE_misaligned:
        return "symptom: right where arrays are small, a bad address or another row's numbers in "
               "this case\n"
               "look with: compute-sanitizer (memcheck), with arrays of this kind\n";
    case CAUSE_one_card:
        return "symptom: COURSE_OK on an H200, COURSE_CUDA_ERROR on this card\n"
               "look with: make doctor, which lists what cards have; CARD=\n";
    case CAUSE_local_array:
        return "symptom: right, and several times as slow on a GPU as the same work should be\n"
               "look with: nvcc -Xptxas -v; ncu\n";
    case CAUSE_bad_mask:
    case CAUSE_exited_threads:
    case CAUSE_barrier_divergence:
    case CAUSE_diverged_warp:
        return "symptom: right on most cards in this case, and nobody promises it\n"
               "look with: the checked run of the CPU device, which stops here; the GPU's tools "
               "say "
               "nothing\n";
    default:
        return "symptom: the numbers above; in the cases before, if any, the kernel is right\n"
               "look with: no tool; choose inputs, and hold this case against the "
               "contract\n";
    }
}

// Until the bug is named, no failure of the item tells it.
static void withhold_bug(struct check* c, enum bug_hunt_kernel kernel) {
    static const struct withheld bug = {CAUSE_bug_not_named, symptom};
    if (answer_of(c, kernel).bug == BUG_NOT_NAMED) check_withhold(c, &bug);
}

// ---- how much has changed

static void judge_lines(struct check* c, enum bug_hunt_kernel kernel, const char* text,
                        size_t size) {
    const struct edits made = edits_of(given, CONSTANTS, text, size);
    char lines[1500];
    if (!made.same_sections)
        check_fail(c, CAUSE_edit_too_long,
                   "the lines that begin with // ---- are not those of the given file\n"
                   "  next: put them back, each once and in their order\n");
    if (made.lines[0] > 0) {
        edits_list(given, CONSTANTS, text, size, 0, lines, sizeof lines);
        check_fail(c, CAUSE_edit_too_long,
                   "%d lines in front of the first section differ from the given file; there, only "
                   "the values of the constants may\n%s",
                   made.lines[0], lines);
    }
    if (made.lines[kernel] > BUG_HUNT_LINES) {
        edits_list(given, CONSTANTS, text, size, kernel, lines, sizeof lines);
        check_fail(c, CAUSE_edit_too_long,
                   "%d lines of this section differ from the given file, at most %d. Those with -, "
                   "or those with +, whichever are more:\n%s",
                   made.lines[kernel], BUG_HUNT_LINES, lines);
    }
}

// The kernel is right, and costs no more: is it mended in few lines, and is its bug named?
static void judge_text(struct check* c, enum bug_hunt_kernel kernel) {
    size_t size;
    const char* text = check_text(c, &size);
    const struct answer said = answer_of(c, kernel);
    check_case(c, "the text of %s", hunted[kernel].name);
    judge_lines(c, kernel, text, size);
    if (said.bug == hunted[kernel].bug) return;
    if (said.bug != BUG_NOT_NAMED)
        check_fail(c, CAUSE_bug_misnamed, "%s is %s, which was not the bug\n", said.constant,
                   said.value);
    if (!*said.value || strcmp(said.value, bug_names[BUG_NOT_NAMED]) == 0)
        check_fail(c, CAUSE_bug_not_named, "the kernel is mended, and %s does not say of what\n",
                   said.constant);
    check_fail(c, CAUSE_bug_not_named, "%s is %.40s: no name of enum bug\n", said.constant,
               said.value);
}

#endif
