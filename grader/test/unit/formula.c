// formula.c: what formulas are worth, what is said of those that are none, and that no bytes break
// the reader.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "formula/answers.h"
#include "formula/formula.h"
#include "test/unit/run.h"

static const struct formula_size sizes[] = {{"N", 5}, {"N_q", 7}, {"H", 2}};

static bool compute(const char* text, double* value, struct formula_error* error) {
    memset(error, 0, sizeof *error);
    return formula_evaluate(text, sizes, 3, value, error);
}

static const struct {
    const char* text;
    double value;
} right[] = {
    {"1", 1},
    {" 1.5e3\t", 1500},
    {".5", 0.5},
    {"2.", 2},
    {"1e-3", 1e-3},
    {"1E+3", 1000},
    {"007", 7},
    {"N", 5},
    {"N_q", 7},
    {"1 + 2 * 3", 7},
    {"(1 + 2) * 3", 9},
    {"10 - 3 - 2", 5},
    {"12 / 3 / 2", 2},
    {"12 / 3 * 2", 8},
    {"2^3^2", 512},
    {"-2^2", -4},
    {"2^-1", 0.5},
    {"2 * -3", -6},
    {"1 - -1", 2},
    {"+ - + 1", -1},
    {"2 * N^2", 50},
    {"N*N_q/H", 17.5},
    {"min(3, 1, 2)", 1},
    {"max(N, N_q)", 7},
    {"ceil(N / H) + floor(N / H)", 5},
    {"sqrt(16) + log2(8)", 7},
    {"min(max(1, 2), (3))", 2},
    {"ceil (1.5)", 2},
    {"1 / 0", INFINITY},
    {"1e400", INFINITY},
    {"N * (N + 1) / 2", 15},
};

START_TEST(test_value) {
    double value;
    struct formula_error error;
    ck_assert_msg(compute(right[_i].text, &value, &error), "%s: %s", right[_i].text, error.message);
    ck_assert_msg(value == right[_i].value, "%s is %g", right[_i].text, value);
}
END_TEST

START_TEST(test_not_a_number) {
    double value;
    struct formula_error error;
    ck_assert(compute("0 / 0", &value, &error) && isnan(value));
    ck_assert(compute("sqrt(-1)", &value, &error) && isnan(value));
}
END_TEST

static const struct {
    const char* text;
    int column;
    const char* said;
} wrong[] = {
    {"", 1, "ends here; a number"},
    {"   ", 4, "ends here; a number"},
    {"2 *", 4, "ends here; a number"},
    {"2 3", 3, "an operator"},
    {"2 (3)", 3, "( is not expected here, but an operator"},
    {"2N", 2, "the number 2 goes on strangely; write *"},
    {"1.2.3", 4, "goes on strangely"},
    {"0x10", 1, "decimal"},
    {"inf", 1, "inf is not known"},
    {"nan(1)", 1, "nan is no function"},
    {"1e", 2, "goes on strangely"},
    {".", 1, "no number"},
    {"N ** 2", 4, "^, not **"},
    {"M + 1", 1, "M is not known here; the sizes are N, N_q, H"},
    {"n", 1, "n is not known"},
    {"(N N_q)", 4, "N_q is not expected here, but an operator or a )"},
    {"(1 + 2", 7, "an operator or a ) is expected"},
    {"1 + 2)", 6, ") is not expected"},
    {"ceil 3", 1, "ceil is a function: ceil(...)"},
    {"ceil(1, 2)", 7, "ceil() takes one number"},
    {"min(1)", 1, "takes two numbers or more"},
    {"min()", 5, ") is not expected here"},
    {"exp(1)", 1, "exp is no function"},
    {"4 \xc3\x97 N", 3, "not ASCII"},
    {"N\x01", 2, "the code 1"},
    {"N; rm", 2, "; is not expected"},
    {"= 3", 1, "= is not expected"},
    {"N % 2", 3, "an operator"},
};

START_TEST(test_error) {
    double value;
    struct formula_error error;
    ck_assert_msg(!compute(wrong[_i].text, &value, &error), "%s is %g", wrong[_i].text, value);
    ck_assert_msg(strstr(error.message, wrong[_i].said), "%s: %s", wrong[_i].text, error.message);
    ck_assert_int_eq(error.column, wrong[_i].column);
}
END_TEST

START_TEST(test_no_sizes) {
    double value;
    struct formula_error error;
    ck_assert(!formula_evaluate("N", NULL, 0, &value, &error));
    ck_assert(strstr(error.message, "plain number") != NULL);
}
END_TEST

// n times `open`, then `inside`, then n times `shut`.
static char* nested(size_t n, const char* open, const char* inside, const char* shut) {
    char* text = malloc(n * (strlen(open) + strlen(shut)) + strlen(inside) + 1);
    char* to = text;
    for (size_t i = 0; i < n; i++) to = stpcpy(to, open);
    to = stpcpy(to, inside);
    for (size_t i = 0; i < n; i++) to = stpcpy(to, shut);
    return text;
}

START_TEST(test_depth) {
    static const char* const pairs[][2] = {{"(", ")"}, {"-", ""}, {"ceil(", ")"}, {"2^", ""}};
    double value;
    struct formula_error error;
    for (int p = 0; p < 4; p++) {
        char* text = nested(FORMULA_DEPTH / 2, pairs[p][0], "1", pairs[p][1]);
        ck_assert_msg(compute(text, &value, &error), "%s: %s", text, error.message);
        free(text);
        text = nested(1000000, pairs[p][0], "1", pairs[p][1]);
        ck_assert(!compute(text, &value, &error));
        ck_assert(strstr(error.message, "levels") != NULL);
        free(text);
    }
    char* text = nested(1000000, "1 + ", "1", "");  // long is not deep
    ck_assert(compute(text, &value, &error) && value == 1000001);
    free(text);
}
END_TEST

