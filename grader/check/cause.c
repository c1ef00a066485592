// cause.c: see cause.h.
#include "check/cause.h"

#include <string.h>

static const struct {
    const char *id, *sentence;
    bool cost;
} causes[CAUSE_COUNT] = {{"", "", false},
#define CAUSE(id, sentence) {#id, sentence, false},
#define COST(id, sentence) {#id, sentence, true},
                         CAUSES(CAUSE, COST)
#undef CAUSE
#undef COST
};

const char* cause_id(enum cause cause) {
    return causes[cause].id;
}

const char* cause_sentence(enum cause cause) {
    return causes[cause].sentence;
}

bool cause_is_cost(enum cause cause) {
    return causes[cause].cost;
}

enum cause cause_from_id(const char* id) {
    for (int i = 1; i < CAUSE_COUNT; i++)
        if (strcmp(causes[i].id, id) == 0) return (enum cause)i;
    return CAUSE_NONE;
}
