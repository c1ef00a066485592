// timing.c: times the versions of one lesson.
// usage: bench CSV|- SECONDS KIND:NAME=LIBRARY.so...
// KIND: step, solution, yours, library or tiles
// Prints a table; writes one row per size and version to CSV. SECONDS is for all sizes together, in
// equal shares: versions get as many rounds as the time allows, and at least MIN_ROUNDS. A version
// of which MIN_ROUNDS runs would take longer than a share gets SLOW_ROUNDS beyond it, and none if
// one run takes LONGEST_S. BENCH_ONLY=text in the environment: only sizes whose label contains it.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/arrays.h"
#include "bench/ceiling.h"
#include "bench/clocks.h"
#include "bench/peers.h"
#include "course.h"

enum { VERSIONS = 32, SLOW_ROUNDS = 3, MIN_ROUNDS = 7, MAX_ROUNDS = 60, MAX_FLUSHES = 32 };
#define LONGEST_S 5  // of one run
#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)

// How a version fared at a size. VERIFIED: it was timed, and every output was right. From
// WRONG_SAMPLE on it computed something else.
enum outcome {
    VERIFIED,
    NO_MEMORY,
    NOT_OFFERED,
    NOT_THIS_SIZE,
    CUDA_REFUSES,
    REFUSES_ARGUMENTS,
    NO_COMPARISON,
    TOO_SLOW,
    WRONG_SAMPLE,
    WRONG_UNWRITTEN,
    WRONG_DIFFERS,
    WRONG_TIMED,
};

// The words of the record.
static const char* const outcome_names[] = {
    "verified",
    "out of memory",
    "not offered",
    "does not take this size",
    "CUDA refuses a call",
    "refuses its arguments",
    "no version to compare with",
    "too slow: longer than " NUMBER(LONGEST_S) " seconds",
    "WRONG in a sample",
    "WRONG: elements are NaN or not written",
    "WRONG: differs from the first version",
    "WRONG in a timed run",
};

struct version {
    char kind[16], name[64];
    bench_launcher launch[2];  // as many as the contract has; NULL: a peer
    int peer;
    enum outcome outcome;
    double ms[MAX_ROUNDS];
    int runs, most;  // how often it was timed, and will be
};

static struct version version[VERSIONS];
static int versions;
static cudaEvent_t begin, end;
static const struct bench_peers* peers;  // NULL: none
static int flushes = 1;                  // before every call

// The record is a CSV without quotes.
static void refuse_commas(const char* text) {
    if (!strchr(text, ',')) return;
    fprintf(stderr, "bench: no comma in a name, please: %s\n", text);
    exit(2);
}

// A new version. An error message says `named`.
static struct version* add(const char* named) {
    refuse_commas(named);
    if (versions < VERSIONS) return &version[versions++];
    fprintf(stderr, "bench: %s: more versions than VERSIONS\n", named);
    exit(2);
}

static void load(const char* argument) {
    const char* path = strchr(argument, '=');
    const char* name_at = strchr(argument, ':');
    if (!path || !name_at) {
        fprintf(stderr, "bench: %s: expected KIND:NAME=LIBRARY.so\n", argument);
        exit(2);
    }
    struct version* v = add(argument);
    void* library = dlopen(path + 1, RTLD_NOW | RTLD_LOCAL);
    const char* names = bench.launcher;
    for (int n = 0; n < 2 && *names; n++) {
        char name[64];
        int length = (int)strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", length, names);
        void* symbol = library ? dlsym(library, name) : NULL;
        if (!symbol) {
            fprintf(stderr, "bench: %s\n", dlerror());
            exit(2);
        }
        memcpy(&v->launch[n], &symbol, sizeof symbol);
        names += length + (names[length] == ' ');
    }
    snprintf(v->kind, sizeof v->kind, "%.*s", (int)(name_at - argument), argument);
    snprintf(v->name, sizeof v->name, "%.*s", (int)(path - name_at - 1), name_at + 1);
}

static void add_peer(int peer) {
    struct version* v = add(peers->names[peer]);
    snprintf(v->kind, sizeof v->kind, "%s", peers->kinds[peer]);
    snprintf(v->name, sizeof v->name, "%s", peers->names[peer]);
    v->peer = peer;
}

