// export.c: the points of book.c in the formats of others, for each student and for the class:
//
//     feedback/ID.txt               what the student may read
//     exports/gradescope/ID.json    Gradescope's results.json
//     exports/classroom/ID.LESSON.txt   GitHub Classroom: base64 of JSON, one lesson each
//     exports/tap/ID.tap            TAP 13
//     exports/junit.xml             the whole class
//
// In all of them a student's words (names, what a kernel prints, what a compiler repeats) are text:
// lines_of() makes them plain, and a library or a function below escapes them for each format.
#include <libxml/xmlwriter.h>
#include <math.h>
#include <resolv.h>  // b64_ntop()
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "class/class.h"

// A compiler may say much; its first errors matter.
enum { COMPILER_SHOWN = 4000 };

// One line of a grade: an item, or a lesson that has none.
struct line {
    char name[160];
    char message[8192];  // what was found, and likely why
    const char* cause;
    double points;
    int max_points;
    enum outcome outcome;
    double seconds;
};

// How many bytes of the text's first whole lines fit into `most` bytes.
static int whole_lines(const char* text, int most) {
    int n = (int)strlen(text);
    for (n = n < most ? n : most; n > 0 && text[n] && text[n - 1] != '\n'; n--) {
    }
    return n;
}

// If the file could not be run, every item says why, and the first one adds what the compiler said.
static void message_of(const struct result* r, int index, char* text, size_t size) {
    const struct result_item* item = &r->item[index];
    const char* said = r->message[0] && index == 0 ? r->compiler : "";
    size_t end = strlen(item->message);
    const char* line_end = end > 0 && item->message[end - 1] != '\n' ? "\n" : "";
    snprintf(text, size, "%s%s%.*s", item->message, line_end, whole_lines(said, COMPILER_SHOWN),
             said);
    size_t n = strlen(text);
    if (item->outcome == OUTCOME_FAIL && !r->message[0])
        snprintf(text + n, size - n, "likely cause: %s [%s]\n", item->sentence, item->cause);
    plain_text(text);  // a text that does not fit may end inside of a character
}

// The lines of a lesson; their points add up to the lesson's points. If these are not the check's
// (a late rule, an override, nothing to grade), the lesson is one line.
static int lines_of(const struct class* class, const struct row* row, int lesson, struct result* r,
                    struct line line[RESULT_ITEMS]) {
    const struct cell* cell = &row->cell[lesson];
    bool graded = result_kept(class, row, lesson, r);
    if (!graded || cell->now.excused || !cell->now.known ||
        fabs(cell->now.points - r->score) > 0.005) {
        line[0] = (struct line){.cause = "",
                                .points = cell->now.points,
                                .max_points = cell->now.excused ? 0 : 100,
                                .outcome = !cell->now.known          ? OUTCOME_ERROR
                                           : cell->now.excused       ? OUTCOME_PASS
                                           : cell->now.points >= 100 ? OUTCOME_PASS
                                                                     : OUTCOME_FAIL};
        snprintf(line[0].name, sizeof line[0].name, "%s", class->lesson[lesson].name);
        snprintf(line[0].message, sizeof line[0].message, "%s", cell->now.note);
        plain_text(line[0].message);
        return 1;
    }
    for (int i = 0; i < r->item_count; i++) {
        const struct result_item* item = &r->item[i];
        line[i] = (struct line){.cause = item->cause,
                                .points = item->points,
                                .max_points = item->max_points,
                                .outcome = item->outcome,
                                .seconds = item->seconds};
        snprintf(line[i].name, sizeof line[i].name, "%s: %s", class->lesson[lesson].name,
                 item->name);
        plain_line(line[i].name);
        message_of(r, i, line[i].message, sizeof line[i].message);
    }
    return r->item_count;
}

// ---- what the student reads

