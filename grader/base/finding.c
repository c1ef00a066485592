// finding.c: see finding.h.
#include "base/finding.h"

#include <string.h>

void finding_values_end(struct finding_values* v) {
    v->kind[sizeof v->kind - 1] = v->words[sizeof v->words - 1] = '\0';
    v->file[sizeof v->file - 1] = '\0';
    v->kernel[sizeof v->kernel - 1] = v->next[sizeof v->next - 1] = '\0';
    if (v->access_count < 0 || v->access_count > FINDING_ACCESSES) v->access_count = 0;
    for (int i = 0; i < FINDING_ACCESSES; i++) {
        struct finding_access* a = &v->access[i];
        a->verb[sizeof a->verb - 1] = a->who[sizeof a->who - 1] = '\0';
        a->function[sizeof a->function - 1] = '\0';
    }
}
