// file.c: whole files, or an error that says why not.
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf16.h"
#include "test/unit/run.h"

static char folder[64], path[128];

static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/file.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
}

static void remove_folder(void) {
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);  // nothing temporary is left
}

START_TEST(test_written_and_read) {
    size_t size;
    struct stat st;
    ck_assert_int_eq(file_write(path, "a\0b", 3, 0640), 0);
    ck_assert(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
    char* data = file_read(path, 3, &size);
    ck_assert(data && size == 3 && memcmp(data, "a\0b", 4) == 0);
    free(data);
    ck_assert_int_eq(file_write(path, "", 0, 0600), 0);
    data = file_read(path, 0, &size);
    ck_assert(data && size == 0);
    free(data);
}
END_TEST

START_TEST(test_why_not) {
    size_t size;
    ck_assert(!file_read(path, 10, &size) && errno == ENOENT);
    ck_assert(!file_read(folder, 10, &size) && errno == EISDIR);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert(!file_read(path, 10, &size) && errno == EINVAL);
    unlink(path);
    ck_assert_int_eq(file_write(path, "four", 4, 0600), 0);
    ck_assert(!file_read(path, 3, &size) && errno == EFBIG);
    // A write that fails leaves neither a file nor a temporary one.
    ck_assert_int_eq(file_write("/proc/none/x", "a", 1, 0600), -1);
    ck_assert_int_eq(file_write(folder, "a", 1, 0600), -1);
}
END_TEST

// What Notepad calls Unicode; not what only begins like it.
static const struct {
    const char* data;
    size_t size;
    const char* text;  // NULL: it is none
} in_utf16[] = {
    {"\xff\xfe"
     "a\0\r\0\n\0",
     8, "a\r\n"},
    {"\xfe\xff"
     "\0a\0\xfc\x20\xac",
     8, "a\xc3\xbc\xe2\x82\xac"},
    {"\xff\xfe\x3d\xd8\x00\xde", 6, "\xf0\x9f\x98\x80"},
    {"\xff\xfe", 2, ""},
    {"\xff\xfe"
     "a",
     3, NULL},
    {"\xff\xfe\x3d\xd8", 4, NULL},
    {"\xff\xfe\x00\xde"
     "a\0",
     6, NULL},
    {"\xff\xfe\x3d\xd8"
     "a\0",
     6, NULL},
    {"a\0b\0", 4, NULL},
    {"", 0, NULL},
};

START_TEST(test_utf16) {
    for (size_t i = 0; i < sizeof in_utf16 / sizeof *in_utf16; i++) {
        size_t length = 99;
        char* text = utf16_text(in_utf16[i].data, in_utf16[i].size, &length);
        ck_assert_msg(!text == !in_utf16[i].text, "case %zu", i);
        if (!text) continue;
        ck_assert_str_eq(text, in_utf16[i].text);
        ck_assert_uint_eq(length, strlen(in_utf16[i].text));
        free(text);
    }
}
END_TEST

START_TEST(test_clock) {
    double start = clock_seconds();
    usleep(2000);
    ck_assert(clock_seconds() - start >= 0.002);
}
END_TEST

int main(void) {
    Suite* suite = suite_create("file");
    TCase* t = tcase_create("file");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, test_written_and_read);
    tcase_add_test(t, test_why_not);
    tcase_add_test(t, test_utf16);
    tcase_add_test(t, test_clock);
    suite_add_tcase(suite, t);
    return run_suite(suite, 4);
}
