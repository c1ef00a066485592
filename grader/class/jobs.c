// jobs.c: decides which files have to be graded, and has the lesson's check grade each one behind
// the wall. See class.h.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/plain.h"
#include "class/class.h"

enum {
    TRIES = 2,           // after a grader error, which is no student's fault, once more
    JOB_SECONDS = 7200,  // no check takes so long: each case, item and compile has its own limit
};

// ---- planning

// Writes the settings that a job on another machine needs.
static void write_settings(const struct class* class) {
    // Lessons of other runs keep their seeds.
    json_t *old = json_load_file(class_path(class, "settings.json"), 0, NULL), *root;
    json_t* lessons = json_deep_copy(json_object_get(old, "lessons"));
    if (!lessons) lessons = json_object();
    json_decref(old);
    for (int l = 0; l < class->lessons; l++) {
        char seed[24];
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)class->lesson[l].seed);
        json_object_set_new(lessons, class->lesson[l].name,
                            json_pack("{ssssss}", "seed", seed, "file", class->lesson[l].file,
                                      "fingerprint", class->lesson[l].fingerprint));
    }
    root =
        json_pack("{so ss ss ss si}", "lessons", lessons, "isolation", class->isolation, "device",
                  class->device, "item", class->item ? class->item : "", "at_once", class->at_once);
    class_write_json(class_path(class, "settings.json"), root);
}

// Has the lesson an item with this text in its name?
static bool has_item(const char* lesson, const char* text) {
    char command[200], line[200];
    bool found = false;
    snprintf(command, sizeof command, BUILD_FOLDER "/grader/%s/check --list", lesson);
    FILE* f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) found |= strcasestr(line, text) != NULL;
    if (f) pclose(f);
    return found;
}

// How many jobs share one machine: a student's own grade has a machine to itself. Slurm gives each
// task one core.
static int neighbours(const struct class* class, int jobs) {
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int most = strcmp(class->engine, "slurm") ? jobs : cores;
    return class->jobs < most ? class->jobs : most > 0 ? most : 1;
}

int jobs_plan(struct class* class) {
    bool has[LESSONS], any = false;
    for (int l = 0; l < class->lessons; l++)
        any |= has[l] = !class->item || has_item(class->lesson[l].name, class->item);
    if (!any) class_refuse("ITEM=%s: no item's name contains it", class->item);
    struct result* r = malloc(sizeof *r);
    FILE* jobs = fopen(class_path(class, "jobs"), "w");
    int n = 0;
    if (!r || !jobs) class_refuse("%s: %s", class_path(class, "jobs"), strerror(errno));
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++) {
            struct row* row = &class->row[i];
            if (row->cell[l].state != CELL_TAKEN || !class_asks(class, row) || !has[l]) continue;
            bool asked = class->item || class->student;
            if (!asked && result_kept(class, row, l, r)) continue;
            fprintf(jobs, "%s %s\n", class->lesson[l].name, row->id);
            unlink(class_path(class, "results/%s/%s.error", row->id, class->lesson[l].name));
            unlink(class_path(class, "results/%s/%s.done", row->id, class->lesson[l].name));
            n++;
        }
    fclose(jobs);
    free(r);
    class->at_once = neighbours(class, n);
    write_settings(class);
    return n;
}

// ---- one job

// Runs the check on the file. Returns its JSON, which the caller frees, or NULL and the reason in
// why. The check itself limits what a submission can do; JOB_SECONDS is for a check that hangs.
static char* run_check(const struct class* class, const char* lesson, const char* file,
                       const char* seed, char* why, size_t size) {
    const char* log = class_path(class, "results/log.%d", (int)getpid());
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        snprintf(why, size, "no pipe: %s", strerror(errno));
        return NULL;
    }
    char check[200];
    snprintf(check, sizeof check, BUILD_FOLDER "/grader/%s/check", lesson);
    const char* argv[16] = {check, file,       "--format",    "json",        "--seed",
                            seed,  "--device", class->device, "--isolation", class->isolation};
    char at_once[16];
    snprintf(at_once, sizeof at_once, "%d", class->at_once);
    argv[10] = "--at-once", argv[11] = at_once;
    if (class->item && class->item[0]) argv[12] = "--case", argv[13] = class->item;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        setpgid(0, 0);
        int err = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(pipes[1], 1);
        dup2(err, 2);
        execv(check, (char**)argv);
        _exit(127);
    }
    close(pipes[1]);
    char* text = malloc(RESULT_LIMIT);
    size_t n = 0;
    double end = clock_seconds() + JOB_SECONDS * class->at_once;
    // A check that does not end in time is killed below.
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    while (child > 0 && text && n < RESULT_LIMIT - 1) {
        ssize_t got = read(pipes[0], text + n, RESULT_LIMIT - 1 - n);
        if (got > 0) n += (size_t)got;
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
        if (got < 0 && clock_seconds() > end) break;
        if (got < 0) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    close(pipes[0]);
    int status = 0;
    if (child > 0 && clock_seconds() > end) kill(-child, SIGTERM);
    if (child > 0) waitpid(child, &status, 0);
    if (text) text[n] = '\0';
    if (child < 0 || !text || !WIFEXITED(status) || WEXITSTATUS(status) == 127 || n == 0) {
        char* said = class_read(log, NULL);
        snprintf(why, size, "the check %s %d: %.*s",
                 WIFSIGNALED(status) ? "died of signal" : "ended with",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                 said ? (int)strcspn(said, "\n") : 0, said ? said : "");
        free(said);
        free(text);
        text = NULL;
    }
    unlink(log);
    return text;
}

