// namespaces.c: see namespaces.h.
#include "wall/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPACES = 5 };
// The user namespace, without which only root may make the others, comes first.
static const struct {
    const char* name;
    int flag;
} space[SPACES] = {{"user", CLONE_NEWUSER},
                   {"net", CLONE_NEWNET},
                   {"ipc", CLONE_NEWIPC},
                   {"uts", CLONE_NEWUTS},
                   {"cgroup", CLONE_NEWCGROUP}};

static bool tried;
static int handle[SPACES] = {-1, -1, -1, -1, -1};

static int first_space(void) {
    return geteuid() == 0 ? 1 : 0;
}

// The maker: says by a byte that the namespaces are there, and holds them until the pipe closes.
static _Noreturn void make(int ready, int done) {
    int flags = 0;
    char byte = 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = first_space(); i < SPACES; i++) flags |= space[i].flag;
    if (unshare(flags) == 0 && write(ready, &byte, 1) == 1) (void)!read(done, &byte, 1);
    _exit(0);
}

static bool write_text(pid_t maker, const char* file, const char* text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", maker, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    const ssize_t n = (ssize_t)strlen(text);
    const bool written = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0) close(fd);
    return written;
}

// Everybody keeps the number that they have outside.
static bool map_ids(pid_t maker) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
    return write_text(maker, "uid_map", users) && write_text(maker, "setgroups", "deny") &&
           write_text(maker, "gid_map", groups);
}

static bool take(pid_t maker) {
    for (int i = first_space(); i < SPACES; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/ns/%s", maker, space[i].name);
        handle[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (handle[i] < 0) return false;
    }
    return true;
}

static void drop(void) {
    for (int i = 0; i < SPACES; i++) {
        if (handle[i] >= 0) close(handle[i]);
        handle[i] = -1;
    }
}

void namespaces_make(void) {
    int ready[2] = {-1, -1}, done[2] = {-1, -1};
    char byte;
    if (tried) return;
    tried = true;
    if (pipe2(ready, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0) {
        const pid_t maker = fork();
        if (maker == 0) {
            close(ready[0]), close(done[1]);
            make(ready[1], done[0]);
        }
        close(ready[1]);
        ready[1] = -1;
        if (maker > 0) {
            const bool made = read(ready[0], &byte, 1) == 1;
            if (!made || (first_space() == 0 && !map_ids(maker)) || !take(maker)) drop();
            close(done[1]);
            done[1] = -1;
            waitpid(maker, NULL, 0);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (ready[i] >= 0) close(ready[i]);
        if (done[i] >= 0) close(done[i]);
    }
}

bool namespaces_join(void) {
    for (int i = first_space(); i < SPACES; i++)
        if (handle[i] < 0 || setns(handle[i], space[i].flag) != 0) return false;
    return true;
}
