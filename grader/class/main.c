// main.c: grades a class. See class.h; lessons/INSTRUCTORS.md says how it is used.
//
//     class LESSON_NAME...    what `make class` runs: all else is in the environment (see below)
//     class job OUT N         grades line N of OUT/jobs, here or on a node
//     class archive NAME...   reads an archive, behind the wall
#include <errno.h>
#include <jansson.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "class/class.h"
#include "class/told.h"
#include "wall/build.h"
#include "wall/fingerprint.h"
#include "wall/wall.h"

// ---- options

static const char* option(const char* name, const char* usual) {
    const char* value = getenv(name);
    return value && value[0] ? value : usual;
}

static void read_options(struct class* class) {
    class->submissions = option("SUBMISSIONS", NULL);
    class->lesson_list = option("LESSON", NULL);
    class->roster = option("ROSTER", NULL);
    class->secret = option("SECRET", NULL);
    class->out = option("OUT", "class");
    class->engine = option("ENGINE", "local");
    class->isolation = option("ISOLATION", NULL);
    class->device = option("DEVICE", "cpu");
    class->student = option("STUDENT", NULL);
    class->item = option("ITEM", NULL);
    class->replay = option("REPLAY", NULL);
    class->gres = option("GRES", NULL);
    class->dry = !strcmp(option("DRY", "no"), "yes");
    class->plain = !strcmp(option("LAYOUT", "any"), "plain");
    const char* jobs = option("JOBS", NULL);
    char* end = NULL;
    const long at_once = jobs ? strtol(jobs, &end, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    if (at_once < 1 || at_once > 1000 || (end && *end))
        class_refuse("JOBS=%s: a number from 1 to 1000 is expected", jobs);
    class->jobs = (int)at_once;
    if (!class->submissions)
        class_refuse("SUBMISSIONS= is missing: the folder with what was handed in.\n"
                     "  make class SUBMISSIONS=folder LESSON=17 [ROSTER=roster.csv] [SECRET=file]\n"
                     "lessons/INSTRUCTORS.md tells the whole way.");
    if (!class->lesson_list) class_refuse("LESSON= is missing, one or several: LESSON=17,19");
    if (strcmp(option("LAYOUT", "any"), "any") && !class->plain)
        class_refuse("LAYOUT=%s: unknown layout; plain is expected, or none", option("LAYOUT", ""));
    if (strcmp(option("DRY", "no"), "no") && !class->dry)
        class_refuse("DRY=%s: yes is expected, or none", option("DRY", ""));
    if (strcmp(class->engine, "local") && strcmp(class->engine, "slurm"))
        class_refuse("ENGINE=%s: unknown engine; local or slurm is expected", class->engine);
    if (strcmp(class->device, "cpu") && strcmp(class->device, "cuda"))
        class_refuse("DEVICE=%s: unknown device; cpu or cuda is expected", class->device);
}

// ---- lessons

// Names the file of a lesson's exercise, and reads it as it is handed out.
static void find_file(struct class_lesson* l) {
    if (build_has_kernel(l->name))
        snprintf(l->file, sizeof l->file, "%.60s.cu", strchr(l->name, '_') + 1);
    else
        snprintf(l->file, sizeof l->file, "answers.txt");
    char path[200];
    snprintf(path, sizeof path, "exercises/%s/%s", l->name, l->file);
    // one.sh: there the exercises are a student's own, and nobody knows what they were.
    if (!getenv("OWN_EXERCISES")) l->untouched = class_read(path, &l->untouched_size);
}

static void find_lessons(struct class* class, int argc, char** argv) {
    class->known_lesson = argv + 1;
    class->known_lessons = argc - 1;
    char list[1024];
    snprintf(list, sizeof list, "%s", class->lesson_list);
    for (char *save, *text = strtok_r(list, ", ", &save); text;
         text = strtok_r(NULL, ", ", &save)) {
        int found = 0;
        for (int i = 1; i < argc; i++) found = class_names(text, argv[i]) ? i : found;
        if (!found)
            class_refuse("LESSON=%s: there is no lesson %s; make lists them", class->lesson_list,
                         text);
        struct class_lesson* l = &class->lesson[class->lessons];
        for (int i = 0; i < class->lessons; i++)
            if (!strcmp(class->lesson[i].name, argv[found])) l = NULL;
        if (!l || class->lessons == LESSONS) continue;
        class->lessons++;
        snprintf(l->name, sizeof l->name, "%s", argv[found]);
        find_file(l);
        if (fingerprint(l->name, l->fingerprint) != 0)
            class_refuse("the grader's own files cannot be read; run make in the course's folder");
    }
}

// ---- seeds

// Takes the seed of this class's last run: with a new seed everybody would be graded again.
static bool seed_before(const struct class* class, struct class_lesson* l) {
    const char* path = class_path(class, "settings.json");
    json_t* root = json_load_file(path, 0, NULL);
    if (!root && access(path, F_OK) == 0)
        class_refuse("%s, which holds the seed, cannot be read: put it back, or remove it, and "
                     "everybody is graded again",
                     path);
    const json_t* lesson = json_object_get(json_object_get(root, "lessons"), l->name);
    const char* seed = json_string_value(json_object_get(lesson, "seed"));
    if (seed) l->seed = strtoull(seed, NULL, 10);
    json_decref(root);
    return seed != NULL;
}

// With a secret a seed is the SHA-256 of secret and lesson: always the same, and nobody else can
// guess it.
static void choose_seeds(struct class* class) {
    size_t size = 0;
    char* secret = NULL;
    if (class->secret) {
        struct stat st;
        if (stat(class->secret, &st) == 0 && !S_ISREG(st.st_mode))
            class_refuse("SECRET=%s is no regular file", class->secret);
        if (stat(class->secret, &st) != 0 || !(secret = class_read(class->secret, &size)) ||
            size == 0)
            class_refuse("SECRET=%s: %s", class->secret,
                         size || errno ? strerror(errno) : "is empty");
        if (st.st_mode & 077)
            class_refuse("SECRET=%s can be read by others: chmod 600 '%s'", class->secret,
                         class->secret);
    }
    for (int i = 0; i < class->lessons; i++) {
        struct class_lesson* l = &class->lesson[i];
        if (secret) {
            SHA2_CTX hash;
            uint8_t digest[SHA256_DIGEST_LENGTH];
            SHA256Init(&hash);
            SHA256Update(&hash, (const uint8_t*)secret, size);
            SHA256Update(&hash, (const uint8_t*)l->name, strlen(l->name) + 1);
            SHA256Final(digest, &hash);
            memcpy(&l->seed, digest, sizeof l->seed);
        } else if (seed_before(class, l)) {
            class->kept_seed = true;
        } else if (getrandom(&l->seed, sizeof l->seed, 0) != sizeof l->seed) {
            class_refuse("no random seed: %s", strerror(errno));
        }
    }
    free(secret);
}

// ---- what keeps submissions apart

// Without bubblewrap and without Landlock, only the permissions of a folder keep strangers' code
// out of it.
static void require_private(const char* path) {
    struct stat st;
    if (stat(path, &st) == 0 && (st.st_mode & 05) && !wall_has_landlock())
        class_refuse(
            "Without bubblewrap and Landlock, submissions could read %s: chmod -R go= '%s'", path,
            path);
}

static void choose_isolation(struct class* class) {
    enum wall_level strongest = wall_strongest();
    const char* why = "";
    if (!class->isolation) {
        if (strongest != WALL_BUBBLEWRAP) {
            wall_probe(WALL_BUBBLEWRAP, &why);
            class_refuse("bubblewrap does not work here (%s), and strangers' code wants it. If you "
                         "know what you "
                         "do: ISOLATION=%s",
                         why, wall_level_name(strongest));
        }
        class->isolation = wall_level_name(strongest);
    }
    int level = wall_level_from_name(class->isolation);
    if (level < 0) class_refuse("ISOLATION=%s: unknown level", class->isolation);
    if (!wall_probe((enum wall_level)level, &why))
        class_refuse("ISOLATION=%s does not work here: %s", class->isolation, why);
    if (level == WALL_BUBBLEWRAP) return;
    require_private(class->submissions);
    require_private("solutions");
    if (class->secret) require_private(class->secret);
}

static void class_free(struct class* class) {
    for (int l = 0; l < class->lessons; l++) free(class->lesson[l].untouched);
    table_free(&class->roster_table);
    table_free(&class->who);
    free(class->who_use);
    free(class->row);
}

// With STUDENT= what is about this student.
static bool say_todo(const struct class* class) {
    const struct row* row = class->student ? class_row(class, class->student) : NULL;
    return (row || !class->student) && todo_print(row ? row->id : NULL) > 0;
}

int main(int argc, char** argv) {
    struct class class = {.at_once = 1};
    if (argc > 1 && !strcmp(argv[1], "archive")) return archive_main(argv + 2);
    if (argc == 4 && !strcmp(argv[1], "job")) {
        class.out = argv[2];
        return job_run(&class, atoi(argv[3]));
    }
    read_options(&class);
    find_lessons(&class, argc, argv);
    class_open(&class);
    if (!class.replay && !class.dry) book_keeps(&class);
    choose_isolation(&class);
    choose_seeds(&class);
    collect(&class);
    if (class.replay) return replay(&class);
    upload_check(&class);
    if (class.dry) {
        rules_fill_late(&class);
        book_points(&class);  // says what is wrong with a table
        book_say_collected(&class);
        const bool todo = say_todo(&class);
        class_free(&class);
        return todo ? TODO_STATUS : 0;
    }
    if (class.student && !class_row(&class, class.student))
        class_refuse("STUDENT=%s: nobody is called so", class.student);
    book_before(&class);
    rules_fill_late(&class);
    book_points(&class);  // a table that cannot be read ends the run here, before hours of work
    slurm_cancel(&class);
    int jobs = jobs_plan(&class);
    if (!class.student) printf("%d rows, ", class.rows);
    printf("%d files to grade; %s device, isolation %s, %s\n", jobs, class.device, class.isolation,
           class.secret      ? "secret seed"
           : class.kept_seed ? "the seed of the run before"
                             : "a seed of this class");
    fflush(stdout);
    if (jobs > 0) say_todo(&class);  // before hours of work
    if (jobs > 0 && !strcmp(class.engine, "slurm"))
        slurm_run(&class, jobs);
    else if (jobs > 0)
        jobs_run(&class, jobs);
    book_points(&class);
    book_write(&class);
    export_all(&class);
    upload_tables(&class);
    int errors = 0;
    for (int i = 0; i < class.rows; i++)
        errors += !class.row[i].known && class_asks(&class, &class.row[i]);
    const bool todo = say_todo(&class);
    class_free(&class);
    return errors ? 3 : todo ? TODO_STATUS : 0;
}
