// Findings: one for each pair of instructions while kernels run; one for each pair of lines when
// printed.
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cpu/device/any.h"
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/waiting.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"
#include "cpu/watch/array_names.h"
#include "cpu/watch/finding.h"
#include "cpu/watch/sites.h"

enum { MAX_FINDINGS = 256, MAX_PRINTED = FINDINGS, MAX_KEYS = 512 };

// A finding as the reader sees it: printed once.
struct key {
    enum found kind;
    int line, other_line;
    char file[100], name[40];
};

struct findings {
    unsigned count, printed, keys;
    bool closed;  // the limit was reached and said
    bool noted;   // note() has said something
    struct finding finding[MAX_FINDINGS];
    struct key key[MAX_KEYS];
};
_Static_assert(sizeof(struct findings) <= OWN_SPACE, "findings.c has 1 GiB of address space");

static struct findings* findings(void) {
    return (struct findings*)FINDINGS_BASE;
}

// For a debugger: the thread that runs does now what a new finding is about.
__attribute__((noinline)) void cudev_found(void) {
    __asm__ volatile("");
}

struct finding* cudev_finding(enum found kind, unsigned site, unsigned other_site, uint64_t block,
                              unsigned thread) {
    struct findings* all = findings();
    struct finding* f = all->finding;
    for (; f < all->finding + all->count; f++) {
        if (f->kind != kind) continue;
        if (f->site == other_site && f->other_site == site && site != other_site) return NULL;
        if (f->site != site || f->other_site != other_site) continue;
        if (block > f->block || (block == f->block && thread >= f->thread)) return NULL;
        break;
    }
    if (f == all->finding + MAX_FINDINGS) return NULL;
    if (f == all->finding + all->count) all->count++;
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->site = site;
    f->other_site = other_site;
    f->block = block;
    f->thread = thread;
    if (cudev_self) f->launch = cudev_self->launch->site;
    cudev_found();
    return f;
}

void cudev_finding_where(struct finding* f, const struct worker* w, uint64_t offset, size_t bytes) {
    struct array_name n;
    cudev_name_array(&n, w, offset, bytes);
    cudev_name_member(&n, w, offset);
    snprintf(f->what, sizeof f->what, "%s", n.element);
    snprintf(f->origin, sizeof f->origin, "%s", n.origin);
    f->dynamic = n.dynamic;
    f->bytes = bytes;
}

// ---- printing ----------------------------------------------------------------------------------

// Output of kernels comes first, unless one is inside printf at this moment. False if it cannot be
// written.
static bool write_text(const char* text, size_t length) {
    if (ftrylockfile(stdout) == 0) {
        fflush(stdout);
        funlockfile(stdout);
    }
    return write(STDERR_FILENO, text, length) >= 0;
}

// A note of the block that w runs, unless there was one: what is undefined, where, and by whom.
static void note(struct worker* w, const char* kind, const struct place* place, const char* what,
                 const char* whom, const char* next) {
    struct findings* all = findings();
    const struct cudev_launch_site* site = &w->launch->site;
    const unsigned* grid = site->grid;
    char text[1000];
    if (all->noted || !cudev_watcher->finds) return;
    all->noted = true;
    int n = snprintf(
        text, sizeof text,
        "==CPU device== NOTE: %s: %s\n"
        "    by %s of block (%u,%u,%u); what it gets is undefined, and NaN here\n"
        "  kernel %s launched at %s:%d\n"
        "  next: %s\n",
        kind, what, whom, (unsigned)(w->block % grid[0]), (unsigned)(w->block / grid[0] % grid[1]),
        (unsigned)(w->block / grid[0] / grid[1]), site->name, site->file, site->line, next);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (write_text(text, length) && cudev_on_note)
        cudev_on_note(kind, cudev_line_in_cu(place->file, place->line), text);
}

void cudev_findings_note(struct worker* w, unsigned thread, unsigned lane) {
    const struct lane* own = &w->waiting->lane[thread];
    char what[300], whom[60];
    snprintf(what, sizeof what, "%s at %s:%d reads lane %u, which the mask 0x%08x does not name",
             own->place.what, own->place.file, own->place.line, lane, own->mask);
    snprintf(whom, sizeof whom, "thread %s", cudev_thread_name(w, thread));
    note(w, "bad_mask", &own->place, what, whom,
         "let all lanes that are read make the call, with what adds nothing, and name them");
}

void cudev_findings_note_product(struct worker* w, const struct product* p) {
    char what[300], whom[60];
    snprintf(what, sizeof what, "nobody has waited for %s at %s:%d, and its threads have returned",
             p->place.what, p->place.file, p->place.line);
    snprintf(whom, sizeof whom, "warpgroup %u", p->warpgroup);
    note(w, "async_order", &p->place, what, whom,
         "wgmma_commit(), and wgmma_wait<0>() before the sums are read");
}

static void print(const struct located_finding* r) {
    struct findings* all = findings();
    if (all->printed == MAX_PRINTED) {
        if (!all->closed) fprintf(stderr, "==CPU device== further findings are not shown\n");
        all->closed = true;
        return;
    }
    all->printed++;
    size_t length;
    static struct finding_values values;
    const char* text = cudev_finding_text(r, &length, &values);
    if (!write_text(text, length)) return;
    if (cudev_any_found) cudev_any_found();
    if (cudev_on_finding) cudev_on_finding(values.kind, values.first, text, &values);
}

