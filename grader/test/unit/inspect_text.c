// inspect_text.c: what a refusal says, of files with names of any length.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/run.h"
#include "wall/inspect.h"

// The text of a file of this name, as the preprocessor leaves it.
static bool inspect(const char* name, const char* source, char message[512]) {
    static char text[4096];
    snprintf(text, sizeof text, "# 1 \"%s\"\n%s\n", name, source);
    memset(message, 'x', 512);
    message[0] = '\0';
    return inspect_text(text, text, name, message, 512);
}

START_TEST(test_the_line_is_named) {
    char message[512];
    ck_assert(inspect("x.cu", "int a;\nint b;", message));
    ck_assert(!inspect("x.cu", "int a;\nasm(\"nop\");", message));
    ck_assert_ptr_nonnull(strstr(message, "x.cu:2: inline assembly"));
}
END_TEST

// The path of a file may be longer than a message.
START_TEST(test_a_long_name) {
    char name[1000], message[512];
    for (size_t length = 490; length < 530; length++) {
        memset(name, 'a', length);
        name[length] = '\0';
        ck_assert(!inspect(name, "asm(\"nop\");", message));
        ck_assert_uint_lt(strlen(message), sizeof message);
    }
}
END_TEST

int main(void) {
    Suite* suite = suite_create("inspect_text");
    TCase* t = tcase_create("inspect_text");
    tcase_add_test(t, test_the_line_is_named);
    tcase_add_test(t, test_a_long_name);
    suite_add_tcase(suite, t);
    return run_suite(suite, 2);
}
