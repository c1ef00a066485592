// The words of a finding, and the same as values.
#include "cpu/watch/finding.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char* const kind_name[] = {
    "race",  "out_of_bounds", "uninitialised", "misaligned",  "host_pointer", "host_access",
    "freed", "read_only",     "wrapped_index", "async_order", "order_of_sum",
};

const char* cudev_finding_kind(const struct finding* f) {
    return kind_name[f->kind];
}

static bool is_write(enum cudev_access access) {
    return access == CUDEV_WRITE || access == CUDEV_ATOMIC_WRITE || access == CUDEV_VOLATILE_WRITE;
}

bool cudev_race_of_writes(const struct finding* f) {
    return f->kind == FOUND_RACE && !f->left && is_write(f->access) && is_write(f->other_access);
}

// Host code follows no device pointer: it was a copy to the host.
static bool read_by_host(const struct finding* f) {
    return f->kind == FOUND_UNINITIALISED && !f->launch.name;
}

const char cudev_other_swizzle[] = "with another swizzle";

static bool is_store_outside(const struct finding* f) {
    return f->kind == FOUND_OUT_OF_BOUNDS && is_write(f->access);
}

const char* cudev_finding_cause(const struct finding* f) {
    return cudev_race_of_writes(f)         ? "race_of_writes"
           : f->why == cudev_other_swizzle ? "swizzle"
           : f->left                       ? "copy_on_its_way"
           : f->cached                     ? "cached_read"
           : f->copied                     ? "copy_not_awaited"
           : read_by_host(f)               ? "uninitialised_copy"
           : is_store_outside(f)           ? "out_of_bounds_store"
                                           : cudev_finding_kind(f);
}

static bool other_first(const struct located_finding* r) {
    return r->other.line && r->other.line < r->line.line;
}

const struct source_line* cudev_first_line(const struct located_finding* r) {
    return other_first(r) ? &r->other : &r->line;
}

const struct source_line* cudev_second_line(const struct located_finding* r) {
    return other_first(r) ? &r->line : &r->other;
}

static char text[4096];
static size_t used;
static struct finding_values* said;

static void add(const char* format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char* format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    if (n > 0) used += (size_t)n;
    if (used >= sizeof text) used = sizeof text - 1;
}

// Keeps as a value what the text has said since `from`.
static void keep(char* to, size_t size, size_t from) {
    snprintf(to, size, "%.*s", (int)(used - from), text + from);
}

// The text names this line.
static void see(const struct source_line* s) {
    const unsigned line = cudev_line_in_cu(s->file, s->line);
    if (said->line || !line) return;
    said->line = line;
    snprintf(said->file, sizeof said->file, "%s", cudev_shown_file(s->file));
}

static const char* verb(enum cudev_access access) {
    return access == CUDEV_ATOMIC ? "atomic" : is_write(access) ? "write" : "read";
}

static void add_place(const struct source_line* s) {
    see(s);
    if (s->line)
        add("%s:%d", cudev_shown_file(s->file), s->line);
    else
        add("an unknown line (is addr2line there?)");
}

