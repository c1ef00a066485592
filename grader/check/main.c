// main.c: one submission of one lesson; linked with that lesson's check.c.
//
//     build/grader/12_flash_forward/check [profile|debug] FILE.cu [options]
//     build/grader/12_flash_forward/check last RESULT.json
//
// make grade, make profile, make debug and make hint run it. The exit statuses are in command.h.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plain.h"
#include "check/command.h"
#include "check/items.h"
#include "wall/fingerprint.h"
#include "wall/wall.h"

// Seconds of CPU time; on a GPU by the clock. The slowest steps take a twentieth of them.
// ITEM_SECONDS: all runs of one item together.
enum { CASE_SECONDS = 20, CASE_SECONDS_GPU = 20, ITEM_SECONDS = 120 };

// Ends the program if the lesson's own list of items is wrong.
static void check_items(void) {
    int all = 0, points = 0;
    if (!lesson.idea.what || (lesson.idea.naive && idea_points() < IDEA_POINTS)) {
        fprintf(stderr, "%s: its idea is worth %d points; at least %d (check.h, struct idea)\n",
                lesson.name, idea_points(), IDEA_POINTS);
        exit(STATUS_ERROR);
    }
    for (; lesson.items[all].run; all++) {
        points += lesson.items[all].points;
        // The report quotes names for the shell.
        if (strchr(lesson.items[all].name, '\'')) {
            fprintf(stderr, "%s: no ' in an item's name: %s\n", lesson.name,
                    lesson.items[all].name);
            exit(STATUS_ERROR);
        }
    }
    if (points != 100 || all > RESULT_ITEMS) {
        fprintf(stderr, "%s: %d items of %d points; at most %d, and 100 points\n", lesson.name, all,
                points, RESULT_ITEMS);
        exit(STATUS_ERROR);
    }
}

// True if CASE= chooses all items; ends the program if it chooses none.
static bool all_chosen(const struct options* o) {
    int all = 0, some = 0;
    for (; lesson.items[all].run; all++) some += item_chosen(o, &lesson.items[all]);
    if (some == 0) {
        text_say(stderr, "CASE=%s matches no item of %s. The items are:", o->filter, lesson.name);
        for (int i = 0; i < all; i++) fprintf(stderr, "  %s\n", lesson.items[i].name);
        exit(STATUS_NO_ITEM);
    }
    return some == all;
}

// libcheck's own switches, CK_..., could skip the tests or run them in this process.
static void clear_knobs(void) {
    for (char** e = environ; *e;) {
        char *before = *e, *name = strndup(*e, strcspn(*e, "="));
        if (name && strncmp(name, "CK_", 3) == 0) unsetenv(name);
        free(name);
        e += *e == before;  // else the next variable has moved here
    }
}

// A standard file that the shell has closed cannot be written, and no other file gets its number.
static void hold_standard_files(void) {
    int fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= 2) fd = dup(fd);
    if (fd > 2) close(fd);
}

// Ends the program if this machine's limits could make a right kernel fail.
static void check_limits(void) {
    char why[120];
    if (wall_has_room(why, sizeof why)) return;
    fprintf(stderr, "%s in the shell that grades; kernels would fail for it\n", why);
    exit(STATUS_ERROR);
}

// A result that did not arrive is none, whatever it was.
static int written(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "the result could not be written: %s\n", strerror(errno));
    return STATUS_ERROR;
}

// *path becomes NULL if there is no log, or if it cannot be written: then a message says so.
static FILE* open_log(const char** path) {
    FILE* log = *path && file_make_parents(*path) == 0 ? fopen(*path, "we") : NULL;
    if (log) return log;
    if (*path)
        text_say(stderr, "%s cannot be written: %s; there is no log", *path, strerror(errno));
    *path = NULL;
    return fopen("/dev/null", "we");
}

// Fills in what the result says of this grade before it begins. The processes of the items write
// into it.
static void prepare_result(struct command* command) {
    const struct options* o = &command->options;
    struct result* r =
        mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED) {
        perror("no memory for the result");
        exit(STATUS_ERROR);
    }
    command->result = r;
    snprintf(r->lesson, sizeof r->lesson, "%s", lesson.name);
    snprintf(r->file, sizeof r->file, "%s", o->file);
    plain_line(r->file);
    snprintf(r->seed, sizeof r->seed, "%llu", (unsigned long long)o->seed);
    check_items();
    if (lesson.idea.naive) snprintf(r->idea, sizeof r->idea, "%s", lesson.idea.what);
    r->complete = all_chosen(o) && !o->uninspected;
    r->text = !build_has_kernel(lesson.name);
    if (r->text) {
        snprintf(r->device, sizeof r->device, "none");
        snprintf(r->isolation, sizeof r->isolation, "none");
    } else {
        choose_device(r, o, &command->session, command->arch, sizeof command->arch);
        choose_isolation(r, o, &command->session);
    }
    if (fingerprint(lesson.name, r->fingerprint) != 0) {
        fprintf(stderr, "the grader's own files cannot be read; run make in the course's folder\n");
        exit(STATUS_ERROR);
    }
}

// The card that the CPU device poses as.
static const char* card_of(const struct options* o) {
    if (o->card) return o->card->id;
    return lesson.card ? lesson.card : CARD_STRICTEST;
}

static void prepare_session(struct command* command) {
    struct options* o = &command->options;
    struct session* session = &command->session;
    session->seed = o->seed;
    snprintf(session->card, sizeof session->card, "CUDEV_CARD=%s", card_of(o));
    session->seconds = o->seconds > 0 ? o->seconds
                       : session->gpu ? CASE_SECONDS_GPU  // starting CUDA takes its time
                                      : CASE_SECONDS;
    session->at_once = o->at_once;
    const int share = items_share(session);
    session->seconds *= share;
    session->item_seconds = ITEM_SECONDS * share;
    session->judges_costs = true;
    if (!(session->log = open_log(&o->log))) exit(STATUS_ERROR);
}

int main(int argc, char** argv) {
    static int (*const commands[])(struct command*) = {
        [COMMAND_GRADE] = command_grade,
        [COMMAND_PROFILE] = command_profile,
        [COMMAND_DEBUG] = command_debug,
    };
    struct command command = {.session = {.program = -1, .watched = -1}, .arch = "native"};
    const struct options* o = &command.options;
    hold_standard_files();
    options_parse(argc, argv, &command.options);
    if (o->command == COMMAND_LAST) return written(command_last(o->file));
    check_limits();
    clear_knobs();
    prepare_result(&command);
    prepare_session(&command);
    command.colour = format_is_report(o->format) && isatty(1) && !getenv("NO_COLOR");
    // The compiler takes its time: say before it runs what is being graded, if the file exists.
    struct stat there;
    if (format_is_report(o->format) && stat(o->file, &there) == 0 && S_ISREG(there.st_mode))
        text_begin(command.result, command.colour);
    int status = commands[o->command](&command);
    free(command.build.log);
    free(command.build.no_return);
    free(command.build.text);
    fclose(command.session.log);
    return written(status);
}