// The points, and what the note adds to them.
static void say_points(FILE* f, double points, const char* note) {
    char text[64];
    int n = snprintf(text, sizeof text, "%.10g of 100", points);
    if (!strncmp(note, text, (size_t)n) && (!note[n] || note[n] == ';'))
        note += n + (note[n] == ';' ? 2 : 0);
    fprintf(f, note[0] ? "%s (%s)\n" : "%s\n", text, note);
}

static void feedback(const struct class* class, const struct row* row, struct result* r) {
    char* text;
    size_t size;
    FILE* f = open_memstream(&text, &size);
    if (!f) class_refuse("no memory for a feedback");
    fprintf(f, "%s\n", row->name);
    for (int l = 0; l < class->lessons; l++) {
        const struct cell_points* p = &row->cell[l].now;
        fprintf(f, "\nLesson %s: ", class->lesson[l].name);
        if (p->excused)
            fprintf(f, "%s\n", p->note);
        else if (p->known)
            say_points(f, round(100 * p->points) / 100, p->note);
        else
            fprintf(f, "not graded: %s. This is not your fault.\n", p->note);
        if (!result_kept(class, row, l, r)) continue;
        if (r->message[0]) text_print(f, "  ", r->message);
        if (r->message[0]) text_print(f, "      ", r->compiler);
        // What does not compile has failed every item in the same way.
        for (int i = 0; i < r->item_count && !r->message[0]; i++) {
            const struct result_item* item = &r->item[i];
            fprintf(f, "\n  %-5s %3d/%-3d %s\n", item->outcome == OUTCOME_PASS ? "OK" : "FAIL",
                    item->points, item->max_points, item->name);
            char message[sizeof((struct line*)0)->message];
            message_of(r, i, message, sizeof message);
            text_print(f, "      ", message);
        }
        fprintf(f, "\n  To see the same: make grade LESSON=%.2s SEED=%s FILE=your.cu\n",
                class->lesson[l].name, r->seed);
    }
    if (row->known && !row->excused)
        fprintf(f, "\nTotal: %.10g %%\n", round(100 * row->total) / 100);
    fclose(f);
    class_write(class_path(class, "feedback/%s.txt", row->id), text, size);
    free(text);
}

// ---- Gradescope

static void gradescope(const struct class* class, const struct row* row, struct result* r) {
    struct line line[RESULT_ITEMS];
    json_t* tests = json_array();
    double seconds = 0;
    for (int l = 0; l < class->lessons; l++) {
        int n = lines_of(class, row, l, r, line);
        for (int i = 0; i < n; i++) {
            char number[24];
            snprintf(number, sizeof number, "%d.%d", l + 1, i + 1);
            seconds += line[i].seconds;
            json_array_append_new(
                tests,
                json_pack("{ss ss sf sf ss ss ss ss}", "name", line[i].name, "number", number,
                          "score", line[i].points, "max_score", (double)line[i].max_points,
                          "status", line[i].outcome == OUTCOME_PASS ? "passed" : "failed", "output",
                          line[i].message, "output_format", "text", "name_format", "text"));
        }
    }
    char note[4096];
    snprintf(note, sizeof note, "%s",
             row->known ? "" : "Not all could be graded; the instructor knows.\n");
    for (int l = 0; l < class->lessons; l++) {
        size_t n = strlen(note);
        if (row->cell[l].why[0] && sizeof note - n > WHY_SIZE + 80)
            snprintf(note + n, sizeof note - n, "%s: %s\n", class->lesson[l].name,
                     row->cell[l].why);
    }
    plain_text(note);
    class_write_json(class_path(class, "exports/gradescope/%s.json", row->id),
                     json_pack("{sf sf ss ss ss so}", "score", round(100 * row->total) / 100,
                               "execution_time", seconds, "output", note, "output_format", "text",
                               "visibility", "visible", "tests", tests));
}

// ---- GitHub Classroom

