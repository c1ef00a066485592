// cause.c: see cause.h.
#include "check/cause.h"

#include <string.h>

static const struct {
    const char *id, *sentence;
    enum cause_rank rank;
} causes[CAUSE_COUNT] = {{"", "", RANK_WRONG},
#define CAUSE(id, sentence) {#id, sentence, RANK_WRONG},
#define COST(id, sentence) {#id, sentence, RANK_COST},
#define OPEN(id, sentence) {#id, sentence, RANK_OPEN},
                         CAUSES(CAUSE, COST, OPEN)
#undef CAUSE
#undef COST
#undef OPEN
};

const char* cause_id(enum cause cause) {
    return causes[cause].id;
}

const char* cause_sentence(enum cause cause) {
    return causes[cause].sentence;
}

enum cause_rank cause_rank(enum cause cause) {
    return cause == CAUSE_unknown ? RANK_UNKNOWN : causes[cause].rank;
}

enum cause cause_from_id(const char* id) {
    for (int i = 1; i < CAUSE_COUNT; i++)
        if (strcmp(causes[i].id, id) == 0) return (enum cause)i;
    return CAUSE_NONE;
}
