// last.c: what a saved result says, for scripts. See command.h.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check/command.h"
#include "report/compiler.h"

enum { LARGEST_RESULT = 1 << 22 };

// The cause that the report named for the next step. Ranks are no part of the JSON.
static const char* cause_to_mend(struct result* r) {
    for (int i = 0; i < r->item_count; i++)
        r->item[i].rank = (int)cause_rank(cause_from_id(r->item[i].cause));
    const struct result_item* item = result_first_to_mend(r);
    return item && item->cause[0] ? item->cause : "-";
}

int command_last(const char* path) {
    size_t size;
    static struct result r;
    struct compiler_message error;
    char* text = file_read(path, LARGEST_RESULT, &size);
    bool fine = text && result_from_json(text, &r);
    free(text);
    if (!fine) return STATUS_NOTHING;
    printf("%d %d\n%s\n", r.score, r.max_score, cause_to_mend(&r));
    if (!r.message[0]) return STATUS_FULL;
    text_print(stdout, "", r.message);
    if (compiler_first_error(r.compiler, &error))
        printf("The first error: %.*s\n", error.whole.length, error.whole.text);
    return STATUS_FULL;
}
