// wall.c: the arena (poison, guard bands, seals) and the running of untrusted programs.
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/check.h"
#include "base/dtype.h"
#include "test/unit/run.h"
#include "wall/arena.h"
#include "wall/build.h"
#include "wall/processes.h"
#include "wall/wall.h"

enum { BYTES = 1001 };  // no multiple of anything

static void open_arena(struct arena* a, unsigned char** map) {
    memset(a, 0, sizeof *a);
    a->layout.rounds = 2;
    a->layout.tensor_count = 1;
    a->layout.tensor[0] = (struct arena_tensor){.name = "C", .role = ARENA_OUTPUT, .bytes = BYTES};
    ck_assert_int_eq(arena_open(a, map), 0);
}

// A poisoned output is a NaN in every type, and none that arithmetic makes.
START_TEST(test_poison) {
    struct arena a;
    unsigned char* map;
    open_arena(&a, &map);
    for (uint64_t at = a.layout.tensor[0].offset[0]; at < a.layout.tensor[0].offset[0] + 1000;
         at += 4) {
        ck_assert(dtype_load(F32, map + at) != dtype_load(F32, map + at));
        ck_assert(dtype_load(F16, map + at) != dtype_load(F16, map + at));
        ck_assert(dtype_load(BF16, map + at) != dtype_load(BF16, map + at));
        uint16_t bits;
        memcpy(&bits, map + at, 2);
        ck_assert(bits != 0x7fff && bits != 0x7fc0 && bits != 0x7e00);
    }
    ck_assert_int_eq(arena_close_writing(&a, map), 0);
    ck_assert_int_eq(arena_seal(&a), 0);
    ck_assert(arena_is_poison(&a, a.layout.tensor[0].offset[1], 4));
    arena_free(&a);
}
END_TEST

// One byte outside, on either side, in either round, is seen; the last byte inside is not outside.
START_TEST(test_guards) {
    const int64_t places[] = {-ARENA_GUARD, -1, BYTES, BYTES + ARENA_GUARD - 1, 0, BYTES - 1};
    struct arena a;
    unsigned char* map;
    int64_t offset = 0;
    open_arena(&a, &map);
    map[a.layout.tensor[0].offset[1] + (uint64_t)places[_i]] ^= 0x55;
    ck_assert_int_eq(arena_close_writing(&a, map), 0);
    ck_assert_int_eq(arena_seal(&a), 0);
    ck_assert(arena_guards_intact(&a, 0, 0, &offset));
    ck_assert_int_eq(arena_guards_intact(&a, 0, 1, &offset), _i >= 4);
    if (_i < 4) ck_assert_int_eq(offset, places[_i]);
    arena_free(&a);
}
END_TEST

// The class of a product, and how often it counts, are those of its digits alone. A small operand
// is part of the class if the run says so.
START_TEST(test_altered_products) {
    const struct arena_products how[] = {{.key = 0x123456789abcdef}, {.key = 1, .by_both = 1}};
    for (int both = 0; both < 2; both++) {
        int others = 0, classes = 0;
        for (int n = 0; n < 128; n++) {
            const double a = 1024 + 8 * n, b = 1 + n / 128.0;
            uint32_t class, same;
            const double product = arena_altered(a, 1, &how[both], &class);
            ck_assert(product >= 2 * a && product <= ARENA_TIMES * a);
            ck_assert(arena_altered(-1, 4 * a, &how[both], &same) == -4 * product);
            ck_assert_uint_eq(class, same);
            others += arena_altered(a, b, &how[both], &same) != b * product;
            classes += same != class;
            ck_assert(arena_altered(a, 0, &how[both], &class) == 0);
            ck_assert_uint_eq(class, ARENA_CLASSES);
            ck_assert(arena_altered(b, b, &how[both], &class) == b * b);
            ck_assert_uint_eq(class, ARENA_CLASSES);
        }
        ck_assert_int_eq(others, 0);
        ck_assert(both ? classes > 100 : classes == 0);
    }
}
END_TEST

