// mistakes.h: what is wrong with an output of lesson 25. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include <math.h>

#include "attention/forward_mistakes.h"

enum { TICKETS = 2 };

// Compares the tickets of the selected call: they have to be zeros again.
static void judge_tickets(struct check* c) {
    struct tensor* tickets = check_tensor(c, "tickets");
    for (int64_t e = 0; e < tickets->count; e++) tickets->untouched[e] = false;
    check_compare(c, tickets, budget_exact());
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    if (t == check_tensor(c, "tickets")) return CAUSE_ticket_kept;
    return index_explain(c, t, budget);
}

#endif
