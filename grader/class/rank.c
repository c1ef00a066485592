// rank.c: which lesson's file an entry may be, and how likely it is the one that is meant. See
// rank.h.
#include "class/rank.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf16.h"

int first_of(const struct class* class, int handin) {
    const struct handin* h = &class->handin[handin];
    return class->handin[h->of < 0 ? handin : h->of].first;
}

static bool is_same_text(const char* data, size_t length, const char* text, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (data[i] == '\r') continue;
        if (n == size || data[i] != text[n++]) return false;
    }
    return n == size;
}

bool is_text(const struct entry* e, const char* text, size_t size) {
    if (e->kind != ENTRY_FILE || !text) return false;
    size_t length;
    char* in_utf8 = utf16_text(e->data, e->size, &length);
    const bool same = in_utf8 ? is_same_text(in_utf8, length, text, size)
                              : is_same_text(e->data, e->size, text, size);
    free(in_utf8);
    return same;
}

bool is_untouched(const struct class_lesson* l, const struct entry* e) {
    return is_text(e, l->untouched, l->untouched_size);
}

enum fit fit_of(const struct class_lesson* l, const char* name, bool canvas) {
    char full[160];
    snprintf(full, sizeof full, "%s%s", l->name, file_ending(l->file));
    enum fit fit = file_fits(name, l->file, canvas);
    return fit == FIT_NOT && !strcasecmp(name, full) ? FIT_NEARLY : fit;
}

bool goes_through(const char* path, const char* folder) {
    const size_t n = strlen(folder);
    for (const char* in = path; (in = strstr(in, folder)); in++)
        if ((in == path || in[-1] == '/') && in[n] == '/') return true;
    return false;
}

int rank_of(const struct class_lesson* l, const struct entry* e, int lesson, bool canvas) {
    const char* path = e->inside;
    char place[160];
    if (e->lesson >= 0) return e->lesson == lesson ? 1000 : 0;
    if (e->kind == ENTRY_FOLDER || e->kind == ENTRY_ARCHIVE || !path[0]) return 0;
    if (strstr(path, "__MACOSX/")) return 0;
    enum fit fit = fit_of(l, base_name(path), canvas);
    if (fit == FIT_NOT) return 0;
    int depth = 0;
    for (const char* p = path; *p; p++) depth += *p == '/';
    snprintf(place, sizeof place, "%s/", l->name);
    const char* in = strstr(path, place);
    bool own = in && (in == path || in[-1] == '/') && base_name(path) == in + strlen(place);
    snprintf(place, sizeof place, "solutions/%s", l->name);
    bool other = goes_through(path, place) || goes_through(path, "saved") ||
                 goes_through(path, "grader") || e->climbs;
    bool empty = e->kind == ENTRY_FILE && e->size == 0;
    int rank = empty                ? 10
               : other              ? (fit == FIT_EXACT ? 40 : 20)
               : is_untouched(l, e) ? UNTOUCHED
                                    : (fit == FIT_EXACT ? 500 : 100) + (own ? 100 : 0);
    return rank + (depth < 9 ? 9 - depth : 0);
}

bool is_litter(const char* path) {
    const char* name = base_name(path);
    return strstr(path, "__MACOSX/") || name[0] == '.' || !strcasecmp(name, "Thumbs.db") ||
           !strcasecmp(name, "desktop.ini");
}

const char* lesson_left_out(const struct class* class, const char* name) {
    for (int k = 0; k < class->known_lessons; k++) {
        const char *lesson = class->known_lesson[k], *own = strchr(lesson, '_');
        char file[80], full[80];
        bool graded = false;
        for (int l = 0; l < class->lessons; l++) graded |= !strcmp(class->lesson[l].name, lesson);
        if (graded || !own) continue;
        snprintf(file, sizeof file, "%.70s.cu", own + 1);
        snprintf(full, sizeof full, "%.70s.cu", lesson);
        if (file_fits(name, file, true) != FIT_NOT || !strcasecmp(name, full)) return lesson;
    }
    return NULL;
}
