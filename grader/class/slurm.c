// slurm.c: the jobs as a Slurm job array. Every task is `class job N`, so that a grade is the same as here; what it
// leaves, a result or an error, is all that counts. Tasks that left nothing (a node that went down, a task
// somebody killed) are submitted again. The course's folder and OUT must be on a file system that all nodes share.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <limits.h>
#include <signal.h>

#include "class/class.h"

enum { ROUNDS = 5, MOST_TASKS = 1000 };

static char running[32];  // the array that is in the queue

static void cancel(int signal) {
    if (running[0]) execlp("scancel", "scancel", running, NULL);
    _exit(128 + signal);
}

// The first line of what a program prints. False if it failed.
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

// Did job n leave something?
static bool is_done(const struct class* k, char (*job)[ID_SIZE + 80], int n) {
    char id[ID_SIZE], lesson[64];
    struct stat st;
    if (sscanf(job[n], "%399s %63s", id, lesson) != 2) return true;
    return stat(class_path(k, "results/%s/%s.done", id, lesson), &st) == 0;
}

static char (*read_jobs(const struct class* k, int jobs))[ID_SIZE + 80] {
    char(*job)[ID_SIZE + 80] = calloc((size_t)jobs, sizeof *job);
    FILE* f = fopen(class_path(k, "jobs"), "r");
    if (!job || !f) class_refuse("%s: %s", class_path(k, "jobs"), strerror(errno));
    for (int i = 0; i < jobs; i++)
        if (!fgets(job[i], sizeof job[i], f)) break;
    fclose(f);
    return job;
}

// Submits the tasks that left nothing, at most MOST_TASKS (a usual MaxArraySize). Returns how many.
static int submit(const struct class* k, char (*job)[ID_SIZE + 80], int jobs) {
    static char list[MOST_TASKS * 8];
    char array[sizeof list + 32], self[PATH_MAX], script[2 * PATH_MAX + 200], log[PATH_MAX + 32],
        gres[160];
    size_t n = 0;
    int tasks = 0;
    for (int i = 0; i < jobs && tasks < MOST_TASKS; i++)
        if (!is_done(k, job, i)) {
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%d", tasks ? "," : "", i);
            tasks++;
        }
    if (tasks == 0) return 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    snprintf(array, sizeof array, "--array=%s%%%d", list, k->jobs);
    snprintf(script, sizeof script, "exec '%s' job '%s' $SLURM_ARRAY_TASK_ID", self, k->out);
    snprintf(log, sizeof log, "--output=%s", class_path(k, "slurm-%%a.log"));
    snprintf(gres, sizeof gres, "--gres=%s", k->gres ? k->gres : "");
    const char* argv[] = {"sbatch", "--parsable", "--no-requeue", "--job-name=class",    array,
                          log,      "--wrap",     script,         k->gres ? gres : NULL, NULL};
    if (!ask(argv, running, sizeof running) || !running[0])
        class_refuse(
            "ENGINE=slurm: sbatch did not take the jobs; sinfo says what the cluster can do");
    running[strcspn(running, ";")] = '\0';
    return tasks;
}

void slurm_run(struct class* k, int jobs) {
    char(*job)[ID_SIZE + 80] = read_jobs(k, jobs);
    signal(SIGINT, cancel);
    signal(SIGTERM, cancel);
    int shown = -1;
    for (int round = 0; round < ROUNDS; round++) {
        int tasks = submit(k, job, jobs), idle = 0;
        if (tasks == 0) break;
        printf("Slurm job %s: %d tasks%s\n", running, tasks,
               round ? " again, which left nothing" : "");
        fflush(stdout);
        while (idle < 2) {
            char line[64] = "";
            sleep(1);
            int done = 0;
            for (int i = 0; i < jobs; i++) done += is_done(k, job, i);
            if (done != shown) printf("[%d/%d]\n", shown = done, jobs);
            fflush(stdout);
            const char* argv[] = {"squeue", "--noheader", "--format=%T", "--job", running, NULL};
            // Twice nothing in the queue: a task's last file may come a little later.
            idle = ask(argv, line, sizeof line) && line[0] ? 0 : idle + 1;
        }
        running[0] = '\0';
    }
    free(job);
}
