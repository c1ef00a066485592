// edits.c: how many lines differ, whatever a file that was handed in does to its lines.
#include "check/edits.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/run.h"

static const char given[] = "int a;\n"
                            "enum {\n"
                            "    name_of_x = NONE,\n"
                            "};\n"
                            "// ---- 1 first\n"
                            "// what it does\n"
                            "int f() {\n"
                            "    return 1;\n"
                            "}\n"
                            "// ---- 2 second\n"
                            "int g() {\n"
                            "    int b = 1;\n"
                            "    b++;\n"
                            "    return b;\n"
                            "}\n";
#define FRONT "int a;\nenum {\n    name_of_x = NONE,\n};\n"
#define FIRST "// ---- 1 first\n// what it does\nint f() {\n    return 1;\n}\n"
#define SECOND "// ---- 2 second\nint g() {\n    int b = 1;\n    b++;\n    return b;\n}\n"
#define TEN "0123456789"
#define NINETY TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
    const char* text;
    int lines[3];
} same[] = {
    {FRONT FIRST SECOND, {0, 0, 0}},
    {"int a;\r\nenum {\n\tname_of_x = SOME_2,\n};\n\n" FIRST SECOND, {0, 0, 0}},
    {"int a;\nenum {\n name_of_x = SOME,  // why\n};\n" FIRST SECOND, {0, 0, 0}},
    {"// more words\nint  a;\n\n\nenum {\nname_of_x = NONE,\n};" FIRST SECOND, {-1, 0, 0}},
    // what is not a value
    {"int a;\nenum {\n name_of_x = f(),\n};\n" FIRST SECOND, {1, 0, 0}},
    {"int a;\nenum {\n name_of_x = SOME, y,\n};\n" FIRST SECOND, {1, 0, 0}},
    {"int a;\nenum {\n name_of_x = SOME,  // \\\n};\n" FIRST SECOND, {1, 0, 0}},
    {"int a;\nenum {\n name_of_y = NONE,\n};\n" FIRST SECOND, {1, 0, 0}},
    // a line changed, taken away, put in, moved
    {FRONT "// ---- 1 first\nint f() {\n    return 2;\n}\n" SECOND, {0, 1, 0}},
    {FRONT "// ---- 1 first\nint f() {\n}\n" SECOND, {0, 1, 0}},
    {FRONT FIRST "// ---- 2 second\nint g() {\nint b = 1;\nb--;\nb++;\nb++;\nreturn b;\n}\n",
     {0, 0, 2}},
    {FRONT FIRST "// ---- 2 second\nint g() {\nb++;\nint b = 1;\nreturn b;\n}", {0, 0, 1}},
    {FRONT FIRST "// ---- 2 second\n", {0, 0, 5}},
    // comments: alone they do not count, behind code they do
    {FRONT "// ---- 1 first\n// other\n// words\nint f() {\n//\nreturn 1;\n}\n" SECOND, {0, 0, 0}},
    {FRONT "// ---- 1 first\nint f() {\nreturn 1;  // one\n}\n" SECOND, {0, 1, 0}},
    // a comment that hides the next line, or code behind the end of another
    {FRONT "// ---- 1 first\n// \\\nint f() {\nreturn 1;\n}\n" SECOND, {0, 1, 0}},
    {FRONT "// ---- 1 first\nint f() {\nint x = 8 /* *\\\n// 2;\nreturn 1;\n}\n" SECOND, {0, 2, 0}},
    {FRONT
     "// ---- 1 first\nint f() {\n/*\n//*/ x(); /*\n//*/ y(); /*\n//*/\nreturn 1;\n}\n" SECOND,
     {0, 4, 0}},
    {FRONT "// ---- 1 first\nenum { N = sizeof \"/*\" }; /*/\n// */ x(); /*\n// */ y();\n"
           "int f() {\nreturn 1;\n}\n" SECOND,
     {0, 3, 0}},
    {FRONT "// ---- 1 first\nint f() {\n/*\n// words\n*/\nreturn 1;\n}\n" SECOND, {0, 2, 0}},
    {FRONT "// ---- 1 first\n// see a/*.cu\nint f() {\n// x\nreturn 1;\n}\n" SECOND, {0, 0, 0}},
    // a long line counts as several
    {FRONT "// ---- 1 first\nint f() {\nreturn 1" NINETY ";\n}\n" SECOND, {0, 1, 0}},
    {FRONT "// ---- 1 first\nint f() {\nreturn 1" NINETY NINETY NINETY ";\n}\n" SECOND, {0, 3, 0}},
};