// Puts the items of `part` in the place of those with the same names.
static void merge(struct result* whole, const struct result* part) {
    for (int p = 0; p < part->item_count; p++)
        for (int i = 0; i < whole->item_count; i++)
            if (!strcmp(whole->item[i].name, part->item[p].name)) whole->item[i] = part->item[p];
    result_total(whole);
}

static bool write_result(const char* path, const struct result* r) {
    char* text = result_to_json(r);
    bool fine =
        text && file_make_parents(path) == 0 && file_write(path, text, strlen(text), 0600) == 0;
    free(text);
    return fine;
}

// Has the check grade the file once. False, with the reason, if there is no result.
static bool grade_once(const struct class* class, const struct class_lesson* l, const char* file,
                       struct result* r, char* why, size_t size) {
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)l->seed);
    char* text = run_check(class, l->name, file, seed, why, size);
    bool fine = text && result_from_json(text, r);
    if (text && !fine) snprintf(why, size, "the check's result is not readable");
    free(text);
    return fine;
}

// One item alone replaces that item in an older grade of the same file by the same grader, in the
// file `path`. False if there is no such grade.
static bool complete(const struct class_lesson* l, const char* path, struct result* old,
                     struct result* r) {
    r->complete = true;
    bool fits = result_read(path, old) && result_is_of(l, r->submission, old) &&
                result_is_of(l, r->submission, r) && !strcmp(old->device, r->device) &&
                !strcmp(old->isolation, r->isolation);
    if (!fits) return false;
    merge(old, r);
    *r = *old;
    return true;
}

// Grades one file. Always leaves a result or an error.
static void grade(const struct class* class, const char* id, const struct class_lesson* l) {
    char file[1024], path[1024], why[1024] = "";
    snprintf(file, sizeof file, "%s", taken_path(class, id, l));
    snprintf(path, sizeof path, "%s", class_path(class, "results/%s/%s.json", id, l->name));
    struct result *r = calloc(1, sizeof *r), *old = calloc(1, sizeof *old);
    if (!r || !old) class_refuse("no memory for a result");
    struct class once = *class;
    bool fine = false;
    // What was taken of the student has to be there: the check would call it a file of 0 points.
    bool there = access(file, R_OK) == 0;
    if (!there) snprintf(why, sizeof why, "%.900s: %s", file, strerror(errno));
    for (int i = 0; i < TRIES && there && !fine; i++) {
        fine = grade_once(&once, l, file, r, why, sizeof why);
        if (fine && !r->complete && !complete(l, path, old, r)) {
            once.item = NULL;
            fine = grade_once(&once, l, file, r, why, sizeof why);
        }
        if (fine && result_has_error(r)) {
            for (int j = 0; j < r->item_count; j++)
                if (r->item[j].outcome == OUTCOME_ERROR)
                    snprintf(why, sizeof why, "%s: %.*s", r->item[j].name,
                             (int)strcspn(r->item[j].message, "\n"), r->item[j].message);
            fine = false;
        }
    }
    if (fine && write_result(path, r)) {
        unlink(class_path(class, "results/%s/%s.error", id, l->name));
    } else {
        const char* error = class_path(class, "results/%s/%s.error", id, l->name);
        if (!why[0])
            snprintf(why, sizeof why, "the result could not be written: %s", strerror(errno));
        if (file_make_parents(error) != 0 || file_write(error, why, strlen(why), 0600) != 0)
            fprintf(stderr, "%s could not be written: %s\n", error, strerror(errno));
    }
    free(r);
    free(old);
}

