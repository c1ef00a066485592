// look.c: what one hand-in has of each lesson: the file that counts, and which others may be meant.
// See rank.h.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/plain.h"
#include "class/class.h"
#include "class/rank.h"

// ---- times

// When the entry was made, to be compared with others of its hand-in. Canvas numbers them.
static int64_t time_of(const struct handin* h, const struct entry* e) {
    return h->inner && !h->canvas ? e->inner_time : e->time;
}

// Which has the later time? 1: a has, -1: b has, 0: neither. A copy takes a moment. A zip counts
// in steps of two seconds. Moodle gives its files the time of the download, which takes minutes.
enum { MOMENT = 2, DOWNLOAD = 600 };
static int later_time(const struct handin* h, const struct entry* a, const struct entry* b) {
    const int64_t apart = h->canvas ? 0 : h->moodle ? DOWNLOAD : MOMENT;
    const int64_t x = time_of(h, a), y = time_of(h, b);
    return x && y && llabs(x - y) > apart ? (x > y ? 1 : -1) : 0;
}

// Was the one made after the other? As above, 0: no time says it. A time that all hand-ins have
// says nothing of this one.
static int later(const struct handin* h, const struct entry* a, const struct entry* b) {
    const int when = h->shared ? 0 : later_time(h, a, b);
    if (when) return when;
    // In one archive, or in two of one time, the files' own times are left.
    const int64_t p = a->inner_time, q = b->inner_time;
    if (!h->inner && p && q && llabs(p - q) > MOMENT) return p > q ? 1 : -1;
    return 0;
}

void say_time(int64_t time, char text[40]) {
    struct tm t;
    time_t seconds = (time_t)time;
    text[0] = '\0';
    if (time && localtime_r(&seconds, &t)) strftime(text, 40, " of %Y-%m-%d %H:%M", &t);
}

// ---- the best file

// The best entry of a hand-in for each lesson. At first those that can be taken.
struct best {
    struct entry *good, *bad;
    int good_rank, bad_rank;
    const struct entry* other;  // may be meant as well, and is not the same ...
    bool sure;                  // ... but was made before `good`
};

bool is_same(const struct entry* a, const struct entry* b) {
    return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

// Of two files that were worked on the later one counts, whatever a browser has made of its name.
// Where no time says which that is, it is the likelier one.
static bool is_better(const struct handin* h, const struct entry* e, int rank,
                      const struct best* b) {
    if (!b->good) return true;
    const bool alike = (rank >= WORKED) == (b->good_rank >= WORKED) &&
                       (rank >= UNTOUCHED) == (b->good_rank >= UNTOUCHED);
    int when = alike ? later(h, e, b->good) : 0;
    if (alike && !when) when = later_time(h, e, b->good);
    if (when) return when > 0;
    if (rank != b->good_rank) return rank > b->good_rank;
    return strcmp(e->path, b->good->path) < 0;
}

// Of the other files that may be meant the one that most needs to be named.
static void find_other(const struct class* class, int handin, int lesson, struct best* b) {
    const struct handin* h = &class->handin[handin];
    int other_rank = 0;
    for (int i = first_of(class, handin); i >= 0 && b->good; i = class->entry[i].next) {
        const struct entry* e = &class->entry[i];
        const int rank = rank_of(&class->lesson[lesson], e, lesson, h->canvas);
        if (b->good_rank < WORKED || rank < WORKED || e->kind != ENTRY_FILE) continue;
        if (e == b->good || is_same(e, b->good)) continue;
        const bool sure = later(h, b->good, e) > 0;
        if (b->other && b->sure != sure
                ? sure
                : b->other && (sure ? later(h, e, b->other) <= 0 : rank <= other_rank))
            continue;
        b->other = e;
        b->sure = sure;
        other_rank = rank;
    }
}

static void find_best(const struct class* class, int handin, int lesson, struct best* b) {
    const struct handin* h = &class->handin[handin];
    memset(b, 0, sizeof *b);
    for (int i = first_of(class, handin); i >= 0; i = class->entry[i].next) {
        struct entry* e = &class->entry[i];
        int rank = rank_of(&class->lesson[lesson], e, lesson, h->canvas);
        if (rank == 0) continue;
        if (e->kind != ENTRY_FILE) {
            if (rank > b->bad_rank) b->bad = e, b->bad_rank = rank;
        } else if (is_better(h, e, rank, b)) {
            b->good = e;
            b->good_rank = rank;
        }
    }
    find_other(class, handin, lesson, b);
}

// An archive of the hand-in that could not be read, and in which the entry lies, if one is given.
static struct entry* unreadable(const struct class* class, int handin, const struct entry* in) {
    for (int i = first_of(class, handin); i >= 0; i = class->entry[i].next) {
        struct entry* e = &class->entry[i];
        size_t n = strlen(e->path);
        bool archive = e->path[without_ending(e->path, archive_endings)] ||
                       e->path[without_ending(e->path, closed_endings)];
        if (!e->why[0] || !archive || is_litter(e->path)) continue;
        if (!in || (!strncmp(in->path, e->path, n) && in->path[n] == '/')) return e;
    }
    return NULL;
}

// ---- in words

void add_text(char* text, size_t size, const char* format, ...) {
    size_t n = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + n, size - n, format, values);
    va_end(values);
}

