// Findings: one per pair of instructions while kernels run; one per pair of lines when printed.
#include "finding.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "watch.h"

enum { MAX_FINDINGS = 256, MAX_PRINTED = 10, MAX_KEYS = 512 };

// A finding as the reader sees it: printed once.
struct key {
    enum found kind;
    int line, other_line;
    char file[100], name[40];
};

struct findings {
    unsigned count, printed, keys;
    bool closed;  // the limit was reached and said
    struct finding finding[MAX_FINDINGS];
    struct key key[MAX_KEYS];
};
_Static_assert(sizeof(struct findings) <= ROOM_SPACE, "finding.c has 1 GiB of address space");

static struct findings* findings(void) {
    return (struct findings*)FINDING_BASE;
}

static const char* const kind_name[] = {
    "race", "out_of_bounds", "uninitialised", "misaligned", "host_pointer", "host_access", "freed",
};

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
    return f;
}

void cudev_finding_where(struct finding* f, const struct worker* w, uint64_t offset, size_t bytes) {
    struct array_name n;
    cudev_name_array(&n, w, offset, bytes);
    snprintf(f->what, sizeof f->what, "%s", n.element);
    snprintf(f->origin, sizeof f->origin, "%s", n.origin);
    f->bytes = bytes;
}

// ---- lines -------------------------------------------------------------------------------------

struct resolved {
    const struct finding* f;
    struct source_line line, other;
};

void cudev_site_lines(const unsigned* site, struct source_line* line, unsigned count) {
    static struct source_line frames[256];
    const struct watch_state* state = watch_state();
    for (unsigned first = 0; first < count; first += MAX_FRAMES) {
        void* pcs[MAX_FRAMES];
        unsigned n = count - first < MAX_FRAMES ? count - first : MAX_FRAMES;
        for (unsigned i = 0; i < n; i++)
            pcs[i] = (char*)(uintptr_t)state->pc_of_site[site[first + i]] - 1;
        int found = cudev_lines(pcs, (int)n, frames, 256);
        for (int i = found; i-- > 0;)  // the innermost frame comes first and is written last
            if (!cudev_is_ours(&frames[i])) line[first + (unsigned)frames[i].pc] = frames[i];
    }
}

static int by_line(const struct resolved* r) {
    return r->other.line && r->other.line < r->line.line;
}

// ---- text --------------------------------------------------------------------------------------

static char text[4096];
static size_t used;

static void add(const char* format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char* format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    if (n > 0) used += (size_t)n;
    if (used >= sizeof text) used = sizeof text - 1;
}

static bool is_write(enum cudev_access access) {
    return access == CUDEV_WRITE || access == CUDEV_VOLATILE_WRITE;
}

// Where nobody reads no barrier is missing: two threads have computed the same index.
static bool race_of_writes(const struct finding* f) {
    return f->kind == FOUND_RACE && is_write(f->access) && is_write(f->other_access);
}

static const char* verb(enum cudev_access access) {
    return access == CUDEV_READ || access == CUDEV_VOLATILE_READ ? "read"
           : access == CUDEV_ATOMIC                              ? "atomic"
                                                                 : "write";
}

static void add_place(const struct source_line* s) {
    if (s->line)
        add("%s:%d", cudev_shown_file(s->file), s->line);
    else
        add("an unknown line (is addr2line there?)");
}