// Any bytes have a value or an error at a place of the text, and the same ones as a file break
// nothing.
START_TEST(test_any_bytes) {
    static const char likely[] = "0123456789.eE+-*/^(), \tNHNq_minaxceilfloorsqrtlog2=\r\n#/";
    unsigned state = 1;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t length = (size_t)(rand_r(&state) % 63);
        for (size_t i = 0; i < length; i++) {
            int r = rand_r(&state);
            text[i] = r % 8 ? likely[(unsigned)r / 8 % (sizeof likely - 1)] : (char)(r >> 8);
        }
        text[length] = '\0';
        // where a buffer ends, the sanitizer sees a step too far
        char* copy = malloc(length + 1);
        memcpy(copy, text, length + 1);
        double value;
        struct formula_error error;
        if (!compute(copy, &value, &error))
            ck_assert_msg(error.message[0] && error.column >= 1 &&
                              error.column <= (int)strlen(copy) + 1,
                          "column %d: %s", error.column, error.message);
        char* file = malloc(length ? length : 1);
        memcpy(file, text, length);
        struct answer a = answer_find(file, length, "N");
        ck_assert(a.state != ANSWER_BAD || a.message[0]);
        free(file);
        free(copy);
    }
}
END_TEST

// ---- answers -------------------------------------------------------------------------------

static struct answer find(const char* file) {
    return answer_find(file, strlen(file), "flops");
}

static const struct {
    const char* file;
    enum answer_state state;
    int line, column;
    const char* said;  // the formula, or a part of the message
} files[] = {
    {"", ANSWER_NONE, 0, 0, ""},
    {"bytes = 1\n", ANSWER_NONE, 0, 0, ""},
    {"flops = 2 * N\n", ANSWER_THERE, 1, 9, "2 * N"},
    {"// flops = 1\n\n  flops=3 // yes\r\n", ANSWER_THERE, 3, 9, "3"},
    {"flops = 1", ANSWER_THERE, 1, 9, "1"},
    {"flops =\n", ANSWER_EMPTY, 1, 8, ""},
    {"flops =  // later\n", ANSWER_EMPTY, 1, 8, ""},
    {"flops =\nflops = 4\n", ANSWER_THERE, 2, 9, "4"},
    {"flops = 4\nflops =\n", ANSWER_THERE, 1, 9, "4"},
    {"flops = 4\nflops = 4\n", ANSWER_BAD, 2, 9, "the first is in line 1"},
    {"flops_too = 4\nflop = 3\n", ANSWER_NONE, 0, 0, ""},
    {"\n 4 N\nflops\n", ANSWER_NONE, 2, 4, "not: name = formula"},
    {"what?\nflops = 2\n", ANSWER_THERE, 2, 9, "2"},
    {"flops = a = b\n", ANSWER_THERE, 1, 9, "a = b"},
    {"flops = 1 / 2 // half", ANSWER_THERE, 1, 9, "1 / 2"},
    {"flops = 1\rother = 2\r", ANSWER_BAD, 1, 1, "a carriage return alone"},
    {"\xff\xfe"
     "flops = 1\n",
     ANSWER_BAD, 1, 1, "UTF-16"},
};

START_TEST(test_answer) {
    struct answer a = find(files[_i].file);
    ck_assert_int_eq(a.state, files[_i].state);
    ck_assert_int_eq(a.line, files[_i].line);
    ck_assert_int_eq(a.column, files[_i].column);
    const char* text = a.state == ANSWER_THERE ? a.text : a.message;
    ck_assert_msg(strstr(text, files[_i].said), "%s: %s", files[_i].file, text);
}
END_TEST

START_TEST(test_long_answer) {
    char file[ANSWER_LENGTH + 32];
    memset(file, '1', sizeof file);
    memcpy(file, "flops = ", 8);
    ck_assert_int_eq(answer_find(file, 8 + ANSWER_LENGTH, "flops").state, ANSWER_THERE);
    ck_assert_int_eq(answer_find(file, 9 + ANSWER_LENGTH, "flops").state, ANSWER_BAD);
}
END_TEST

START_TEST(test_zero_byte) {
    static const char file[] = "flops = 1\0 + 1\n";
    ck_assert_int_eq(answer_find(file, sizeof file - 1, "flops").state, ANSWER_BAD);
}
END_TEST

// check/ expects a lesson; these tests need none.
const struct lesson lesson = {.name = "00_none"};

enum {
    VALUES = sizeof right / sizeof right[0],
    ERRORS = sizeof wrong / sizeof wrong[0],
    FILES = sizeof files / sizeof files[0],
    TESTS = VALUES + ERRORS + FILES + 6,
};

int main(void) {
    Suite* suite = suite_create("formula");
    TCase* tests = tcase_create("formula");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, test_value, 0, VALUES);
    tcase_add_test(tests, test_not_a_number);
    tcase_add_loop_test(tests, test_error, 0, ERRORS);
    tcase_add_test(tests, test_no_sizes);
    tcase_add_test(tests, test_depth);
    tcase_add_test(tests, test_any_bytes);
    tcase_add_loop_test(tests, test_answer, 0, FILES);
    tcase_add_test(tests, test_long_answer);
    tcase_add_test(tests, test_zero_byte);
    suite_add_tcase(suite, tests);
    return run_suite(suite, TESTS);
}
