// profile.c: make profile: where a case's memory traffic comes from, as the device counts it. No
// cost is judged. See command.h.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "check/command.h"

// ---- JSON, made from the device's CSV

// kernel, launches, launched_at, file, line, array, access_bytes, metric, value
enum { KERNEL, LAUNCHES, LAUNCHED_AT, SOURCE, LINE, ARRAY, ACCESS_BYTES, METRIC, VALUE, FIELDS };
static const char csv_head[] = "kernel,launches,launched_at,";

// Cuts a line into its fields, in place; a field in quotes may hold commas. False if the line has
// fewer.
static bool cut_fields(char* line, char* field[FIELDS]) {
    int n = 0;
    for (char* p = line; n < FIELDS; p++) {
        bool quoted = *p == '"';
        field[n++] = p += quoted;
        p += strcspn(p, quoted ? "\"" : ",");
        if (quoted && *p == '"') *p++ = '\0';
        if (*p != ',') {
            *p = '\0';
            break;
        }
        *p = '\0';
    }
    return n == FIELDS;
}

// The last element of `array` if it has these values under all the keys, else a new element.
static json_t* same_or_new(json_t* array, const char* keys[], char* values[]) {
    json_t* last = json_array_get(array, json_array_size(array) - 1);
    bool same = last != NULL;
    for (int i = 0; same && keys[i]; i++) {
        const char* text = json_string_value(json_object_get(last, keys[i]));
        same = text && strcmp(text, values[i]) == 0;
    }
    if (same) return last;
    last = json_object();
    for (int i = 0; keys[i]; i++) json_object_set_new(last, keys[i], json_string(values[i]));
    json_object_set_new(last, "metrics", json_object());
    json_array_append_new(array, last);
    return last;
}

static void add_line(json_t* kernels, char* field[FIELDS]) {
    static const char* kernel_keys[] = {"name", "launched_at", NULL};
    static const char* line_keys[] = {"file", "line", "array", "access_bytes", NULL};
    json_t* to = same_or_new(kernels, kernel_keys, (char*[]){field[KERNEL], field[LAUNCHED_AT]});
    json_object_set_new(to, "launches", json_integer(atoll(field[LAUNCHES])));
    json_t* lines = json_object_get(to, "lines");
    if (!lines) json_object_set_new(to, "lines", lines = json_array());
    if (field[SOURCE][0]) to = same_or_new(lines, line_keys, field + SOURCE);
    json_object_set_new(json_object_get(to, "metrics"), field[METRIC],
                        json_integer(atoll(field[VALUE])));
}

// Sizes and line numbers were compared as text; they are numbers.
static void make_numbers(json_t* kernels) {
    size_t k, i;
    json_t *kernel, *line;
    json_array_foreach(kernels, k, kernel)
        json_array_foreach(json_object_get(kernel, "lines"), i, line) {
        static const char* const keys[] = {"line", "access_bytes"};
        for (int n = 0; n < 2; n++) {
            const char* text = json_string_value(json_object_get(line, keys[n]));
            json_object_set_new(line, keys[n], json_integer(text ? atoll(text) : 0));
        }
    }
}

