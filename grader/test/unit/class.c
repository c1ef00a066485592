// class.c: names that strangers gave, and tables that a spreadsheet saved.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "class/class.h"

// A name as a file name: no way out of the folder, no hidden file, no two names the same.
START_TEST(test_ids) {
    static const char* const id[][2] = {
        {"ada", "ada"},           {"a b", "a%20b"}, {"../../x", "%2E.%2F..%2Fx"},
        {".hidden", "%2Ehidden"}, {"%41", "%2541"}, {"\xc3\xb6", "%C3%B6"}};
    char made[ID_SIZE];
    for (size_t i = 0; i < sizeof id / sizeof id[0]; i++) {
        name_to_id(id[i][0], strlen(id[i][0]), made);
        ck_assert_str_eq(made, id[i][1]);
    }
}
END_TEST

// Long names that begin alike stay apart, and fit into a file name.
START_TEST(test_long_ids) {
    char name[1000], one[ID_SIZE], other[ID_SIZE];
    memset(name, '/', sizeof name);
    name_to_id(name, sizeof name, one);
    name[999] = 'x';
    name_to_id(name, sizeof name, other);
    ck_assert_uint_lt(strlen(one), 200);
    ck_assert_str_ne(one, other);
}
END_TEST

// Bytes that are no UTF-8, and characters that a terminal obeys.
START_TEST(test_shown_text) {
    static const char* const text[][2] = {
        {"\xc3\xb6zil", "\xc3\xb6zil"},
        {"a\x1b[31m", "a?[31m"},
        {"n\xf6", "n?"},
        {"\xc2\x9b", "??"},                      // a control character
        {"\xed\xa0\x80", "???"},                 // half of a pair
        {"\xf4\x90\x80\x80", "????"},            // beyond the last
        {"\xef\xbf\xbe\xef\xbf\xbf", "??????"},  // none
        {"\xf0\x9f\xbf\xbe", "????"},
        {"\xef\xb7\x90", "???"},
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6",
         "a???b???"},
        {"\xc0\x9b\xe0\x82\x9b", "?????"},  // too long forms
        {"\xf0\x9f\x98\x80 \xe4\xb8\xad", "\xf0\x9f\x98\x80 \xe4\xb8\xad"},
        {"a\tb\n", "a?b?"},
        {"\xc3", "?"}};
    char shown[64];
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        snprintf(shown, sizeof shown, "%s", text[i][0]);
        plain_line(shown);
        ck_assert_str_eq(shown, text[i][1]);
    }
}
END_TEST

static struct row students[] = {
    {.id = "a%20b", .name = "a b"},
    {.id = "a%2520b", .name = "a%20b"},
    {.id = "caf%E9", .name = "caf?"},
    {.id = "caf%EA", .name = "caf?"},
    {.id = "%C3%B6zil", .name = "\xc3\xb6zil"},
};
static const struct class two_alike = {.row = students, .rows = 5};

// An id is exact; a name is one student's, or nobody's.
START_TEST(test_rows) {
    ck_assert_ptr_eq(class_row(&two_alike, "a b"), &students[0]);
    ck_assert_ptr_eq(class_row(&two_alike, "a%2520b"), &students[1]);
    ck_assert_ptr_eq(class_row(&two_alike, "caf\xe9"), &students[2]);
    ck_assert_ptr_eq(class_row(&two_alike, "caf%EA"), &students[3]);
    ck_assert_ptr_eq(class_row(&two_alike, "\xc3\xb6zil"), &students[4]);
    ck_assert_ptr_null(class_row(&two_alike, "a%20"));
    ck_assert_ptr_eq(class_row_of_id(&two_alike, "a%20b"), &students[0]);
    ck_assert_ptr_null(class_row_of_id(&two_alike, "a b"));
}
END_TEST

// The id of one and the name of another; what is shown of two.
START_TEST(test_rows_that_may_be_two) {
    class_row(&two_alike, _i ? "caf?" : "a%20b");
}
END_TEST

// What the reader of an archive says may be cut anywhere, or a lie.
static void count_told(void* to, const char* name, const void* data, size_t size) {
    *(int*)to += !strcmp(name, "x.cu") && data && size == 3 && !memcmp(data, "abc", 3);
}

START_TEST(test_told) {
    static const struct told_head heads[] = {{TOLD_FILE, 4, 3},
                                             {TOLD_FILE, 4, 4},
                                             {TOLD_FILE, 4, SIZE_LIMIT},
                                             {TOLD_FILE, TOLD_NAME, 0},
                                             {99, 4, 3}};
    const struct told_head end = {TOLD_WHOLE, 0, 0};
    char told[64], why[WHY_SIZE];
    size_t first = sizeof heads[0] + 7;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        int count = 0;
        memcpy(told, &heads[i], sizeof heads[i]);
        memcpy(told + sizeof heads[i], "x.cuabc", 7);
        memcpy(told + first, &end, sizeof end);
        ck_assert_int_eq(told_each(told, first + sizeof end, count_told, &count, why), i == 0);
        ck_assert_int_eq(count, i == 0);
        ck_assert(!told_each(told, first + sizeof end - 1, count_told, &count, why) && why[0]);
    }
}
END_TEST

START_TEST(test_names_of_lessons) {
    ck_assert(class_names("17", "17_gqa") && class_names("gqa", "17_gqa"));
    ck_assert(class_names("17_gqa", "17_gqa") && class_names("1", "01_vector_add"));
    ck_assert(!class_names("7", "17_gqa") && !class_names("17x", "17_gqa"));
    ck_assert(!class_names("", "17_gqa") && !class_names("gq", "17_gqa"));
}
END_TEST

static bool read_table(const char* text, struct table* t) {
    char path[] = "/tmp/table.XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    bool fine = table_read(path, t);
    unlink(path);
    return fine;
}

START_TEST(test_tables) {
    struct table t;
    ck_assert(read_table("\xef\xbb\xbfStudent,email\r\nada,\"a,b\"\r\nbob\r\n", &t));
    ck_assert_int_eq(t.records, 3);
    ck_assert_int_eq(table_column(&t, "student"), 0);
    ck_assert_int_eq(table_column(&t, "points"), -1);
    ck_assert_str_eq(t.record[1][1], "a,b");
    ck_assert_str_eq(t.record[2][1], "");  // a field that the record lacks
    table_free(&t);
    ck_assert(!read_table("student\nada,too many\n", &t));
    ck_assert(read_table("", &t));
    ck_assert_int_eq(table_column(&t, "student"), -1);
    table_free(&t);
}
END_TEST

// No cell is a formula to a spreadsheet.
START_TEST(test_fields) {
    char* text;
    size_t size;
    FILE* f = open_memstream(&text, &size);
    table_field(f, "=1+1", false);
    table_field(f, "a \"b\"", true);
    fclose(f);
    ck_assert_str_eq(text, "\"'=1+1\",\"a \"\"b\"\"\"\n");
    free(text);
}
END_TEST

int main(void) {
    Suite* suite = suite_create("class");
    TCase* t = tcase_create("class");
    tcase_add_test(t, test_ids);
    tcase_add_test(t, test_long_ids);
    tcase_add_test(t, test_shown_text);
    tcase_add_test(t, test_rows);
    tcase_add_loop_exit_test(t, test_rows_that_may_be_two, 2, 0, 2);
    tcase_add_test(t, test_told);
    tcase_add_test(t, test_names_of_lessons);
    tcase_add_test(t, test_tables);
    tcase_add_test(t, test_fields);
    suite_add_tcase(suite, t);
    SRunner* runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed > 0 || run == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
