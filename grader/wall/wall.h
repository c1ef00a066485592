// wall.h: running a program that nobody trusts.
//
// Three isolation levels, from the strongest down. Each is probed with exactly the flags it will
// use later, by running /usr/bin/true behind it.
//
//   bubblewrap  no network, own process namespace, read-only system, private /tmp, nothing of this
//               repository in sight; as root first a throw-away user id
//   userid      a throw-away user id (root only); files limited by Landlock where the kernel has
//               it; everything of that id killed afterwards
//   limits      the caller's own id; files limited by Landlock where the kernel has it; descendants
//               found through a subreaper and killed. For one's own code on one's own machine
//
// At every level: resource limits, a clean environment, no inherited descriptor except for those
// named here, a limit on the time and one on the memory of all its processes together.
//
// Time is CPU time, so that a program ends as it does whatever else the machine is doing; time in
// which all its processes sleep is added to it, and nobody sleeps longer than WALL_IDLE_SECONDS. By
// the clock it has WALL_PATIENCE times as long. A program on a GPU, whose work no CPU time shows,
// is limited by the clock.
#ifndef WALL_H
#define WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum wall_level { WALL_LIMITS, WALL_USERID, WALL_BUBBLEWRAP, WALL_LEVELS };

const char* wall_level_name(enum wall_level level);

// The level with this name, or -1.
int wall_level_from_name(const char* name);

// True if the level works here; else why (a static buffer) says what is missing.
bool wall_probe(enum wall_level level, const char** why);

// The strongest level that works here.
enum wall_level wall_strongest(void);

// True if Landlock limits which files the two lower levels see.
bool wall_has_landlock(void);

struct wall_job {
    const char* const* argv;  // ends with NULL
    int program;              // a memfd with the program, or -1 for argv[0] as a path
    int arena;                // becomes descriptor ARENA_FD; -1: none
    const char* work;   // this directory is the current one, readable and writable; NULL: none.
                        // bubblewrap shows it as /work
    const char* tools;  // one more directory to read, a CUDA toolkit outside /usr; NULL: none
    const char* const* environment;  // NAME=value ..., ends with NULL; PATH is set anyway
    double seconds;                  // CPU time of all its processes together; gpu: by the clock
    size_t memory;                   // bytes, over all processes of the job
    size_t reserved;                 // what a process maps beyond that, and hardly touches
    bool gpu;                        // let it reach the NVIDIA device files
};

enum { WALL_PATIENCE = 20, WALL_IDLE_SECONDS = 10 };

// WALL_IDLE: it slept most of its time, or too long.
enum wall_end { WALL_EXITED, WALL_SIGNALED, WALL_TIMEOUT, WALL_IDLE, WALL_MEMORY, WALL_FAILED };

struct wall_result {
    enum wall_end end;
    int code;        // exit status or signal; errno if WALL_FAILED
    double seconds;  // of the kind that its limit counts
    double clock;    // seconds by the clock
    char* output;  // stdout and stderr together, at most WALL_OUTPUT bytes, NUL-terminated; free it
    bool truncated;  // there was more
};
// Programs behind the wall are looked for here.
#define WALL_PATH "/usr/local/cuda/bin:/usr/bin:/bin"

enum { WALL_OUTPUT = 65536 };

// Runs the job to its end and leaves no process of it behind. Never fails silently: a job that
// could not be started ends as WALL_FAILED.
struct wall_result wall_run(enum wall_level level, const struct wall_job* job);

// Raises the caller's own limits (ulimit) to what grades need. False, with why, where one does not
// rise so far: a right kernel could fail for it.
bool wall_has_room(char* why, size_t size);

// ---- between the files of this room

// In the child: sets up the level, except for the resource limits, then calls exec (sandbox.c).
// Returns only on failure, with errno. The started program ends with its parent, also with one that
// has ended by now. user is the throw-away id, or -1. joined: the child has entered the grade's
// namespaces (namespaces.h).
int sandbox_exec(enum wall_level level, const struct wall_job* job, pid_t parent, int user,
                 bool joined);

#endif
