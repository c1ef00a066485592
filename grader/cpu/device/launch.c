// Launching: checks the configuration, spreads the blocks over OS threads ("workers"), waits, and
// watches the time. Launches are synchronous: one that may overlap with the one before it runs when
// that has ended, and a watcher finds what it does too early.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "cpu/device/worker.h"
#include "cpu/device/errors.h"
#include "cpu/device/far.h"
#include "cpu/device/fault.h"
#include "cpu/device/hopper.h"
#include "cpu/device/memory.h"
#include "cpu/device/report.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/stacks.h"
#include "cpu/device/symbols.h"
#include "cpu/device/waiting.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"

enum { WATCHED_SLOWDOWN = 4 };  // allowed to a watched kernel before it counts as endless

static int workers;
static sem_t all_done;

static double env_number(const char* name, double otherwise) {
    const char* text = getenv(name);
    char* end;
    double value = text ? strtod(text, &end) : 0;
    return text && end != text && value > 0 ? value : otherwise;
}

int cudev_worker_count(void) {
    if (cudev_watcher && cudev_watcher->finds) return 1;  // the same findings each time
    if (workers == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        double wanted = env_number("CUDEV_WORKERS", cores > 0 ? (double)cores : 1);
        workers = wanted < 1 ? 1 : wanted > MAX_WORKERS ? MAX_WORKERS : (int)wanted;
    }
    return workers;
}

struct cudev_meetings cudev_meetings(void) {
    struct cudev_meetings sum = {0};
    for (int i = 0; i < MAX_WORKERS; i++) {
        if (!cudev_worker[i]) continue;
        const struct cudev_meetings* met = &cudev_worker[i]->met;
        sum.barriers += met->barriers, sum.words += met->words, sum.matrices += met->matrices;
        sum.products += met->products, sum.copies += met->copies;
    }
    return sum;
}

static bool nothing_runs = true;  // that the next launch could overlap with

void cudev_launches_ended(void) {
    nothing_runs = true;
}

static int few;
static bool only_ends;

static uint32_t chosen;  // cudev_choose_block()

void cudev_choose_block(unsigned part) {
    chosen = part;
}

void cudev_run_few(int blocks, int bytes) {
    few = blocks;
    only_ends = bytes != 0;
}

int cudev_only_ends(size_t bytes) {
    return only_ends && bytes >= 16 * (size_t)CUDEV_END;
}

// The first block from number `block` on that runs; `blocks` if none does.
static uint64_t next_of_few(uint64_t block, uint64_t blocks) {
    if (few == CUDEV_ONE_BLOCK) {
        const uint64_t one = (uint64_t)(0x1p-32 * (double)chosen * (double)blocks);
        return block <= one ? one : blocks;
    }
    if (few != CUDEV_FEW_BLOCKS && few != CUDEV_FEW_OF_MANY && few != CUDEV_LAST_BLOCK)
        return block;
    enum { EIGHTH = 8, MOST = 16, BEYOND_16_BITS = 1 << 16, FROM_THERE = 48 };
    // Watched, what a second kernel finds of blocks that did not run would be a finding: it is
    // small, and runs not at all.
    const uint64_t part_of_all = blocks / (cudev_watcher ? 64 : EIGHTH);
    const uint64_t edge = part_of_all < MOST ? part_of_all : MOST;
    if (few == CUDEV_FEW_OF_MANY && blocks < EIGHTH) return block;
    if (few == CUDEV_LAST_BLOCK) return block < blocks ? blocks - 1 : blocks;
    const uint64_t part[3][2] = {
        {0, edge}, {BEYOND_16_BITS, BEYOND_16_BITS + FROM_THERE}, {blocks - edge, blocks}};
    for (int i = 0; i < 3; i++) {
        uint64_t begin = block > part[i][0] ? block : part[i][0];
        uint64_t end = part[i][1] < blocks ? part[i][1] : blocks;
        if (begin < end) return begin;
    }
    return blocks;
}

static bool share_a_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 1;
}

// Which block is the n-th to begin, in the order of a launch. A block may come before any other, as
// on a GPU: with steps of the golden section neighbours in x, y or z are far from each other.
static uint64_t nth_block(uint64_t n, uint64_t blocks) {
    if (few != CUDEV_MIXED_BLOCKS || blocks > UINT32_MAX) return n;
    uint64_t step = (uint64_t)(0.618 * (double)blocks) + 1;
    while (share_a_divisor(step, blocks)) step++;
    return (n * step + blocks / 2) % blocks;
}

static bool left_open;

void cudev_leave_open(void) {
    left_open = true;  // workers read it behind their semaphore
    cudev_hold_open(1);
}