START_TEST(test_lines) {
    const char* text = same[_i].text;
    struct edits made = edits_of(given, "name_of_", text, strlen(text));
    if (same[_i].lines[0] < 0) {  // a title that does not begin a line is none
        ck_assert(!made.same_sections);
        return;
    }
    ck_assert(made.same_sections);
    ck_assert_int_eq(made.sections, 3);
    for (int s = 0; s < 3; s++)
        ck_assert_msg(made.lines[s] == same[_i].lines[s], "%s\nsection %d: %d lines, not %d", text,
                      s, made.lines[s], same[_i].lines[s]);
}
END_TEST

static const char* const other_sections[] = {
    "",
    FRONT,
    FRONT FIRST,
    FRONT SECOND FIRST,
    FRONT FIRST FIRST SECOND,
    FRONT FIRST SECOND "// ---- 3 third\n",
    FRONT FIRST "// ---- 2 second, mended\nint g();\n",
    FRONT FIRST " // ---- 2 second\nint g();\n",
};

START_TEST(test_sections) {
    const char* text = other_sections[_i];
    ck_assert(!edits_of(given, "name_of_", text, strlen(text)).same_sections);
}
END_TEST

// Long files, long lines and NULs end in a number.
START_TEST(test_large) {
    enum { SIZE = 1 << 20 };
    char* text = malloc(SIZE);
    memset(text, '\n', SIZE);
    memcpy(text, FRONT FIRST SECOND, strlen(given));
    ck_assert_int_eq(edits_of(given, "name_of_", text, SIZE).lines[2], 0);
    for (int k = (int)strlen(given); k < SIZE; k++) text[k] = k % 3 ? 'x' : '\n';
    ck_assert_int_ge(edits_of(given, "name_of_", text, SIZE).lines[2], EDITS_MANY);
    memset(text + strlen(given), 'x', SIZE - strlen(given));
    ck_assert_int_ge(edits_of(given, "name_of_", text, SIZE).lines[2], EDITS_MANY);
    memset(text + strlen(given), '\0', SIZE - strlen(given));
    ck_assert_int_eq(edits_of(given, "name_of_", text, SIZE).lines[2], 0);
    free(text);
}
END_TEST

START_TEST(test_read) {
    static const char text[] = "// name_of_x = A,\nname_of_x  =  B_2, // C\nname_of_x = D,\n"
                               "// ---- 1 first\n name_of_y = E,\n";
    char to[64];
    edits_constant(text, strlen(text), "name_of_x", to, sizeof to);
    ck_assert_str_eq(to, "B_2");
    edits_constant(text, strlen(text), "name_of_x", to, 3);
    ck_assert_str_eq(to, "B_");
    edits_constant(text, strlen(text), "name_of_y", to, sizeof to);
    ck_assert_str_eq(to, "");
    edits_constant(text, strlen(text), "name_of", to, sizeof to);
    ck_assert_str_eq(to, "");
}
END_TEST

// The lines that count, as they are compared: those taken away and those put in.
START_TEST(test_list) {
    const char* text = FRONT FIRST "// ---- 2 second\nint g() {\n  int b = 2;\n  b++;\n}\n";
    char to[64];
    edits_list(given, "name_of_", text, strlen(text), 2, to, sizeof to);
    ck_assert_str_eq(to, "- int b = 1;\n+ int b = 2;\n- return b;\n");
    edits_list(given, "name_of_", text, strlen(text), 2, to, 14);
    ck_assert_str_eq(to, "- int b = 1;\n");
    edits_list(given, "name_of_", text, strlen(text), 1, to, sizeof to);
    ck_assert_str_eq(to, "");
    edits_list(given, "name_of_", FRONT, strlen(FRONT), 0, to, sizeof to);
    ck_assert_str_eq(to, "");
    text = FRONT FIRST SECOND "x" NINETY NINETY "\n";
    char wide[200];
    edits_list(given, "name_of_", text, strlen(text), 2, wide, sizeof wide);
    ck_assert_str_eq(wide, "+ x" NINETY "012345678\n");
}
END_TEST

int main(void) {
    Suite* suite = suite_create("edits");
    TCase* t = tcase_create("edits");
    tcase_add_loop_test(t, test_lines, 0, sizeof same / sizeof same[0]);
    tcase_add_loop_test(t, test_sections, 0, sizeof other_sections / sizeof other_sections[0]);
    tcase_add_test(t, test_large);
    tcase_add_test(t, test_read);
    tcase_add_test(t, test_list);
    suite_add_tcase(suite, t);
    return run_suite(suite, sizeof same / sizeof same[0] +
                                sizeof other_sections / sizeof other_sections[0] + 3);
}
