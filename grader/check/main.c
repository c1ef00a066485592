// main.c: grades one submission of one lesson; linked with that lesson's check.c.
//
//     build/grader/12_flash_forward/check FILE.cu [options]        (what `make grade` runs)
//
// Exit status: 0 full marks, 1 less, 2 nothing could be graded, 3 an error of the grader.
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/options.h"
#include "check/state.h"
#include "wall/build.h"
#include "wall/fingerprint.h"
#include "base/clock.h"
#include "base/file.h"

enum { CASE_SECONDS = 10, CASE_SECONDS_GPU = 20, ITEM_SECONDS = 120, TIMEOUTS_ALLOWED = 2 };

// The item the child process is to run; libcheck's tests take no arguments.
static struct {
    const struct session* session;
    const struct item* item;
    int index;
    struct result_item* record;
} running;

START_TEST(run_item) {
    static struct check c;
    check_start(&c, running.session, running.item, running.index, running.record);
    running.item->run(&c);
    check_finish(&c);
}
END_TEST

// Runs one item in a process of its own: what check.c does wrong there is a grader error there.
static void grade_item(const struct session* session, int index, struct result_item* record) {
    fflush(session->log);  // or that process writes what waits here once more
    running.session = session;
    running.item = &lesson.items[index];
    running.index = index;
    running.record = record;
    Suite* suite = suite_create("item");
    TCase* test = tcase_create("item");
    tcase_set_timeout(test, ITEM_SECONDS * session->at_once);
    tcase_add_test(test, run_item);
    suite_add_tcase(suite, test);
    SRunner* runner = srunner_create(suite);
    bool here = session->debug || session->profile;  // this process ends with the case
    srunner_set_fork_status(runner, here ? CK_NOFORK : CK_FORK);
    srunner_run_all(runner, CK_SILENT);
    if (srunner_ntests_run(runner) != 1) record->outcome = OUTCOME_ERROR;
    srunner_free(runner);
}

static bool chosen(const struct options* o, const struct item* item) {
    return !o->filter || strcasestr(item->name, o->filter);
}

// A failure that fits no pattern is likely that of an item before it, if one of those fits and the same
// array was wrong in it: what has to be mended first, anyway.
static void name_as_before(struct result* r, struct result_item* record) {
    if (strcmp(record->cause, cause_id(CAUSE_unknown)) != 0) return;
    for (const struct result_item* before = r->item; before < record; before++) {
        if (before->outcome != OUTCOME_FAIL || strcmp(before->cause, record->cause) == 0) continue;
        if (strcmp(before->array, record->array) != 0) continue;
        memcpy(record->cause, before->cause, sizeof record->cause);
        memcpy(record->sentence, before->sentence, sizeof record->sentence);
        return;
    }
}

static void name_cause(struct result_item* record, enum cause cause) {
    snprintf(record->cause, sizeof record->cause, "%s", cause_id(cause));
    snprintf(record->sentence, sizeof record->sentence, "%s", cause_sentence(cause));
}

// Grades every chosen item and shows it as soon as it is known.
static void grade_items(struct result* r, const struct options* o, struct session* session,
                        bool colour) {
    int timeouts = 0;
    session->safe = false;
    for (int i = 0; lesson.items[i].run; i++) {
        if (!chosen(o, &lesson.items[i])) continue;
        struct result_item* record = &r->item[r->item_count++];
        double start = clock_seconds();
        snprintf(record->name, sizeof record->name, "%s", lesson.items[i].name);
        record->max_points = lesson.items[i].points;
        if (timeouts >= TIMEOUTS_ALLOWED) {
            record->outcome = OUTCOME_FAIL;
            name_cause(record, CAUSE_endless_loop);
            record_append(record, "not run: %d items did not end in time\n", timeouts);
        } else {
            grade_item(session, i, record);
            name_as_before(r, record);
            session->safe |= record->safe;
            if (record->outcome == OUTCOME_ERROR && !record->message[0])
                record_append(record, "the check of this item ended early\n");
            if (strcmp(record->cause, cause_id(CAUSE_endless_loop)) == 0) timeouts++;
        }
        record->seconds = clock_seconds() - start;
        if (session->profile && record->outcome != OUTCOME_ERROR) return;
        if (session->profile) continue;
        if (o->format == FORMAT_TEXT) text_item(r, r->item_count - 1, colour);
        fprintf(session->log, "%s: %s\n%s\n", record->name, outcome_name(record->outcome),
                record->message);
        if (o->stop && record->outcome != OUTCOME_PASS) return;
    }
}

