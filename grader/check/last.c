// last.c: what a saved result says, for scripts. See command.h.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check/command.h"

enum { LARGEST_RESULT = 1 << 22 };

static int count_cause(const struct result* r, const char* cause) {
    int count = 0;
    for (int i = 0; i < r->item_count; i++) count += strcmp(r->item[i].cause, cause) == 0;
    return count;
}

// The cause that was found most often; the first, if several were found as often. Questions without
// an answer come after all wrong answers.
static const char* cause_to_mend(const struct result* r) {
    const char *best = "-", *unanswered = cause_id(CAUSE_no_answer);
    int most = 0;
    for (int i = 0; i < r->item_count; i++) {
        const char* cause = r->item[i].cause;
        if (!cause[0] || strcmp(cause, unanswered) == 0) continue;
        if (count_cause(r, cause) > most) most = count_cause(r, best = cause);
    }
    return most == 0 && count_cause(r, unanswered) > 0 ? unanswered : best;
}

// As all compilers write them: FILE:LINE:COLUMN: error: TEXT.
static void print_first_error(const char* compiler) {
    const char* error = strstr(compiler, " error: ");
    if (!error) return;
    while (error > compiler && error[-1] != '\n') error--;
    printf("The first error: %.*s\n", (int)strcspn(error, "\n"), error);
}

int command_last(const char* path) {
    size_t size;
    static struct result r;
    char* text = file_read(path, LARGEST_RESULT, &size);
    bool fine = text && result_from_json(text, &r);
    free(text);
    if (!fine) return STATUS_NOTHING;
    printf("%d %d\n%s\n", r.score, r.max_score, cause_to_mend(&r));
    if (!r.message[0]) return STATUS_FULL;
    text_print(stdout, "", r.message);
    print_first_error(r.compiler);
    return STATUS_FULL;
}
