// items.h: the items of a grade, several beside each other where nothing speaks against it. The
// outcomes are those of one after the other.
#ifndef ITEMS_H
#define ITEMS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "check/state.h"
#include "report/result.h"

// An item, and what the items before it had shown when it began.
struct items_one {
    int index;  // in the lesson
    struct result_item* record;
    bool safe;
    int broken;
    pid_t process;  // that runs it; 0: it has not begun; -1: it has ended
    FILE* log;      // its own, which becomes part of the grade's
};

struct items {
    struct session* session;
    int count, begun, beside;
    struct items_one item[RESULT_ITEMS];
};

// How many runs share the machine's GPU: limits by the clock are so many times as long.
int items_share(const struct session* session);

// session lives as long as *items. one_by_one: no item begins before the last one is counted.
void items_prepare(struct items* items, struct session* session, bool one_by_one);

// The next item, and its empty record, in memory that processes share.
void items_add(struct items* items, int index, struct result_item* record);

// Waits until number k, from 0, has ended: its record is whole, and its log is in the session's.
// They are those of an item that knew what session->safe and session->broken say now. Called for
// each k in order. wanted: false if no further item shall begin.
void items_finish(struct items* items, int k, bool wanted);

#endif
