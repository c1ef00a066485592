// The profile as text: a table that shows where traffic is wasted, or everything as CSV.
#include <stdlib.h>
#include <string.h>
#include "cpu/watch/counters.h"
#include "cpu/watch/sites.h"

// A row of the output: all instructions of one line that do the same to one array.
struct line_row {
    const struct row* row;
    char file[120];
    int line;
    struct counts counts;
};

static void add_counts(struct counts* to, const struct counts* from) {
    to->requests += from->requests;
    to->lanes += from->lanes;
    to->bytes += from->bytes;
    to->distinct += from->distinct;
    to->sectors += from->sectors;
    to->ideal_sectors += from->ideal_sectors;
    to->block_sectors += from->block_sectors;
    to->again += from->again;
    to->wavefronts += from->wavefronts;
    to->ideal_wavefronts += from->ideal_wavefronts;
}

static bool same_row(const struct line_row* a, const struct line_row* b) {
    return a->row->kernel == b->row->kernel && a->line == b->line && a->row->kind == b->row->kind &&
           a->row->bytes == b->row->bytes && a->row->shared == b->row->shared &&
           strcmp(a->row->name, b->row->name) == 0 && strcmp(a->file, b->file) == 0;
}

static int compare(const void* a, const void* b) {
    const struct line_row *x = a, *y = b;
    if (x->row->kernel != y->row->kernel) return x->row->kernel < y->row->kernel ? -1 : 1;
    int files = strcmp(x->file, y->file);
    if (files) return files;
    if (x->line != y->line) return x->line - y->line;
    if (x->row->kind != y->row->kind) return x->row->kind < y->row->kind ? -1 : 1;
    int names = strcmp(x->row->name, y->row->name);
    return names ? names : (int)x->row->bytes - (int)y->row->bytes;
}

// All rows, by kernel and line; the caller frees them. NULL: there is no memory.
static struct line_row* collect(unsigned* count) {
    const struct profile* p = profile();
    struct line_row* rows = calloc(p->rows + 1, sizeof *rows);
    struct source_line* lines = calloc(p->rows + 1, sizeof *lines);
    unsigned* site = calloc(p->rows + 1, sizeof *site);
    *count = 0;
    if (rows && lines && site) {
        for (unsigned i = 0; i < p->rows; i++) site[i] = p->row[i].site;
        cudev_site_lines(site, lines, NULL, p->rows);
    }
    for (unsigned i = 0; rows && lines && site && i < p->rows; i++) {
        struct line_row r = {.row = &p->row[i], .line = lines[i].line};
        snprintf(r.file, sizeof r.file, "%.*s", (int)sizeof r.file - 1,
                 lines[i].line ? cudev_shown_file(lines[i].file) : "?");
        for (int w = 0; w < MAX_WORKERS; w++) add_counts(&r.counts, &p->worker[w].counts[i]);
        unsigned k = 0;
        while (k < *count && !same_row(&rows[k], &r)) k++;
        if (k < *count)
            add_counts(&rows[k].counts, &r.counts);
        else
            rows[(*count)++] = r;
    }
    free(lines);
    free(site);
    if (rows) qsort(rows, *count, sizeof *rows, compare);
    return rows;
}

static struct kernel_counts kernel_counts(unsigned kernel) {
    struct kernel_counts sum = {0};
    for (int w = 0; w < MAX_WORKERS; w++) {
        const struct kernel_counts* c = &profile()->worker[w].kernel[kernel];
        sum.blocks += c->blocks;
        sum.barriers += c->barriers;
        sum.read_bytes += c->read_bytes;
        sum.written_bytes += c->written_bytes;
        sum.read_sectors += c->read_sectors;
        sum.written_sectors += c->written_sectors;
    }
    return sum;
}

// ---- table -------------------------------------------------------------------------------------

static const char* const kind_name[] = {"load",   "store", "atomic", "copy",     "copy",
                                        "matrix", "",      "",       "TMA load", "TMA store"};

