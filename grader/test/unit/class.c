// class.c: names that strangers gave, and tables that a spreadsheet saved.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "class/class.h"
#include "class/told.h"
#include "test/unit/run.h"

// A name as a file name: as it is written; no way out of the folder, no hidden file, no two names
// the same.
START_TEST(test_ids) {
    static const char* const id[][2] = {
        {"ada", "ada"},    {"a b", "a b"},           {"Zo\xc3\xab (2)", "Zo\xc3\xab (2)"},
        {"=1+1", "=1+1"},  {"../../x", "_._.._x ~"}, {".hidden", "_hidden ~"},
        {"a\nb", "a_b ~"}, {"n\xf6", "n_ ~"},        {"", " ~"}};
    char made[ID_SIZE], other[ID_SIZE];
    for (size_t i = 0; i < sizeof id / sizeof id[0]; i++) {
        name_to_id(id[i][0], strlen(id[i][0]), made);
        size_t n = strlen(id[i][1]);
        bool hash = n > 0 && id[i][1][n - 1] == '~';
        ck_assert_int_eq(strncmp(made, id[i][1], n), 0);
        ck_assert_uint_eq(strlen(made), hash ? n + 8 : n);
        // what such an id is called is another one's name
        name_to_id(made, strlen(made), other);
        ck_assert_int_eq(strcmp(made, other) != 0, hash);
    }
}
END_TEST

// Long names that begin alike stay apart, and fit into a file name.
START_TEST(test_long_ids) {
    char name[1000], one[ID_SIZE], other[ID_SIZE];
    for (int i = 0; i < 2; i++) {
        memset(name, i ? 'a' : '/', sizeof name);
        name_to_id(name, sizeof name, one);
        name[999] = 'x';
        name_to_id(name, sizeof name, other);
        ck_assert_uint_lt(strlen(one), 200);
        ck_assert_str_ne(one, other);
    }
}
END_TEST

// Two spellings of one name; a code page of DOS; what two ways of writing a name have in common.
START_TEST(test_spellings) {
    static const char* const text[][3] = {{"Zoe\xcc\x88", "UTF-8", "Zo\xc3\xab"},
                                          {"Z\x81rich", "ibm-437", "Z\xc3\xbcrich"},
                                          {"Z\xfcrich", "windows-1252", "Z\xc3\xbcrich"}};
    static const char* const fold[][2] = {{"Ada Lovelace", "ada_LOVELACE"},
                                          {"Zo\xc3\xab", "zoe"},
                                          {"Zoe\xcc\x88", "zoe"},
                                          {"Wei\xc3\x9f, J.", "WEISS J"},
                                          {"\xd0\x96\xd1\x83\xd0\xba", "\xd0\xb6\xd1\x83\xd0\xba"},
                                          {"?!", ""}};
    char one[FOLD_SIZE], other[FOLD_SIZE];
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        char* utf8 = name_utf8(text[i][0], strlen(text[i][0]), text[i][1]);
        ck_assert_str_eq(utf8, text[i][2]);
        free(utf8);
    }
    for (size_t i = 0; i < sizeof fold / sizeof fold[0]; i++) {
        name_fold(fold[i][0], one, sizeof one);
        name_fold(fold[i][1], other, sizeof other);
        ck_assert_str_eq(one, other);
    }
}
END_TEST

