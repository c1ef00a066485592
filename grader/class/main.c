// main.c: grades a class. See class.h; lessons/INSTRUCTORS.md says how it is used.
//
//     class LESSON_NAME...    what `make class` runs: everything else is in the environment (options below)
//     class job OUT N         grades line N of OUT/jobs: what it starts for each file, here or on a node
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "class/class.h"
#include "wall/build.h"
#include "wall/fingerprint.h"
#include "base/file.h"
#include "wall/wall.h"

void class_refuse(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(2);
}

const char* class_path(const struct class* k, const char* format, ...) {
    static char path[4][2048];
    static int next;
    char* p = path[next++ % 4];
    int n = snprintf(p, sizeof path[0], "%s/", k->out);
    va_list values;
    va_start(values, format);
    vsnprintf(p + n, sizeof path[0] - (size_t)n, format, values);
    va_end(values);
    return p;
}

char* class_read(const char* path, size_t* size) {
    size_t n;
    return file_read(path, 1 << 20, size ? size : &n);
}

static int remove_one(const char* path, const struct stat* st, int what, struct FTW* place) {
    (void)st, (void)what, (void)place;
    return remove(path);
}

void class_forget(const struct class* k, const char* folder, bool folders) {
    DIR* d = opendir(class_path(k, "%s", folder));
    for (struct dirent* e; d && (e = readdir(d));) {
        bool known = e->d_name[0] == '.';
        for (int i = 0; i < k->rows && !known; i++) {
            size_t n = strlen(k->row[i].id);
            known = !strncmp(e->d_name, k->row[i].id, n) && e->d_name[n] == (folders ? '\0' : '.');
        }
        if (!known)
            nftw(class_path(k, "%s/%s", folder, e->d_name), remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    if (d) closedir(d);
}

// ---- options

static const char* option(const char* name, const char* usual) {
    const char* value = getenv(name);
    return value && value[0] ? value : usual;
}

static void read_options(struct class* k) {
    k->submissions = option("SUBMISSIONS", NULL);
    k->lesson_list = option("LESSON", NULL);
    k->roster = option("ROSTER", NULL);
    k->secret = option("SECRET", NULL);
    k->out = option("OUT", "class");
    k->engine = option("ENGINE", "local");
    k->isolation = option("ISOLATION", NULL);
    k->device = option("DEVICE", "cpu");
    k->student = option("STUDENT", NULL);
    k->item = option("ITEM", NULL);
    k->replay = option("REPLAY", NULL);
    k->gres = option("GRES", NULL);
    const char* jobs = option("JOBS", NULL);
    k->jobs = jobs ? atoi(jobs) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (k->jobs < 1 || k->jobs > 1000)
        class_refuse("JOBS=%s: a number from 1 on is expected", jobs);
    if (!k->submissions)
        class_refuse("SUBMISSIONS= is missing: the folder with what was handed in.\n"
                     "  make class SUBMISSIONS=folder LESSON=17 [ROSTER=roster.csv] [SECRET=file]\n"
                     "lessons/INSTRUCTORS.md tells the whole way.");
    if (!k->lesson_list) class_refuse("LESSON= is missing, one or several: LESSON=17,19");
    if (strcmp(k->engine, "local") && strcmp(k->engine, "slurm"))
        class_refuse("ENGINE=%s: unknown engine; local or slurm is expected", k->engine);
    if (strcmp(k->device, "cpu") && strcmp(k->device, "cuda"))
        class_refuse("DEVICE=%s: unknown device; cpu or cuda is expected", k->device);
}

// ---- lessons

bool class_names(const char* text, const char* lesson) {
    const char* name = strchr(lesson, '_');
    char* end;
    long n = strtol(text, &end, 10);
    return !strcmp(lesson, text) || (name && !strcmp(name + 1, text)) ||
           (end != text && !*end && n == strtol(lesson, NULL, 10));
}

// What a lesson's exercise is called.
static void find_file(struct class_lesson* l) {
    if (build_has_kernel(l->name))
        snprintf(l->file, sizeof l->file, "%.60s.cu", strchr(l->name, '_') + 1);
    else
        snprintf(l->file, sizeof l->file, "answers.txt");
}

static void find_lessons(struct class* k, int argc, char** argv) {
    k->known_lesson = argv + 1;
    k->known_lessons = argc - 1;
    char list[1024];
    snprintf(list, sizeof list, "%s", k->lesson_list);
    for (char *save, *text = strtok_r(list, ", ", &save); text;
         text = strtok_r(NULL, ", ", &save)) {
        int found = 0;
        for (int i = 1; i < argc; i++) found = class_names(text, argv[i]) ? i : found;
        if (!found)
            class_refuse("LESSON=%s: there is no lesson %s; make lists them", k->lesson_list, text);
        struct class_lesson* l = &k->lesson[k->lessons];
        for (int i = 0; i < k->lessons; i++)
            if (!strcmp(k->lesson[i].name, argv[found])) l = NULL;
        if (!l || k->lessons == LESSONS) continue;
        k->lessons++;
        snprintf(l->name, sizeof l->name, "%s", argv[found]);
        find_file(l);
        if (fingerprint(l->name, l->fingerprint) != 0)
            class_refuse("the grader's own files cannot be read; run make in the course's folder");
    }
}

// ---- seeds

// The seed that the last run of this class took, so that nobody is graded again for a new one.
static bool seed_before(const struct class* k, struct class_lesson* l) {
    json_t* root = json_load_file(class_path(k, "settings.json"), 0, NULL);
    const json_t* lesson = json_object_get(json_object_get(root, "lessons"), l->name);
    const char* seed = json_string_value(json_object_get(lesson, "seed"));
    if (seed) l->seed = strtoull(seed, NULL, 10);
    json_decref(root);
    return seed != NULL;
}

// With a secret, SHA-256 of secret and lesson: the same every time, and nobody else's to guess.
static void choose_seeds(struct class* k) {
    size_t size = 0;
    char* secret = NULL;
    if (k->secret) {
        struct stat st;
        if (stat(k->secret, &st) != 0 || !(secret = class_read(k->secret, &size)) || size == 0)
            class_refuse("SECRET=%s: %s", k->secret, size || errno ? strerror(errno) : "is empty");
        if (st.st_mode & 077)
            class_refuse("SECRET=%s can be read by others: chmod 600 '%s'", k->secret, k->secret);
    }
    for (int i = 0; i < k->lessons; i++) {
        struct class_lesson* l = &k->lesson[i];
        if (secret) {
            SHA2_CTX hash;
            uint8_t digest[SHA256_DIGEST_LENGTH];
            SHA256Init(&hash);
            SHA256Update(&hash, (const uint8_t*)secret, size);
            SHA256Update(&hash, (const uint8_t*)l->name, strlen(l->name) + 1);
            SHA256Final(digest, &hash);
            memcpy(&l->seed, digest, sizeof l->seed);
        } else if (!seed_before(k, l) && getrandom(&l->seed, sizeof l->seed, 0) != sizeof l->seed) {
            class_refuse("no random seed: %s", strerror(errno));
        }
    }
    free(secret);
}

// ---- what keeps submissions apart

// Below bubblewrap only who may read a folder keeps it from strangers' code, where Landlock does not.
static void require_private(const char* path) {
    struct stat st;
    if (stat(path, &st) == 0 && (st.st_mode & 05) && !wall_has_landlock())
        class_refuse(
            "Without bubblewrap and Landlock, submissions could read %s: chmod -R go= '%s'", path,
            path);
}

static void choose_isolation(struct class* k) {
    enum wall_level strongest = wall_strongest();
    const char* why = "";
    if (!k->isolation) {
        if (strongest != WALL_BUBBLEWRAP) {
            wall_probe(WALL_BUBBLEWRAP, &why);
            class_refuse("bubblewrap does not work here (%s), and strangers' code wants it. If you "
                         "know what you "
                         "do: ISOLATION=%s",
                         why, wall_level_name(strongest));
        }
        k->isolation = wall_level_name(strongest);
    }
    int level = wall_level_from_name(k->isolation);
    if (level < 0) class_refuse("ISOLATION=%s: unknown level", k->isolation);
    if (!wall_probe((enum wall_level)level, &why))
        class_refuse("ISOLATION=%s does not work here: %s", k->isolation, why);
    if (level == WALL_BUBBLEWRAP) return;
    require_private(k->submissions);
    require_private("solutions");
    if (k->secret) require_private(k->secret);
}

static bool is_inside(const char* path, const char* folder) {
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && (path[n] == '/' || !path[n]);
}

// OUT, for its owner only, and one run at a time. The lock is held until the program ends.
static void open_out(struct class* k) {
    static char whole[PATH_MAX];
    char from[PATH_MAX], parent[PATH_MAX];
    if (!realpath(k->submissions, from))
        class_refuse("SUBMISSIONS=%s: %s", k->submissions, strerror(errno));
    // Before anything is made or changed there.
    snprintf(parent, sizeof parent, "%s", k->out);
    for (char* slash; !realpath(parent, whole) && (slash = strrchr(parent, '/'));) *slash = '\0';
    if (!whole[0] && !realpath(".", whole)) class_refuse("OUT=%s: %s", k->out, strerror(errno));
    if (is_inside(whole, from))
        class_refuse("OUT=%s lies inside SUBMISSIONS; give another folder", k->out);
    if (mkdir(k->out, 0700) != 0 && errno != EEXIST)
        class_refuse("OUT=%s: %s", k->out, strerror(errno));
    if (chmod(k->out, 0700) != 0 || !realpath(k->out, whole))
        class_refuse("OUT=%s: %s", k->out, strerror(errno));
    if (is_inside(from, whole))
        class_refuse("SUBMISSIONS=%s lies inside OUT; keep what was handed in elsewhere",
                     k->submissions);
    // Wherever a job runs, and in what a compiler and a shell are told.
    if (strpbrk(whole, "'\"\\\n")) class_refuse("OUT=%s: no quotes in its path, please", k->out);
    k->out = whole;
    int lock = open(class_path(k, ".lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)
        class_refuse("OUT=%s: %s", k->out,
                     errno == EWOULDBLOCK ? "another run is working in it" : strerror(errno));
}

int main(int argc, char** argv) {
    struct class k = {.at_once = 1};
    if (argc == 4 && !strcmp(argv[1], "job")) {
        k.out = argv[2];
        return job_run(&k, atoi(argv[3]));
    }
    read_options(&k);
    find_lessons(&k, argc, argv);
    open_out(&k);
    if (!k.replay) book_keeps(&k);
    choose_isolation(&k);
    choose_seeds(&k);
    collect(&k);
    if (k.replay) return replay(&k);
    if (k.student && !class_row(&k, k.student))
        class_refuse("STUDENT=%s: nobody is called so", k.student);
    book_before(&k);
    book_points(&k);  // before hours of work: are the instructor's tables readable?
    slurm_cancel(&k);
    int jobs = jobs_plan(&k);
    printf("%d rows, %d files to grade; %s device, isolation %s, %s\n", k.rows, jobs, k.device,
           k.isolation, k.secret ? "secret seed" : "a seed of this class");
    fflush(stdout);
    if (jobs > 0 && !strcmp(k.engine, "slurm"))
        slurm_run(&k, jobs);
    else if (jobs > 0)
        jobs_run(&k, jobs);
    book_points(&k);
    book_write(&k);
    export_all(&k);
    int errors = 0;
    for (int i = 0; i < k.rows; i++) errors += !k.row[i].known;
    free(k.row);
    return errors ? 3 : 0;
}