static const char* base_name(const char* file) {
    const char* slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

// Without the path, which stands below.
static void add_short_place(const struct source_line* s) {
    see(s);
    add("%s:%d", base_name(s->file), s->line);
}

// "line 14", or "k.h:14" if that is not the file that launched the kernel.
static void add_line(const struct finding* f, const struct source_line* s) {
    if (!s->line)
        add("an unknown line");
    else if (f->launch.file && strcmp(cudev_shown_file(s->file), f->launch.file) == 0)
        add("line %d", s->line);
    else
        add_short_place(s);
}

// mine: it is the access of the finding, not the other one.
static void add_deed(const struct finding* f, const struct source_line* s, bool mine) {
    const enum cudev_access access = mine ? f->access : f->other_access;
    add_line(f, s);
    add(f->left && mine          ? "'s copy is on its way"
        : access == CUDEV_ATOMIC ? " does an atomic"
        : is_write(access)       ? " writes"
        : f->cached && mine      ? " reads by __ldg()"
                                 : " reads");
}

static unsigned threads_of(const struct finding* f) {
    return f->launch.block[0] * f->launch.block[1] * f->launch.block[2];
}

static uint3 index_of(const unsigned* size, uint64_t linear) {
    return (uint3){(unsigned)(linear % size[0]), (unsigned)(linear / size[0] % size[1]),
                   (unsigned)(linear / size[0] / size[1])};
}

// The place of an access, its function, and where that is called if it is in another file: a header
// is seldom wrong.
static void add_where(struct finding_access* a, const struct source_line* s,
                      const struct source_line* caller) {
    add_place(s);
    a->line = cudev_line_in_cu(s->file, s->line);
    if (s->line) {
        add(" in ");
        const size_t from = used;
        add("%.*s", (int)strcspn(s->function, "("), s->function);
        keep(a->function, sizeof a->function, from);
    }
    if (s->line && caller->line && !a->line) {
        add(", called at ");
        add_place(caller);
        a->caller = cudev_line_in_cu(caller->file, caller->line);
        if (!said->caller) said->caller = a->caller;
    }
    add("\n");
}

static struct finding_access* next_access(const char* words) {
    struct finding_access* a = &said->access[said->access_count++];
    snprintf(a->verb, sizeof a->verb, "%s", words);
    return a;
}

static void add_thread(const struct finding* f, bool mine, const struct source_line* s,
                       const struct source_line* caller) {
    const unsigned thread = mine ? f->thread : f->other_thread;
    const uint64_t block = mine ? f->block : f->other_block;
    const enum among among = mine ? ONE_THREAD : f->other_among;
    const unsigned of_block = threads_of(f);  // a cluster has more
    uint3 t = index_of(f->launch.block, thread % of_block);
    uint3 b = index_of(f->launch.grid, block + thread / of_block);
    const enum cudev_access access = mine ? f->access : f->other_access;
    struct finding_access* a = next_access(verb(access));
    a->plain = access != CUDEV_ATOMIC;
    add("    %-6s by ", a->verb);
    const size_t from = used;
    if (among == AMONG_WARP) add("one of the warp of ");
    if (among == AMONG_BLOCK) add("a thread");
    if (among != AMONG_BLOCK) add("thread (%u,%u,%u)", t.x, t.y, t.z);
    add(" of block (%u,%u,%u)", b.x, b.y, b.z);
    keep(a->who, sizeof a->who, from);
    add(" at ");
    add_where(a, s, caller);
}

// One side of FOUND_ASYNC.
static void add_agent(const struct finding* f, const char* deed, unsigned thread,
                      const struct source_line* s, const struct source_line* caller) {
    struct finding_access* a = next_access(deed);
    add("    %s", deed);
    const bool known = thread != NO_THREAD;  // else nobody has kept which one
    if (known && (thread > f->beyond + 1 || thread < f->beyond)) add(": ");
    const size_t from = used;
    if (known && thread > f->beyond + 1) {
        add("warpgroup %u", thread - f->beyond - 2);
    } else if (known && thread < f->beyond) {
        uint3 t = index_of(f->launch.block, thread % threads_of(f));
        add("thread (%u,%u,%u)", t.x, t.y, t.z);
        if (f->launch.cluster > 1) add(" of block %u of its cluster", thread / threads_of(f));
    }
    keep(a->who, sizeof a->who, from);
    add(", ");
    add_where(a, s, caller);
}

static const char first_words[] = "==CPU device== FINDING: ";

static void end_first_line(void) {
    keep(said->words, sizeof said->words, sizeof first_words - 1);
    add("\n");
}

// "async_order on K_smem[0]: line 40 loads by TMA, line 55 reads: nobody has waited in between"
static void add_async(const struct located_finding* r) {
    const struct finding* f = r->f;
    const struct source_line *a = cudev_first_line(r), *b = cudev_second_line(r);
    if (f->what[0]) add(" on %s", f->what);
    if (!f->other_deed) {
        add(": ");
        add_short_place(&r->line);
        add(" %s: %s", f->deed, f->why);
        end_first_line();
    } else {
        add(": ");
        add_line(f, a);
        add(" %s, ", a == &r->line ? f->deed : f->other_deed);
        add_line(f, b);
        add(" %s: %s", b == &r->line ? f->deed : f->other_deed, f->why);
        end_first_line();
        add_agent(f, f->other_deed, f->other_thread, &r->other, &r->other_caller);
    }
    add_agent(f, f->deed, f->thread, &r->line, &r->caller);
}

// Is the array several tiles, as of a ring of buffers? Its elements have three indices then.
static bool has_buffers(const struct finding* f) {
    int indices = 0;
    for (const char* p = f->what; *p; p++) indices += *p == '[';
    return indices >= 3;
}

static const char* advice(const struct finding* f) {
    switch (f->kind) {
    case FOUND_ASYNC:
        return f->next;
    case FOUND_RACE:
        if (f->left)
            return "wait for the own copies, then for the other threads, before their place is "
                   "used for\n        anything else: also where the loop that waits has no round";
        if (f->cached)
            return "load it without __ldg(): its cache hears of no write, and may hold what was "
                   "there before";
        if (cudev_race_of_writes(f))
            return "which of the two should write it? look at the index that they compute";
        if (f->block == f->other_block && has_buffers(f))
            return "is a __syncthreads() missing between the two? (in a loop: also before the next "
                   "round) Or is another\n        buffer of the array meant in one of them?";
        if (f->block != f->other_block)
            return "blocks run in any order: use an atomic, or a kernel of its own for the second "
                   "access; if a ticket\n        is drawn between the two, a barrier of the block "
                   "and a __threadfence() come before it";
        if (f->dynamic)  // where most tiles have several buffers
            return "is a __syncthreads() missing between the two, or within a warp a __syncwarp()? "
                   "(in a loop: also before\n        the next round) Or is another of several "
                   "buffers meant in one of them?";
        return "is a __syncthreads() missing between the two, or within a warp a __syncwarp()? (in "
               "a loop: also before the next round)";
    case FOUND_ORDER_OF_SUM:
        return "who adds first is chance, and the order rounds the sum: each waits for the one "
               "before it, and says so\n        once it has added: load_acquire() and "
               "add_release(), or atomics with a __threadfence() on both sides";
    case FOUND_OUT_OF_BOUNDS:
        if (strstr(f->what, "[-"))
            return "which index becomes negative? the first block and the first tile are the usual "
                   "suspects";
        return "which index gets there? the last block and the last tile are the usual suspects";
    case FOUND_UNINITIALISED:
        if (f->copied)
            return "cp_async_wait<>() for the thread's own copies, then __syncthreads() for those "
                   "of the others; and a\n        wait for groups waits for what was committed";
        return "who should have written it, and did that come first?";
    case FOUND_MISALIGNED:
        return "a float4 starts at a multiple of 16 bytes: is the row length a multiple of 4?";
    case FOUND_HOST_POINTER:
        return "allocate with cudaMalloc, copy with cudaMemcpy, and pass that pointer";
    case FOUND_HOST_ACCESS:
        return "copy with cudaMemcpy; only kernels may follow a device pointer";
    case FOUND_READ_ONLY:
        return "inputs belong to the caller: write to an array of your own, even if you restore "
               "them";
    case FOUND_WRAPPED:
        return "an int ends at 2147483647: make the index, and each product in it, int64_t or "
               "size_t";
    default:
        return "free it after the last kernel that uses it";
    }
}

// The first of its lines in the order of the source. Else that of a caller.
static unsigned first_of(const struct located_finding* r) {
    const struct source_line *a = cudev_first_line(r), *b = cudev_second_line(r);
    const unsigned first = cudev_line_in_cu(a->file, a->line),
                   second = cudev_line_in_cu(b->file, b->line);
    const int caller = r->caller.line ? r->caller.line : r->other_caller.line;
    return first ? first : second ? second : (unsigned)caller;
}

static void add_launch(const struct finding* f) {
    const unsigned *g = f->launch.grid, *b = f->launch.block;
    snprintf(said->kernel, sizeof said->kernel, "%s", f->launch.name);
    said->launch = cudev_line_in_cu(f->launch.file, f->launch.line);
    if (!said->line) said->line = said->launch;
    add("  kernel %s<<<(%u,%u,%u), (%u,%u,%u)>>> launched at %s:%d\n", f->launch.name, g[0], g[1],
        g[2], b[0], b[1], b[2], f->launch.file, f->launch.line);
}

static void add_next(const struct finding* f) {
    add("  next: ");
    const size_t from = used;
    add("%s", advice(f));
    if (f->kind == FOUND_ASYNC && f->other_deed && has_buffers(f))
        add("\n        Or is another buffer of the array meant in one of them?");
    keep(said->next, sizeof said->next, from);
    add("\n");
}

const char* cudev_finding_text(const struct located_finding* r, size_t* length,
                               struct finding_values* values) {
    const struct finding* f = r->f;
    const bool swap = other_first(r);
    used = 0;
    said = values;
    *said = (struct finding_values){.first = first_of(r)};
    snprintf(said->kind, sizeof said->kind, "%s", cudev_finding_cause(f));
    add("%s%s", first_words, kind_name[f->kind]);
    if (f->kind == FOUND_RACE || f->kind == FOUND_ORDER_OF_SUM) {
        const struct source_line* a = cudev_first_line(r);
        const struct source_line* b = cudev_second_line(r);
        add(" on %s: ", f->what);
        add_deed(f, a, !swap);
        add(", ");
        add_deed(f, b, swap);
        end_first_line();
        add_thread(f, false, &r->other, &r->other_caller);
        add_thread(f, true, &r->line, &r->caller);
    } else if (f->kind == FOUND_ASYNC) {
        add_async(r);
    } else {
        add(": %s at ", f->text[0] ? f->text : verb(f->access));
        if (f->launch.name && r->line.line)  // the whole path stands below
            add_short_place(&r->line);
        else
            add_place(&r->line);
        if (f->what[0]) add(" of %s", f->what);
        add("%s", f->detail);
        end_first_line();
        if (f->launch.name) add_thread(f, true, &r->line, &r->caller);
    }
    if (f->origin[0]) add("    %s\n", f->origin);
    if (f->launch.name) add_launch(f);
    add_next(f);
    *length = used;
    return text;
}