static void* worker_main(void* p) {
    struct worker* w = p;
    cudev_self = w;
    cudev_faults_thread(w);
    cudev_stacks_map(w);
    cudev_waiting_create(w);
    cudev_named_barriers_create(w);
    cudev_async_copies_create(w);
    cudev_hopper_create(w);
    cudev_warpgroups_create(w);
    cudev_shared_map(w);
    for (;;) {
        while (sem_wait(&w->go) != 0) {
        }
        struct launch* l = w->launch;
        uint64_t block;
        if (!left_open) {
            cudev_shared_open(w, true);
            cudev_stacks_open(w);
        }
        atomic_store(&w->busy, true);
        cudev_stacks_launch(w);
        while ((block = atomic_fetch_add(&l->next_block, l->chunk)) < l->blocks) {
            uint64_t end = block + l->chunk < l->blocks ? block + l->chunk : l->blocks;
            for (; block < end; block++) {
                block = next_of_few(block, l->blocks);
                if (block < end) cudev_run_block(w, nth_block(block, l->blocks));
            }
        }
        atomic_store(&w->busy, false);
        if (!left_open) {
            cudev_stacks_close(w);
            cudev_shared_open(w, false);
        }
        cudev_waiting_forget(w);
        if (atomic_fetch_sub(&l->active, 1) == 1) sem_post(&all_done);
    }
    return NULL;
}

// Starts workers up to `count`; returns how many there are (fewer when the system refuses more).
static int start_workers(int count) {
    static int started;
    for (; started < count; started++) {
        struct worker* w =
            mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (w == MAP_FAILED) break;
        w->number = started;
        sem_init(&w->go, 0, 0);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
        int failed = pthread_create(&w->os_thread, &attributes, worker_main, w);
        pthread_attr_destroy(&attributes);
        if (failed) {
            munmap(w, sizeof *w);
            break;
        }
        cudev_worker[started] = w;
    }
    return started;
}

// CPU seconds of a worker: an honest kernel on a busy machine is not called endless.
static double worker_seconds(const struct worker* w) {
    clockid_t clock;
    if (pthread_getcpuclockid(w->os_thread, &clock)) return 0;
    return 1e-9 * (double)clock_nanoseconds(clock);
}

static void report_endless(int used, double limit) {
    for (int i = 0; i < used; i++) cudev_ask_where(cudev_worker[i]);
    cudev_report_begin("endless_loop",
                       "endless loop: the kernel is still running after %g s (CUDEV_TIMEOUT)",
                       limit);
    for (int i = 0; i < used; i++) {
        const struct worker* w = cudev_worker[i];
        int count = atomic_load(&w->call_stack->count);
        if (count <= 0 || !atomic_load(&w->busy)) continue;
        cudev_report_launch(w);
        cudev_report_threads(w);
        cudev_report_frames(w->call_stack->frames, count);
        break;
    }
    cudev_report_add("  next: which condition ends the loop there, and who makes it true? (waiting "
                     "for another thread with plain reads never ends here: use atomics)\n");
    cudev_report_end(EXIT_WATCHDOG);
}

// CPU seconds of all workers together: the number of blocks that each gets depends on what else the
// machine does.
static double all_seconds(int used) {
    double sum = 0;
    for (int i = 0; i < used; i++) sum += worker_seconds(cudev_worker[i]);
    return sum;
}

static void wait_for_workers(int used) {
    static double limit, wall_limit;  // the second is for a kernel that sleeps
    if (limit == 0)
        limit = env_number("CUDEV_TIMEOUT", 5 * cudev_worker_count()) *
                (cudev_watcher ? WATCHED_SLOWDOWN : 1);
    if (wall_limit == 0) wall_limit = env_number("CUDEV_CLOCK_TIMEOUT", 10 * limit);
    double wall = clock_seconds(), cpu = all_seconds(used);
    for (;;) {
        const int64_t end = clock_nanoseconds(CLOCK_REALTIME) + 50 * 1000 * 1000;
        const struct timespec until = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
        if (sem_timedwait(&all_done, &until) == 0) return;
        if (errno != ETIMEDOUT) continue;
        if (all_seconds(used) - cpu > limit || clock_seconds() - wall > wall_limit)
            report_endless(used, limit);
    }
}

static cudaError_t bad_launch(const struct cudev_launch_site* s, cudaError_t error,
                              const char* reason) {
    return cudev_refused(error, "launch",
                         "launch of %s<<<(%u,%u,%u), (%u,%u,%u), %zu>>> at %s:%d: %s: %s", s->name,
                         s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2],
                         s->shared_bytes, s->file, s->line, cudaGetErrorName(error), reason);
}

