// grade.c: make grade: every item, the points, the report. See command.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check/command.h"
#include "check/items.h"

// GRADE_SECONDS: of the runs of all items together, CPU time as long as no GPU runs them. A right
// kernel takes a few seconds. A job of a class may take longer (class/jobs.c, JOB_SECONDS).
enum { TIMEOUTS_ALLOWED = 2, GRADE_SECONDS = 300 };

struct tally {
    int timeouts;
    double spent, most;  // seconds
};

// The items that are left are not run.
static bool is_over(const struct tally* tally) {
    return tally->timeouts >= TIMEOUTS_ALLOWED || tally->spent > tally->most;
}

// A failure that fits no pattern probably has the cause of an earlier item in which the same array
// was wrong. The student has to mend that item first in any case.
static void name_as_before(struct result* r, struct result_item* record) {
    if (strcmp(record->cause, cause_id(CAUSE_unknown)) != 0) return;
    for (const struct result_item* before = r->item; before < record; before++) {
        if (before->outcome != OUTCOME_FAIL || strcmp(before->cause, record->cause) == 0) continue;
        if (strcmp(before->array, record->array) != 0) continue;
        return record_cause(record, cause_from_id(before->cause));
    }
}

// Counts the item that comes next, and shows it.
static void count_item(struct command* command, struct tally* tally, int k, bool colour) {
    struct session* session = &command->session;
    struct result_item* record = &command->result->item[k];
    if (is_over(tally)) {
        item_clear(record);
        record->outcome = OUTCOME_FAIL;
        if (tally->timeouts >= TIMEOUTS_ALLOWED) {
            record_cause(record, CAUSE_endless_loop);
            record_append(record, "not run: %d items did not end in time\n", tally->timeouts);
        } else {
            record_cause(record, CAUSE_too_slow);
            record_append(record, "not run: the items before took %.0f s; a grade has %.0f s\n",
                          tally->spent, tally->most);
        }
    } else {
        name_as_before(command->result, record);
        session->safe |= record->safe;
        if (record->broken && !session->broken) session->broken = record->broken;
        if (record->outcome == OUTCOME_ERROR && !record->message[0])
            record_append(record, "the check of this item ended early\n");
        if (strcmp(record->cause, cause_id(CAUSE_endless_loop)) == 0) tally->timeouts++;
    }
    tally->spent += record->spent;
    if (format_is_report(command->options.format)) text_item(command->result, k, colour);
    fprintf(session->log, "%s: %s\n", record->name, outcome_name(record->outcome));
    text_print(session->log, "", record->message);
    putc('\n', session->log);
}

// Grades every chosen item and shows it as soon as it and those before it are known.
static void grade_items(struct command* command, bool colour) {
    const struct options* o = &command->options;
    struct session* session = &command->session;
    struct result* r = command->result;
    struct tally tally = {.most = GRADE_SECONDS * items_share(session)};
    struct items items;
    items_prepare(&items, session, o->stop || r->text);
    session->safe = false;
    session->broken = CAUSE_NONE;
    for (int i = 0; lesson.items[i].run; i++)
        if (item_chosen(o, &lesson.items[i]))
            items_add(&items, i, item_record(r, &lesson.items[i]));
    for (int k = 0; k < r->item_count; k++) {
        items_finish(&items, k, !is_over(&tally));
        count_item(command, &tally, k, colour);
        if (o->stop && r->item[k].outcome != OUTCOME_PASS) r->item_count = k + 1;
    }
}

// Nothing can be graded: every item is listed as failed, with the reason.
static void fail_all(struct command* command) {
    const struct build* b = &command->build;
    struct result* r = command->result;
    bool refused = b->outcome == BUILD_REFUSED;
    snprintf(r->message, sizeof r->message, "%s", b->message);
    if (!refused && b->log) snprintf(r->compiler, sizeof r->compiler, "%s", b->log);
    for (int i = 0; lesson.items[i].run; i++) {
        if (!item_chosen(&command->options, &lesson.items[i])) continue;
        struct result_item* record = item_record(r, &lesson.items[i]);
        record->outcome = OUTCOME_FAIL;
        record_cause(record, refused ? CAUSE_refused : CAUSE_compile_error);
        record_append(record, "%s\n", b->message);
    }
}

static void show_end(const struct command* command) {
    const struct result* r = command->result;
    const struct options* o = &command->options;
    const struct session* session = &command->session;
    char* json = result_to_json(r);
    if (!json) {
        fprintf(stderr, "the result cannot be written as JSON (no memory?); grade again, and "
                        "report it if that does not help\n");
        exit(STATUS_ERROR);
    }
    if (o->save &&
        (file_make_parents(o->save) != 0 || file_write(o->save, json, strlen(json), 0644) != 0))
        text_say(stderr, "%s could not be written: %s", o->save, strerror(errno));
    if (o->format == FORMAT_JSON) {
        fputs(json, stdout);
    } else if (o->format == FORMAT_VERDICT) {
        result_print_verdict(r, stdout);
    } else if (o->format == FORMAT_LINE) {
        printf("%-28s %3d/%d%s", r->lesson, r->score, r->max_score, r->message[0] ? "  " : "\n");
        text_print(stdout, "", r->message);
    } else {
        text_end(r, o->log ? o->log : "none",
                 r->text || r->message[0] ? ""
                 : session->gpu           ? "speed (make bench measures it)"
                 : session->asks_nvcc     ? "speed on a GPU"
                                      : "speed on a GPU; nvcc refuses a few things that g++ takes",
                 command->colour);
    }
    if (o->format == FORMAT_PROBLEMS) problems_print(r, command->build.log, stderr);
    free(json);
}

static bool full_marks(const struct result* r) {
    return r->max_score > 0 && r->score == r->max_score;
}

// Grades --repeat times or until something is wrong.
static void grade_repeatedly(struct command* command) {
    struct result* r = command->result;
    struct session* session = &command->session;
    for (int i = 0; i < command->options.repeat; i++) {
        // The next seed follows from the first, so that the whole series can be replayed.
        if (i > 0) session->seed = session->seed * 6364136223846793005u + 1442695040888963407u;
        memset(r->item, 0, sizeof r->item);
        r->item_count = 0;
        snprintf(r->seed, sizeof r->seed, "%llu", (unsigned long long)session->seed);
        grade_items(command, command->colour && i == 0);
        result_total(r);
        if (!full_marks(r)) return;
    }
}

int command_grade(struct command* command) {
    struct options* o = &command->options;
    struct result* r = command->result;
    const struct build* b = &command->build;
    command_build(command, format_is_report(o->format));
    if (b->outcome == BUILD_FAILED) {
        // Not the student's fault: no score is shown or kept.
        text_print(stderr, "ERROR: ", b->message);
        fputs("This is a fault of the grader or of this machine, not in your code.\n", stderr);
        return STATUS_ERROR;
    }
    bool unreadable = b->outcome == BUILD_UNREADABLE;
    if (unreadable && format_is_report(o->format)) {
        text_print(stderr, "", b->message);
        return STATUS_NOTHING;
    }
    if (b->outcome == BUILD_OK)
        grade_repeatedly(command);
    else
        fail_all(command);
    result_total(r);
    if (unreadable) o->save = NULL;
    show_end(command);
    for (int i = 0; i < r->item_count; i++)
        if (r->item[i].outcome == OUTCOME_ERROR) return STATUS_ERROR;
    if (unreadable) return STATUS_NOTHING;
    return full_marks(r) ? STATUS_FULL : STATUS_LESS;
}