START_TEST(test_files_that_fit) {
    static const struct {
        const char* name;
        bool numbered;
        enum fit fit;
    } file[] = {{"gqa.cu", false, FIT_EXACT},
                {"GQA.cu", false, FIT_NEARLY},
                {"gqa.CU", false, FIT_NEARLY},
                {"gqa (1).cu", false, FIT_NEARLY},
                {"gqa(12).cu", false, FIT_NEARLY},
                {"gqa - Copy.cu", false, FIT_NEARLY},
                {"gqa-2.cu", false, FIT_NOT},
                {"gqa-2.cu", true, FIT_EXACT},
                {"gqa_final.cu", false, FIT_NOT},
                {"gqa().cu", false, FIT_NOT},
                {"gqa_final (2).cu", true, FIT_NOT},
                {"my gqa.cu", true, FIT_NOT},
                {"GQA.cu.txt", true, FIT_NEARLY},
                {"gqa", true, FIT_NOT},
                {"", true, FIT_NOT},
                {"(1).cu", true, FIT_NOT}};
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++)
        ck_assert_msg(file_fits(file[i].name, "gqa.cu", file[i].numbered) == file[i].fit, "%s",
                      file[i].name);
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
    {.id = "a b", .name = "a b"},
    {.id = "a_b ~b67cc4dd", .name = "a?b"},
    {.id = "caf\xc3\xa9", .name = "caf\xc3\xa9", .key = {"18233", "cafe@example.org"}},
    {.id = "x", .name = "twin"},
    {.id = "y", .name = "twin"},
};
static const struct class two_alike = {.row = students, .rows = 5};
static struct row spelled[] = {
    {.id = "Ada L", .name = "Ada L", .fold = {"adal", "lada"}},
    {.id = "ada", .name = "ada", .fold = {"ada"}},
    {.id = "Ada", .name = "Ada", .fold = {"ada"}},
    {.id = "z", .name = "z", .words = "john jr smith", .student_number = "1001"},
};
static const struct class alike_but_for_case = {.row = spelled, .rows = 4};

// An id is exact; a name is one student's, or nobody's.
START_TEST(test_rows) {
    ck_assert_ptr_eq(class_row(&two_alike, "a b"), &students[0]);
    ck_assert_ptr_eq(class_row(&two_alike, "a?b"), &students[1]);
    ck_assert_ptr_eq(class_row(&two_alike, "caf\xe9"), &students[2]);
    ck_assert_ptr_eq(class_row(&two_alike, "cafe\xcc\x81"), &students[2]);
    ck_assert_ptr_eq(class_row(&two_alike, "18233"), &students[2]);
    ck_assert_ptr_eq(class_row(&two_alike, "Cafe@example.org"), &students[2]);
    ck_assert_ptr_null(class_row(&two_alike, "a"));
    ck_assert_ptr_null(class_row(&two_alike, ""));
    ck_assert_ptr_eq(class_row_of_id(&two_alike, "a b"), &students[0]);
    ck_assert_ptr_null(class_row_of_id(&two_alike, "a"));
}
END_TEST

// Another spelling or order is meant if nobody is called just so.
START_TEST(test_rows_by_spelling) {
    ck_assert_ptr_eq(class_row(&alike_but_for_case, "L., ADA"), &spelled[0]);
    ck_assert_ptr_eq(class_row(&alike_but_for_case, "ada"), &spelled[1]);
    ck_assert_ptr_eq(class_row(&alike_but_for_case, "Ada"), &spelled[2]);
    ck_assert_ptr_null(class_row(&alike_but_for_case, "..."));
    ck_assert_ptr_eq(class_row(&alike_but_for_case, "Smith, Jr., John"), &spelled[3]);
    ck_assert_ptr_eq(class_row(&alike_but_for_case, "1001"), &spelled[3]);
}
END_TEST

// A name that two have, and a spelling.
START_TEST(test_rows_that_may_be_two) {
    class_row(_i ? &alike_but_for_case : &two_alike, _i ? "A.D.A." : "twin");
}
END_TEST

// What the reader of an archive says may be cut anywhere, or a lie.
static void count_told(void* to, enum told kind, const char* name, int64_t time, const void* data,
                       size_t size) {
    *(int*)to += kind == TOLD_FILE && time == 5 && !strcmp(name, "x.cu") && size == 3 &&
                 !memcmp(data, "abc", 3);
}