// Its total is the sum of the tests' scores, which are whole numbers: adjusted points are rounded.
static void classroom(const struct class* class, const struct row* row, int lesson,
                      struct result* r) {
    struct line line[RESULT_ITEMS];
    int n = lines_of(class, row, lesson, r, line), max = 0;
    enum outcome all = OUTCOME_PASS;
    json_t* tests = json_array();
    for (int i = 0; i < n; i++) {
        max += line[i].max_points;
        if (line[i].outcome < all) all = line[i].outcome;
        json_array_append_new(tests,
                              json_pack("{ss ss si ss ss ss si sf}", "name", line[i].name, "status",
                                        outcome_name(line[i].outcome), "score",
                                        (int)lround(line[i].points), "message", line[i].message,
                                        "test_code", "", "filename", class->lesson[lesson].file,
                                        "line_no", 0, "duration", line[i].seconds));
    }
    json_t* root = json_pack("{si ss si so}", "version", 1, "status", outcome_name(all),
                             "max_score", max, "tests", tests);
    char* text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    size_t size = text ? strlen(text) : 0, room = 4 * (size / 3 + 1) + 2;
    char* coded = malloc(room);
    if (!text || !coded || b64_ntop((unsigned char*)text, size, coded, room - 1) < 0)
        class_refuse("no memory for an export");
    strcat(coded, "\n");
    class_write(
        class_path(class, "exports/classroom/%s.%s.txt", row->id, class->lesson[lesson].name),
        coded, strlen(coded));
    free(coded);
    free(text);
    json_decref(root);
}

// ---- TAP

// A # in a description begins a directive.
static void tap_text(FILE* f, const char* text) {
    for (; *text; text++) {
        if (*text == '#' || *text == '\\') fputc('\\', f);
        fputc(*text, f);
    }
}

// A JSON string is also a YAML string.
static void tap_value(FILE* f, const char* key, const char* text) {
    json_t* value = json_string(text);
    char* quoted = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    fprintf(f, "  %s: %s\n", key, quoted ? quoted : "\"\"");
    free(quoted);
    json_decref(value);
}

static void tap(const struct class* class, const struct row* row, struct result* r) {
    struct line line[RESULT_ITEMS];
    char* text;
    size_t size;
    int count = 0;
    FILE* f = open_memstream(&text, &size);
    if (!f) class_refuse("no memory for an export");
    fputs("TAP version 13\n", f);
    for (int l = 0; l < class->lessons; l++) {
        int n = lines_of(class, row, l, r, line);
        for (int i = 0; i < n; i++) {
            bool passed = line[i].outcome == OUTCOME_PASS;
            fprintf(f, "%s %d - ", passed ? "ok" : "not ok", ++count);
            tap_text(f, line[i].name);
            fprintf(f, "\n  ---\n  points: %.10g\n  max_points: %d\n", line[i].points,
                    line[i].max_points);
            tap_value(f, "cause", line[i].cause);
            tap_value(f, "message", passed ? "" : line[i].message);
            fputs("  ...\n", f);
        }
    }
    fprintf(f, "1..%d\n", count);
    fclose(f);
    class_write(class_path(class, "exports/tap/%s.tap", row->id), text, size);
    free(text);
}

// ---- JUnit

// With name NULL the text stands in the element.
static void xml_text(xmlTextWriterPtr w, const char* name, const char* text) {
    if (name)
        xmlTextWriterWriteAttribute(w, BAD_CAST name, BAD_CAST text);
    else
        xmlTextWriterWriteString(w, BAD_CAST text);
}

static void xml_property(xmlTextWriterPtr w, const char* name, double value) {
    char text[32];
    xmlTextWriterStartElement(w, BAD_CAST "property");
    xmlTextWriterWriteAttribute(w, BAD_CAST "name", BAD_CAST name);
    xmlTextWriterWriteAttribute(w, BAD_CAST "value", BAD_CAST points_text(true, value, text));
    xmlTextWriterEndElement(w);
}

static void xml_number(xmlTextWriterPtr w, const char* name, int value) {
    xmlTextWriterWriteFormatAttribute(w, BAD_CAST name, "%d", value);
}