// Why nothing was graded, as every item's failure: the items are listed with 0 points.
static void fail_all(struct result* r, const struct options* o, const struct build* b) {
    bool refused = b->outcome == BUILD_REFUSED;
    enum cause cause = refused ? CAUSE_refused : CAUSE_compile_error;
    snprintf(r->message, sizeof r->message, "%s", b->message);
    if (!refused && b->log) snprintf(r->compiler, sizeof r->compiler, "%s", b->log);
    for (int i = 0; lesson.items[i].run; i++) {
        if (!chosen(o, &lesson.items[i])) continue;
        struct result_item* record = &r->item[r->item_count++];
        snprintf(record->name, sizeof record->name, "%s", lesson.items[i].name);
        record->max_points = lesson.items[i].points;
        record->outcome = OUTCOME_FAIL;
        name_cause(record, cause);
        record_append(record, "%s\n", b->message);
    }
}

// Ends the program if the lesson's own list of items is wrong.
static void check_items(void) {
    int all = 0, points = 0;
    for (; lesson.items[all].run; all++) {
        points += lesson.items[all].points;
        // The report quotes names for the shell.
        if (strchr(lesson.items[all].name, '\'')) {
            fprintf(stderr, "%s: no ' in an item's name: %s\n", lesson.name,
                    lesson.items[all].name);
            exit(3);
        }
    }
    if (points != 100 || all > RESULT_ITEMS) {
        fprintf(stderr, "%s: %d items of %d points; at most %d, and 100 points\n", lesson.name, all,
                points, RESULT_ITEMS);
        exit(3);
    }
}

// True if CASE= chooses all items; ends the program if it chooses none.
static bool all_chosen(const struct options* o) {
    int all = 0, some = 0;
    for (; lesson.items[all].run; all++) some += chosen(o, &lesson.items[all]);
    if (some == 0) {
        fprintf(stderr, "CASE=%s matches no item of %s. The items are:\n", o->filter, lesson.name);
        for (int i = 0; i < all; i++) fprintf(stderr, "  %s\n", lesson.items[i].name);
        exit(2);
    }
    return some == all;
}

static void show_end(const struct result* r, const struct options* o, const struct session* session,
                     bool colour) {
    char* json = result_to_json(r);
    if (!json) {
        fprintf(stderr, "the result cannot be written as JSON (no memory?); grade again, and "
                        "report it if that does not help\n");
        exit(3);
    }
    if (o->save &&
        (file_make_parents(o->save) != 0 || file_write(o->save, json, strlen(json), 0644) != 0))
        fprintf(stderr, "%s could not be written: %s\n", o->save, strerror(errno));
    if (o->format == FORMAT_JSON) {
        fputs(json, stdout);
    } else if (o->format == FORMAT_VERDICT) {
        result_print_verdict(r, stdout);
    } else if (o->format == FORMAT_LINE) {
        const char* words[] = {"", ""};
        if (r->message[0]) words[0] = "  ", words[1] = r->message;
        printf("%-28s %3d/%d%s%s\n", r->lesson, r->score, r->max_score, words[0], words[1]);
    } else {
        text_end(r, o->log ? o->log : "none",
                 r->text || r->message[0] ? ""
                 : session->gpu           ? "speed (make bench measures it)"
                                : "speed on a GPU; nvcc refuses a few things that g++ takes",
                 colour);
    }
    free(json);
}

