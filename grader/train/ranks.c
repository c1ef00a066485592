// ranks.c: see ranks.h.
#include "train/ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { INTERRUPTED = 128 };              // an exit status above it
static const double grace = 1;           // seconds for the others to say what they know
static volatile pid_t pids[MOST_RANKS];  // 0: has ended

static int cannot(const char* what) {
    fprintf(stderr, "make train: %s: %s.\n", what, strerror(errno));
    return -1;
}

static void pass_on(int signal_number) {
    for (int i = 0; i < MOST_RANKS; i++)
        if (pids[i] > 0) kill(pids[i], signal_number);
}

static void become(struct ranks* r, int rank, FILE* words, pid_t watcher) {
    r->rank = rank;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != watcher) _exit(1);  // it died before the line above
    if (rank == 0) return;
    dup2(fileno(words), STDERR_FILENO);
    if (!freopen("/dev/null", "w", stdout)) _exit(1);
}

// ---- the process that watches

static bool in_order(int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) > INTERRUPTED);
}

static void show(FILE* words) {
    char line[512];
    rewind(words);
    while (fgets(line, sizeof line, words)) fputs(line, stderr);
}

// Rank `first` failed before all others. Rank 0 has told on stderr why it failed, if it did.
static int failure(int first, const int* status, FILE* const* words) {
    if (WIFSIGNALED(status[first]))
        fprintf(
            stderr,
            "make train: the process of GPU %d was ended by signal %d (%s), and the others were "
            "stopped.\nThe same command goes on from the last checkpoint.\n",
            first, WTERMSIG(status[first]), strsignal(WTERMSIG(status[first])));
    else if (first > 0 && !WIFEXITED(status[0]))
        show(words[first]);
    return WIFEXITED(status[first]) ? WEXITSTATUS(status[first]) : 1;
}

static int same_parameters(const struct ranks* r) {
    for (int i = 1; i < r->count; i++) {
        if (r->shared->signature[i] == r->shared->signature[0]) continue;
        fprintf(
            stderr,
            "make train: GPU %d ends with other parameters than GPU 0. They start with the same "
            "and get the same\ngradients: one of them has read gradients before they were summed, "
            "or a kernel is not repeatable.\n",
            i);
        return 1;
    }
    return 0;
}

static int watch(const struct ranks* r, FILE* const* words) {
    int status[MOST_RANKS] = {0}, first = -1, left = r->count;
    double since = 0;
    while (left > 0) {
        int how;
        const pid_t ended = waitpid(-1, &how, first >= 0 ? WNOHANG : 0);
        if (ended < 0 && errno != EINTR) break;
        for (int i = 0; i < r->count && ended > 0; i++) {
            if (pids[i] != ended) continue;
            pids[i] = 0, left--;
            status[i] = how;
            if (first >= 0 || in_order(how)) continue;
            first = i;
            since = clock_seconds();
        }
        if (first < 0 || ended > 0) continue;
        if (clock_seconds() - since > grace) pass_on(SIGKILL);
        usleep(10000);
    }
    if (first >= 0) return failure(first, status, words);
    return same_parameters(r) ? 1 : WEXITSTATUS(status[0]);
}

int ranks_begin(struct ranks* r, int count) {
    FILE* words[MOST_RANKS] = {0};
    *r = (struct ranks){.count = count};
    if (count == 1) return 0;
    r->shared =
        mmap(NULL, sizeof *r->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->shared == MAP_FAILED) return cannot("memory for several processes");
    for (int i = 0; i < count; i++)
        if (sem_init(&r->shared->turn[i], 1, 0) != 0 || !(words[i] = tmpfile()))
            return cannot("a file for the words of a process");

    // A signal comes when everybody is there to take it.
    sigset_t both, before;
    sigemptyset(&both);
    sigaddset(&both, SIGINT), sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, &before);
    const pid_t watcher = getpid();
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            become(r, i, words[i], watcher);
            sigprocmask(SIG_SETMASK, &before, NULL);
            return 0;
        }
        pids[i] = pid;
        if (pid > 0) continue;
        cannot("a process cannot be started");
        pass_on(SIGKILL);
        exit(1);
    }
    struct sigaction action = {.sa_handler = pass_on};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    exit(watch(r, words));
}

void ranks_turn(const struct ranks* r) {
    if (r->count == 1) return;
    if (r->rank > 0) {
        while (sem_wait(&r->shared->turn[r->rank]) != 0) continue;  // a signal came
        return;
    }
    for (int i = 1; i < r->count; i++) sem_post(&r->shared->turn[i]);
}