START_TEST(test_told) {
    static const struct told_head heads[] = {{TOLD_FILE, 4, 3, 5},
                                             {TOLD_FILE, 4, 4, 5},
                                             {TOLD_FILE, 4, SIZE_LIMIT, 5},
                                             {TOLD_FILE, TOLD_NAME, 0, 5},
                                             {99, 4, 3, 5}};
    const struct told_head end = {TOLD_WHOLE, 0, 0, 0};
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

static bool read_bytes(const char* text, size_t size, struct table* t) {
    char path[] = "/tmp/table.XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    close(fd);
    bool fine = table_read(path, t);
    unlink(path);
    return fine;
}

static bool read_table(const char* text, struct table* t) {
    return read_bytes(text, strlen(text), t);
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
    ck_assert_ptr_nonnull(strstr(table_why(), "more fields"));
    // What follows these would be lost.
    ck_assert(!read_bytes("student\nada\0\nbob\n", 17, &t));
    ck_assert_ptr_nonnull(strstr(table_why(), "byte 0"));
    ck_assert(!read_table("student\n\"ada\nbob\ncarl\n", &t));
    ck_assert_ptr_nonnull(strstr(table_why(), "closes"));
    ck_assert(!read_table("student,email\nada,\"a@b\n", &t));  // one field is whole
    ck_assert(!table_read("/dev/null", &t));
    ck_assert_ptr_nonnull(strstr(table_why(), "regular"));
    ck_assert(read_table("", &t));
    ck_assert_int_eq(table_column(&t, "student"), -1);
    table_free(&t);
}
END_TEST

// As spreadsheets of other countries and other times save it.
START_TEST(test_charsets_and_delimiters) {
    static const char wide[] = "\xff\xfeS\0t\0u\0d\0e\0n\0t\0\t\0e\0m\0a\0i\0l\0\n\0\xf6\0\t\0x\0";
    static const struct {
        const char* text;
        size_t size;
    } file[] = {{"student;email\n\"\xc3\xb6\";x\n", 0},
                {"sep=;\r\nstudent;email\r\n\xf6;x\r\n", 0},
                {" Student ,email,,\n\xf6,x,,\n", 0},
                {"\"student\";\"email, or none\"\n\xf6;x\n", 0},
                {"student\temail\r\xf6\tx\r", 0},
                {wide, sizeof wide - 1},
                {wide + 2, sizeof wide - 3}};
    struct table t;
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        ck_assert(read_bytes(file[i].text, file[i].size ? file[i].size : strlen(file[i].text), &t));
        ck_assert_int_eq(t.records, 2);
        ck_assert_int_eq(table_column(&t, "student"), 0);
        ck_assert_str_eq(t.record[1][0], "\xc3\xb6");
        ck_assert_str_eq(t.record[1][1], "x");
        table_free(&t);
    }
    ck_assert(read_table("student,note\n\"Lovelace, Ada\",\"two\nlines, \"\"x\"\"\"\n", &t));
    ck_assert_str_eq(t.record[1][0], "Lovelace, Ada");
    ck_assert_str_eq(t.record[1][1], "two\nlines, \"x\"");
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
    ck_assert_str_eq(table_text("'=1+1"), "=1+1");
    ck_assert_str_eq(table_text("'x"), "'x");
    free(text);
}
END_TEST

// Who handed in what, by Gradescope; what is no such list.
START_TEST(test_metadata) {
    static const char text[] =
        "---\nsubmission_7:\n  :submitters:\n  - :name: Ada\n    :sid: '1'\n    :email: a@x\n"
        "  - :email: b@x\n  :created_at: 2026-11-20 13:00:00.5 +01:00\n  :results:\n    a: |-\n    "
        "  : x\n"
        "submission_8:\n  :submitters: []\nsubmission_9: x\n";
    static const char* const none[] = {"", "- a\n", "a: [", "\x01", "a: &b [*b]\n"};
    int count;
    struct submitters* s = metadata_read(text, strlen(text), &count);
    ck_assert_int_eq(count, 1);
    ck_assert_str_eq(s[0].folder, "submission_7");
    ck_assert_int_eq(s[0].time, 1795176000);
    ck_assert_int_eq(s[0].count, 2);
    ck_assert_str_eq(s[0].owner[0].key, "1");
    ck_assert_str_eq(s[0].owner[1].name, "b@x");
    free(s);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        free(metadata_read(none[i], strlen(none[i]), &count));
        ck_assert_int_eq(count, 0);
    }
}
END_TEST

// What nests deeper than the service writes, or names too many of its parts, is read at once, as
// nothing: libyaml would take minutes.
START_TEST(test_metadata_too_deep) {
    enum { SIZE = 400000 };
    static const char* const piece[] = {"[", "- ", "{a: ", "- &a x\n"};
    char* text = malloc(SIZE + 8);
    int count;
    for (size_t i = 0; i < sizeof piece / sizeof piece[0]; i++) {
        size_t n = 0;
        while (n < SIZE) n += (size_t)sprintf(text + n, "%s", piece[i]);
        ck_assert_ptr_null(metadata_read(text, n, &count));
        ck_assert_int_eq(count, 0);
    }
    free(text);
}
END_TEST

