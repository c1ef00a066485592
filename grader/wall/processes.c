// processes.c: see processes.h.
#include "wall/processes.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the tree

// The children of one thread: a folder of /proc, "thread-self" or "12/task/34". Returns how many
// there are; the caller frees *list. The whole list is read before anybody is visited, however long
// it is, and whole numbers of it only.
static int children_of(const char* thread, pid_t** list) {
    char path[96];
    int count = 0, room = 0, pid;
    *list = NULL;
    snprintf(path, sizeof path, "/proc/%s/children", thread);
    FILE* f = fopen(path, "re");
    while (f && fscanf(f, "%d ", &pid) == 1) {
        if (count == room) {
            room = 2 * room + 64;
            pid_t* grown = realloc(*list, (size_t)room * sizeof *grown);
            if (!grown) break;
            *list = grown;
        }
        (*list)[count++] = pid;
    }
    if (f) fclose(f);
    return count;
}

static void visit_children(const char* thread, void (*visit)(pid_t, void*), void* data);

// Each thread of a process may have children of its own.
static void visit_threads(pid_t pid, void (*visit)(pid_t, void*), void* data) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR* threads = opendir(path);
    for (struct dirent* e; threads && (e = readdir(threads));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%d/task/%.20s", pid, e->d_name);
        visit_children(path, visit, data);
    }
    if (threads) closedir(threads);
}

static void visit_children(const char* thread, void (*visit)(pid_t, void*), void* data) {
    pid_t* child;
    int count = children_of(thread, &child);
    for (int i = 0; i < count; i++) {
        visit(child[i], data);
        visit_threads(child[i], visit, data);
    }
    free(child);
}

void processes_each(void (*visit)(pid_t, void*), void* data) {
    visit_children("thread-self", visit, data);
}

// ---- what they take

// Reads the state and the times of a process or a thread from its `stat`, in seconds. False if it
// is gone.
static bool read_stat(const char* task, char* state, double* seconds) {
    char path[96], text[1024];
    unsigned long user, system;
    long waited_user, waited_system;
    snprintf(path, sizeof path, "/proc/%s/stat", task);
    FILE* f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    const char* name_end = strrchr(text, ')');  // the name may hold anything
    if (!name_end ||
        sscanf(name_end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", state,
               &user, &system, &waited_user, &waited_system) != 5)
        return false;
    double ticks = (double)user + (double)system + (double)waited_user + (double)waited_system;
    *seconds = ticks / (double)sysconf(_SC_CLK_TCK);
    return true;
}

static bool is_busy(pid_t pid) {
    char path[64], state;
    double seconds;
    bool busy = false;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR* threads = opendir(path);
    for (struct dirent* e; threads && !busy && (e = readdir(threads));) {
        snprintf(path, sizeof path, "%d/task/%.20s", pid, e->d_name);
        busy = e->d_name[0] != '.' && read_stat(path, &state, &seconds) &&
               (state == 'R' || state == 'D');
    }
    if (threads) closedir(threads);
    return busy;
}

static void add_use(pid_t pid, void* data) {
    struct processes_use* use = data;
    char path[64], state;
    double seconds;
    unsigned long size = 0, resident = 0;
    snprintf(path, sizeof path, "%d", pid);
    if (read_stat(path, &state, &seconds)) use->cpu += seconds;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE* f = fopen(path, "re");
    if (f && fscanf(f, "%lu %lu", &size, &resident) == 2)
        use->resident += resident * (size_t)sysconf(_SC_PAGESIZE);
    if (f) fclose(f);
    use->busy = use->busy || is_busy(pid);
}

struct processes_use processes_use(void) {
    struct processes_use use = {0};
    processes_each(add_use, &use);
    return use;
}

// ---- their end

static void kill_one(pid_t pid, void* data) {
    (void)data;
    kill(pid, SIGKILL);
}

// Buries the dead. Has this process no children any more? A process that its children leave behind
// becomes its child before they can be buried.
static bool none_left(void) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
    }
    return pid < 0 && errno == ECHILD;
}

// A process that forks while it is hunted has a limit on its number, and loses.
void processes_end(int user) {
    for (int i = 0; i < 400 && !none_left(); i++) {
        if (i > 0) usleep(1000 + 500 * (useconds_t)i);
        if (user >= 0) {
            // Everybody of the throw-away id at once, from a process that has it too.
            pid_t sweeper = fork();
            if (sweeper == 0) {
                if (setresuid((uid_t)user, (uid_t)user, (uid_t)user) == 0) kill(-1, SIGKILL);
                _exit(0);
            }
            if (sweeper > 0) waitpid(sweeper, NULL, 0);
        }
        processes_each(kill_one, NULL);
    }
}