// The text before the CSV is the program's own output.
static void print_json(const struct check* c, char* output) {
    json_t* kernels = json_array();
    char* csv = strstr(output, csv_head);
    for (char *save, *line = csv ? strtok_r(csv, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char* field[FIELDS];
        if (strncmp(line, csv_head, strlen(csv_head)) != 0 && cut_fields(line, field))
            add_line(kernels, field);
    }
    make_numbers(kernels);
    json_t* all = json_pack("{si ss ss so}", "version", 1, "lesson", lesson.name, "case", c->name,
                            "kernels", kernels);
    if (!all || json_dumpf(all, stdout, JSON_INDENT(2)) != 0) exit(STATUS_ERROR);
    puts("");
    json_decref(all);
}

// ---- the run

// Prints what the case moves and returns, so that the case is judged. Of each item it takes only
// the first case with WATCH_PROFILE.
static void print_profile(struct check* c) {
    const char* format = c->session->format;
    if (c->watch != WATCH_PROFILE) check_end();
    if (c->record->visit == VISIT_DONE) {
        c->record->outcome = OUTCOME_PASS;
        check_end();
    }
    bool json = strcmp(format, "json") == 0;
    char print[64];
    snprintf(print, sizeof print, "RUN_PROFILE=%s", json ? "csv" : format);
    const char* environment[] = {"CUDEV_TIMEOUT=60", "CUDEV_WATCH=profile", c->card, print, NULL};
    const char* argv[] = {"run", NULL};
    struct wall_job job = {.argv = argv,
                           .program = c->session->watched,
                           .arena = c->arena.fd,
                           .environment = environment,
                           .seconds = 60,
                           .memory = (size_t)MEMORY_LIMIT_GB << 30,
                           .reserved = (size_t)RESERVED_GB << 30};
    struct wall_result r = wall_run(c->session->level, &job);
    bool ended = r.end == WALL_EXITED && r.code == 0;
    if (r.output) plain_text(r.output);
    if (strcmp(format, "table") == 0) printf("case: %s\n\n", c->name);
    if (json && ended && r.output)
        print_json(c, r.output);
    else
        fputs(r.output ? r.output : "", json ? stderr : stdout);
    fflush(stdout);
    free(r.output);
    c->record->visit = ended ? VISIT_DONE : VISIT_FAILED;
    if (!ended) check_end();
}

// Only asks whether there is a case to profile.
static void look_for_profile(struct check* c) {
    if (c->watch == WATCH_PROFILE) c->record->visit = VISIT_DONE;
    check_end();
}

// Says that CASE matches nothing that can be profiled, and what can be.
static void list_profiles(struct command* command) {
    text_say(stderr, "CASE=%s matches no item of %s that can be profiled. Those are:",
             command->options.filter, lesson.name);
    command->session.visit = look_for_profile;
    command->result->item_count = 0;
    for (int i = 0; lesson.items[i].run; i++) {
        struct result_item* record = item_record(command->result, &lesson.items[i]);
        record->visit = VISIT_NONE;
        item_run(&command->session, i, record);
        if (record->visit == VISIT_DONE) fprintf(stderr, "  %s\n", lesson.items[i].name);
    }
}

int command_profile(struct command* command) {
    const struct options* o = &command->options;
    const struct build* b = &command->build;
    struct result* r = command->result;
    command_build(command, false);
    if (b->outcome != BUILD_OK) {
        text_print(stderr, "", b->message);
        return b->outcome == BUILD_UNREADABLE ? STATUS_NOTHING
               : b->outcome == BUILD_FAILED   ? STATUS_ERROR
                                              : STATUS_LESS;
    }
    command->session.visit = print_profile;
    command->session.format = format_name(o->format);
    command->session.judges_costs = false;
    for (int i = 0; lesson.items[i].run; i++) {
        if (!item_chosen(o, &lesson.items[i])) continue;
        struct result_item* record = item_record(r, &lesson.items[i]);
        item_run(&command->session, i, record);
        if (record->visit == VISIT_NONE) continue;
        if (record->visit == VISIT_FAILED) return STATUS_LESS;
        if (record->outcome == OUTCOME_FAIL) {
            char file[4 * sizeof r->file];
            text_file_option(r->file, file, sizeof file);
            fprintf(o->format == FORMAT_TABLE ? stdout : stderr,
                    "\nThe result of this case is wrong, and counts of a wrong kernel mean little. "
                    "First:\n  make grade LESSON=%.*s%s SEED=%s CASE='%s'\n",
                    (int)strcspn(r->lesson, "_"), r->lesson, file, r->seed, record->name);
        }
        return STATUS_FULL;
    }
    if (o->filter)
        list_profiles(command);
    else
        fprintf(stderr, "%s has no case to profile\n", lesson.name);
    return STATUS_NOTHING;
}
