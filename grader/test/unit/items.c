// items.c: check/items.c: items run at once, their logs come in order, and one that began too
// early to know what it depends on runs again.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/command.h"
#include "check/items.h"

enum { ITEMS = 4, TENTHS = 100 };

static int* runs;  // of each item, in memory that processes share

// What every item does: it is counted, and writes its number.
static int begin(struct check* c) {
    int i = (int)(c->item - lesson.items);
    runs[i]++;
    fprintf(c->session->log, "%d\n", i);
    fflush(c->session->log);
    c->compared++;
    return i;
}

// The item on safety passes when it has seen that the next one runs as well.
static void is_safe(struct check* c) {
    int i = begin(c);
    for (int t = 0; runs[i + 1] == 0 && t < TENTHS; t++) usleep(100000);
    if (runs[i + 1] == 0) check_fail(c, CAUSE_unknown, "nothing runs beside this item");
    c->watch = WATCH_CHECK;
}

// It writes whether those before have been safe.
static void asks(struct check* c) {
    begin(c);
    fprintf(c->session->log, "safe: %d\n", c->session->safe);
    fflush(c->session->log);
    c->record->asked_safe = true;
    if (c->session->safe) check_fail(c, CAUSE_race, "known");
}

static void asks_nothing(struct check* c) {
    begin(c);
}

static const struct item all[ITEMS + 1] = {
    {25, "a", asks_nothing}, {25, "b", is_safe}, {25, "c", asks}, {25, "d", asks_nothing}};
const struct lesson lesson = {.name = "00_none", .items = all};

// True if the four ended as they do one after the other, each after so many runs.
static bool end_well(struct result* r, bool one_by_one, const int wanted[ITEMS]) {
    char said[64] = "";
    struct session session = {.at_once = 1, .item_seconds = 20, .log = tmpfile()};
    struct items items;
    if (!session.log) return false;
    memset(r, 0, sizeof *r);
    memset(runs, 0, ITEMS * sizeof *runs);
    runs[2] = one_by_one;  // there is nothing to wait for
    items_prepare(&items, &session, one_by_one);
    for (int i = 0; i < ITEMS; i++) items_add(&items, i, item_record(r, &all[i]));
    for (int i = 0; i < ITEMS; i++) {
        items_finish(&items, i, true);
        session.safe |= r->item[i].safe;
    }
    rewind(session.log);
    said[fread(said, 1, sizeof said - 1, session.log)] = '\0';
    fclose(session.log);
    bool right = memcmp(runs, wanted, ITEMS * sizeof *runs) == 0 &&
                 strcmp(said, "0\n1\n2\nsafe: 1\n3\n") == 0;
    for (int i = 0; i < ITEMS; i++)
        right &= r->item[i].outcome == (i == 2 ? OUTCOME_FAIL : OUTCOME_PASS);
    if (!right)
        printf("%d %d %d %d runs, log\n%s%s", runs[0], runs[1], runs[2], runs[3], said,
               r->item[1].message);
    return right;
}

int main(void) {
    void* shared = mmap(NULL, sizeof(struct result) + 4096, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return EXIT_FAILURE;
    runs = shared;
    struct result* r = (struct result*)((char*)shared + 4096);
    bool right = end_well(r, false, (const int[]){1, 1, 2, 1});
    right &= end_well(r, true, (const int[]){1, 1, 2, 1});
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
