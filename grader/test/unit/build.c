// build.c: what surrounds a compile: reading the submission, the scratch folder, the cache of
// programs, the fingerprint.
#include "wall/build.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "check/check.h"
#include "test/unit/run.h"
#include "wall/cache.h"
#include "wall/fingerprint.h"
#include "wall/scratch.h"

static void put(const char* path, const char* text) {
    ck_assert_int_eq(file_make_parents(path), 0);
    ck_assert_int_eq(file_write(path, text, strlen(text), 0644), 0);
}

static bool holds(const char* path, const char* text) {
    size_t size;
    char* data = file_read(path, 1 << 20, &size);
    bool same = data && strcmp(data, text) == 0;
    free(data);
    return same;
}

// A course of a few files; each test has its own and stands in it.
static char course[] = "/tmp/build.XXXXXX";
#define BUILT BUILD_FOLDER "/"
#define SOURCES BUILT "grader/01_add/sources"

static void begin(void) {
    ck_assert_ptr_nonnull(mkdtemp(course));
    ck_assert_int_eq(chdir(course), 0);
    put("grader/make/scratch.txt",
        "# a comment\ninclude/ lessons/*.h\ninclude/ lessons/LESSON/*.h\n"
        "lib/ BUILD/tool\nlib/call.o BUILD/grader/LESSON/call-cpu.o\n"
        "cuda lib/ BUILD/cuda.a\n");
    put("lessons/course.h", "course");
    put("lessons/01_add/add.h", "add");
    put("lessons/02_sub/sub.h", "sub");
    put("grader/01_add/call.c", "call");
    put("grader/01_add/check.c", "check");
    put(SOURCES, "grader/01_add/call.c\ngrader/01_add/check.c\n");
    put(BUILT "tool", "tool");
    put(BUILT "grader/01_add/call-cpu.o", "object");
    ck_assert_int_eq(chmod(BUILT "tool", 0755), 0);
}

static void end(void) {
    char command[64];
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -r %s", course);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(test_text) {
    begin();
    put("answers.txt", "a = 1\n");
    struct build b = build_text("answers.txt");
    ck_assert_int_eq(b.outcome, BUILD_OK);
    ck_assert_str_eq(b.text, "a = 1\n");
    ck_assert_uint_eq(strlen(b.submission), 64);
    free(b.text);
    b = build_text("none.txt");
    ck_assert_int_eq(b.outcome, BUILD_UNREADABLE);
    ck_assert_str_eq(b.message, "none.txt does not exist");
    b = build_text("lessons");
    ck_assert_int_eq(b.outcome, BUILD_UNREADABLE);
    ck_assert_str_eq(b.message, "lessons is a directory; give the file itself");
    ck_assert_int_eq(truncate("answers.txt", (1 << 20) + 1), 0);
    b = build_text("answers.txt");
    ck_assert_int_eq(b.outcome, BUILD_UNREADABLE);
    ck_assert_str_eq(b.message, "answers.txt is larger than 1 MiB; is it the right file?");
    ck_assert(build_has_kernel("01_add") && !build_has_kernel("02_sub"));
    ck_assert_str_eq(lesson_function("12_flash_forward"), "flash_forward");
    end();
}
END_TEST

START_TEST(test_scratch) {
    struct stat st;
    begin();
    char* work = scratch_make();
    ck_assert_ptr_nonnull(work);
    char kept[64];
    snprintf(kept, sizeof kept, "%s", work);
    ck_assert_int_eq(scratch_fill(work, "01_add", false, "mine/add.cu", "kernel", 6), 0);
    ck_assert_int_eq(chdir(work), 0);
    ck_assert(holds("mine/add.cu", "kernel"));
    ck_assert(holds("include/course.h", "course") && holds("include/add.h", "add"));
    ck_assert(holds("lib/tool", "tool") && holds("lib/call.o", "object"));
    // a message says where the student has a header
    ck_assert(holds("lib/names", "-ffile-prefix-map=include/course.h=lessons/course.h\n"
                                 "-ffile-prefix-map=include/add.h=lessons/01_add/add.h\n"));
    ck_assert_int_eq(access("include/sub.h", F_OK), -1);
    ck_assert_int_eq(access("lib/scratch.txt", F_OK), -1);
    ck_assert(stat("lib/tool", &st) == 0 && (st.st_mode & 0777) == 0755);
    ck_assert(stat("lib/call.o", &st) == 0 && (st.st_mode & 0777) == 0644);
    ck_assert_int_eq(chdir(course), 0);
    scratch_remove(work);
    ck_assert_int_eq(access(kept, F_OK), -1);
    // what the list names has to be there
    work = scratch_make();
    ck_assert_int_eq(scratch_fill(work, "01_add", true, "add.cu", "kernel", 6), -1);
    ck_assert_int_eq(errno, ENOENT);
    scratch_remove(work);
    end();
}
END_TEST

static void take_fingerprint(char hex[65]) {
    ck_assert_int_eq(fingerprint("01_add", hex), 0);
}

