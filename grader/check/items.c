// items.c: see items.h.
#include "check/items.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check/command.h"

// A case has few blocks, and much that one core does alone: data, references, the beginning of a
// process. So items keep the cores busy, two for each, since they wait for each other's ends and
// differ in length. 17's grade on four cores: 8.4 s with two beside each other, 6.1 s with four,
// 4.7 s with eight.
enum { FOR_EACH_CORE = 2, MOST_BESIDE = 8 };

// On a GPU a run waits for the driver: a context takes 0.34 s from the program's begin to its end,
// and four beside each other 0.75 s (H200).
enum { ON_A_GPU = 3 };

static int beside(void) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN), most = MOST_BESIDE / FOR_EACH_CORE;
    return FOR_EACH_CORE * (int)(cores < 1 ? 1 : cores > most ? most : cores);
}

int items_share(const struct session* session) {
    if (!session->gpu) return 1;
    return session->at_once > 1 ? session->at_once : session->shares_gpu ? ON_A_GPU : 1;
}

void items_prepare(struct items* items, struct session* session, bool one_by_one) {
    const bool alone = one_by_one || session->at_once > 1;
    const int most = session->gpu ? items_share(session) : beside();
    *items = (struct items){.session = session, .beside = alone ? 1 : most};
}

void items_add(struct items* items, int index, struct result_item* record) {
    items->item[items->count++] = (struct items_one){.index = index, .record = record};
}

// Runs the item to its end.
static void run(const struct session* session, struct items_one* one) {
    double start = clock_seconds();
    one->safe = session->safe;
    one->broken = session->broken;
    item_run(session, one->index, one->record);
    one->record->seconds = clock_seconds() - start;
}

// Begins the item in a process of its own, with a log of its own; without these here and now.
static void begin(struct items* items, struct items_one* one) {
    struct session* session = items->session;
    one->process = -1;
    one->log = items->beside > 1 ? tmpfile() : NULL;
    fflush(session->log);
    fflush(stdout);
    const pid_t grade = getpid();
    pid_t process = one->log ? fork() : -1;
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);  // libcheck ends its process then, too
        if (getppid() != grade) _exit(1);  // it has ended already
        session->log = one->log;
        run(session, one);
        fflush(one->log);
        _exit(0);
    }
    if (process < 0) return run(session, one);
    one->safe = session->safe;
    one->broken = session->broken;
    one->process = process;
}

static void wait_for(struct items_one* one) {
    int status = 0;
    if (one->process > 0 && (waitpid(one->process, &status, 0) != one->process || status != 0))
        one->record->outcome = OUTCOME_ERROR;
    one->process = -1;
}

// The item's log goes into the grade's, or away.
static void close_log(const struct session* session, struct items_one* one, bool kept) {
    char block[4096];
    size_t n;
    if (!one->log) return;
    rewind(one->log);
    while (kept && (n = fread(block, 1, sizeof block, one->log)) > 0)
        fwrite(block, 1, n, session->log);
    fclose(one->log);
    one->log = NULL;
}

// Might the item have ended in another way if it had known what is known now?
static bool is_outdated(const struct session* session, const struct items_one* one) {
    return (one->record->asked_safe && one->safe != session->safe) ||
           (one->record->asked_broken && one->broken != session->broken);
}

void items_finish(struct items* items, int k, bool wanted) {
    struct items_one* one = &items->item[k];
    while (wanted && items->begun < items->count && items->begun < k + items->beside)
        begin(items, &items->item[items->begun++]);
    if (k >= items->begun) return;
    wait_for(one);
    const bool outdated = wanted && is_outdated(items->session, one);
    close_log(items->session, one, !outdated);
    if (!outdated) return;
    item_clear(one->record);
    run(items->session, one);
}