// libcheck's own switches could skip the tests or run them in this process.
static void clear_knobs(void) {
    static const char* const knobs[] = {"CK_RUN_SUITE",
                                        "CK_RUN_CASE",
                                        "CK_FORK",
                                        "CK_VERBOSITY",
                                        "CK_INCLUDE_TAGS",
                                        "CK_EXCLUDE_TAGS",
                                        "CK_MAX_MSG_SIZE",
                                        "CK_DEFAULT_TIMEOUT",
                                        "CK_TIMEOUT_MULTIPLIER",
                                        "CK_LOG_FILE_NAME",
                                        "CK_XML_LOG_FILE_NAME",
                                        "CK_TAP_LOG_FILE_NAME",
                                        NULL};
    for (int i = 0; knobs[i]; i++) unsetenv(knobs[i]);
}

// Without a log, or if it cannot be written, which is told, *path becomes NULL.
static FILE* open_log(const char** path) {
    FILE* log = *path && file_make_parents(*path) == 0 ? fopen(*path, "we") : NULL;
    if (log) return log;
    if (*path)
        fprintf(stderr, "%s cannot be written: %s; there is no log\n", *path, strerror(errno));
    *path = NULL;
    return fopen("/dev/null", "we");
}

static bool full_marks(const struct result* r) {
    return r->max_score > 0 && r->score == r->max_score;
}

// Grades the built submission, --repeat times or until something is wrong.
static void grade(struct result* r, const struct options* o, struct session* session, bool colour) {
    for (int i = 0; i < o->repeat; i++) {
        // The next seed follows from the first, so that the whole series can be replayed.
        if (i > 0) session->seed = session->seed * 6364136223846793005u + 1442695040888963407u;
        memset(r->item, 0, sizeof r->item);
        r->item_count = 0;
        snprintf(r->seed, sizeof r->seed, "%llu", (unsigned long long)session->seed);
        grade_items(r, o, session, colour && i == 0);
        result_total(r);
        if (!full_marks(r)) return;
    }
}

// Says why if there is no result to show, and returns the exit status; else 0.
static int nothing_to_show(const struct build* b, const struct options* o) {
    if (b->outcome == BUILD_FAILED) {
        // Not the student's fault: no score is shown or kept.
        fprintf(stderr,
                "ERROR: %s.\nThis is a fault of the grader or of this machine, not in your code.\n",
                b->message);
        return 3;
    }
    bool unreadable = b->outcome == BUILD_UNREADABLE;
    if ((unreadable && o->format == FORMAT_TEXT) || (o->profile && b->outcome != BUILD_OK)) {
        fprintf(stderr, "%s\n", b->message);
        return unreadable ? 2 : 1;
    }
    return 0;
}

// Says that CASE matches nothing that can be profiled, and what can be.
static void list_profiles(const struct options* o, const struct session* session,
                          struct result_item* record) {
    struct session asking = *session;
    asking.profile = "";
    fprintf(stderr, "CASE=%s matches no item of %s that can be profiled. Those are:\n", o->filter,
            lesson.name);
    for (int i = 0; lesson.items[i].run; i++) {
        memset(record, 0, sizeof *record);
        grade_item(&asking, i, record);
        if (record->outcome == OUTCOME_PASS) fprintf(stderr, "  %s\n", lesson.items[i].name);
    }
}

// The counts have been shown; of what, is the last item's outcome. Returns the exit status.
static int profile_end(struct result* r, const struct options* o, const struct session* session) {
    struct result_item* last = &r->item[r->item_count - 1];
    if (last->outcome == OUTCOME_ERROR) {
        if (o->filter)
            list_profiles(o, session, last);
        else
            fprintf(stderr, "%s has no case to profile\n", lesson.name);
        return 2;
    }
    if (last->outcome == OUTCOME_FAIL)
        fprintf(
            strcmp(o->profile, "table") == 0 ? stdout : stderr,
            "\nThe result of this case is wrong, and counts of a wrong kernel mean little. First:\n"
            "  make grade LESSON=%.*s FILE='%s' SEED=%s CASE='%s'\n",
            (int)strcspn(r->lesson, "_"), r->lesson, r->file, r->seed, last->name);
    return 0;
}