// A job's line is a lesson, a blank, and an id, which may begin and end with blanks.
START_TEST(test_jobs) {
    static const char* const id[] = {"ada", " ada", "  ada b ", "-x"};
    char line[ID_SIZE + 64], read[ID_SIZE], lesson[64];
    for (size_t i = 0; i < sizeof id / sizeof id[0]; i++) {
        snprintf(line, sizeof line, "01_vector_add %s\n", id[i]);
        ck_assert(job_read(line, read, lesson));
        ck_assert_str_eq(lesson, "01_vector_add");
        ck_assert_str_eq(read, id[i]);
    }
    ck_assert(!job_read("01_vector_add\n", read, lesson));
    ck_assert(!job_read("\n", read, lesson));
}
END_TEST

// Times as platforms write them; what is none.
START_TEST(test_times) {
    static const char* const noon[] = {"2026-11-20 12:00:00.861687000 Z", "2026-11-20T12:00:00Z",
                                       "2026-11-20 12:00", "2026-11-20T13:30:00+01:30"};
    static const char* const none[] = {"",
                                       "-",
                                       "x",
                                       "2026-11-20",
                                       "Friday, 20 November 2026",
                                       "Friday, 20 November 2026, 11:58 PM, late"};
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < sizeof noon / sizeof noon[0]; i++)
        ck_assert_int_eq(time_iso(noon[i]), 1795176000);
    ck_assert_int_eq(time_written_out("Friday, 20 November 2026, 12:00 PM"), 1795176000);
    ck_assert_int_eq(time_written_out("Friday, 20 November 2026, 12:00"), 1795176000);
    ck_assert_int_eq(time_written_out("Friday, 20 November 2026, 11:58 PM"), 1795219080);
    ck_assert_int_eq(time_written_out("Friday, 20 November 2026, 23:58"), 1795219080);
    ck_assert_int_eq(time_written_out("Freitag, 20. November 2026, 23:58"), 1795219080);
    ck_assert_int_eq(time_written_out("Dienstag, 2. M\xc3\xa4rz 2027, 12:00"), 1803988800);
    ck_assert_int_eq(time_written_out("Mittwoch, 6. Januar 2027, 12:00"), 1799236800);
    ck_assert_int_eq(time_written_out("Mittwoch, 6. J\xc3\xa4nner 2027, 12:00"), 1799236800);
    ck_assert_int_eq(time_written_out("Samstag, 5. Dezember 2026, 12:00"), 1796472000);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        ck_assert_int_eq(time_iso(none[i]), 0);
        ck_assert_int_eq(time_written_out(none[i]), 0);
    }
}
END_TEST

// What a terminal shows: an accent on a letter takes no column, a Chinese character two.
START_TEST(test_columns) {
    ck_assert_int_eq(text_columns(""), 0);
    ck_assert_int_eq(text_columns("Zo\xc3\xab"), 3);
    ck_assert_int_eq(text_columns("Zoe\xcc\x88"), 3);
    ck_assert_int_eq(text_columns("\xe5\xb0\x8f\xe6\x98\x8e \xe7\x8e\x8b"), 7);
    ck_assert_int_eq(text_columns("n\xf6"), 2);
}
END_TEST

int main(void) {
    Suite* suite = suite_create("class");
    TCase* t = tcase_create("class");
    tcase_add_test(t, test_ids);
    tcase_add_test(t, test_long_ids);
    tcase_add_test(t, test_spellings);
    tcase_add_test(t, test_files_that_fit);
    tcase_add_test(t, test_shown_text);
    tcase_add_test(t, test_rows);
    tcase_add_test(t, test_rows_by_spelling);
    tcase_add_loop_exit_test(t, test_rows_that_may_be_two, 2, 0, 2);
    tcase_add_test(t, test_told);
    tcase_add_test(t, test_names_of_lessons);
    tcase_add_test(t, test_tables);
    tcase_add_test(t, test_charsets_and_delimiters);
    tcase_add_test(t, test_fields);
    tcase_add_test(t, test_metadata);
    tcase_add_test(t, test_metadata_too_deep);
    tcase_add_test(t, test_jobs);
    tcase_add_test(t, test_times);
    tcase_add_test(t, test_columns);
    suite_add_tcase(suite, t);
    return run_suite(suite, 19);
}
