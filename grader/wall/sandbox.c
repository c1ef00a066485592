// sandbox.c: what the student's process is allowed to see, per level. See wall.h.
#include "wall/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wall/arena.h"

enum { PROGRAM_FD = 4 };  // where wall_run() puts job->program

// Files that belong to the machine and that a compiler, a loader or a CUDA driver reads.
static const char* const system_files[] = {"/etc/ld.so.cache", "/etc/alternatives", NULL};
static const char* const system_folders[] = {"/lib", "/lib32", "/lib64", "/bin", "/sbin", NULL};

// ---- bubblewrap

enum { ITEMS = 1024 };
struct args {
    const char* item[ITEMS];
    int count;
};

static void add_all(struct args* a, const char* const* words) {
    for (; *words; words++) {
        if (a->count == ITEMS - 1) abort();  // fewer arguments would be another sandbox
        a->item[a->count++] = *words;
    }
}
#define ADD(a, ...) add_all(a, (const char* const[]){__VA_ARGS__, NULL})

static void add_system(struct args* a) {
    static char link[8][256];
    int links = 0;
    ADD(a, "--ro-bind", "/usr", "/usr");
    for (int i = 0; system_folders[i]; i++) {
        ssize_t n = readlink(system_folders[i], link[links], sizeof link[0] - 1);
        if (n > 0) {
            link[links][n] = '\0';
            ADD(a, "--symlink", link[links++], system_folders[i]);
        } else {
            ADD(a, "--ro-bind-try", system_folders[i], system_folders[i]);
        }
    }
    for (int i = 0; system_files[i]; i++) ADD(a, "--ro-bind-try", system_files[i], system_files[i]);
}

static void add_gpu(struct args* a) {
    static glob_t found;
    glob("/dev/nvidia*", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++)
        ADD(a, "--dev-bind", found.gl_pathv[i], found.gl_pathv[i]);
    ADD(a, "--ro-bind", "/sys", "/sys");
}

static int exec_bubblewrap(const struct wall_job* job, bool joined) {
    static char here[4096], program[32];
    struct args a = {.count = 0};
    ADD(&a, "bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL");
    if (joined)
        ADD(&a, "--unshare-user-try", "--unshare-pid");
    else
        ADD(&a, "--unshare-all");
    add_system(&a);
    ADD(&a, "--proc", "/proc", "--dev", "/dev");
    if (job->gpu) add_gpu(&a);
    ADD(&a, "--tmpfs", "/tmp");
    if (job->tools) ADD(&a, "--ro-bind-try", job->tools, job->tools);
    // A clone that lies under /usr is hidden as well.
    if (getcwd(here, sizeof here) && strncmp(here, "/usr/", 5) == 0) ADD(&a, "--tmpfs", here);
    if (job->work) ADD(&a, "--bind", job->work, "/work");
    snprintf(program, sizeof program, "/proc/self/fd/%d", PROGRAM_FD);
    ADD(&a, "--chdir", job->work ? "/work" : "/tmp", "--",
        job->program >= 0 ? program : job->argv[0]);
    add_all(&a, job->argv + 1);
    a.item[a.count] = NULL;
    execvp("bwrap", (char* const*)(uintptr_t)a.item);
    return -1;
}

// ---- Landlock, for the two lower levels

static int landlock_abi(void) {
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool wall_has_landlock(void) {
    return landlock_abi() >= 1;
}

#define LANDLOCK_READ \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
// All rights of the first ABI: the first 13 bits.
#define LANDLOCK_ALL ((UINT64_C(1) << 13) - 1)
#define LANDLOCK_FILE_ONLY \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)

static void landlock_allow(int rules, const char* path, uint64_t rights) {
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) rights &= LANDLOCK_FILE_ONLY;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
}

// From here on this process and its children see the system, their work folder and nothing else.
// A kernel without Landlock leaves the files as they are; wall_has_landlock() says so.
static int restrict_files(const struct wall_job* job) {
    if (!wall_has_landlock()) return 0;
    struct landlock_ruleset_attr all = {.handled_access_fs = LANDLOCK_ALL};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all.handled_access_fs, 0);
    if (rules < 0) return -1;
    landlock_allow(rules, "/usr", LANDLOCK_READ);
    for (int i = 0; system_folders[i]; i++) landlock_allow(rules, system_folders[i], LANDLOCK_READ);
    for (int i = 0; system_files[i]; i++) landlock_allow(rules, system_files[i], LANDLOCK_READ);
    // CUDA's driver gives its threads names there, and gives up where it may not. Nothing of other
    // processes can be written: they belong to another user, or are outside of this domain, and
    // ptrace does not reach them.
    landlock_allow(rules, "/proc", LANDLOCK_READ | (job->gpu ? LANDLOCK_ACCESS_FS_WRITE_FILE : 0));
    const char* const devices[] = {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", NULL};
    for (int i = 0; devices[i]; i++) landlock_allow(rules, devices[i], LANDLOCK_FILE_ONLY);
    if (job->gpu) {
        glob_t found;
        if (glob("/dev/nvidia*", 0, NULL, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; i++)
                landlock_allow(rules, found.gl_pathv[i], LANDLOCK_ALL);
        landlock_allow(rules, "/sys", LANDLOCK_READ);
    }
    if (job->tools) landlock_allow(rules, job->tools, LANDLOCK_READ);
    if (job->work) landlock_allow(rules, job->work, LANDLOCK_ALL);
    int result = (int)syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
    return result;
}

// ---- every level

// Sets what the program finds in its environment, and nothing else. No memory is allocated: the
// limits hold already, and leave AddressSanitizer (BUILD=debug) none.
static void set_environment(enum wall_level level, const struct wall_job* job) {
    enum { MOST = 31 };
    static char folder[PATH_MAX + sizeof "TMPDIR="];
    static char* variable[MOST + 1] = {"PATH=" WALL_PATH, "LC_ALL=C.UTF-8"};
    int count = 2;
    if (job->work) {
        snprintf(folder, sizeof folder, "TMPDIR=%s", level == WALL_BUBBLEWRAP ? "/tmp" : job->work);
        variable[count++] = folder;
    }
    for (int i = 0; job->environment && job->environment[i] && count < MOST; i++)
        variable[count++] = (char*)(uintptr_t)job->environment[i];
    environ = variable;
}

int sandbox_exec(enum wall_level level, const struct wall_job* job, pid_t parent, int user,
                 bool joined) {
    set_environment(level, job);
    if (user >= 0 && (setresgid((gid_t)user, (gid_t)user, (gid_t)user) != 0 ||
                      setresuid((uid_t)user, (uid_t)user, (uid_t)user) != 0))
        return -1;
    if (prctl(PR_SET_PDEATHSIG, 9) != 0) return -1;  // after setresuid(), which clears it
    if (getppid() != parent) _exit(127);
    if (level == WALL_BUBBLEWRAP) return exec_bubblewrap(job, joined);

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    if (chdir(job->work ? job->work : "/") != 0) return -1;
    if (restrict_files(job) != 0) return -1;
    char* const* argv = (char* const*)(uintptr_t)job->argv;
    if (job->program >= 0)
        return (int)syscall(SYS_execveat, PROGRAM_FD, "", argv, environ, AT_EMPTY_PATH);
    return execvp(argv[0], argv);
}
