// text.h: what the text of a submission of lesson 22 says: how many lines of a section differ from
// the given file, what its bug is called, and by what its registers are indexed. The check reads
// the file itself; nothing of this is asked of the program.
#ifndef TEXT_H
#define TEXT_H

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "bug_hunt.h"
#include "check/check.h"
#include "check/edits.h"
#include "given.h"
#include "kernels.h"

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

// How the constants begin that name the bugs.
#define CONSTANTS "bug_of_"

static void judge_lines(struct check* c, enum kernel kernel, const char* text, size_t size) {
    const struct edits made = edits_of(given, CONSTANTS, text, size);
    if (!made.same_sections)
        check_fail(c, CAUSE_edit_too_long,
                   "the lines that begin with // ---- are not those of the given file\n"
                   "  next: put them back, each once and in their order\n");
    if (made.lines[0] > 0)
        check_fail(c, CAUSE_edit_too_long,
                   "%d lines in front of the first section differ from the given file; there, only "
                   "the values of the constants may\n",
                   made.lines[0]);
    if (made.lines[kernel] > BUG_HUNT_LINES)
        check_fail(c, CAUSE_edit_too_long,
                   "%d lines of this section differ from the given file, at most %d\n",
                   made.lines[kernel], BUG_HUNT_LINES);
}

// The kernel is right, and costs no more: is it mended in few lines, and is its bug named?
static void judge_text(struct check* c, enum kernel kernel, const char* name, enum bug bug) {
    size_t size;
    const char* text = check_text(c, &size);
    char constant[64], value[64];
    check_case(c, "the text of %s", name);
    judge_lines(c, kernel, text, size);
    snprintf(constant, sizeof constant, CONSTANTS "%s", name);
    edits_constant(text, size, constant, value, sizeof value);
    if (strcmp(value, bug_names[bug]) == 0) return;
    if (!*value || strcmp(value, bug_names[BUG_NOT_NAMED]) == 0)
        check_fail(c, CAUSE_bug_misnamed, "%s does not name the bug yet\n", constant);
    check_fail(c, CAUSE_bug_misnamed, "%s is %.40s, which was not the bug\n", constant, value);
}

// ---- indices of registers

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// Copies the word that begins at p.
static void word_at(const char* p, char word[32]) {
    size_t n = 0;
    while (n < 31 && is_word(p[n])) n++;
    memcpy(word, p, n);
    word[n] = '\0';
}

// Is it the variable of loops over all groups, which can be unrolled, and of no other loop of the
// section? No loop may be kept from it.
static bool counts_groups(const char* section, const char* variable) {
    char loop[128], any[64];
    if (!isalpha((unsigned char)*variable) || strstr(section, "unroll 1")) return false;
    snprintf(any, sizeof any, "for (int %s = ", variable);
    snprintf(loop, sizeof loop, "for (int %s = 0; %s < GROUPS; %s++)", variable, variable,
             variable);
    const char* p = strstr(section, any);
    if (!p) return false;
    for (; p; p = strstr(p + 1, any))
        if (strncmp(p, loop, strlen(loop)) != 0) return false;
    return true;
}

// May the array `name` have this index, which follows its "["?
static bool index_is_fine(const char* section, const char* name, const char* index) {
    char word[32];
    word_at(index, word);
    if (strcmp(name, "x") == 0 || strcmp(name, "y") == 0 || strcmp(name, "group") == 0) return true;
    if (strcmp(name, "sum") != 0 || index[strlen(word)] != ']') return false;
    bool number = *word && strspn(word, "0123456789") == strlen(word);
    return number || strcmp(word, "GROUPS") == 0 || counts_groups(section, word);
}

// The section's only array of a thread is sum[], every mention of which has a fine index.
static void judge_registers(struct check* c, enum kernel kernel) {
    static char section[1 << 16];
    size_t size;
    const char* text = check_text(c, &size);
    char last[32] = "";
    edits_section(text, size, kernel, section, sizeof section);
    check_case(c, "the text of group_sums");
    for (const char* p = section; *p; p++) {
        if (strncmp(p, "//", 2) == 0) p += strcspn(p, "\n");
        if (*p == '[' && !index_is_fine(section, last, p + 1))
            check_fail(c, CAUSE_local_array,
                       "%s[%.*s]: the index of a register is a number, or the variable of a loop\n"
                       "    for (int k = 0; k < GROUPS; k++)\n"
                       "  next: let such a loop ask for each k whether it is the one\n",
                       last, (int)strcspn(p + 1, "]\n"), p + 1);
        if (!is_word(*p)) {
            if (*p != ' ') last[0] = '\0';
            continue;
        }
        bool address = p > section + 1 && p[-1] == '&' && p[-2] != '&';
        word_at(p, last);
        p += strlen(last) - 1;
        if (strcmp(last, "sum") == 0 && (p[1] != '[' || address))
            check_fail(c, CAUSE_local_array,
                       "an address of sum[] is taken, and registers have none\n");
    }
}

#endif