static void read_settings(struct class* class) {
    static char isolation[32], device[32], item[200];
    json_error_t error;
    json_t* root = json_load_file(class_path(class, "settings.json"), 0, &error);
    if (!root) class_refuse("%s: %s", class_path(class, "settings.json"), error.text);
    const char *name, *i = "", *d = "", *c = "";
    json_t *lessons, *value;
    if (json_unpack(root, "{so ss ss ss si}", "lessons", &lessons, "isolation", &i, "device", &d,
                    "item", &c, "at_once", &class->at_once) != 0)
        class_refuse("%s is not what this program wrote", class_path(class, "settings.json"));
    snprintf(isolation, sizeof isolation, "%s", i);
    snprintf(device, sizeof device, "%s", d);
    snprintf(item, sizeof item, "%s", c);
    class->isolation = isolation;
    class->device = device;
    class->item = item[0] ? item : NULL;
    json_object_foreach(lessons, name, value) {
        struct class_lesson* l = &class->lesson[class->lessons++];
        snprintf(l->name, sizeof l->name, "%s", name);
        snprintf(l->file, sizeof l->file, "%s", json_string_value(json_object_get(value, "file")));
        snprintf(l->fingerprint, sizeof l->fingerprint, "%s",
                 json_string_value(json_object_get(value, "fingerprint")));
        l->seed = strtoull(json_string_value(json_object_get(value, "seed")), NULL, 10);
    }
    json_decref(root);
}

int job_run(struct class* class, int n) {
    char id[ID_SIZE], lesson[64];
    if (!class_job(class, n, id, lesson))
        class_refuse("%s: there is no job %d", class_path(class, "jobs"), n);
    read_settings(class);
    for (int l = 0; l < class->lessons; l++) {
        if (strcmp(class->lesson[l].name, lesson) != 0) continue;
        grade(class, id, &class->lesson[l]);
        // This is written last: a job without it is not done.
        file_write(class_path(class, "results/%s/%s.done", id, lesson), "", 0, 0600);
    }
    return 0;
}

bool job_again(const struct class* class, const struct class* apart, const struct row* row,
               int lesson, struct result* r) {
    const struct class_lesson* l = &apart->lesson[lesson];
    const char* file = taken_path(apart, row->id, l);
    if (file_make_parents(file) != 0 || file_copy(taken_path(class, row->id, l), file, 0600) != 0)
        class_refuse("%s could not be written: %s", file, strerror(errno));
    const char* path = class_path(apart, "results/%s/%s.json", row->id, l->name);
    unlink(path);
    grade(apart, row->id, l);
    return result_read(class_path(apart, "results/%s/%s.json", row->id, l->name), r);
}

// ---- many

// A job that runs.
struct slot {
    pid_t pid;
    int job;
    double start;
};

// How long jobs of a lesson took, for an estimate of what is left.
struct pace {
    char lesson[LESSONS][64];
    double seconds[LESSONS];
    int ended[LESSONS], left[LESSONS];  // left: those that have not begun
};

static int pace_of(struct pace* p, const char* lesson) {
    int l = 0;
    while (l < LESSONS - 1 && p->lesson[l][0] && strcmp(p->lesson[l], lesson) != 0) l++;
    snprintf(p->lesson[l], sizeof p->lesson[l], "%s", lesson);
    return l;
}

// Of one job: the mean of its lesson, else of all that have ended; 0 if none has.
static double pace_seconds(const struct pace* p, int lesson) {
    double seconds = 0;
    int ended = 0;
    for (int l = 0; l < LESSONS; l++) seconds += p->seconds[l], ended += p->ended[l];
    if (p->ended[lesson]) return p->seconds[lesson] / p->ended[lesson];
    return ended ? seconds / ended : 0;
}

// Writes "about 3 min 20 s left" from what runs, how long it has run, and what has not begun; ""
// before any job has ended.
static void say_left(const struct class* class, struct pace* p, const struct slot* slot,
                     char text[40]) {
    double left = 0, longest = 0, now = clock_seconds();
    for (int l = 0; l < LESSONS; l++) left += p->left[l] * pace_seconds(p, l);
    for (int s = 0; s < class->jobs; s++) {
        char id[ID_SIZE], lesson[64];
        if (slot[s].pid <= 0 || !class_job(class, slot[s].job, id, lesson)) continue;
        double whole = pace_seconds(p, pace_of(p, lesson)), ran = now - slot[s].start;
        double rest = whole > ran ? whole - ran : whole > 0 ? 1 : 0;
        left += rest;
        longest = rest > longest ? rest : longest;
    }
    left = left / class->at_once > longest ? left / class->at_once : longest;
    text[0] = '\0';
    if (left > 0 && left < 60) snprintf(text, 40, "about %.0f s left", ceil(left));
    if (left >= 60)
        snprintf(text, 40, "about %d min %02d s left", (int)(left / 60), (int)left % 60);
}