static double ratio(uint64_t a, uint64_t b) {
    return b ? (double)a / (double)b : 0;
}

// "1.5 MB"
static const char* amount(uint64_t bytes) {
    static char text[4][24];
    static unsigned next;
    char* t = text[next++ % 4];
    if (bytes < 10000)
        snprintf(t, sizeof text[0], "%llu bytes", (unsigned long long)bytes);
    else if (bytes < 10240000)
        snprintf(t, sizeof text[0], "%.4g KB", (double)bytes / 1024);
    else
        snprintf(t, sizeof text[0], "%.4g MB", (double)bytes / 1048576);
    return t;
}

// The units that move, and the least number that would be enough.
static void cost(const struct line_row* r, uint64_t* units, uint64_t* ideal) {
    *units = r->row->shared ? r->counts.wavefronts : r->counts.sectors;
    *ideal = r->row->shared ? r->counts.ideal_wavefronts : r->counts.ideal_sectors;
}

static void print_row(FILE* out, const struct line_row* r) {
    uint64_t units, ideal;
    char place[140], what[40];
    cost(r, &units, &ideal);
    const char* base = strrchr(r->file, '/');
    snprintf(place, sizeof place, "%s:%d", base ? base + 1 : r->file, r->line);
    if (r->row->kind == LOG_MMA || r->row->kind == LOG_WGMMA) {
        fprintf(out, "  %-25s %-12s %-19s %8llu\n", place, r->row->name,
                r->row->kind == LOG_MMA ? "mma m16n8k16" : "wgmma",
                (unsigned long long)r->counts.requests);
        return;
    }
    snprintf(what, sizeof what, "%s %s, %u B", r->row->shared ? "shared" : "global",
             kind_name[r->row->kind], r->row->bytes);
    fprintf(out, "  %-25s %-12s %-19s %8llu ", place, r->row->name, what,
            (unsigned long long)r->counts.requests);
    if (r->row->kind == LOG_ATOMIC && r->row->shared) {
        fprintf(out, "%5.1f threads\n", ratio(r->counts.lanes, r->counts.requests));
        return;
    }
    fprintf(out, "%5.1f %-10s %5.1f ", ratio(units, r->counts.requests),
            r->row->shared ? "wavefronts" : "sectors", ratio(ideal, r->counts.requests));
    if (units > ideal)
        fprintf(out, "%4.0f %%\n", 100 * (1 - ratio(ideal, units)));
    else
        fprintf(out, "%6s\n", "-");
}

// The line where most of one kind is wasted, if that is worth a sentence.
static const struct line_row* worst(const struct line_row* rows, unsigned count, bool shared) {
    const struct line_row* found = NULL;
    uint64_t most = 0, all = 0, units, ideal;
    for (unsigned i = 0; i < count; i++) {
        if (rows[i].row->shared != shared) continue;
        cost(&rows[i], &units, &ideal);
        all += units;
        if (units - ideal <= most) continue;
        most = units - ideal;
        found = &rows[i];
    }
    return most * 10 > all ? found : NULL;
}

// The line that loads most of what its warps have loaded before, if that is worth a sentence.
static const struct line_row* most_again(const struct line_row* rows, unsigned count) {
    const struct line_row* found = NULL;
    uint64_t most = 0, all = 0;
    for (unsigned i = 0; i < count; i++) {
        if (rows[i].row->shared || !log_loads(rows[i].row->kind)) continue;
        all += 32 * rows[i].counts.ideal_sectors;
        if (rows[i].counts.again <= most) continue;
        most = rows[i].counts.again;
        found = &rows[i];
    }
    return most * 10 > all ? found : NULL;
}

// Lanes load a float each, and the next lane's is 16 bytes further.
static bool is_member(const struct line_row* r) {
    return log_loads(r->row->kind) && r->row->bytes == 4 &&
           r->counts.sectors == 4 * r->counts.ideal_sectors;
}