static const char* base_name(const char* file) {
    const char* slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

// "line 14 writes", or "k.h:14 writes" if that is not the `usual` file.
static void add_deed(const struct source_line* s, enum cudev_access access, const char* usual) {
    if (!s->line)
        add("an unknown line");
    else if (strcmp(s->file, usual) == 0)
        add("line %d", s->line);
    else
        add("%s:%d", base_name(s->file), s->line);
    add(access == CUDEV_ATOMIC ? " does an atomic" : is_write(access) ? " writes" : " reads");
}

static uint3 index_of(const unsigned* size, uint64_t linear) {
    return (uint3){(unsigned)(linear % size[0]), (unsigned)(linear / size[0] % size[1]),
                   (unsigned)(linear / size[0] / size[1])};
}

static void add_thread(const struct finding* f, enum cudev_access access, uint64_t block,
                       unsigned thread, const struct source_line* s) {
    uint3 t = index_of(f->launch.block, thread), b = index_of(f->launch.grid, block);
    add("    %-6s by thread (%u,%u,%u) of block (%u,%u,%u) at ", verb(access), t.x, t.y, t.z, b.x,
        b.y, b.z);
    add_place(s);
    if (s->line) add(" in %.*s", (int)strcspn(s->function, "("), s->function);
    add("\n");
}

static const char* advice(const struct finding* f) {
    switch (f->kind) {
    case FOUND_RACE:
        if (race_of_writes(f))
            return "which of the two should write it? look at the index that they compute";
        return f->block != f->other_block
                   ? "blocks run in any order: use an atomic, or a kernel of its own for the\n"
                     "        second access"
                   : "is a __syncthreads() missing between the two, or within a warp a\n"
                     "        __syncwarp()? (in a loop: also before the next round)";
    case FOUND_OUT_OF_BOUNDS:
        return "which index gets there? the last block and the last tile are the usual suspects";
    case FOUND_UNINITIALISED:
        return "who should have written it, and did that come first?";
    case FOUND_MISALIGNED:
        return "a float4 starts at a multiple of 16 bytes: is the row length a multiple of 4?";
    case FOUND_HOST_POINTER:
        return "allocate with cudaMalloc, copy with cudaMemcpy, and pass that pointer";
    case FOUND_HOST_ACCESS:
        return "copy with cudaMemcpy; only kernels may follow a device pointer";
    default:
        return "free it after the last kernel that uses it";
    }
}

static void write_text(const struct resolved* r) {
    const struct finding* f = r->f;
    used = 0;
    add("==CPU device== FINDING: %s", kind_name[f->kind]);
    if (f->kind == FOUND_RACE) {
        const struct source_line* a = by_line(r) ? &r->other : &r->line;
        const struct source_line* b = by_line(r) ? &r->line : &r->other;
        add(" on %s: ", f->what);
        add_deed(a, by_line(r) ? f->other_access : f->access, a->file);
        add(", ");
        add_deed(b, by_line(r) ? f->access : f->other_access, a->file);
        add("\n");
        add_thread(f, f->other_access, f->other_block, f->other_thread, &r->other);
        add_thread(f, f->access, f->block, f->thread, &r->line);
    } else {
        add(": %s at ", f->text[0] ? f->text : verb(f->access));
        if (f->launch.name && r->line.line)  // the whole path stands below
            add("%s:%d", base_name(r->line.file), r->line.line);
        else
            add_place(&r->line);
        if (f->what[0]) add(" of %s", f->what);
        add("%s\n", f->detail);
        if (f->launch.name) add_thread(f, f->access, f->block, f->thread, &r->line);
    }
    if (f->origin[0]) add("    %s\n", f->origin);
    if (f->launch.name) {
        const unsigned *g = f->launch.grid, *b = f->launch.block;
        add("  kernel %s<<<(%u,%u,%u), (%u,%u,%u)>>> launched at %s:%d\n", f->launch.name, g[0],
            g[1], g[2], b[0], b[1], b[2], f->launch.file, f->launch.line);
    }
    add("  next: %s\n", advice(f));
}

static void print(const struct resolved* r) {
    struct findings* all = findings();
    if (all->printed == MAX_PRINTED) {
        if (!all->closed) fprintf(stderr, "==CPU device== further findings are not shown\n");
        all->closed = true;
        return;
    }
    all->printed++;
    write_text(r);
    // what kernels printed comes first, unless one is inside printf at this moment
    if (ftrylockfile(stdout) == 0) {
        fflush(stdout);
        funlockfile(stdout);
    }
    if (write(STDERR_FILENO, text, used) < 0) return;
    if (cudev_on_finding)
        cudev_on_finding(race_of_writes(r->f) ? "race_of_writes" : kind_name[r->f->kind], text);
}

static bool known(const struct resolved* r) {
    struct findings* all = findings();
    const struct source_line* a = by_line(r) ? &r->other : &r->line;
    const struct source_line* b = by_line(r) ? &r->line : &r->other;
    struct key key = {r->f->kind, a->line, b->line, "", ""};
    snprintf(key.file, sizeof key.file, "%.*s", (int)sizeof key.file - 1, a->file);
    size_t length = strcspn(r->f->what, "[");
    snprintf(key.name, sizeof key.name, "%.*s", (int)(length < 39 ? length : 39), r->f->what);
    for (unsigned i = 0; i < all->keys; i++) {
        const struct key* k = &all->key[i];
        if (k->kind == key.kind && k->line == key.line && k->other_line == key.other_line &&
            strcmp(k->file, key.file) == 0 && strcmp(k->name, key.name) == 0)
            return true;
    }
    if (all->keys < MAX_KEYS) all->key[all->keys++] = key;
    return false;
}

// Whether values are there yet depends on the order that is missing; and an index out of bounds is
// said once.
static bool consequence(const struct resolved* r, const struct resolved* all, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const struct resolved* o = &all[i];
        bool same_line = o->line.line == r->line.line || o->other.line == r->line.line;
        if (!same_line || o == r) continue;
        if (r->f->kind == FOUND_UNINITIALISED &&
            (o->f->kind == FOUND_RACE || o->f->kind == FOUND_OUT_OF_BOUNDS))
            return true;
        if (r->f->kind == FOUND_OUT_OF_BOUNDS && o->f->kind == FOUND_OUT_OF_BOUNDS &&
            !r->f->file[0] && o->f->file[0])
            return true;
    }
    return false;
}

// What is printed first. An index that leaves its array often ends where another thread is right to
// be: the race comes of it. And += without an atomic is a read and a write, not just two writes.
enum { LAST_RANK = 2 };
static int rank_of(const struct finding* f) {
    return f->kind == FOUND_OUT_OF_BOUNDS ? 0 : race_of_writes(f) ? LAST_RANK : 1;
}

void cudev_findings_print(void) {
    static struct resolved resolved[MAX_FINDINGS];
    static struct source_line line[2 * MAX_FINDINGS];
    static unsigned site[2 * MAX_FINDINGS];
    struct findings* all = findings();
    unsigned count = all->count;
    if (!count) return;
    for (unsigned i = 0; i < count; i++) {
        site[2 * i] = all->finding[i].site;
        site[2 * i + 1] = all->finding[i].other_site;
    }
    memset(line, 0, sizeof line);
    cudev_site_lines(site, line, 2 * count);
    for (unsigned i = 0; i < count; i++) {
        const struct finding* f = &all->finding[i];
        resolved[i] = (struct resolved){f, line[2 * i], line[2 * i + 1]};
        if (f->line) {
            resolved[i].line.line = f->line;
            snprintf(resolved[i].line.file, sizeof f->file, "%s", f->file);
        }
    }
    for (int rank = 0; rank <= LAST_RANK; rank++)
        for (unsigned i = 0; i < count; i++)
            if (rank_of(resolved[i].f) == rank && !consequence(&resolved[i], resolved, count) &&
                !known(&resolved[i]))
                print(&resolved[i]);
    all->count = 0;
}
