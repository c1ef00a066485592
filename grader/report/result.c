// result.c: the result and its JSON. See result.h.
#include "report/result.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"

static const char* const outcomes[] = {"error", "fail", "pass"};

const char* outcome_name(enum outcome outcome) {
    return outcomes[outcome];
}

int result_begin(const char* text) {
    const char* at = text ? strstr(text, RESULT_STUB) : NULL;
    int line = 1;
    while (at && strncmp(at + strcspn(at, ":\n"), RESULT_LATER, sizeof RESULT_LATER - 1) == 0)
        at = strstr(at + 1, RESULT_STUB);
    for (const char* k = text; k < at; k++) line += *k == '\n';
    return at ? line : 0;
}

void result_total(struct result* r) {
    r->score = r->max_score = 0;
    for (int i = 0; i < r->item_count; i++) {
        r->score += r->item[i].points;
        r->max_score += r->item[i].max_points;
    }
}

bool result_is_unbegun(const struct result* r) {
    return r->begin > 0 && r->score == 0 && r->complete;
}

const struct result_item* result_first_to_mend(const struct result* r) {
    const struct result_item* best = NULL;
    int most = 0;
    for (int i = 0; i < r->item_count; i++) {
        const struct result_item* item = &r->item[i];
        int count = 0;
        if (item->outcome != OUTCOME_FAIL) continue;
        if (result_is_unbegun(r) || (r->begin && r->score == 0 && item->unbegun)) return item;
        for (int k = i; k < r->item_count; k++) count += strcmp(r->item[k].cause, item->cause) == 0;
        if (best && (item->rank > best->rank || (item->rank == best->rank && count <= most)))
            continue;
        best = item;
        most = count;
    }
    // a barrier that is counted wrongly orders nothing
    for (int i = 0; best && !strcmp(best->cause, "async_order") && i < r->item_count; i++)
        if (!strcmp(r->item[i].cause, "bad_barrier")) best = &r->item[i];
    return best;
}

// Does a line name the place p as that of a launch?
static bool is_launch(const char* text, const char* p) {
    static const char words[] = " launched at ";
    const char* line = p;
    while (line > text && line[-1] != '\n') line--;
    const char* found = strstr(line, words);
    return found && found < p;
}

const char* result_place(const struct result* r, const char* text, size_t* n) {
    const char* slash = strrchr(r->file, '/');
    const char* name = slash ? slash + 1 : r->file;
    const char* best = NULL;
    size_t length = strlen(name);
    for (const char* p = text; length > 0 && (p = strstr(p, name)); p += length) {
        if (p[length] != ':' || !isdigit((unsigned char)p[length + 1])) continue;
        const bool launch = is_launch(text, p);
        if (!best || !launch) best = p;
        if (!launch) break;
    }
    if (best) *n = length + 1 + strspn(best + length + 1, "0123456789");
    return best;
}

// A student's text may hold any bytes; in the result it is plain.
static json_t* text_value(const char* s) {
    char* copy = strdup(s);
    if (copy) plain_text(copy);
    json_t* value = copy ? json_string(copy) : NULL;
    free(copy);
    return value;
}

static json_t* access_value(const struct finding_access* a) {
    return json_pack("{so sb so so si si}", "verb", text_value(a->verb), "plain", (int)a->plain,
                     "who", text_value(a->who), "function", text_value(a->function), "line",
                     (int)a->line, "caller", (int)a->caller);
}

static json_t* finding_value(const struct finding_values* v) {
    json_t* accesses = json_array();
    for (int i = 0; i < v->access_count; i++)
        json_array_append_new(accesses, access_value(&v->access[i]));
    return json_pack("{so so so si si so so si so}", "kind", text_value(v->kind), "words",
                     text_value(v->words), "file", text_value(v->file), "line", (int)v->line,
                     "caller", (int)v->caller, "accesses", accesses, "kernel",
                     text_value(v->kernel), "launch", (int)v->launch, "next", text_value(v->next));
}

static json_t* item_value(const struct result_item* i) {
    json_t* findings = json_array();
    for (int k = 0; k < i->finding_count; k++)
        json_array_append_new(findings, finding_value(&i->finding[k]));
    return json_pack("{so ss si si sf sb so ss ss so}", "name", text_value(i->name), "outcome",
                     outcomes[i->outcome], "points", i->points, "max_points", i->max_points,
                     "seconds", i->seconds, "idea", (int)i->idea, "message", text_value(i->message),
                     "cause", i->cause, "sentence", i->sentence, "findings", findings);
}

// One text: why nothing was graded, then on lines of its own what the compiler said.
static json_t* message_value(const struct result* r) {
    char text[sizeof r->message + sizeof r->compiler + 1];
    snprintf(text, sizeof text, "%s%s%s", r->message, r->compiler[0] ? "\n" : "", r->compiler);
    return text_value(text);
}

char* result_to_json(const struct result* r) {
    json_t* items = json_array();
    bool whole = items != NULL;
    for (int i = 0; i < r->item_count && whole; i++)
        whole = json_array_append_new(items, item_value(&r->item[i])) == 0;
    if (!whole) {
        json_decref(items);
        return NULL;
    }
    json_t* root = json_pack(
        "{si ss so ss ss ss si si sb ss ss si ss so so}", "version", RESULT_VERSION, "lesson",
        r->lesson, "file", text_value(r->file), "device", r->device, "isolation", r->isolation,
        "seed", r->seed, "score", r->score, "max_score", r->max_score, "complete", (int)r->complete,
        "fingerprint", r->fingerprint, "submission", r->submission, "grading", GRADING_VERSION,
        "idea", r->idea, "message", message_value(r), "items", items);
    if (!root) return NULL;
    char* compact = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(root);
    if (!compact) return NULL;
    char* text;
    if (asprintf(&text, "%s\n", compact) < 0) text = NULL;
    free(compact);
    return text;
}

