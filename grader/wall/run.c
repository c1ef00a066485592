// run.c: start a job, watch it, end it, and leave nothing of it behind. See wall.h.
#include "wall/wall.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "wall/arena.h"
#include "wall/namespaces.h"
#include "wall/processes.h"

// NEIGHBOURS: how many tasks other grades of the same user may start beside this grade.
// FILES, FILE_BYTES: that a program behind the wall may have open, and may write.
enum { PROCESSES = 64, NEIGHBOURS = 512, POLL_MS = 20, RESERVED_FDS = 10 };
enum { FILES = 256, FILE_BYTES = 1 << 28 };

#define LOOK_SECONDS 0.05

// Throw-away user ids: above what distributions give to people, below what systemd gives to
// services (61184).
enum { FIRST_USER = 60600, USERS = 256 };

// ---- the child

// How many tasks the caller's user id runs now: RLIMIT_NPROC counts them all.
static rlim_t tasks_of_user(void) {
    rlim_t tasks = 0;
    DIR* proc = opendir("/proc");
    if (!proc) return 4096;
    for (struct dirent* e = readdir(proc); e; e = readdir(proc)) {
        char path[64];
        struct stat st;
        if (e->d_name[0] < '0' || e->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%.20s/task", e->d_name);
        if (stat(path, &st) == 0 && st.st_uid == getuid())
            tasks += st.st_nlink > 2 ? st.st_nlink - 2 : 1;
    }
    closedir(proc);
    return tasks;
}

// A limit that does not hold would be worse than a program that does not start.
static bool limit(int what, rlim_t value) {
    struct rlimit old, r = {value, value};
    if (getrlimit((__rlimit_resource_t)what, &old) != 0) return false;
    if (old.rlim_max < value) r.rlim_cur = r.rlim_max = old.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &r) == 0;
}

bool wall_has_room(char* why, size_t size) {
    // Address space is reserved for rows that lie far apart, and takes no memory.
    static const struct {
        int what;
        const char* name;
        rlim_t least;
    } needed[] = {
        {RLIMIT_NOFILE, "ulimit -n", FILES},     {RLIMIT_FSIZE, "ulimit -f", FILE_BYTES},
        {RLIMIT_AS, "ulimit -v", RLIM_INFINITY}, {RLIMIT_DATA, "ulimit -d", (rlim_t)8 << 30},
        {RLIMIT_CPU, "ulimit -t", 900},          {RLIMIT_STACK, "ulimit -s", (rlim_t)1 << 20}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        struct rlimit r;
        if (getrlimit((__rlimit_resource_t)needed[i].what, &r) != 0) continue;
        if (r.rlim_cur >= needed[i].least) continue;
        r.rlim_cur = needed[i].least;
        if (r.rlim_max < r.rlim_cur) r.rlim_max = r.rlim_cur;  // root may
        if (setrlimit((__rlimit_resource_t)needed[i].what, &r) == 0) continue;
        bool endless = needed[i].least == RLIM_INFINITY;
        snprintf(why, size, endless ? "`%s` has to be unlimited" : "`%s` has to allow %llu%s",
                 needed[i].name, (unsigned long long)needed[i].least,
                 needed[i].what == RLIMIT_NOFILE ? " files"
                 : needed[i].what == RLIMIT_CPU  ? " seconds"
                                                 : " bytes");
        return false;
    }
    return true;
}

static bool set_limits(const struct wall_job* job, int user) {
    // CUDA's driver reserves far more address space than it uses: no limit on data there, the watch
    // on resident memory stays.
    // A process that the watch below has lost sight of ends some time after all of them should.
    rlim_t cpu = (rlim_t)(job->seconds * (job->gpu ? 8 : 1)) + 5;
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_CPU, cpu) && limit(RLIMIT_FSIZE, FILE_BYTES) &&
           limit(RLIMIT_NOFILE, FILES) &&
           limit(RLIMIT_NPROC, user >= 0 ? PROCESSES : tasks_of_user() + PROCESSES + NEIGHBOURS) &&
           (job->gpu || limit(RLIMIT_DATA, job->memory + job->reserved));
}

static _Noreturn void child(enum wall_level level, const struct wall_job* job, pid_t parent,
                            int user, int out, int failed) {
    setpgid(0, 0);
    const bool joined = level == WALL_BUBBLEWRAP && namespaces_join();
    // High copies first, so that no dup2 overwrites a descriptor that is still needed.
    const int from[] = {open("/dev/null", O_RDONLY), out, out, job->arena, job->program, failed};
    const int to[] = {0, 1, 2, ARENA_FD, ARENA_FD + 1, ARENA_FD + 2};
    int high[6];
    for (int i = 0; i < 6; i++) high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, RESERVED_FDS);
    for (int i = 0; i < 6; i++)
        if (high[i] < 0 || dup2(high[i], to[i]) < 0) close(to[i]);
    fcntl(ARENA_FD + 2, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, ARENA_FD + 3, ~0u, 0);

    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < 32; s++) signal(s, SIG_DFL);
    umask(022);
    if ((user < 0 || setgroups(0, NULL) == 0) && set_limits(job, user))
        sandbox_exec(level, job, parent, user, joined);
    int error = errno;
    (void)!write(ARENA_FD + 2, &error, sizeof error);
    _exit(127);
}

// ---- the watch

struct capture {
    char* data;
    size_t size;
    bool truncated;
};

