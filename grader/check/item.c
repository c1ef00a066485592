// item.c: what the commands share: the build, and an item in a process of its own. See command.h.
#include <check.h>  // libcheck; ours is check/check.h
#include <stdlib.h>
#include <string.h>

#include "check/command.h"

// The runs of an item have session->item_seconds. The rest is for the grader itself: references,
// hypotheses. An item that takes WALL_PATIENCE times as long is the grader's error.
enum { GRADER_SECONDS = 60 };

// The item that the new process runs. Static, because libcheck hands nothing but a number to a
// test.
static struct {
    const struct session* session;
    int index;
    struct result_item* record;
} running;

START_TEST(run_item) {
    struct check* c = malloc(sizeof *c);
    if (!c) abort();
    const struct item* item = &lesson.items[running.index];
    check_start(c, running.session, item, running.index, running.record);
    item->run(c);
    check_finish(c);
    free(c);
}
END_TEST

void item_run(const struct session* session, int index, struct result_item* record) {
    // The new process would write the contents of the buffers, too.
    fflush(session->log);
    fflush(stdout);
    running.session = session;
    running.index = index;
    running.record = record;
    Suite* suite = suite_create("item");
    TCase* test = tcase_create("item");
    tcase_set_timeout(test, WALL_PATIENCE * (session->item_seconds + GRADER_SECONDS));
    tcase_add_test(test, run_item);
    suite_add_tcase(suite, test);
    SRunner* runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_SILENT);
    if (srunner_ntests_run(runner) != 1) record->outcome = OUTCOME_ERROR;
    srunner_free(runner);
}

void command_build(struct command* command, bool in_report) {
    const struct options* o = &command->options;
    struct session* session = &command->session;
    const struct build_request request = {.lesson = lesson.name,
                                          .file = o->file,
                                          .level = session->level,
                                          .gpu = session->gpu,
                                          .arch = command->arch,
                                          .note = session->asks_nvcc,
                                          .uninspected = o->uninspected};
    struct build* b = &command->build;
    *b = command->result->text ? build_text(o->file) : build_submission(&request);
    snprintf(command->result->submission, sizeof command->result->submission, "%s", b->submission);
    if (b->log) {
        text_print(session->log, "", b->log);
        in_report = in_report && b->outcome == BUILD_COMPILE_ERROR;
        bool shown = in_report || o->format == FORMAT_JSON || o->format == FORMAT_PROBLEMS;
        if (!shown) text_print(stderr, "", b->log);
    }
    fflush(stderr);
    session->program = b->program;
    session->watched = b->watched;
    command->result->begin = result_begin(b->text);
    session->text = b->text;
    session->text_size = b->text_size;
    session->unset = b->unset;
    session->no_return = b->no_return;
}

bool item_chosen(const struct options* o, const struct item* item) {
    return !o->filter || strcasestr(item->name, o->filter);
}

bool item_is_idea(const struct item* item) {
    for (int i = 0; lesson.idea.paid_by[i]; i++)
        if (lesson.idea.paid_by[i] == item->run) return true;
    return false;
}

int idea_points(void) {
    int points = 0;
    for (const struct item* item = lesson.items; item->run; item++)
        points += item_is_idea(item) ? item->points : 0;
    return points;
}

void item_clear(struct result_item* record) {
    struct result_item fresh = {.max_points = record->max_points, .idea = record->idea};
    memcpy(fresh.name, record->name, sizeof fresh.name);
    *record = fresh;
}

struct result_item* item_record(struct result* r, const struct item* item) {
    struct result_item* record = &r->item[r->item_count++];
    snprintf(record->name, sizeof record->name, "%s", item->name);
    record->max_points = item->points;
    record->idea = item_is_idea(item);
    return record;
}