// While anybody has it mapped writable it cannot be sealed; after that nobody can write.
START_TEST(test_seal) {
    struct arena a;
    unsigned char *map, *other;
    open_arena(&a, &map);
    ck_assert_int_eq(arena_close_writing(&a, map), 0);
    other = mmap(NULL, a.size, PROT_READ | PROT_WRITE, MAP_SHARED, a.fd, 0);
    ck_assert_int_eq(arena_seal(&a), -1);
    ck_assert_int_eq(errno, EBUSY);
    munmap(other, a.size);
    ck_assert_int_eq(arena_seal(&a), 0);
    ck_assert(mmap(NULL, a.size, PROT_READ | PROT_WRITE, MAP_SHARED, a.fd, 0) == MAP_FAILED);
    ck_assert_int_eq(ftruncate(a.fd, 1), -1);
    arena_free(&a);
}
END_TEST

static struct wall_result shell(enum wall_level level, const char* command, double seconds) {
    const char* argv[] = {"/bin/sh", "-c", command, NULL};
    struct wall_job job = {
        .argv = argv, .program = -1, .arena = -1, .seconds = seconds, .memory = (size_t)1 << 28};
    return wall_run(level, &job);
}

START_TEST(test_run) {
    const char* why;
    enum wall_level level = (enum wall_level)_i;
    if (!wall_probe(level, &why)) return;  // not offered here; make test says so elsewhere
    struct wall_result r = shell(level, "echo out; echo err >&2; exit 3", 5);
    ck_assert_int_eq(r.end, WALL_EXITED);
    ck_assert_int_eq(r.code, 3);
    ck_assert_str_eq(r.output, "out\nerr\n");
    free(r.output);
    r = shell(level, "kill -9 $$", 5);
    ck_assert(r.end == WALL_SIGNALED || r.code == 137);  // bubblewrap reports 128 + signal
    free(r.output);
    r = shell(level, "sleep 10", 0.2);
    ck_assert_int_eq(r.end, WALL_IDLE);
    ck_assert(r.clock < 5);
    free(r.output);
    // What two processes take counts together, also what one of them took that is no more.
    r = shell(level,
              "b() { i=0; while [ $i -lt $1 ]; do i=$((i + 1)); done; }; (b 2000); b 999999999 & b "
              "999999999",
              0.4);
    ck_assert_int_eq(r.end, WALL_TIMEOUT);
    ck_assert(r.seconds >= 0.4 && r.seconds < 10);
    free(r.output);
    r = shell(level, "(setsid sleep 10 &) ; (sleep 10 &) ; exit 0", 5);
    ck_assert_int_eq(r.end, WALL_EXITED);
    ck_assert(r.clock < 5);
    free(r.output);
    r = shell(level, "yes | head -c 1000000", 5);
    ck_assert(r.truncated);
    ck_assert_uint_eq(strlen(r.output), WALL_OUTPUT);
    free(r.output);
}
END_TEST

// ---- the tree of processes

enum { CHILDREN = 700 };  // their numbers take more than a page of /proc

static struct {
    pid_t pid[CHILDREN];
    int met, strangers;
} tree;

static void meet(pid_t pid, void* data) {
    (void)data;
    bool known = false;
    for (int i = 0; i < CHILDREN; i++) known |= tree.pid[i] == pid;
    tree.met += known;
    tree.strangers += !known;
}

static void* fork_from_thread(void* pid) {
    pid_t child = fork();
    while (child == 0) pause();
    return *(pid_t*)pid = child, NULL;
}

// A list that is cut would end inside of a number: that of a stranger.
START_TEST(test_every_child_is_met) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < CHILDREN; i++) {
        if ((tree.pid[i] = fork()) == 0)
            for (;;) pause();
        ck_assert_int_gt(tree.pid[i], 0);
    }
    processes_each(meet, NULL);
    ck_assert_int_eq(tree.met, CHILDREN);
    ck_assert_int_eq(tree.strangers, 0);
    ck_assert(!processes_use().busy);
    processes_end(-1);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