int main(int argc, char** argv) {
    struct options o = {.format = FORMAT_TEXT};
    struct session session = {.seconds = CASE_SECONDS, .program = -1, .watched = -1};
    char arch[16] = "native";
    options_parse(argc, argv, &o);
    clear_knobs();

    // The processes that run the items write into it.
    struct result* r =
        mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED) {
        perror("no memory for the result");
        return 3;
    }
    bool colour = o.format == FORMAT_TEXT && isatty(1) && !getenv("NO_COLOR");
    snprintf(r->lesson, sizeof r->lesson, "%s", lesson.name);
    snprintf(r->file, sizeof r->file, "%s", o.file);
    snprintf(r->seed, sizeof r->seed, "%llu", (unsigned long long)o.seed);
    check_items();
    r->complete = all_chosen(&o) && !o.uninspected;
    r->text = !build_has_kernel(lesson.name);
    if (r->text) {
        snprintf(r->device, sizeof r->device, "none");
        snprintf(r->isolation, sizeof r->isolation, "none");
    } else {
        choose_device(r, &o, &session, arch, sizeof arch);
        choose_isolation(r, &o, &session);
    }
    if (fingerprint(lesson.name, r->fingerprint) != 0) {
        fprintf(stderr, "the grader's own files cannot be read; run make in the course's folder\n");
        return 3;
    }
    session.seed = o.seed;
    session.debug = o.debug;
    session.profile = o.profile;
    if (session.gpu) session.seconds = CASE_SECONDS_GPU;  // starting CUDA takes its time
    if (o.seconds > 0) session.seconds = o.seconds;
    session.at_once = o.at_once;
    session.seconds *= session.at_once;
    if (!(session.log = open_log(&o.log))) return 3;
    // The compiler takes its time: say before it what is being graded, if there is something.
    struct stat there;
    if (o.format == FORMAT_TEXT && !o.profile && stat(o.file, &there) == 0 &&
        S_ISREG(there.st_mode))
        text_begin(r, colour);

    struct build_request request = {.lesson = lesson.name,
                                    .file = o.file,
                                    .level = session.level,
                                    .gpu = session.gpu,
                                    .arch = arch,
                                    .at_once = o.at_once,
                                    .uninspected = o.uninspected};
    struct build b = {.outcome = BUILD_OK, .program = -1, .watched = -1};
    if (r->text)
        b = build_text(o.file);
    else if (!o.debug)
        b = build_submission(&request);
    snprintf(r->submission, sizeof r->submission, "%s", b.submission);
    if (b.log) {
        fputs(b.log, session.log);
        // What a compiler says about a file that it refuses stands in the report.
        bool in_report = b.outcome == BUILD_COMPILE_ERROR && o.format == FORMAT_TEXT && !o.profile;
        if (o.format != FORMAT_JSON && !in_report) text_print(stderr, "", b.log);
    }
    fflush(stderr);
    session.program = b.program;
    session.watched = b.watched;
    session.unset = b.unset;
    session.text = b.text;
    session.text_size = b.text_size;
    int status = nothing_to_show(&b, &o);
    if (status > 0) return status;
    if (o.profile) {
        grade_items(r, &o, &session, false);  // ends with the item it profiles
        return profile_end(r, &o, &session);
    }
    if (b.outcome == BUILD_OK)
        grade(r, &o, &session, colour);
    else
        fail_all(r, &o, &b);
    result_total(r);
    if (b.outcome == BUILD_UNREADABLE) o.save = NULL;
    show_end(r, &o, &session, colour);
    free(b.log);
    free(b.text);
    fclose(session.log);

    for (int i = 0; i < r->item_count; i++)
        if (r->item[i].outcome == OUTCOME_ERROR) return 3;
    if (b.outcome == BUILD_UNREADABLE) return 2;
    return full_marks(r) ? 0 : 1;
}