START_TEST(test_fingerprint) {
    char first[65], now[65];
    static const char* const others[] = {"lessons/02_sub/sub.h", BUILT "tool",
                                         "grader/01_add/bench.c"};
    static const char* const decide[] = {"grader/01_add/check.c", "lessons/course.h",
                                         "lessons/01_add/add.h", "lessons/new.h",
                                         "grader/make/scratch.txt"};
    begin();
    take_fingerprint(first);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        put(others[i], "another");
        take_fingerprint(now);
        ck_assert_msg(strcmp(first, now) == 0, "%s", others[i]);
    }
    for (size_t i = 0; i < sizeof decide / sizeof decide[0]; i++) {
        put(decide[i], "# another");
        take_fingerprint(now);
        ck_assert_msg(strcmp(first, now) != 0, "%s", decide[i]);
        strcpy(first, now);
    }
    // a source that two lists name counts once
    put(SOURCES, "grader/01_add/call.c\ngrader/01_add/check.c\ngrader/make/scratch.txt\n");
    take_fingerprint(now);
    ck_assert_str_eq(first, now);
    unlink("grader/01_add/check.c");
    ck_assert_int_eq(fingerprint("01_add", now), -1);
    end();
}
END_TEST

static void take_key(const char* more, char hex[65]) {
    ck_assert_int_eq(cache_key("work", more, hex), 0);
}

START_TEST(test_key) {
    char first[65], now[65];
    begin();
    put("grader/wall/inspect.c", "inspect");
    put("work/add.cu", "kernel");
    put("work/lib/flags", "-O2");
    take_key("cpu", first);
    take_key("cpu", now);
    ck_assert_str_eq(first, now);
    take_key("sm_90", now);
    ck_assert_str_ne(first, now);
    static const char* const parts[] = {"work/add.cu", "work/lib/flags", "work/lib/new",
                                        "grader/wall/inspect.c"};
    for (int i = 0; i < 4; i++) {
        put(parts[i], "another");
        take_key("cpu", now);
        ck_assert_msg(strcmp(first, now) != 0, "%s", parts[i]);
        strcpy(first, now);
    }
    end();
}
END_TEST

START_TEST(test_cache) {
    static const char key[] = "0123456789";
    struct cache_entry entry;
    begin();
    const struct cache_entry warned = {.log = "a warning", .unset = true, .no_return = "x.cu:7"};
    ck_assert(!cache_fetch(key, &entry));
    put("out/program", "plain");
    cache_store(key, "out", &warned);
    ck_assert(!cache_fetch(key, &entry));  // out/watched was not there
    put("out/watched", "watched");
    cache_store(key, "out", &warned);
    ck_assert(cache_fetch(key, &entry));
    char text[16] = "";
    ck_assert_int_eq(pread(entry.program, text, 15, 0), 5);
    ck_assert_str_eq(text, "plain");
    ck_assert_int_eq(pread(entry.watched, text, 15, 0), 7);
    ck_assert_str_eq(entry.log, "a warning");
    ck_assert(entry.unset);
    ck_assert_str_eq(entry.no_return, "x.cu:7");
    // nobody can change it
    ck_assert_int_eq(pwrite(entry.program, "x", 1, 0), -1);
    ck_assert_int_eq(ftruncate(entry.program, 0), -1);
    close(entry.program), close(entry.watched), free(entry.log), free(entry.no_return);
    const struct cache_entry silent = {.log = ""};
    cache_store("another", "out", &silent);
    ck_assert(cache_fetch("another", &entry) && !entry.unset && !entry.no_return);
    close(entry.program), close(entry.watched), free(entry.log);
    end();
}
END_TEST

// What was not used for the longest time goes first.
START_TEST(test_cache_is_bounded) {
    static char megabyte[(1 << 20) + 1];
    struct cache_entry entry;
    char key[16];
    begin();
    setenv("COURSE_CACHE_MB", "8", 1);
    memset(megabyte, 'x', sizeof megabyte - 1);
    put("out/program", megabyte);
    put("out/watched", megabyte);
    for (int i = 0; i < 6; i++) {
        snprintf(key, sizeof key, "key%d", i);
        cache_store(key, "out", &(const struct cache_entry){.log = ""});
        if (i >= 1 && cache_fetch("key0", &entry))  // it stays in use
            close(entry.program), close(entry.watched), free(entry.log);
        usleep(20000);
    }
    ck_assert(!cache_fetch("key1", &entry));
    ck_assert(cache_fetch("key5", &entry));
    close(entry.program), close(entry.watched), free(entry.log);
    ck_assert(cache_fetch("key0", &entry));
    close(entry.program), close(entry.watched), free(entry.log);
    end();
}
END_TEST

const struct lesson lesson = {.name = "00_none"};

int main(void) {
    Suite* suite = suite_create("build");
    TCase* t = tcase_create("build");
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_scratch);
    tcase_add_test(t, test_fingerprint);
    tcase_add_test(t, test_key);
    tcase_add_test(t, test_cache);
    tcase_add_test(t, test_cache_is_bounded);
    suite_add_tcase(suite, t);
    return run_suite(suite, 6);
}