static void copy_text(char* to, size_t size, const json_t* object, const char* key) {
    const char* s = json_string_value(json_object_get(object, key));
    snprintf(to, size, "%s", s ? s : "");
    plain_line(to);
}

// The result that a student brings may say anything, and a text that is too long ends anywhere.
static void copy_lines(char* to, size_t size, const char* s) {
    snprintf(to, size, "%s", s ? s : "");
    plain_text(to);
}

static int number(const json_t* object, const char* key) {
    return (int)json_integer_value(json_object_get(object, key));
}

static void access_from(const json_t* o, struct finding_access* a) {
    copy_text(a->verb, sizeof a->verb, o, "verb");
    copy_text(a->who, sizeof a->who, o, "who");
    copy_text(a->function, sizeof a->function, o, "function");
    a->plain = json_is_true(json_object_get(o, "plain"));
    a->line = (unsigned)number(o, "line");
    a->caller = (unsigned)number(o, "caller");
}

static void finding_from(const json_t* o, struct finding_values* v) {
    size_t index;
    json_t* access;
    copy_text(v->kind, sizeof v->kind, o, "kind");
    copy_text(v->words, sizeof v->words, o, "words");
    copy_text(v->file, sizeof v->file, o, "file");
    copy_text(v->kernel, sizeof v->kernel, o, "kernel");
    copy_lines(v->next, sizeof v->next, json_string_value(json_object_get(o, "next")));
    v->line = (unsigned)number(o, "line");
    v->caller = (unsigned)number(o, "caller");
    v->launch = (unsigned)number(o, "launch");
    json_array_foreach(json_object_get(o, "accesses"), index, access) {
        if (index < FINDING_ACCESSES) access_from(access, &v->access[v->access_count++]);
    }
}

static void item_from(const json_t* o, struct result_item* i) {
    char outcome[16];
    size_t index;
    json_t* finding;
    copy_text(i->name, sizeof i->name, o, "name");
    copy_lines(i->message, sizeof i->message, json_string_value(json_object_get(o, "message")));
    copy_text(i->cause, sizeof i->cause, o, "cause");
    copy_text(i->sentence, sizeof i->sentence, o, "sentence");
    copy_text(outcome, sizeof outcome, o, "outcome");
    json_array_foreach(json_object_get(o, "findings"), index, finding) {
        if (index < FINDINGS) finding_from(finding, &i->finding[i->finding_count++]);
    }
    i->idea = json_is_true(json_object_get(o, "idea"));
    i->points = number(o, "points");
    i->max_points = number(o, "max_points");
    i->seconds = json_number_value(json_object_get(o, "seconds"));
    for (int k = OUTCOME_ERROR; k <= OUTCOME_PASS; k++)
        if (strcmp(outcome, outcomes[k]) == 0) i->outcome = (enum outcome)k;
}

bool result_from_json(const char* text, struct result* r) {
    json_t* root = json_loads(text, 0, NULL);
    memset(r, 0, sizeof *r);
    bool fine = root && number(root, "version") == RESULT_VERSION;
    if (fine) {
        copy_text(r->lesson, sizeof r->lesson, root, "lesson");
        copy_text(r->file, sizeof r->file, root, "file");
        copy_text(r->device, sizeof r->device, root, "device");
        copy_text(r->isolation, sizeof r->isolation, root, "isolation");
        copy_text(r->seed, sizeof r->seed, root, "seed");
        copy_text(r->fingerprint, sizeof r->fingerprint, root, "fingerprint");
        copy_text(r->submission, sizeof r->submission, root, "submission");
        copy_text(r->idea, sizeof r->idea, root, "idea");
        const char* all = json_string_value(json_object_get(root, "message"));
        const char* rest = all ? strchr(all, '\n') : NULL;
        copy_lines(r->message, sizeof r->message, all);
        r->message[strcspn(r->message, "\n")] = '\0';
        copy_lines(r->compiler, sizeof r->compiler, rest ? rest + 1 : "");
        r->complete = json_is_true(json_object_get(root, "complete"));
        r->score = number(root, "score");
        r->max_score = number(root, "max_score");
        size_t index;
        json_t* item;
        json_array_foreach(json_object_get(root, "items"), index, item) {
            if (index < RESULT_ITEMS) item_from(item, &r->item[r->item_count++]);
        }
    }
    json_decref(root);
    return fine;
}

static bool named_before(const struct result* r, int index) {
    for (int i = 0; i < index; i++)
        if (r->item[i].outcome != OUTCOME_PASS && !strcmp(r->item[i].cause, r->item[index].cause))
            return true;
    return false;
}

void result_print_verdict(const struct result* r, FILE* to) {
    int errors = 0, missed = 0;
    for (int i = 0; i < r->item_count; i++) errors += r->item[i].outcome == OUTCOME_ERROR;
    fprintf(to, "%d %d %d ", r->score, r->max_score, errors);
    for (int i = 0; i < r->item_count; i++) {
        if (r->item[i].outcome == OUTCOME_PASS || named_before(r, i)) continue;
        fprintf(to, "%s%s", missed++ ? "," : "", r->item[i].cause[0] ? r->item[i].cause : "?");
    }
    fprintf(to, missed ? " " : "- ");
    missed = 0;
    for (int i = 0; i < r->item_count; i++)
        if (r->item[i].outcome != OUTCOME_PASS)
            fprintf(to, "%s%s", missed++ ? "|" : "", r->item[i].name);
    fprintf(to, "%s\n%s\n", missed ? "" : "-", r->seed);
}
