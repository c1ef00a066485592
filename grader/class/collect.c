// collect.c: what counts of all that was handed in: of each student and download the latest
// hand-in, as a whole, and of these the lessons' files. See class.h.
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plain.h"
#include "class/class.h"
#include "class/rank.h"

// ---- one student

static void take(struct class* class, struct row* row, int lesson, struct entry* e) {
    struct cell* cell = &row->cell[lesson];
    e->taken = true;
    SHA256Data((const uint8_t*)e->data, e->size, cell->submission);
    const char* path = taken_path(class, row->id, &class->lesson[lesson]);
    size_t old_size;
    char* old = file_read(path, SIZE_LIMIT, &old_size);
    bool same = old && old_size == e->size && memcmp(old, e->data, e->size) == 0;
    free(old);
    if (!same) class_write(path, e->data, e->size);
}

// One hand-in of a student, and what it has of each lesson.
struct candidate {
    struct handin* h;
    struct cell cell[LESSONS];
    struct entry* entry[LESSONS];
    bool any;  // something can be taken
    bool out;  // a later one of its place counts as a whole
};

// The order is that for a lesson, or that of whole hand-ins.
struct order {
    const struct class* class;
    int lesson;
};
enum { WHOLE = -1 };

static bool is_worked(const struct cell* c) {
    return c->state == CELL_TAKEN && !c->untouched;
}

// How far the download that the hand-in is in is from being about the lesson.
static int distance(const struct order* to, const struct candidate* c) {
    const int about = to->class->place_lesson[c->h->place];
    if (to->lesson == WHOLE) return about >= 0 && c->cell[about].state == CELL_MISSING;
    return about == to->lesson ? 0 : about < 0 ? 1 : 2;
}

// The latest first: what came by mail; what is in the download of its lesson, before what is in
// another one's; by their times or numbers, else one that the platform calls late; else one in
// which something was worked on; else the first in the order of the names.
static int by_time(const void* a, const void* b, void* to) {
    const struct candidate *c = *(struct candidate*const*)a, *d = *(struct candidate*const*)b;
    const struct handin *x = c->h, *y = d->h;
    const int away = distance(to, c) - distance(to, d);
    if (x->mailed != y->mailed) return x->mailed ? -1 : 1;
    if (away) return away;
    if (x->time != y->time) return x->time < y->time ? 1 : -1;
    if (x->order != y->order && x->order && y->order) return x->order < y->order ? 1 : -1;
    if (x->late != y->late) return x->late ? -1 : 1;
    if (x->worked != y->worked) return x->worked ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names ? names : (x > y) - (x < y);
}

// "ada in hw03.zip of 2026-11-20 12:00", where the name alone may be that of several.
static void say_handin(const struct handin* h, char text[WHY_SIZE / 2]) {
    char when[40] = "";
    const size_t n = strlen(h->where);
    if (n > 0) say_time(h->time, when);
    snprintf(text, WHY_SIZE / 2, "%.100s%s%.*s%s", h->name, n ? " in " : "",
             n > 100 ? 100
             : n     ? (int)n - 1
                     : 0,
             h->where, when);
}

// Is it sure that the one came after the other? The time of a download tells nothing of a hand-in,
// but of two downloads of one assignment the later one has the later hand-in.
static bool is_sure(const struct order* to, const struct handin* later, const struct handin* h) {
    const int* about = to->class->place_lesson;
    const bool again = later->place != h->place && about[later->place] == to->lesson &&
                       about[h->place] == to->lesson;
    const bool timed = again || !(later->copied || h->copied);
    // A copy takes a moment.
    return (timed && llabs(later->time - h->time) > 2) || later->late != h->late ||
           (later->order != h->order && later->order && h->order);
}

// Has a later hand-in of this place something of a lesson that this one is about, too? Another
// place is another assignment, or has the same one again: it is asked for each lesson. So is what
// came by mail: it takes the place of its own file alone. The untouched exercise is no answer.
static bool is_replaced(const struct class* class, const struct candidate* c,
                        const struct candidate* later) {
    if (later->out || later->h->mailed || later->h->place != c->h->place) return false;
    for (int l = 0; l < class->lessons; l++)
        if (c->cell[l].state != CELL_MISSING && later->cell[l].state != CELL_MISSING &&
            !c->cell[l].untouched && !later->cell[l].untouched)
            return true;
    return false;
}