static double looser(const struct version* v) {
    return v->launch[0] ? 1 : peers->looser;
}

static enum outcome outcome_of(const struct version* v, int status) {
    if (!v->launch[0])
        return status == BENCH_PEER_OK          ? VERIFIED
               : status == BENCH_PEER_NO_MEMORY ? NO_MEMORY
                                                : NOT_OFFERED;
    return status == COURSE_OK            ? VERIFIED
           : status == COURSE_UNSUPPORTED ? NOT_THIS_SIZE
           : status == COURSE_CUDA_ERROR  ? CUDA_REFUSES
                                          : REFUSES_ARGUMENTS;
}

// One call between two events. Before it, in stream order, the arrays are made what they are before
// a call, and the cache is made cold. Waits for the call, and until its results are in the run's
// outputs. Returns VERIFIED, or why there are none. *late: the GPU reached the call before all of
// it was in the stream, so the time may be the processor's, not the GPU's. With `sample` the clock
// is read meanwhile.
static enum outcome run_once(const struct version* v, struct bench_run* run, const int64_t* n,
                             bool sample, double* ms, bool* late) {
    arrays_restore(run);
    if (!v->launch[0] && peers->ready) peers->ready(v->peer);
    for (int i = 0; i < flushes; i++) ceiling_flush();
    bench_must(cudaEventRecord(begin, NULL), "event");
    int status =
        v->launch[0] ? bench.call(v->launch[n[BENCH_NUMBERS - 1]], run, n) : peers->call(v->peer);
    *late = cudaEventQuery(begin) == cudaSuccess;
    (void)cudaGetLastError();  // "not ready" is no error; the status tells of others
    bench_must(cudaEventRecord(end, NULL), "event");
    if (sample) clocks_sample();
    bench_must(cudaEventSynchronize(end), "the kernel");
    enum outcome outcome = outcome_of(v, status);
    if (outcome != VERIFIED) return outcome;
    float elapsed = 0;
    bench_must(cudaEventElapsedTime(&elapsed, begin, end), "event");
    *ms = (double)elapsed;
    if (!v->launch[0]) peers->deliver(v->peer);
    return VERIFIED;
}

static unsigned wrong_elements(const struct version* v, const struct bench_run* run) {
    unsigned wrong = 0;
    bench_must(cudaMemset(run->scratch_gpu, 0, sizeof wrong), "counter");
    arrays_compare(run, looser(v), run->scratch_gpu);
    bench_must(cudaMemcpy(&wrong, run->scratch_gpu, sizeof wrong, cudaMemcpyDeviceToHost),
               "counter");
    return wrong;
}

// The first, untimed run of each version: may it take part?
static void admit(struct version* v, struct bench_run* run, const int64_t* n, double seconds,
                  bool* agreed) {
    bool late;
    double ms;
    v->runs = 0;
    v->most = MAX_ROUNDS;
    v->outcome = run_once(v, run, n, false, &ms, &late);
    if (v->outcome != VERIFIED) return;
    if (!(bench.error(run, n) <= looser(v))) {
        v->outcome = WRONG_SAMPLE;
    } else if (!*agreed && v->launch[0]) {
        arrays_keep(run, bench.spread);
        *agreed = wrong_elements(v, run) == 0;  // compared with itself, only NaN is wrong
        if (!*agreed) v->outcome = WRONG_UNWRITTEN;
    } else if (!*agreed) {
        v->outcome = NO_COMPARISON;
    } else if (wrong_elements(v, run)) {
        v->outcome = WRONG_DIFFERS;
    }
    if (v->outcome != VERIFIED || ms <= 1e3 * seconds / MIN_ROUNDS) return;
    // A first call may be slow for other reasons: code is loaded, a library makes its plans.
    v->outcome = run_once(v, run, n, false, &ms, &late);
    if (v->outcome != VERIFIED || ms <= 1e3 * seconds / MIN_ROUNDS) return;
    v->most = SLOW_ROUNDS;
    if (ms > LONGEST_S * 1e3) v->outcome = TOO_SLOW;
}

