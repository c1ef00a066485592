// cause.c: see cause.h.
#include "check/cause.h"

#include <string.h>

static const struct {
    const char *id, *sentence;
} causes[CAUSE_COUNT] = {{"", ""},
#define CAUSE(id, sentence) {#id, sentence},
                         CAUSES(CAUSE, CAUSE)
#undef CAUSE
};

const char* cause_id(enum cause cause) {
    return causes[cause].id;
}

const char* cause_sentence(enum cause cause) {
    return causes[cause].sentence;
}

enum cause cause_from_id(const char* id) {
    for (int i = 1; i < CAUSE_COUNT; i++)
        if (strcmp(causes[i].id, id) == 0) return (enum cause)i;
    return CAUSE_NONE;
}