static void print_advice(FILE* out, const struct line_row* rows, unsigned count) {
    const struct line_row* global = worst(rows, count, false);
    const struct line_row* shared = worst(rows, count, true);
    const struct line_row* again = most_again(rows, count);
    if (global && global->row->kind == LOG_ATOMIC)
        fprintf(
            out,
            "  next: line %d: threads of a warp that want the same element of %s wait for one\n"
            "        another: add within the warp first (__shfl_down_sync), then once for all\n",
            global->line, global->row->name);
    else if (global)
        fprintf(out,
                "  next: line %d uses %.0f of every 100 bytes it moves: let neighbouring threads\n"
                "        (threadIdx.x) touch neighbouring elements of %s\n",
                global->line, 100 * ratio(global->counts.ideal_sectors, global->counts.sectors),
                global->row->name);
    if (global && is_member(global))
        fprintf(out,
                "        (the members of a float4? Here each is a load of its own: load all of it\n"
                "        first, float4 v = %s[i])\n",
                global->row->name);
    if (shared)
        fprintf(
            out,
            "  next: line %d has bank conflicts: the threads of a warp want different rows of the\n"
            "        same of the 32 banks; a row of %s that is %s longer moves them apart%s\n",
            shared->line, shared->row->name, shared->row->bytes == 16 ? "16 bytes" : "one element",
            shared->row->bytes == 16
                ? ",\n        and so does storing piece p of row r at p ^ r % 8"
                : "");
    if (again)
        fprintf(out,
                "  next: line %d loads %s of %s that the same warps have loaded before: keep them\n"
                "        in shared memory or in registers\n",
                again->line, amount(again->counts.again), again->row->name);
    if (!global && !shared && !again) fprintf(out, "  no line wastes much\n");
}

static void print_kernel(FILE* out, unsigned kernel, const struct line_row* rows, unsigned count) {
    const struct kernel* k = &profile()->kernel[kernel];
    struct kernel_counts c = kernel_counts(kernel);
    struct counts load = {0}, store = {0};
    uint64_t mma = 0, wgmma = 0, atomics = 0;
    for (unsigned i = 0; i < count; i++) {
        enum log_kind kind = rows[i].row->kind;
        if (kind == LOG_MMA)
            mma += rows[i].counts.requests;
        else if (kind == LOG_WGMMA)
            wgmma += rows[i].counts.requests;
        else if (!rows[i].row->shared && kind == LOG_ATOMIC)
            atomics += rows[i].counts.lanes;
        else if (!rows[i].row->shared)
            add_counts(log_loads(kind) ? &load : &store, &rows[i].counts);
    }
    fprintf(out, "%s<<<(%u,%u,%u), (%u,%u,%u)>>> launched at %s:%d", k->name, k->grid[0],
            k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->file, k->line);
    if (k->launches != 1)
        fprintf(out, ", %llu times (last sizes shown)", (unsigned long long)k->launches);
    fprintf(out, "\n  global memory: threads load %s, each byte %.1f times; they store %s",
            amount(load.bytes), ratio(load.bytes, c.read_bytes), amount(store.bytes));
    if (atomics) fprintf(out, "; %llu atomics", (unsigned long long)atomics);
    fprintf(out, "\n");
    if (load.again)
        fprintf(out, "  warps load %s again that they have loaded before\n", amount(load.again));
    fprintf(out, "  %llu block%s, %llu barrier%s", (unsigned long long)c.blocks,
            c.blocks == 1 ? "" : "s", (unsigned long long)c.barriers, c.barriers == 1 ? "" : "s");
    if (mma) fprintf(out, ", %llu mma", (unsigned long long)mma);
    if (wgmma) fprintf(out, ", %llu wgmma", (unsigned long long)wgmma);
    fprintf(out, "\n\n");
    fprintf(out, "  %-25s %-12s %-19s %8s   %-14s %5s %6s\n", "line", "array", "what", "requests",
            "each takes", "ideal", "wasted");
    for (unsigned i = 0; i < count; i++) print_row(out, &rows[i]);
    fprintf(out, "\n");
    print_advice(out, rows, count);
}