// The name of an entry, as its student gave it.
static const char* name_of(const struct entry* e) {
    return base_name(e->inside[0] ? e->inside : e->path);
}

// Has the name "gqa" in it?
static bool has_stem(const struct class_lesson* l, const char* name) {
    char stem[64];
    snprintf(stem, sizeof stem, "%.*s", (int)(strlen(l->file) - strlen(file_ending(l->file))),
             l->file);
    return strcasestr(name, stem) != NULL;
}

// The other lesson of this run that wants the entry; NULL if there is none.
static const char* other_of(const struct class* class, const struct handin* h,
                            const struct entry* e, int lesson) {
    for (int l = 0; l < class->lessons; l++)
        if (l != lesson && rank_of(&class->lesson[l], e, l, h->canvas) > 0)
            return class->lesson[l].name;
    return NULL;
}

// "; handed in: gqa_final (2).cu; wanted: gqa.cu": the files that are most like the wanted one.
// What counts for another lesson is no answer to the question what became of this one, but in the
// download of this one.
static void say_near(const struct class* class, int handin, int lesson, char why[WHY_SIZE]) {
    enum { SHOWN = 3 };
    const struct handin* h = &class->handin[handin];
    const struct class_lesson* l = &class->lesson[lesson];
    int count = 0, all = 0, others = 0, own = 0;
    char names[WHY_SIZE / 2] = "";
    const int about = class->place_lesson[h->place];
    if (about >= 0 && about != lesson) return;
    // With the stem in the name, then with the ending, then all others.
    for (int pass = 0; pass < 3 && count == 0; pass++)
        for (int i = first_of(class, handin); i >= 0; i = class->entry[i].next) {
            const struct entry* e = &class->entry[i];
            if (e->kind == ENTRY_FOLDER || e->kind == ENTRY_ARCHIVE || is_litter(e->path)) continue;
            const char *name = name_of(e), *left_out = lesson_left_out(class, name),
                       *other = other_of(class, h, e, lesson);
            own += pass == 0 && e->of_template;
            if (e->of_template) continue;
            others += pass == 0 && other;
            if (other && about != lesson) continue;
            if (!left_out) left_out = other;
            if (pass == 0 && !has_stem(l, name)) continue;
            if (pass == 1 && !has_ending(name, file_ending(l->file))) continue;
            all++;
            if (count == SHOWN) continue;
            add_text(names, sizeof names, "%s%.70s", count++ ? ", " : "", name);
            if (left_out) add_text(names, sizeof names, " (of lesson %.2s)", left_out);
        }
    if (!names[0] && others > 0) return;
    if (all > count) add_text(names, sizeof names, " and %d more", all - count);
    add_text(why, WHY_SIZE, "%shanded in: %s; wanted: %s", why[0] ? "; " : "",
             names[0] ? names
             : own    ? "the course's own files"
                      : "nothing that can be read",
             l->file);
}

// Which of two files of the hand-in counts. Canvas's numbers are no times.
static void say_which(const struct handin* h, const struct best* b, char why[WHY_SIZE]) {
    char when[40] = "", other_when[40] = "";
    const struct entry *good = b->good, *other = b->other;
    if (!h->canvas && (!h->copied || later_time(h, good, other))) {
        say_time(time_of(h, good), when);
        say_time(time_of(h, other), other_when);
    }
    const bool alike = h->canvas ? good->time == other->time : !strcmp(when, other_when);
    if (!h->inner && alike && good->inner_time && other->inner_time) {
        say_time(good->inner_time, when);
        say_time(other->inner_time, other_when);
    }
    if (!strcmp(when, other_when)) when[0] = other_when[0] = '\0';
    add_text(why, WHY_SIZE, "%.100s%s counts, and not %.100s%s", good->inside, when, other->inside,
             other_when);
}

