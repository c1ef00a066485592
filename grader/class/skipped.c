// skipped.c: skipped.csv: what was not taken of all that was handed in, and why. See class.h.
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "class/class.h"
#include "class/rank.h"

static const char left_out[] = "of a lesson that this run does not grade";

// Is it a lesson's file, of which nobody knows whose it is? Whoever made it would have no points.
static bool is_lost(const struct class* class, const struct entry* e) {
    bool fits = false;
    for (int l = 0; l < class->lessons; l++)
        fits |= fit_of(&class->lesson[l], base_name(e->path), true) != FIT_NOT;
    return e->handin < 0 && fits && !is_litter(e->path);
}

// Why the entry does not count.
static const char* why_not(const struct class* class, const struct entry* e) {
    if (e->why[0]) return e->why;
    if (e->climbs) return "its path has .., which leads nowhere here";
    if (lesson_left_out(class, base_name(e->path))) return left_out;
    if (e->handin < 0) return "nobody's: no student, and no lesson's file";
    if (e->kind != ENTRY_FILE) return "no lesson's file";
    const struct handin* h = &class->handin[e->handin];
    bool fits = false;
    for (int l = 0; l < class->lessons; l++) {
        if (rank_of(&class->lesson[l], e, l, h->canvas) == 0) continue;
        if (is_untouched(&class->lesson[l], e)) return "the exercise as it was handed out";
        if (class->row[h->row].cell[l].state == CELL_TAKEN) return "another file counts";
        fits = true;
        for (int i = first_of(class, e->handin); i >= 0; i = class->entry[i].next) {
            const struct entry* two = &class->entry[i];
            bool may_be = two != e && two->kind == ENTRY_FILE && two->size > 0 && e->size > 0;
            if (may_be && rank_of(&class->lesson[l], two, l, h->canvas) > 0)
                return "two files may be meant";
        }
    }
    return !fits         ? "not called as a lesson's file"
           : e->size > 0 ? "a later hand-in counts"
                         : "an empty file";
}

// A line for each file of the template would hide the one that matters: one says it of all.
static void skip_template(const struct class* class, FILE* to) {
    const char* first = NULL;
    char text[80];
    int count = 0;
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        if (e->of_template && count++ == 0) first = e->inside;
    }
    if (count == 0) return;
    snprintf(text, sizeof text, "the template's, and %d more: nobody worked on them", count - 1);
    table_field(to, "", false);
    table_field(to, first, false);
    table_field(to, count > 1 ? text : "the template's: nobody worked on it", true);
}

void skipped_write(const struct class* class) {
    enum { SHOWN = 50, SAID = 10 };
    char* text;
    size_t size;
    int said = 0, of_handin = 0, last = -1;
    FILE* f = open_memstream(&text, &size);
    if (!f) class_refuse("no memory for skipped.csv");
    fputs("student,entry,why\n", f);
    skip_template(class, f);
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        bool whole = e->kind == ENTRY_FOLDER || (e->kind == ENTRY_ARCHIVE && !e->why[0]);
        if (e->taken || whole || e->of_template || !strcmp(base_name(e->path), METADATA_FILE))
            continue;
        const char* why = why_not(class, e);
        if (is_lost(class, e))
            todo_say("%s: nobody knows whose it is. Put it into a folder with the student's name",
                     e->path);
        else if (e->handin < 0 && !class->student && said++ < SAID)
            text_say(stderr, "skipped: %s (%s)", e->path, why);
        of_handin = e->handin == last ? of_handin + 1 : 0;
        last = e->handin;
        if (of_handin > SHOWN && e->handin >= 0 && e->kind != ENTRY_BAD) continue;
        table_field(f, e->handin < 0 ? "" : class->row[class->handin[e->handin].row].id, false);
        table_field(f, e->path, false);
        table_field(f, of_handin == SHOWN ? "no lesson's file, nor many others beside it" : why,
                    true);
    }
    if (said > SAID) text_say(stderr, "skipped: %d more, in skipped.csv", said - SAID);
    fclose(f);
    class_write(class_path(class, "skipped.csv"), text, size);
    free(text);
}
