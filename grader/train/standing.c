// standing.c: may a model be trained on this kernel? Yes, if the last grade of the exercise was of
// this very file, and found its answers right: every item but those that pay for the idea of the
// lesson alone. usage: standing RESULT.json FILE
// Prints one line: "right", or why not; the exit status is 0 for right, 1 for not.
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/result.h"

enum { MOST_BYTES = 1 << 22 };

// What is missing, or NULL.
static const char* lacks(const struct result* r, const char* file) {
    char hash[SHA256_DIGEST_STRING_LENGTH];
    if (!SHA256File(file, hash) || strcmp(hash, r->submission) != 0)
        return "was changed since its last grade";
    if (!r->complete) return "was graded in part (CASE=)";
    const bool idea_is_the_answer = !r->idea[0];
    for (int i = 0; i < r->item_count; i++)
        if (r->item[i].outcome != OUTCOME_PASS && (idea_is_the_answer || !r->item[i].idea))
            return "has wrong answers";
    return NULL;
}

int main(int argc, char** argv) {
    static struct result r;
    size_t size;
    if (argc != 3) return 2;
    char* text = file_read(argv[1], MOST_BYTES, &size);
    const char* why = !text                         ? "has no grade yet"
                      : !result_from_json(text, &r) ? "has a grade that cannot be read"
                                                    : lacks(&r, argv[2]);
    free(text);
    puts(why ? why : "right");
    return why != NULL;
}