static void say_bad(const struct entry* bad, const struct entry* unread, char why[WHY_SIZE]) {
    const struct entry* e = bad ? bad : unread;
    if (bad || !e->inside[0])
        snprintf(why, WHY_SIZE, "%s", e->why);
    else
        snprintf(why, WHY_SIZE, "%.150s: %.150s", base_name(e->inside), e->why);
}

// ---- what counts

// Whoever packs a path with ".." wants it to lead out of the archive: it leads nowhere.
static void say_climbs(const struct class* class, int handin, int lesson, const struct entry* good,
                       struct cell* c) {
    const bool canvas = class->handin[handin].canvas;
    bool any = false;
    for (int i = first_of(class, handin); i >= 0; i = class->entry[i].next)
        any |= class->entry[i].climbs &&
               rank_of(&class->lesson[lesson], &class->entry[i], lesson, canvas) > 0;
    if (any && good && good->climbs)
        add_text(c->why, WHY_SIZE, "%sits path in the archive has .., taken as %.100s",
                 c->why[0] ? "; " : "", base_name(good->inside));
    else if (any)
        add_text(c->why, WHY_SIZE, "%sa path with .. in the archive was not followed",
                 c->why[0] ? "; " : "");
}

// What cannot be read beside a file that counts, and may have come after it.
static void say_beside(const struct class* class, int handin, const struct best* b,
                       struct cell* c) {
    const struct handin* h = &class->handin[handin];
    const struct entry* shut = unreadable(class, handin, NULL);
    if (b->bad && b->bad_rank >= WORKED &&
        (b->good_rank < WORKED || later(h, b->good, b->bad) <= 0))
        add_text(c->why, WHY_SIZE, "%sbeside it another, %.200s", c->why[0] ? "; " : "",
                 b->bad->why);
    else if (b->good_rank >= WORKED && shut && unreadable(class, handin, b->good) != shut &&
             later(h, b->good, shut) <= 0)
        add_text(c->why, WHY_SIZE, "%sbeside it %.100s: %.150s", c->why[0] ? "; " : "",
                 name_of(shut), shut->why);
    else
        return;
    snprintf(c->doubt, sizeof c->doubt, "%s", c->why);
}

static void look_at(const struct class* class, int handin, int l, struct cell* c,
                    struct entry** entry) {
    const struct handin* h = &class->handin[handin];
    struct best b;
    find_best(class, handin, l, &b);
    enum fit fit = !b.good ? FIT_NOT
                   : b.good->lesson >= 0
                       ? FIT_EXACT
                       : fit_of(&class->lesson[l], base_name(b.good->inside), h->canvas);
    // A copy beside a copy, and no time: neither is the file that was asked for.
    const bool two = b.other && !b.sure && fit == FIT_NEARLY;
    *entry = two ? NULL : b.good;
    if (two) {
        c->state = CELL_REFUSED;
        snprintf(c->why, sizeof c->why, "two files may be meant");
        say_near(class, handin, l, c->why);
        snprintf(c->doubt, sizeof c->doubt, "%s", c->why);
    } else if (b.good && b.good->size == 0) {
        c->state = CELL_REFUSED;
        snprintf(c->why, sizeof c->why, "an empty file");
    } else if (b.good) {
        c->state = CELL_TAKEN;
        c->untouched = is_untouched(&class->lesson[l], b.good);
        if (c->untouched)
            snprintf(c->why, sizeof c->why, "the exercise as it was handed out");
        else if (b.other)
            say_which(h, &b, c->why);
        else if (unreadable(class, handin, b.good))
            snprintf(c->why, sizeof c->why, "from an archive that cannot be read to its end");
        else if (fit == FIT_NEARLY)
            snprintf(c->why, sizeof c->why, "handed in as %.150s", base_name(b.good->inside));
        if (b.other && !b.sure)
            snprintf(c->doubt, sizeof c->doubt, "%.400s, and %s", c->why,
                     later_time(h, b.good, b.other)
                         ? "the later time is also that of the other hand-ins"
                         : "no time says which is the later one");
        say_beside(class, handin, &b, c);
    } else if (b.bad || unreadable(class, handin, NULL)) {
        c->state = CELL_REFUSED;
        say_bad(b.bad, unreadable(class, handin, NULL), c->why);
    } else {
        say_near(class, handin, l, c->why);
    }
}