static void junit_case(xmlTextWriterPtr w, const char* lesson, const struct line* line) {
    xmlTextWriterStartElement(w, BAD_CAST "testcase");
    xml_text(w, "name", line->name);
    xml_text(w, "classname", lesson);
    xmlTextWriterWriteFormatAttribute(w, BAD_CAST "time", "%.3f", line->seconds);
    xmlTextWriterStartElement(w, BAD_CAST "properties");
    xml_property(w, "points", line->points);
    xml_property(w, "max_points", line->max_points);
    xmlTextWriterEndElement(w);
    if (line->outcome != OUTCOME_PASS) {
        xmlTextWriterStartElement(w, BAD_CAST(line->outcome == OUTCOME_FAIL ? "failure" : "error"));
        xml_text(w, "message", line->cause[0] ? line->cause : line->message);
        xml_text(w, "type", line->cause[0] ? line->cause : "points");
        xml_text(w, NULL, line->message);
        xmlTextWriterEndElement(w);
    }
    xmlTextWriterEndElement(w);
}

static void junit(const struct class* class, struct result* r) {
    struct line line[RESULT_ITEMS];
    xmlBufferPtr buffer = xmlBufferCreate();
    xmlTextWriterPtr w = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
    if (!w) class_refuse("no memory for an export");
    xmlTextWriterSetIndent(w, 1);
    xmlTextWriterStartDocument(w, NULL, "UTF-8", NULL);
    xmlTextWriterStartElement(w, BAD_CAST "testsuites");
    for (int i = 0; i < class->rows; i++) {
        const struct row* row = &class->row[i];
        int tests = 0, failures = 0, errors = 0;
        for (int pass = 0; pass < 2; pass++) {
            if (pass == 1) {
                xmlTextWriterStartElement(w, BAD_CAST "testsuite");
                xml_text(w, "name", row->name);
                xml_number(w, "tests", tests);
                xml_number(w, "failures", failures);
                xml_number(w, "errors", errors);
                xmlTextWriterStartElement(w, BAD_CAST "properties");
                if (row->known && !row->excused) xml_property(w, "total", row->total);
                for (int l = 0; l < class->lessons; l++)
                    if (row->cell[l].now.known && !row->cell[l].now.excused)
                        xml_property(w, class->lesson[l].name, row->cell[l].now.points);
                xmlTextWriterEndElement(w);
            }
            for (int l = 0; l < class->lessons; l++) {
                int n = lines_of(class, row, l, r, line);
                for (int j = 0; j < n; j++) {
                    tests += pass == 0;
                    failures += pass == 0 && line[j].outcome == OUTCOME_FAIL;
                    errors += pass == 0 && line[j].outcome == OUTCOME_ERROR;
                    if (pass == 1) junit_case(w, class->lesson[l].name, &line[j]);
                }
            }
        }
        xmlTextWriterEndElement(w);
    }
    xmlTextWriterEndElement(w);
    xmlTextWriterEndDocument(w);
    xmlFreeTextWriter(w);
    class_write(class_path(class, "exports/junit.xml"), (char*)buffer->content, buffer->use);
    xmlBufferFree(buffer);
    xmlCleanupParser();
}

void export_all(struct class* class) {
    static const char* const folders[] = {"feedback", "exports/gradescope", "exports/classroom",
                                          "exports/tap"};
    struct result* r = malloc(sizeof *r);
    if (!r) class_refuse("no memory for a result");
    for (int i = 0; i < 4; i++) class_forget(class, folders[i], false);
    for (int i = 0; i < class->rows; i++) {
        feedback(class, &class->row[i], r);
        gradescope(class, &class->row[i], r);
        tap(class, &class->row[i], r);
        for (int l = 0; l < class->lessons; l++) classroom(class, &class->row[i], l, r);
    }
    junit(class, r);
    free(r);
}
