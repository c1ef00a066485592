// kept.c: the results and errors that jobs left in OUT/results. See class.h.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "class/class.h"

bool result_read(const char* path, struct result* r) {
    size_t size;
    char* text = file_read(path, RESULT_LIMIT, &size);
    bool fine = text && result_from_json(text, r);
    free(text);
    return fine;
}

bool result_is_of(const struct class_lesson* l, const char* submission, const struct result* r) {
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)l->seed);
    return r->complete && !strcmp(r->submission, submission) &&
           !strcmp(r->fingerprint, l->fingerprint) && !strcmp(r->seed, seed);
}

bool result_has_error(const struct result* r) {
    for (int i = 0; i < r->item_count; i++)
        if (r->item[i].outcome == OUTCOME_ERROR) return true;
    return false;
}

bool result_kept(const struct class* class, const struct row* row, int lesson, struct result* r) {
    const struct class_lesson* l = &class->lesson[lesson];
    if (row->cell[lesson].state != CELL_TAKEN) return false;
    bool there = result_read(class_path(class, "results/%s/%s.json", row->id, l->name), r) &&
                 result_is_of(l, row->cell[lesson].submission, r) && !result_has_error(r);
    // the device of a text is "none"
    if (!there || !class->device || !strcmp(r->device, "none")) return there;
    return strncmp(r->device, class->device, strlen(class->device)) == 0;
}

void error_kept(const struct class* class, const struct row* row, int lesson, char* why,
                size_t size) {
    char* text = class_read(
        class_path(class, "results/%s/%s.error", row->id, class->lesson[lesson].name), NULL);
    snprintf(why, size, "%s", text ? text : "");
    free(text);
}