// Says in the row's cell what another hand-in than the one that counts has of the lesson.
static void say_other(struct row* row, const struct order* to, const struct candidate* other,
                      const struct candidate* counting) {
    struct cell* c = &row->cell[to->lesson];
    const struct cell* now = &other->cell[to->lesson];
    const struct handin* h = other->h;
    char when[40];
    const char*and = c->why[0] ? "; " : "";
    char this[WHY_SIZE / 2], that[WHY_SIZE / 2];
    say_handin(counting->h, this);
    say_handin(h, that);
    say_time(h->time, when);
    if (h->where[0]) when[0] = '\0';  // it is said
    if (now->state == CELL_REFUSED)
        add_text(c->why, WHY_SIZE, "%s%s%s: %.100s", and, that, when, now->why);
    else if (now->state == CELL_MISSING && c->state == CELL_REFUSED && now->why[0])
        add_text(c->why, WHY_SIZE, "%s%.100s: %.200s", and, h->name, now->why);
    else if (now->state == CELL_MISSING && c->state == CELL_MISSING && !c->why[0])
        add_text(c->why, WHY_SIZE, "%s", now->why);
    else if (now->state == CELL_TAKEN && c->state == CELL_MISSING)
        add_text(c->why, WHY_SIZE,
                 "%s%s%s has it, and does not count: the latest counts as a whole", and, that,
                 when);
    else if (is_worked(now) && !c->again) {
        const bool mailed = counting->h->mailed && !h->mailed,
                   own = distance(to, counting) < distance(to, other),
                   sure = mailed || own || is_sure(to, counting->h, h);
        add_text(c->why, WHY_SIZE, "%shanded in more than once; %s: %s", and,
                 mailed ? "what came by mail counts"
                 : own  ? "what was handed in for this lesson counts"
                 : sure ? "the latest counts"
                        : "no time says which is the latest, this counts",
                 this);
        const struct entry *a = other->entry[to->lesson], *b = counting->entry[to->lesson];
        if (!sure && a && b && !is_same(a, b) && class_asks(to->class, row))
            todo_say(
                "%s, lesson %.2s: handed in more than once, and no time says which is the latest. "
                "%s counts, and not %s. Take out what is not to count; beside a download the right "
                "one may also lie in mail/",
                row->id, to->class->lesson[to->lesson].name, this, that);
        c->again = true;
    }
}

// Makes the row's cell what the hand-in has of the lesson, if that is more than nothing.
static void count_in(struct row* row, int lesson, const struct candidate* from,
                     const char* name_before) {
    struct cell* c = &row->cell[lesson];
    const struct cell* now = &from->cell[lesson];
    const struct handin* h = from->h;
    char near[WHY_SIZE];
    memcpy(near, c->why, sizeof near);
    *c = *now;
    bool named = strcmp(name_before, h->name) != 0;
    if (near[0] && now->state == CELL_REFUSED)
        add_text(c->why, WHY_SIZE, "; %.100s%s%.200s", named ? name_before : "", named ? ": " : "",
                 near);
    c->time = h->time;
    c->copied = h->copied;
    c->marked = h->canvas && !h->mailed;
    c->mailed = h->mailed && now->state != CELL_MISSING;
    c->late = h->late && now->state != CELL_MISSING;
}

// Is it more than what the row's cell has, which is from another hand-in? A file that was worked on
// is more than the untouched exercise, wherever either lies, and than what another place has and
// cannot be taken.
static bool is_more(const struct cell* c, int lesson, const struct candidate* now,
                    const struct candidate* from) {
    const struct cell* has = &now->cell[lesson];
    if (c->state == CELL_MISSING) return !now->out && (has->state != CELL_MISSING || !c->why[0]);
    return is_worked(has) &&
           (c->state == CELL_TAKEN ? c->untouched : from->h->place != now->h->place);
}

// Of one lesson what counts: the latest, but an exercise that nobody worked on hides no work.
static void choose_lesson(struct class* class, struct row* row, int lesson,
                          struct candidate** order, int n) {
    struct order to = {class, lesson};
    struct cell* c = &row->cell[lesson];
    const struct candidate *from = NULL, *first = order[0];
    bool nothing = true;
    for (int i = 0; i < n; i++) nothing &= !order[i]->any;
    qsort_r(order, (size_t)n, sizeof(*order), by_time, &to);
    // First those that have something, then the others: a torn second hand-in hides none.
    for (int i = 0; i < 2 * n; i++) {
        const struct candidate *now = order[i % n], *before = from;
        if (now->any != (i < n)) continue;
        if (!is_more(c, lesson, now, from)) {
            say_other(row, &to, now, from ? from : first);
            continue;
        }
        const bool refused = c->state == CELL_REFUSED;
        count_in(row, lesson, now, from ? from->h->name : now->h->name);
        from = now;
        if (refused) say_other(row, &to, before, now);
    }
    if (c->state == CELL_TAKEN) take(class, row, lesson, from->entry[lesson]);
    if (!is_worked(c)) say_meant(class, (int)(row - class->row), lesson, nothing, c);
    if (c->mailed && !c->again && c->state == CELL_TAKEN)
        add_text(c->why, WHY_SIZE, "%scame by mail", c->why[0] ? "; " : "");
    // It repeats names that strangers gave, perhaps cut inside of a character.
    plain_line(c->why);
    plain_line(c->doubt);
}

