// slurm.c: the jobs as a Slurm job array. Every task is `class job OUT N`, so that a grade is the
// same as here. Only what a task leaves counts, a result or an error. A task that left nothing (its
// node went down, somebody killed it) is submitted again. The course's folder and OUT must be on a
// file system that all nodes share.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "class/class.h"

// After TRIES rounds in which no job got done, the rest stays undone. MOST_TASKS: a usual
// MaxArraySize.
enum { TRIES = 5, MOST_TASKS = 1000 };

static char running[32];  // the array that is in the queue

static void cancel(void) {
    if (!running[0]) return;
    pid_t child = fork();
    if (child == 0) {
        execlp("scancel", "scancel", running, NULL);
        _exit(127);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

static void stop(int signal) {
    (void)signal;
    cancel();
    _exit(130);
}

// Runs a program, and reads the first line that it prints. False if it failed.
static bool ask(const char* const* argv, char* line, size_t size) {
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], 1);
        execvp(argv[0], (char**)argv);
        _exit(127);
    }
    close(pipes[1]);
    size_t n = 0;
    for (ssize_t got;
         child > 0 && n + 1 < size && (got = read(pipes[0], line + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    close(pipes[0]);
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    int status = 1;
    if (child > 0) waitpid(child, &status, 0);
    return status == 0;
}

// Is job n over?
static bool is_done(const struct class* class, char (*job)[JOB_SIZE], int n) {
    char id[ID_SIZE], lesson[64];
    struct stat st;
    if (!job_read(job[n], id, lesson)) return true;
    return stat(class_path(class, "results/%s/%s.done", id, lesson), &st) == 0;
}

static char (*read_jobs(const struct class* class, int jobs))[JOB_SIZE] {
    char(*job)[JOB_SIZE] = calloc((size_t)jobs, sizeof *job);
    FILE* f = fopen(class_path(class, "jobs"), "r");
    if (!job || !f) class_refuse("%s: %s", class_path(class, "jobs"), strerror(errno));
    for (int i = 0; i < jobs; i++)
        if (!fgets(job[i], sizeof job[i], f)) break;
    fclose(f);
    return job;
}

// Submits the jobs that are not over, at most MOST_TASKS. OUT/tasks holds each task's line of
// OUT/jobs. Returns how many it submitted: 0 if none is left, -1 if Slurm did not take them.
static int submit(const struct class* class, char (*job)[JOB_SIZE], int jobs) {
    char array[40], self[PATH_MAX], script[3 * PATH_MAX], log[PATH_MAX + 32], gres[160], name[64];
    int tasks = 0;
    FILE* f = fopen(class_path(class, "tasks"), "w");
    if (!f) class_refuse("%s: %s", class_path(class, "tasks"), strerror(errno));
    for (int i = 0; i < jobs && tasks < MOST_TASKS; i++)
        if (!is_done(class, job, i)) {
            fprintf(f, "%d\n", i);
            tasks++;
        }
    fclose(f);
    if (tasks == 0) return 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    snprintf(array, sizeof array, "--array=0-%d%%%d", tasks - 1, class->jobs);
    snprintf(script, sizeof script,
             "exec '%s' job '%s' $(sed -n $((SLURM_ARRAY_TASK_ID + 1))p '%s/tasks')", self,
             class->out, class->out);
    snprintf(log, sizeof log, "--output=%s", class_path(class, "slurm-%%a.log"));
    snprintf(gres, sizeof gres, "--gres=%s", class->gres ? class->gres : "");
    snprintf(name, sizeof name, "--job-name=class-%d", (int)getpid());
    const char* argv[] = {"sbatch", "--parsable", "--no-requeue",
                          name,     array,        log,
                          "--wrap", script,       class->gres ? gres : NULL,
                          NULL};
    if (!ask(argv, running, sizeof running) || !running[0]) return -1;
    running[strcspn(running, ";")] = '\0';
    file_write(class_path(class, "slurm"), running, strlen(running), 0600);
    return tasks;
}

static int count_done(const struct class* class, char (*job)[JOB_SIZE], int jobs) {
    int done = 0;
    for (int i = 0; i < jobs; i++) done += is_done(class, job, i);
    return done;
}

// A run that was killed may have left its array in the queue. OUT/tasks changes now, so its tasks
// would grade other lines.
void slurm_cancel(const struct class* class) {
    char* old = class_read(class_path(class, "slurm"), NULL);
    if (old) snprintf(running, sizeof running, "%s", old);
    free(old);
    cancel();
    running[0] = '\0';
    unlink(class_path(class, "slurm"));
}

void slurm_run(struct class* class, int jobs) {
    char(*job)[JOB_SIZE] = read_jobs(class, jobs);
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    int shown = -1;
    for (int tries = 0, before = 0; tries < TRIES; tries++) {
        int tasks = submit(class, job, jobs), idle = 0;
        if (tasks == 0) break;
        if (tasks < 0) {
            fprintf(stderr, "sbatch did not take the jobs; sinfo says what the cluster can do. "
                            "Trying again.\n");
            sleep(10);
            continue;
        }
        printf("Slurm job %s: %d tasks%s\n", running, tasks,
               shown >= 0 ? " again, which left nothing" : "");
        fflush(stdout);
        while (idle < 2) {
            char line[64] = "";
            sleep(1);
            int done = count_done(class, job, jobs);
            if (done != shown) printf("[%d/%d]\n", shown = done, jobs);
            fflush(stdout);
            // The array is over when the queue is empty twice: a task's last file may come a
            // little later. A squeue that fails says nothing about the queue.
            char name[64];
            snprintf(name, sizeof name, "--name=class-%d", (int)getpid());
            const char* argv[] = {"squeue", "--noheader", "--format=%A", name, NULL};
            bool answered = ask(argv, line, sizeof line);
            idle = answered && !line[0] ? idle + 1 : 0;
        }
        running[0] = '\0';
        unlink(class_path(class, "slurm"));
        int done = count_done(class, job, jobs);
        if (done > before) tries = -1;
        before = done;
    }
    free(job);
}
