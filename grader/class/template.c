// template.c: what nobody worked on of all that was handed in: the course's own files, as a clone
// of it has them, or one that everybody began with. See rank.h.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "class/class.h"
#include "class/rank.h"

// Has the course this file, and with these bytes? The entry's path may have folders before it. Only
// of what is homework the bytes are asked: a clone may be older than the course.
static bool has_course(const struct entry* e) {
    bool found = false;
    for (const char* path = e->inside; path && !found; path = strchr(path, '/')) {
        path += path > e->inside || path[0] == '/';
        const bool homework = !strncmp(path, "exercises/", 10) || !strncmp(path, "solutions/", 10);
        if (!strchr(path, '/') || !strncmp(path, "saved/", 6) || access(path, R_OK) != 0) continue;
        if (!homework || e->kind != ENTRY_FILE) {
            found = true;
            continue;
        }
        size_t size;
        char* text = class_read(path, &size);
        found = text && is_text(e, text, size);
        free(text);
    }
    return found;
}

// Is it the exercise of a lesson that this run does not grade, wherever it lies?
static bool is_other_exercise(const struct class* class, const struct entry* e) {
    const char* lesson = lesson_left_out(class, base_name(e->path));
    char path[200];
    size_t size;
    if (!lesson || e->kind != ENTRY_FILE) return false;
    snprintf(path, sizeof path, "exercises/%.80s/%.80s.cu", lesson, strchr(lesson, '_') + 1);
    char* text = class_read(path, &size);
    const bool is = text && is_text(e, text, size);
    free(text);
    return is;
}

static int place_of(const struct class* class, const struct entry* e) {
    return class->handin[e->handin].place;
}

// By place, path, and what is known of the bytes.
static int by_path(const void* a, const void* b, void* to) {
    const struct class* class = to;
    const struct entry *x = *(struct entry*const*)a, *y = *(struct entry*const*)b;
    const int places = place_of(class, x) - place_of(class, y);
    const int paths = places ? places : strcmp(x->inside, y->inside);
    if (paths) return paths;
    if (x->size != y->size || !x->data || !y->data)
        return (x->size > y->size) - (x->size < y->size);
    return memcmp(x->data, y->data, x->size);
}

void find_template(struct class* class) {
    enum { FEWEST = 3 };
    int handins[MOST_PLACES] = {0}, n = 0;
    struct entry** other = calloc((size_t) class->entries + 1, sizeof *other);
    if (!other) class_refuse("no memory for what was handed in");
    for (int i = 0; i < class->handins; i++) handins[class->handin[i].place]++;
    for (int i = 0; i < class->entries; i++) {
        struct entry* e = &class->entry[i];
        bool asked = false;
        if (e->handin < 0 || !e->inside[0] || e->why[0]) continue;
        if (e->kind != ENTRY_FILE && e->kind != ENTRY_OTHER) continue;
        for (int l = 0; l < class->lessons; l++)
            asked |= rank_of(&class->lesson[l], e, l, class->handin[e->handin].canvas) > 0;
        if (asked) continue;
        e->of_template = has_course(e) || is_other_exercise(class, e);
        if (!e->of_template) other[n++] = e;
    }
    // What most have at the same path, and nobody of them changed, they began with.
    qsort_r(other, (size_t)n, sizeof *other, by_path, class);
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && by_path(&other[i], &other[end], class) == 0;) end++;
        if (end - i < FEWEST || 2 * (end - i) <= handins[place_of(class, other[i])]) continue;
        for (int k = i; k < end; k++) other[k]->of_template = true;
    }
    free(other);
}