// Prints the line of a job that has ended.
static void say_done(const struct class* class, int n, double seconds, int done, int jobs,
                     const char* left) {
    char id[ID_SIZE], lesson[64], why[WHY_SIZE];
    if (!class_job(class, n, id, lesson)) return;
    struct result* r = malloc(sizeof *r);
    char* error = class_read(class_path(class, "results/%s/%s.error", id, lesson), NULL);
    if (error)
        snprintf(why, sizeof why, "grader error: %s", error), plain_line(why);
    else if (r && result_read(class_path(class, "results/%s/%s.json", id, lesson), r))
        snprintf(why, sizeof why, "%3d/%d", r->score, r->max_score);
    else
        snprintf(why, sizeof why, "no result");
    printf("[%*d/%d] ", jobs > 99 ? 3 : 2, done, jobs);
    print_wide(id, 24);
    printf(" %-22s %s  %.1f s%s%s%s\n", lesson, why, seconds, left[0] ? "   (" : "", left,
           left[0] ? ")" : "");
    fflush(stdout);
    free(error);
    free(r);
}

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    stopped = signal;
}

static void start_job(const struct class* class, struct slot* slot, int job) {
    *slot = (struct slot){.pid = fork(), .job = job, .start = clock_seconds()};
    if (slot->pid < 0) class_refuse("no process for a job: %s", strerror(errno));
    if (slot->pid > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    char number[16];
    snprintf(number, sizeof number, "%d", job);
    execl("/proc/self/exe", "class", "job", class->out, number, NULL);
    _exit(127);
}

// Waits for a job; on a terminal the time that is left is counted down meanwhile.
static pid_t wait_job(const struct class* class, struct pace* p, const struct slot* slot) {
    bool shown = false;
    pid_t ended;
    char left[40];
    if (!isatty(1)) return waitpid(-1, NULL, 0);
    for (int tick = 0; (ended = waitpid(-1, NULL, WNOHANG)) == 0 && !stopped; tick++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        if (tick % 10 != 9) continue;
        say_left(class, p, slot, left);
        if (left[0]) printf("\r\033[K%s", left), shown = true;
        fflush(stdout);
    }
    if (shown) printf("\r\033[K");
    return ended;
}

void jobs_run(struct class* class, int jobs) {
    struct slot* slot = calloc((size_t) class->jobs, sizeof *slot);
    struct pace* pace = calloc(1, sizeof *pace);
    char id[ID_SIZE], lesson[64], left[40];
    if (!slot || !pace) class_refuse("no memory for %d jobs at once", class->jobs);
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    int next = 0, done = 0;
    for (int i = 0; i < jobs; i++)
        if (class_job(class, i, id, lesson)) pace->left[pace_of(pace, lesson)]++;
    while (done < jobs && !(stopped && done == next)) {
        for (int s = 0; s < class->jobs && next < jobs && !stopped; s++) {
            if (slot[s].pid > 0) continue;
            if (class_job(class, next, id, lesson)) pace->left[pace_of(pace, lesson)]--;
            start_job(class, &slot[s], next++);
        }
        pid_t ended = wait_job(class, pace, slot);
        for (int s = 0; s < class->jobs; s++) {
            if (ended <= 0 || slot[s].pid != ended) continue;
            double seconds = clock_seconds() - slot[s].start;
            done++;
            slot[s].pid = 0;
            if (stopped) continue;
            if (class_job(class, slot[s].job, id, lesson)) {
                int l = pace_of(pace, lesson);
                pace->seconds[l] += seconds;
                pace->ended[l]++;
            }
            say_left(class, pace, slot, left);
            say_done(class, slot[s].job, seconds, done, jobs, left);
        }
        if (stopped)
            for (int s = 0; s < class->jobs; s++)
                if (slot[s].pid > 0) kill(slot[s].pid, SIGTERM);
    }
    free(slot);
    free(pace);
    if (stopped) {
        fprintf(stderr, "Stopped. What is graded is kept: the same command goes on from there.\n");
        exit(130);
    }
}