static void write_table(FILE* out, const struct line_row* rows, unsigned count) {
    unsigned first = 0;
    for (unsigned k = 0; k < profile()->kernels; k++) {
        unsigned end = first;
        while (end < count && rows[end].row->kernel == k) end++;
        print_kernel(out, k, rows + first, end - first);
        fprintf(out, "\n");
        first = end;
    }
    fprintf(out, "request: one instruction of a warp (32 threads).\n"
                 "sector: 32 bytes, the least that global memory moves.\n"
                 "wavefront: one pass over the 32 banks of shared memory.\n"
                 "ideal: the same bytes without waste.\n");
}

// ---- CSV ---------------------------------------------------------------------------------------

struct csv_place {
    FILE* out;
    const struct kernel* kernel;
    const struct line_row* row;  // NULL: of the kernel as a whole
};

static void metric(const struct csv_place* p, const char* name, uint64_t value) {
    const struct kernel* k = p->kernel;
    fprintf(p->out, "\"%s\",%llu,%s:%d,", k->name, (unsigned long long)k->launches, k->file,
            k->line);
    if (p->row)
        fprintf(p->out, "%s,%d,\"%s\",%u,", p->row->file, p->row->line, p->row->row->name,
                p->row->row->bytes);
    else
        fprintf(p->out, ",,,,");
    fprintf(p->out, "%s,%llu\n", name, (unsigned long long)value);
}

// Names are Nsight Compute's where it has one; cudev__ otherwise.
static void write_counts(const struct csv_place* p, enum log_kind kind, bool shared,
                         const struct counts* c) {
    if (kind == LOG_ATOMIC) {
        metric(p, shared ? "cudev__atomic_shared_requests" : "cudev__atomic_global_requests",
               c->requests);
        metric(p, shared ? "cudev__atomic_shared_threads" : "cudev__atomic_global_threads",
               c->lanes);
        if (!shared) metric(p, "cudev__atomic_global_sectors", c->sectors);
        return;
    }
    if (kind == LOG_MMA) {
        metric(p, "sm__inst_executed_pipe_tensor_op_hmma.sum", c->requests);
        return;
    }
    if (kind == LOG_WGMMA) {
        metric(p, "cudev__wgmma", c->requests);
        return;
    }
    if (kind == LOG_TMA_LOAD || kind == LOG_TMA_STORE) {
        metric(p, kind == LOG_TMA_LOAD ? "cudev__tma_load_requests" : "cudev__tma_store_requests",
               c->requests);
        metric(p, kind == LOG_TMA_LOAD ? "cudev__tma_load_bytes" : "cudev__tma_store_bytes",
               c->bytes);
        return;
    }
    static const char* const names[] = {"ld", "st", "", "ldgsts", "ldgsts", "ldsm"};
    const char* op = names[kind];
    bool plain = kind == LOG_LOAD || kind == LOG_STORE, matrix = kind == LOG_MATRIX_LOAD;
    char name[100];
#define METRIC(format, value)                    \
    do {                                         \
        snprintf(name, sizeof name, format, op); \
        metric(p, name, value);                  \
    } while (0)
    // ncu counts a byte that several threads load once
    uint64_t bytes = kind == LOG_LOAD ? c->distinct : c->bytes;
    if (shared) {
        METRIC("smsp__sass_data_bytes_mem_shared_op_%s.sum", bytes);
        METRIC(plain    ? "smsp__sass_inst_executed_op_shared_%s.sum"
               : matrix ? "smsp__inst_executed_op_%s.sum"
                        : "smsp__sass_inst_executed_op_%s.sum",
               c->requests);
        METRIC("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_%s.sum", c->wavefronts);
        METRIC(plain ? "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_%s.sum"
                     : "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_%s.sum",
               c->wavefronts - c->ideal_wavefronts);
    } else {
        METRIC("smsp__sass_data_bytes_mem_global_op_%s.sum", bytes);
        METRIC("l1tex__t_requests_pipe_lsu_mem_global_op_%s.sum", c->requests);
        METRIC("l1tex__t_sectors_pipe_lsu_mem_global_op_%s.sum", c->sectors);
        METRIC("cudev__ideal_sectors_mem_global_op_%s", c->ideal_sectors);
        if (log_loads(kind)) METRIC("cudev__loaded_again_bytes_mem_global_op_%s", c->again);
    }
#undef METRIC
}