// Of each place the latest hand-in of which something can be taken counts as a whole, and with it
// an older one that is about other lessons only. Of several places each lesson is looked at by
// itself: a download is of one assignment, and another assignment does not replace it.
static void choose(struct class* class, int row_index) {
    struct row* row = &class->row[row_index];
    struct order whole = {class, WHOLE};
    int n = 0;
    for (int i = 0; i < class->handins; i++) n += class->handin[i].row == row_index;
    row->handed_in = n > 0;
    if (n == 0) return;
    struct candidate* all = calloc((size_t)n, sizeof *all);
    struct candidate** order = calloc((size_t)n, sizeof(*order));
    if (!all || !order) class_refuse("no memory for hand-ins");
    for (int i = 0, k = 0; i < class->handins; i++) {
        struct candidate* c = &all[k];
        if (class->handin[i].row != row_index) continue;
        c->h = &class->handin[i];
        c->any = look(class, i, c->cell, c->entry);
        for (int l = 0; l < class->lessons; l++) c->h->worked |= is_worked(&c->cell[l]);
        order[k++] = c;
    }
    qsort_r(order, (size_t)n, sizeof(*order), by_time, &whole);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < (order[i]->any ? i : n); k++)
            order[i]->out |= order[k]->any && is_replaced(class, order[i], order[k]);
    for (int l = 0; l < class->lessons; l++) choose_lesson(class, row, l, order, n);
    free(order);
    free(all);
}

// ---- the class

static int by_id(const void* a, const void* b) {
    return strcmp(((const struct row*)a)->id, ((const struct row*)b)->id);
}

// What each download is about: the lesson of most files in it that were worked on, if there are
// several downloads.
static void find_lessons_of_places(struct class* class) {
    int count[MOST_PLACES][LESSONS] = {{0}}, places = 0;
    bool is_mail[MOST_PLACES] = {false};
    for (int i = 0; i < class->handins; i++) {
        const struct handin* h = &class->handin[i];
        if (h->place >= places) places = h->place + 1;
        is_mail[h->place] = h->mailed;
        for (int l = 0; l < class->lessons; l++) {
            bool has = false;
            for (int e = first_of(class, i); e >= 0; e = class->entry[e].next)
                has |= rank_of(&class->lesson[l], &class->entry[e], l, h->canvas) > 0 &&
                       !is_untouched(&class->lesson[l], &class->entry[e]);
            count[h->place][l] += has;
        }
    }
    for (int p = 0; p < MOST_PLACES; p++) {
        int best = 0, second = 0;
        for (int l = 1; l < class->lessons; l++) best = count[p][l] > count[p][best] ? l : best;
        for (int l = 0; l < class->lessons; l++)
            if (l != best && count[p][l] > second) second = count[p][l];
        const bool sure =
            places > 1 && !is_mail[p] && count[p][best] > 0 && 2 * second <= count[p][best];
        class->place_lesson[p] = sure ? best : -1;
    }
}

void collect(struct class* class) {
    who_read(class);
    roster_read(class);
    tree_read(class);
    layout(class);
    if (class->beside[0])
        class_refuse(
            "%s beside it.\n"
            "If it is a download: give it alone, or with other downloads. What came by mail "
            "may lie beside it in a folder `mail`: mail/Ada/...\n"
            "If it is what one student handed in: LAYOUT=plain",
            class->beside);
    roster_tell_apart(class);
    find_template(class);
    find_lessons_of_places(class);
    for (int i = 0; i < class->rows; i++) choose(class, i);
    skipped_write(class);
    owner_todo(class);
    if (class->rows == 0) class_refuse("SUBMISSIONS=%s: nothing is in it", class->submissions);
    tree_free(class);
    free(class->handin);
    class->handin = NULL;
    class->handins = 0;
    qsort(class->row, (size_t) class->rows, sizeof *class->row, by_id);
    // A file that was withdrawn must not be graded, and similar.sh must not compare it.
    class_forget(class, "submissions", true);
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++)
            if (class->row[i].cell[l].state != CELL_TAKEN)
                unlink(taken_path(class, class->row[i].id, &class->lesson[l]));
}