static bool was_printed(const struct located_finding* r) {
    struct findings* all = findings();
    const struct source_line* a = cudev_first_line(r);
    const struct source_line* b = cudev_second_line(r);
    struct key key = {r->f->kind, a->line, b->line, "", ""};
    snprintf(key.file, sizeof key.file, "%.*s", (int)sizeof key.file - 1, a->file);
    size_t length = strcspn(r->f->what, "[");
    snprintf(key.name, sizeof key.name, "%.*s", (int)(length < 39 ? length : 39), r->f->what);
    for (unsigned i = 0; i < all->keys; i++) {
        const struct key* known = &all->key[i];
        if (known->kind == key.kind && known->line == key.line &&
            known->other_line == key.other_line && strcmp(known->file, key.file) == 0 &&
            strcmp(known->name, key.name) == 0)
            return true;
    }
    if (all->keys < MAX_KEYS) all->key[all->keys++] = key;
    return false;
}

static bool same_array(const struct finding* a, const struct finding* b) {
    size_t length = strcspn(a->what, "[");
    return length > 0 && length == strcspn(b->what, "[") && !strncmp(a->what, b->what, length);
}

static bool is_of_copy(const struct finding* race, unsigned copy_site) {
    return copy_site && (race->site == copy_site || race->other_site == copy_site);
}

// TMA or wgmma has read, and a thread writes later: no order would have brought another value. But
// of a load by TMA that lands later the order is what is wrong.
static bool is_written_later(const struct finding* read, const struct finding* order) {
    return order->other_site == read->site && order->thread < order->beyond;
}

// TMA loads something for which nobody ever waits.
static bool is_never_awaited(const struct finding* f) {
    return f->kind == FOUND_ASYNC && !f->other_deed;
}

// Does the finding only follow from another finding? Where several threads write one element, the
// others stay empty, whoever reads them; and so does what nobody has waited for. At its line: a
// race decides whether a value has been written yet; and an index out of bounds is reported once. A
// copy that its own thread has not waited for is no consequence: no barrier would help, and the
// races of others with it are one. Nor is what TMA or wgmma has read and only later somebody has
// written.
static bool consequence(const struct located_finding* r, const struct located_finding* all,
                        unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const struct located_finding* o = &all[i];
        if (r->f->kind == FOUND_RACE && !r->f->left && is_of_copy(r->f, o->f->copy_site))
            return true;
        if (r->f->copy_site) continue;
        if (r->f->kind == FOUND_UNINITIALISED && cudev_race_of_writes(o->f) &&
            same_array(r->f, o->f))
            return true;
        if (r->f->kind == FOUND_UNINITIALISED && is_never_awaited(o->f) && same_array(r->f, o->f))
            return true;
        bool same_line = o->line.line == r->line.line || o->other.line == r->line.line;
        if (!same_line || o == r) continue;
        if (r->f->kind == FOUND_RACE && !r->f->left && o->f->copy_site) return true;
        if (r->f->kind == FOUND_UNINITIALISED &&
            (o->f->kind == FOUND_RACE || o->f->kind == FOUND_OUT_OF_BOUNDS ||
             (o->f->kind == FOUND_ASYNC && !is_written_later(r->f, o->f))))
            return true;
        if (r->f->kind == FOUND_OUT_OF_BOUNDS && o->f->kind == FOUND_OUT_OF_BOUNDS &&
            !r->f->file[0] && o->f->file[0])
            return true;
    }
    return false;
}

// Is one of the race's two accesses a store by which threads of the block meet at one element of an
// array? Then the index is wrong, and who reads there lacks no barrier. A single number has none.
static bool is_of_index(const struct finding* race, const struct located_finding* all,
                        unsigned count) {
    if (race->kind != FOUND_RACE || race->left || cudev_race_of_writes(race)) return false;
    for (unsigned i = 0; i < count; i++) {
        const struct finding* o = all[i].f;
        const bool meets =
            cudev_race_of_writes(o) && o->site == o->other_site && strchr(o->what, '[');
        if (meets && o->block == o->other_block && same_array(race, o) &&
            (race->site == o->site || race->other_site == o->site))
            return true;
    }
    return false;
}

// Findings of a lower rank are printed first. An index that leaves its array often ends at an
// element of another thread, and the result is a race. And += without an atomic is a read and a
// write, not just two writes. Sums that race have no order either.
enum { LAST_RANK = 3 };
static int rank_of(const struct finding* f, const struct located_finding* all, unsigned count) {
    if (f->kind == FOUND_OUT_OF_BOUNDS || f->kind == FOUND_WRAPPED || f->copy_site) return 0;
    if (is_of_index(f, all, count)) return LAST_RANK;
    return cudev_race_of_writes(f) || f->kind == FOUND_ORDER_OF_SUM ? 2 : 1;
}

void cudev_findings_print(void) {
    static struct located_finding located[MAX_FINDINGS];
    static struct source_line line[2 * MAX_FINDINGS], caller[2 * MAX_FINDINGS];
    static unsigned site[2 * MAX_FINDINGS];
    struct findings* all = findings();
    unsigned count = all->count;
    if (!count) return;
    for (unsigned i = 0; i < count; i++) {
        site[2 * i] = all->finding[i].site;
        site[2 * i + 1] = all->finding[i].other_site;
    }
    memset(line, 0, sizeof line);
    memset(caller, 0, sizeof caller);
    cudev_site_lines(site, line, caller, 2 * count);
    for (unsigned i = 0; i < count; i++) {
        const struct finding* f = &all->finding[i];
        located[i] = (struct located_finding){f, line[2 * i], line[2 * i + 1], caller[2 * i],
                                              caller[2 * i + 1]};
        if (f->line) {
            located[i].line.line = f->line;
            snprintf(located[i].line.file, sizeof f->file, "%s", f->file);
        }
    }
    for (int rank = 0; rank <= LAST_RANK; rank++)
        for (unsigned i = 0; i < count; i++)
            if (rank_of(located[i].f, located, count) == rank &&
                !consequence(&located[i], located, count) && !was_printed(&located[i]))
                print(&located[i]);
    all->count = 0;
}