static void write_kernel(FILE* out, unsigned kernel, const struct line_row* rows, unsigned count) {
    struct csv_place whole = {out, &profile()->kernel[kernel], NULL};
    struct kernel_counts c = kernel_counts(kernel);
    struct counts sum[LOG_KINDS][2];
    uint64_t block_sectors = 0, again = 0;
    memset(sum, 0, sizeof sum);
    for (unsigned i = 0; i < count; i++) {
        add_counts(&sum[rows[i].row->kind][rows[i].row->shared], &rows[i].counts);
        block_sectors += rows[i].counts.block_sectors;
        again += rows[i].counts.again;
    }
    for (int kind = LOG_LOAD; kind <= LOG_ATOMIC; kind++)
        for (int shared = 0; shared < 2; shared++)
            write_counts(&whole, (enum log_kind)kind, shared, &sum[kind][shared]);
    write_counts(&whole, LOG_COPY_LOAD, false, &sum[LOG_COPY_LOAD][0]);
    write_counts(&whole, LOG_COPY_STORE, true, &sum[LOG_COPY_STORE][1]);
    write_counts(&whole, LOG_MATRIX_LOAD, true, &sum[LOG_MATRIX_LOAD][1]);
    write_counts(&whole, LOG_MMA, false, &sum[LOG_MMA][0]);
    for (int kind = LOG_WGMMA; kind <= LOG_TMA_STORE; kind++)
        if (sum[kind][0].requests) write_counts(&whole, (enum log_kind)kind, false, &sum[kind][0]);
    metric(&whole, "cudev__blocks", c.blocks);
    metric(&whole, "cudev__barriers", c.barriers);
    metric(&whole, "cudev__distinct_read_bytes", c.read_bytes);
    metric(&whole, "cudev__distinct_written_bytes", c.written_bytes);
    metric(&whole, "cudev__distinct_read_sectors", c.read_sectors);
    metric(&whole, "cudev__distinct_written_sectors", c.written_sectors);
    metric(&whole, "cudev__distinct_read_sectors_by_block", block_sectors);
    metric(&whole, "cudev__loaded_again_bytes", again);
    for (unsigned i = 0; i < count; i++) {
        struct csv_place line = {out, whole.kernel, &rows[i]};
        write_counts(&line, rows[i].row->kind, rows[i].row->shared, &rows[i].counts);
    }
}

static void write_csv(FILE* out, const struct line_row* rows, unsigned count) {
    fprintf(out, "kernel,launches,launched_at,file,line,array,access_bytes,metric,value\n");
    unsigned first = 0;
    for (unsigned k = 0; k < profile()->kernels; k++) {
        unsigned end = first;
        while (end < count && rows[end].row->kernel == k) end++;
        write_kernel(out, k, rows + first, end - first);
        first = end;
    }
}

void cudev_profile_write(FILE* out, bool csv) {
    unsigned count;
    struct line_row* rows = collect(&count);
    if (rows && csv)
        write_csv(out, rows, count);
    else if (rows)
        write_table(out, rows, count);
    free(rows);
}