static cudaError_t check_site(const struct cudev_launch_site* s) {
    const unsigned *g = s->grid, *b = s->block;
    for (int i = 0; i < 3; i++)
        if (g[i] == 0 || b[i] == 0)
            return bad_launch(s, cudaErrorInvalidConfiguration, "a size is 0");
    if (g[0] > 0x7fffffff || g[1] > 65535 || g[2] > 65535)
        return bad_launch(s, cudaErrorInvalidConfiguration,
                          "a grid has at most 2147483647 x 65535 x 65535 blocks");
    if (b[0] > MAX_THREADS || b[1] > MAX_THREADS || b[2] > 64 ||
        (uint64_t)b[0] * b[1] * b[2] > MAX_THREADS)
        return bad_launch(s, cudaErrorInvalidConfiguration,
                          "a block has at most 1024 threads, 64 in z");
    if (s->cluster > 1 && cudev_card()->major < 9)
        return bad_launch(s, cudaErrorNotSupported, "clusters need a Hopper GPU: CARD=h200");
    if (s->cluster > MAX_CLUSTER || (s->cluster > 1 && g[0] % s->cluster))
        return bad_launch(s, cudaErrorInvalidConfiguration,
                          "a cluster is at most 8 blocks, in x alone, and the grid whole clusters");
    size_t limit;
    if (!cudev_shared_limit(s, &limit) && s->shared_bytes > limit)
        return bad_launch(
            s, cudaErrorInvalidValue,
            "more than 48 KB of dynamic shared memory needs cudaFuncSetAttribute(kernel, "
            "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first");
    if (s->shared_bytes > limit)
        return bad_launch(s, cudaErrorInvalidValue,
                          "more dynamic shared memory than cudaFuncSetAttribute asked for");
    return cudaSuccess;
}

static void fill_index(struct launch* l) {
    const unsigned* b = l->site.block;
    unsigned t = 0;
    for (unsigned z = 0; z < b[2]; z++)
        for (unsigned y = 0; y < b[1]; y++)
            for (unsigned x = 0; x < b[0]; x++) l->index[t++] = (uint3){x, y, z};
    l->of_block = t;
    l->cluster = l->site.cluster > 1 ? l->site.cluster : 1;
    l->threads = l->cluster * t;
    for (; t < l->threads; t++) l->index[t] = l->index[t - l->of_block];
}

// All blocks of a cluster run on one worker, as one block of more threads.
static void check_cluster(const struct cudev_launch_site* s) {
    enum { RESERVE = 32 << 10 };  // for static arrays and guards
    uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    if (s->cluster <= 1) return;
    if (threads % WARP_SIZE || s->cluster * threads > MAX_THREADS - (cudev_watcher ? 32 : 0))
        cudev_not_here("a cluster whose blocks have more than 1024 threads together (992 in a "
                       "checked run), or no whole warps",
                       "use smaller blocks or clusters", s->file, s->line);
    if (s->shared_bytes + RESERVE > SHARED_WINDOW / s->cluster)
        cudev_not_here("a cluster with so much shared memory", "use smaller clusters", s->file,
                       s->line);
}

int cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body,
                 size_t bytes) {
    (void)bytes;
    if (cudev_self)
        return bad_launch(site, cudaErrorNotSupported, "a kernel cannot launch a kernel here");
    cudaError_t error = check_site(site);
    if (error != cudaSuccess) return (int)error;
    if (!cudev_memory_init()) return (int)cudev_error(cudaErrorInitializationError);
    cudev_lock();
    struct launch* l = &cudev_current_launch;
    l->site = *site;
    l->run = run;
    l->body = body;
    check_cluster(site);
    fill_index(l);
    blockDim = (dim3){site->block[0], site->block[1], site->block[2]};
    gridDim = (dim3){site->grid[0], site->grid[1], site->grid[2]};
    l->blocks = (uint64_t)site->grid[0] * site->grid[1] * site->grid[2] / l->cluster;
    l->overlaps = site->overlaps && !nothing_runs;
    nothing_runs = false;

    static bool ready;
    if (!ready) {
        sem_init(&all_done, 0, 0);
        ready = true;
    }
    uint64_t wanted = (uint64_t)cudev_worker_count();
    int used = start_workers((int)(l->blocks < wanted ? l->blocks : wanted));
    if ((uint64_t)used > l->blocks) used = (int)l->blocks;
    if (used == 0) {
        cudev_unlock();
        return bad_launch(site, cudaErrorInitializationError,
                          "the system allows no further thread");
    }
    l->chunk = l->blocks / ((uint64_t)used * 16) + 1;
    l->crowded = few == CUDEV_CROWDED_BLOCKS;
    atomic_store(&l->next_block, 0);
    atomic_store(&l->active, used);
    atomic_store(&l->error, cudaSuccess);
    cudev_memory_open();
    cudev_far_open(true);
    cudev_symbols_protect(SYMBOLS_OF_KERNELS);
    for (int i = 0; i < used; i++) cudev_worker[i]->launch = l;
    if (cudev_watcher) cudev_watcher->launch_begins(l, used);
    for (int i = 0; i < used; i++) sem_post(&cudev_worker[i]->go);
    wait_for_workers(used);
    if (cudev_watcher) cudev_watcher->launch_ends(l, used);
    cudev_memory_check("after the kernel");
    cudev_far_open(false);
    cudev_memory_close();
    cudev_count_launch();
    cudev_unlock();
    return (int)(l->error ? cudev_error(l->error) : cudaSuccess);
}