static void time_versions(struct bench_run* run, const int64_t* n, double seconds) {
    double start = clock_seconds();
    for (int round = 0; round < MAX_ROUNDS; round++) {
        if (round >= MIN_ROUNDS && clock_seconds() - start >= seconds) break;
        for (int i = 0; i < versions; i++) {
            struct version* v = &version[(i + round) % versions];
            if (v->outcome != VERIFIED || v->runs == v->most) continue;
            bool late;
            double ms;
            v->outcome = run_once(v, run, n, i == 0, &ms, &late);
            if (v->outcome != VERIFIED) continue;
            if (wrong_elements(v, run)) v->outcome = WRONG_TIMED;
            // From here on the GPU flushes for longer, before every version.
            if (!v->launch[0] && late && flushes < MAX_FLUSHES)
                flushes *= 2, i--;
            else
                v->ms[v->runs++] = ms;
        }
    }
}

// ---- what is printed

static int ascending(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

struct spot {
    char gpu[64], driver[32], cuda[16], date[16];
};

// The columns, in the record's first line; make plots and bench_table.awk find them by these names.
static const char columns[] =
    "size,version,kind,median_ms,low_ms,high_ms,runs,gbytes_per_s,tflops,outcome,sm_mhz,"
    "limited_by,layout,copy_gbytes_per_s,cublas_tflops,gpu,driver,cuda,torch,date";

static void csv_row(FILE* csv, const struct spot* spot, const struct bench_size* size,
                    const struct version* v, double gbytes, double tflops) {
    fprintf(csv, "%s,%s,%s,", size->label, v->name, v->kind);
    if (v->outcome != VERIFIED)
        fprintf(csv, ",,,0,,,%s", outcome_names[v->outcome]);
    else
        fprintf(csv, "%.5f,%.5f,%.5f,%d,%.1f,%.2f,verified", v->ms[v->runs / 2],
                v->ms[v->runs / 10], v->ms[v->runs - 1 - v->runs / 10], v->runs, gbytes, tflops);
    char clock[16] = "";
    if (clocks_slowest()) snprintf(clock, sizeof clock, "%u", clocks_slowest());
    fprintf(csv, ",%s,%s,%s,%.0f,%.1f,%s,%s,%s,%s,%s\n", clock, clocks_limited_by(),
            !v->launch[0] && peers->layouts[v->peer] ? peers->layouts[v->peer] : "", ceiling_copy(),
            ceiling_matmul(bench.precision), spot->gpu, spot->driver, spot->cuda,
            peers ? peers->software : "", spot->date);
}

static void report(FILE* csv, const struct spot* spot, const struct bench_size* size) {
    double bytes = bench.bytes(size->n), flops = bench.flops ? bench.flops(size->n) : 0;
    printf("\n%s: %.3g GB to move at least", size->label, bytes * 1e-9);
    if (flops > 0) printf(", %.3g GFLOP", flops * 1e-9);
    printf("\n  %-24s %10s  %-17s  %9s  %8s\n", "version", "median ms", "10 % .. 90 %",
           flops > 0 ? "TFLOP/s" : "GB/s", flops > 0 ? "of cuBLAS" : "of copy");
    for (int i = 0; i < versions; i++) {
        struct version* v = &version[i];
        if (v->outcome != VERIFIED) {
            printf("  %-24s %s\n", v->name, outcome_names[v->outcome]);
            csv_row(csv, spot, size, v, 0, 0);
            continue;
        }
        qsort(v->ms, (size_t)v->runs, sizeof v->ms[0], ascending);
        double ms = v->ms[v->runs / 2];
        double gbytes = bytes / ms * 1e-6, tflops = flops / ms * 1e-9;
        char between[40];
        snprintf(between, sizeof between, "%.4f .. %.4f", v->ms[v->runs / 10],
                 v->ms[v->runs - 1 - v->runs / 10]);
        printf("  %-24s %10.4f  %-17s  %9.1f  %8.2f\n", v->name, ms, between,
               flops > 0 ? tflops : gbytes,
               flops > 0 ? tflops / ceiling_matmul(bench.precision) : gbytes / ceiling_copy());
        csv_row(csv, spot, size, v, gbytes, tflops);
    }
    if (clocks_slowest())
        printf("  clock at least %u MHz%s%s\n", clocks_slowest(),
               *clocks_limited_by() ? ", limited by " : "", clocks_limited_by());
    fflush(stdout);
}

static struct spot where_and_when(void) {
    struct spot spot;
    struct cudaDeviceProp properties;
    int runtime = 0;
    bench_must(cudaGetDeviceProperties(&properties, 0), "no GPU");
    bench_must(cudaRuntimeGetVersion(&runtime), "no CUDA runtime");
    snprintf(spot.gpu, sizeof spot.gpu, "%.60s", properties.name);
    snprintf(spot.cuda, sizeof spot.cuda, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    const char* driver = getenv("BENCH_DRIVER");  // the script asks nvidia-smi
    snprintf(spot.driver, sizeof spot.driver, "%.30s", driver ? driver : "unknown");
    time_t today = time(NULL);
    strftime(spot.date, sizeof spot.date, "%Y-%m-%d", gmtime(&today));
    return spot;
}

// Is it among the sizes that are asked for?
static bool chosen(const struct bench_size* size) {
    const char* only = getenv("BENCH_ONLY");
    return !only || strstr(size->label, only);
}

// When the program should end, as clock_seconds() counts; how many sizes are still to be timed.
static double deadline;
static int sizes_left;

// All versions at one size; `seconds`: the size's share. A version that does not fit into the GPU's
// memory has a result, too.
static void time_size(const struct bench_size* size, double seconds) {
    struct bench_run run = {.random = 1};
    bool agreed = false;
    clocks_begin();
    bench_must(cudaMalloc((void**)&run.scratch_gpu, sizeof(unsigned)), "counter");
    bench.prepare(&run, size->n);
    if (run.no_memory) {
        for (int i = 0; i < versions; i++) version[i].outcome = NO_MEMORY;
    } else {
        if (peers) peers->prepare(&run, size);
        for (int i = 0; i < versions; i++) admit(&version[i], &run, size->n, seconds, &agreed);
        time_versions(&run, size->n, (deadline - clock_seconds()) / sizes_left);
        if (peers) peers->finish();
    }
    arrays_free(&run);
    cudaFree(run.scratch_gpu);
}

int bench_main(int argc, char** argv, const struct bench_peers* with) {
    if (argc < 4) {
        fprintf(stderr, "usage: bench CSV|- SECONDS KIND:NAME=LIBRARY.so...\n");
        return 2;
    }
    FILE* csv = fopen(strcmp(argv[1], "-") == 0 ? "/dev/null" : argv[1], "w");
    if (!csv) {
        perror(argv[1]);
        return 2;
    }
    for (int i = 3; i < argc; i++) load(argv[i]);
    peers = with;
    for (int i = 0; peers && i < peers->count; i++) add_peer(i);
    struct spot spot = where_and_when();
    bench_must(cudaEventCreate(&begin), "event");
    bench_must(cudaEventCreate(&end), "event");
    ceiling_measure();
    printf("%s, driver %s, CUDA %s, %s\n", spot.gpu, spot.driver, spot.cuda, spot.date);
    printf("ceilings now: copy %.0f GB/s (read + written), cuBLAS %.1f TFLOP/s bf16, %.1f fp32\n",
           ceiling_copy(), ceiling_matmul(BF16), ceiling_matmul(F32));
    fprintf(csv, "%s\n", columns);

    int wrong = 0;
    for (const struct bench_size* size = bench.sizes; size->label; size++)
        refuse_commas(size->label), sizes_left += chosen(size);
    deadline = clock_seconds() + atof(argv[2]);
    double share = atof(argv[2]) / sizes_left;
    for (const struct bench_size* size = bench.sizes; size->label; size++) {
        if (!chosen(size)) continue;
        if (isatty(2))
            fprintf(stderr, "%s (%d more after it, %.0f s left)\n", size->label, sizes_left - 1,
                    fmax(0, deadline - clock_seconds()));
        time_size(size, share);
        sizes_left--;
        report(csv, &spot, size);
        for (int i = 0; i < versions; i++) wrong |= version[i].outcome >= WRONG_SAMPLE;
    }
    if (fclose(csv) != 0) {
        perror(argv[1]);
        return 2;
    }
    return wrong;
}