bool look(const struct class* class, int handin, struct cell cell[LESSONS],
          struct entry* entry[LESSONS]) {
    bool any = false;
    for (int l = 0; l < class->lessons; l++) {
        memset(&cell[l], 0, sizeof cell[l]);
        look_at(class, handin, l, &cell[l], &entry[l]);
        say_climbs(class, handin, l, entry[l], &cell[l]);
        any |= cell[l].state == CELL_TAKEN;
    }
    return any;
}

// ---- what may have been meant

// May this have been meant for the lesson, under a name of its own? Not the course's files, nor
// what is another lesson's by its name: that counts there. Of who has nothing that counts, whatever
// it is: a text may hold the code.
static bool is_meant(const struct class* class, const struct handin* h, const struct entry* e,
                     int lesson, enum cell_state state, bool nothing) {
    const struct class_lesson* l = &class->lesson[lesson];
    const char *name = name_of(e), *ending = file_ending(l->file);
    const bool kernel = !strcmp(ending, ".cu"), shut = e->why[0] != '\0';
    if (e->kind == ENTRY_FOLDER || e->of_template || is_litter(e->path)) return false;
    if (e->kind == ENTRY_ARCHIVE ? !shut : e->kind == ENTRY_FILE && e->size == 0) return false;
    // What cannot be read is the reason for a refusal, and there it is said.
    if (state == CELL_REFUSED && e->kind != ENTRY_FILE) return false;
    if (class->place_lesson[h->place] != lesson && other_of(class, h, e, lesson)) return false;
    if (rank_of(l, e, lesson, h->canvas) > 0)
        return e->kind == ENTRY_FILE && !is_untouched(l, e) &&
               (goes_through(e->inside, "saved") || e->climbs);
    if (e->path[without_ending(e->path, archive_endings)] ||
        e->path[without_ending(e->path, closed_endings)])
        return shut;
    char twice[16];
    snprintf(twice, sizeof twice, "%.8s.txt", ending);
    return (nothing && state == CELL_MISSING) || has_stem(l, name) || has_ending(name, ending) ||
           has_ending(name, twice) ||
           (kernel ? has_ending(name, ".cpp") || has_ending(name, ".ipynb")
                   : has_ending(name, ".md"));
}

void say_meant(const struct class* class, int row, int lesson, bool nothing, struct cell* c) {
    enum { SHOWN = 3 };
    char names[WHY_SIZE / 2] = "";
    int all = 0;
    for (int k = 0; k < class->handins; k++) {
        const struct handin* h = &class->handin[k];
        const int about = class->place_lesson[h->place];
        if (h->row != row || (about >= 0 && about != lesson)) continue;
        for (int i = first_of(class, k); i >= 0; i = class->entry[i].next) {
            const struct entry* e = &class->entry[i];
            const char* left_out = lesson_left_out(class, name_of(e));
            if (!is_meant(class, h, e, lesson, c->state, nothing)) continue;
            if (all++ >= SHOWN) continue;
            add_text(names, sizeof names, "%s%.60s", names[0] ? ", " : "",
                     goes_through(e->inside, "saved") ? e->inside : name_of(e));
            if (left_out) add_text(names, sizeof names, " (of lesson %.2s)", left_out);
        }
    }
    if (all > SHOWN) add_text(names, sizeof names, " and %d more", all - SHOWN);
    // What is missing says it already.
    if (all > 0 && c->state != CELL_MISSING && !strstr(c->why, "; wanted: "))
        add_text(c->why, WHY_SIZE, "%shanded in: %s; wanted: %s", c->why[0] ? "; " : "", names,
                 class->lesson[lesson].file);
    if (c->state == CELL_REFUSED && !c->doubt[0])
        snprintf(c->doubt, sizeof c->doubt, "%s", c->why);
    else if (all > 0)
        snprintf(c->doubt, sizeof c->doubt, "%s%shanded in: %s; wanted: %s",
                 c->untouched ? "the exercise as it was handed out" : "", c->untouched ? "; " : "",
                 names, class->lesson[lesson].file);
}