// Children of a thread that is not the first.
START_TEST(test_children_of_threads_are_met) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t* shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    tree.pid[0] = fork();
    if (tree.pid[0] == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, fork_from_thread, shared);
        for (;;) pause();
    }
    for (int i = 0; i < 500 && *(volatile pid_t*)shared == 0; i++) usleep(10000);
    tree.pid[1] = *shared;
    processes_each(meet, NULL);
    ck_assert_int_eq(tree.met, 2);
    processes_end(-1);
    ck_assert_int_eq(kill(tree.pid[1], 0), -1);
}
END_TEST

START_TEST(test_sees_nothing) {
    const char* why;
    char command[4200], here[4096];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    if (!wall_probe((enum wall_level)_i, &why)) return;
    if (_i < WALL_BUBBLEWRAP && !wall_has_landlock()) return;
    snprintf(command, sizeof command, "cat '%s/Makefile'", here);
    struct wall_result r = shell((enum wall_level)_i, command, 5);
    ck_assert_int_ne(r.code, 0);
    free(r.output);
    setenv("SECRET", "hidden", 1);
    r = shell((enum wall_level)_i, "test -z \"$SECRET\"", 5);
    ck_assert_int_eq(r.code, 0);
    free(r.output);
}
END_TEST

// Nothing that the caller has is reached, whether a run's namespaces are the grade's or its own.
START_TEST(test_has_namespaces_of_its_own) {
    static const char* const space[] = {"user", "net", "ipc", "uts", "cgroup", "pid", "mnt"};
    const char* why;
    if (!wall_probe(WALL_BUBBLEWRAP, &why)) return;
    for (size_t i = 0; i < sizeof space / sizeof space[0]; i++) {
        char command[64], path[64], mine[64];
        snprintf(command, sizeof command, "readlink /proc/self/ns/%s", space[i]);
        snprintf(path, sizeof path, "/proc/self/ns/%s", space[i]);
        ssize_t n = readlink(path, mine, sizeof mine - 1);
        ck_assert_int_gt(n, 0);
        mine[n] = '\0';
        struct wall_result r = shell(WALL_BUBBLEWRAP, command, 5);
        ck_assert_int_eq(r.code, 0);
        ck_assert_int_eq(strncmp(r.output, space[i], strlen(space[i])), 0);
        ck_assert_int_ne(strncmp(r.output, mine, strlen(mine)), 0);
        free(r.output);
    }
}
END_TEST

// An exploit has to know where the runner's findings lie, or it shows nothing.
START_TEST(test_exploit_knows_the_arena) {
    char line[256];
    unsigned long answer = 0, findings = 0;
    FILE* f = fopen("grader/test/exploits/forged_answer.cu", "r");
    ck_assert_ptr_nonnull(f);
    while (!findings && fgets(line, sizeof line, f))
        sscanf(line, "enum { LAYOUT_BYTES = %lu, FINDINGS = %lu", &answer, &findings);
    fclose(f);
    ck_assert_uint_eq(answer, offsetof(struct arena_head, answer));
    ck_assert_uint_eq(findings, offsetof(struct arena_head, answer.findings));
}
END_TEST

const struct lesson lesson = {.name = "00_none"};

int main(void) {
    Suite* suite = suite_create("wall");
    TCase* t = tcase_create("wall");
    tcase_set_timeout(t, 180);  // seconds: also beside other work
    tcase_add_test(t, test_poison);
    tcase_add_loop_test(t, test_guards, 0, 6);
    tcase_add_test(t, test_altered_products);
    tcase_add_test(t, test_seal);
    tcase_add_loop_test(t, test_run, 0, WALL_LEVELS);
    tcase_add_test(t, test_every_child_is_met);
    tcase_add_test(t, test_children_of_threads_are_met);
    tcase_add_test(t, test_exploit_knows_the_arena);
    tcase_add_loop_test(t, test_sees_nothing, 0, WALL_LEVELS);
    tcase_add_test(t, test_has_namespaces_of_its_own);
    suite_add_tcase(suite, t);
    return run_suite(suite, 19);
}
