// processes.h: the processes that descend from this thread, as /proc has them: what they take, and
// their end.
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Calls visit(pid) for each descendant of this thread, parents before children.
void processes_each(void (*visit)(pid_t pid, void* data), void* data);

struct processes_use {
    double cpu;       // seconds of all of them together, and of those that they have waited for
    size_t resident;  // bytes
    bool busy;        // a thread runs, waits for a processor, or waits for a disk
};

// The use of the descendants of this thread, together.
struct processes_use processes_use(void);

// Kills and reaps every descendant of this thread, which has to be a subreaper: a process that has
// left its parent is its child by then. user: a user id that is all theirs, or -1.
void processes_end(int user);

#endif