// Reads what is there; false at the end of the file.
static bool drain(int fd, struct capture* c) {
    char block[16384];
    for (;;) {
        ssize_t n = read(fd, block, sizeof block);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        if (n == 0) return false;
        size_t room = WALL_OUTPUT - c->size;
        size_t take = (size_t)n < room ? (size_t)n : room;
        memcpy(c->data + c->size, block, take);
        c->size += take;
        if (take < (size_t)n) c->truncated = true;
    }
}

// The observed state of a job while it runs.
struct progress {
    double begin, next_look;  // on the clock
    double cpu, seen;         // seconds of its processes: all that were ever seen; at the last look
    double idle;              // seconds in which all of them slept
};

// Looks at the job's processes from time to time. Is one of its limits over? Between two looks that
// come late, because the machine is busy, nobody is called idle for longer than between others.
static bool is_over(const struct wall_job* job, struct progress* p, enum wall_end* end) {
    double now = clock_seconds();
    *end = WALL_TIMEOUT;
    if (now - p->begin > job->seconds * (job->gpu ? 1 : WALL_PATIENCE)) return true;
    if (now < p->next_look) return false;
    p->next_look = now + LOOK_SECONDS;
    struct processes_use use = processes_use();
    bool worked = use.busy || use.cpu > p->seen;
    p->idle += worked ? 0 : LOOK_SECONDS;
    // The time of a process that nobody has waited for is seen no more after its end.
    p->cpu += fmax(use.cpu - p->seen, 0);
    p->seen = use.cpu;
    if (use.resident > job->memory) {
        *end = WALL_MEMORY;
        return true;
    }
    if (p->idle > p->cpu) *end = WALL_IDLE;
    return !job->gpu && (p->cpu + p->idle > job->seconds || p->idle > WALL_IDLE_SECONDS);
}

// Waits for the program's end or a limit; returns how it ended. Neither kills nor reaps: until it
// is reaped, no other process gets its number.
static enum wall_end watch(pid_t pid, int out, const struct wall_job* job, struct capture* captured,
                           int* code, struct progress* progress) {
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    bool open_pipe = true;
    enum wall_end result;
    while (!is_over(job, progress, &result)) {
        struct pollfd p[2] = {{open_pipe ? out : -1, POLLIN, 0}, {handle, POLLIN, 0}};
        poll(p, 2, POLL_MS);
        if (open_pipe) open_pipe = drain(out, captured);
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid) {
            *code = info.si_status;
            result = info.si_code == CLD_EXITED ? WALL_EXITED : WALL_SIGNALED;
            break;
        }
    }
    if (handle >= 0) close(handle);
    return result;
}

// CPU seconds of all processes that this one has reaped, and of those that they had.
static double reaped_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void close_pair(int pipe[2]) {
    for (int i = 0; i < 2; i++) {
        if (pipe[i] >= 0) close(pipe[i]);
        pipe[i] = -1;
    }
}

// As root every level but the weakest runs under a throw-away user id, or not at all. No other
// grade uses this id while *lock is open. The name of an abstract socket is a lock; the kernel
// drops it when its holder ends, in whatever way. 0 or -1.
static int take_user(enum wall_level level, const struct wall_job* job, int* user, int* lock) {
    if (geteuid() != 0 || level == WALL_LIMITS) return 0;
    *lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (int id = FIRST_USER; *lock >= 0 && id < FIRST_USER + USERS; id++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "grade-user-%d", id);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
        if (bind(*lock, (struct sockaddr*)&name, size) != 0) continue;
        *user = id;
        return job->work ? chown(job->work, (uid_t)id, (gid_t)id) : 0;
    }
    return -1;
}

struct wall_result wall_run(enum wall_level level, const struct wall_job* job) {
    struct wall_result result = {.end = WALL_FAILED};
    struct capture captured = {.data = malloc(WALL_OUTPUT + 1)};
    int out[2] = {-1, -1}, failed[2] = {-1, -1}, lock = -1, user = -1;
    double start = clock_seconds(), before = reaped_seconds();
    struct progress progress = {.begin = start, .next_look = start + LOOK_SECONDS};
    if (!captured.data || pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pipe2(failed, O_CLOEXEC | O_NONBLOCK) != 0 || take_user(level, job, &user, &lock) != 0) {
        result.code = errno;
    } else {
        if (level == WALL_BUBBLEWRAP) namespaces_make();
        fcntl(out[1], F_SETFL, 0);  // the student's end blocks as usual
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        const pid_t parent = getpid();
        pid_t pid = fork();
        if (pid == 0) child(level, job, parent, user, out[1], failed[1]);
        close(out[1]), close(failed[1]);
        out[1] = failed[1] = -1;
        if (pid > 0) {
            result.end = watch(pid, out[0], job, &captured, &result.code, &progress);
            kill(-pid, SIGKILL);
            processes_end(user);
            drain(out[0], &captured);
            progress.cpu = fmax(progress.cpu, reaped_seconds() - before);
            // It may have ended before the last look: what it took counts, not who was faster.
            bool ended = result.end == WALL_EXITED || result.end == WALL_SIGNALED;
            if (ended && !job->gpu && progress.cpu > job->seconds) result.end = WALL_TIMEOUT;
            int error;
            if (read(failed[0], &error, sizeof error) == (ssize_t)sizeof error) {
                result.end = WALL_FAILED;
                result.code = error;
            }
        } else {
            result.code = errno;
        }
    }
    close_pair(out);
    close_pair(failed);
    if (lock >= 0) close(lock);
    result.clock = clock_seconds() - start;
    result.seconds = job->gpu ? result.clock : progress.cpu + progress.idle;
    if (captured.data) captured.data[captured.size] = '\0';
    result.output = captured.data;
    result.truncated = captured.truncated;
    return result;
}
