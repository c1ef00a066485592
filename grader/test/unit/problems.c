// problems.c: the lines for editors, of results as the grader makes them.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "report/compiler.h"
#include "report/result.h"
#include "test/unit/run.h"

// What problems_print() prints; the caller frees it.
static char* printed(const struct result* r, const char* compiler) {
    char* said = NULL;
    size_t size;
    FILE* to = open_memstream(&said, &size);
    problems_print(r, compiler, to);
    fclose(to);
    return said;
}

static void expect(const struct result* r, const char* compiler, const char* wanted) {
    char* said = printed(r, compiler);
    ck_assert_str_eq(said, wanted);
    free(said);
}

static struct result* fresh(void) {
    static struct result r;
    memset(&r, 0, sizeof r);
    strcpy(r.file, "exercises/01_x/x.cu");
    return &r;
}

static struct result_item* failed_item(struct result* r, const char* name, enum cause cause,
                                       const char* message) {
    struct result_item* item = &r->item[r->item_count++];
    item->outcome = OUTCOME_FAIL;
    strcpy(item->name, name);
    strcpy(item->cause, cause_id(cause));
    strcpy(item->sentence, "why");
    strcpy(item->message, message);
    return item;
}

START_TEST(test_nothing) {
    struct result* r = fresh();
    r->item_count = 1;
    r->item[0].outcome = OUTCOME_PASS;
    expect(r, NULL, "");
    expect(r, "", "");
}
END_TEST

// g++ with columns and without, nvcc, several kinds; what names another file or no line is left
// out.
START_TEST(test_compiler) {
    struct result* r = fresh();
    strcpy(r->message, "x.cu does not compile");
    strcpy(r->compiler, "the same");
    expect(r,
           "x.cu: In function 'f':\nx.cu:12:5: error: 'a: b' is no name\n   12 |  a\n"
           "x.cu:13:10: fatal error: y.h: No such file\nx.cu:14: warning: late\n"
           "exercises/01_x/x.cu(15): error: of nvcc\nx.cu(16): warning #177-D: unused\ny.cu:1:1: "
           "error: not ours\n"
           "x.cu:12:5: error: 'a: b' is no name\nx.cu:17:2: note: declared here",
           "exercises/01_x/x.cu:12:5: error: 'a: b' is no name\n"
           "exercises/01_x/x.cu:13:10: error: y.h: No such file\n"
           "exercises/01_x/x.cu:14:1: warning: late\n"
           "exercises/01_x/x.cu:15:1: error: of nvcc\n"
           "exercises/01_x/x.cu:16:1: warning: #177-D: unused\n"
           "exercises/01_x/x.cu:17:2: note: declared here\n");
}
END_TEST

// The first error, whoever says it, and what its parts are. Shown source says none.
START_TEST(test_first_error) {
    struct compiler_message m;
    ck_assert(!compiler_first_error("", &m));
    ck_assert(!compiler_first_error("x.cu:3:1: warning: \"a: error: b\"\n  3 | s: error: t\n", &m));
    ck_assert(compiler_first_error("x.cu:3: note: a\na/x.cu:4:2: fatal error: no y.h\nmore", &m));
    ck_assert(m.fatal && m.line == 4 && m.column == 2 && m.file.length == 6);
    ck_assert_int_eq(strncmp(m.words.text, "no y.h\n", 7), 0);
    ck_assert_int_eq(m.words.length, 6);
    ck_assert_int_eq(m.whole.length, 31);
    ck_assert(compiler_first_error("collect2: error: ld returned 1", &m));
    ck_assert(!m.fatal && m.line == 0 && m.file.length == 8);
    ck_assert(compiler_first_error("x.cu(7): error #20: a", &m));
    ck_assert(m.line == 7 && m.file.length == 4 && m.words.length == 6);
}
END_TEST

START_TEST(test_refused) {
    struct result* r = fresh();
    strcpy(r->message, "x.cu:7: includes y.h");
    failed_item(r, "one", CAUSE_refused, "x.cu:7: includes y.h\n");
    expect(r, NULL, "exercises/01_x/x.cu:7:1: error: includes y.h\n");
    strcpy(r->message, "exercises/01_x/x.cu:8: calls f()");
    expect(r, NULL, "exercises/01_x/x.cu:8:1: error: calls f()\n");
    strcpy(r->message, "x.cu is too large");
    expect(r, NULL, "exercises/01_x/x.cu:1:1: error: x.cu is too large\n");
}
END_TEST

// Another of the item's findings. Its accesses are added by add_access().
static struct finding_values* add_finding(struct result_item* item, const char* words,
                                          unsigned line) {
    struct finding_values* v = &item->finding[item->finding_count++];
    strcpy(v->words, words);
    strcpy(v->file, "x.cu");
    v->line = line;
    return v;
}

static void add_access(struct finding_values* v, const char* verb, const char* who,
                       const char* function, unsigned line, unsigned caller) {
    struct finding_access* a = &v->access[v->access_count++];
    *a = (struct finding_access){.line = line, .caller = caller};
    a->plain = strcmp(verb, "read") == 0 || strcmp(verb, "write") == 0;
    strcpy(a->verb, verb);
    strcpy(a->who, who);
    strcpy(a->function, function);
}

// Where it was seen, and the other place. An item with the same cause in the same line is counted,
// whatever its indices are. What the message says is not asked.
START_TEST(test_findings) {
    struct result* r = fresh();
    struct result_item* one = failed_item(r, "one", CAUSE_race, "FINDING: a at x.cu:70\n");
    struct finding_values* v = add_finding(one, "race on s[0]: line 5 writes, line 9 reads", 9);
    add_access(v, "read", "thread (0,0,0) of block (0,0,0)", "void k<4>", 9, 0);
    add_access(v, "write", "thread (1,0,0) of block (0,0,0)", "void k<4>", 5, 0);
    v = add_finding(one, "out_of_bounds: write at x.cu:6 of t[4]", 6);
    add_access(v, "write", "thread (0,0,0) of block (0,0,0)", "void k<4>", 6, 0);
    struct result_item* two = failed_item(r, "two", CAUSE_race, "");
    v = add_finding(two, "race on s[1]: line 5 writes, line 9 reads", 9);
    add_access(v, "read", "thread (7,0,0) of block (0,0,0)", "k", 9, 0);
    failed_item(r, "three", CAUSE_leak, "case: n = 4\nthe launcher returned and left 4 bytes\n");
    struct result_item* four = failed_item(r, "four", CAUSE_race, "");
    v = add_finding(four, "race on s[2]: y.h:3 writes, line 12 reads", 12);
    add_access(v, "write", "thread (1,0,0) of block (0,0,0)", "put", 0, 11);
    add_access(v, "atomic", "thread (2,0,0) of block (0,0,0)", "k", 13, 0);
    expect(r, NULL,
           "exercises/01_x/x.cu:9:1: error: race on s[0]: line 5 writes, line 9 reads [race]; item "
           "\"one\" and 1 more\n"
           "exercises/01_x/x.cu:5:1: note: write by thread (1,0,0) of block (0,0,0) in void k<4>; "
           "item "
           "\"one\"\n"
           "exercises/01_x/x.cu:6:1: error: out_of_bounds: write at x.cu:6 of t[4]; item \"one\"\n"
           "exercises/01_x/x.cu:1:1: error: why [leak]; item \"three\"\n"
           "exercises/01_x/x.cu:12:1: error: race on s[2]: y.h:3 writes, line 12 reads [race]; "
           "item \"four\"\n"
           "exercises/01_x/x.cu:11:1: note: write by thread (1,0,0) of block (0,0,0) in put, "
           "called at x.cu:11; item \"four\"\n");
}
END_TEST

// A line that only words name, a place, none; the first wrong element; a fault of the grader. What
// a program prints names no line.
START_TEST(test_causes) {
    struct result* r = fresh();
    strcpy(failed_item(r, "one", CAUSE_never_written, "case: n\nmore\n")->first,
           "O[0] is 1, expected 2");
    strcpy(failed_item(r, "two", CAUSE_never_written, "case: n\nmore\n")->first,
           "O[0] is 3, expected 4");
    failed_item(r, "three", CAUSE_unknown, "printed: line 7\nbegin in line 89\n")->line = 89;
    failed_item(r, "four", CAUSE_unknown, "ended at x.cu:12, in line 13\n")->line = 13;
    failed_item(r, "more", CAUSE_crash, "printed: line 7\n");
    failed_item(r, "five", CAUSE_unknown, "no check\nended")->outcome = OUTCOME_ERROR;
    expect(r, NULL,
           "exercises/01_x/x.cu:1:1: error: why [never_written]; first wrong: O[0] is 1, expected "
           "2; item \"one\" and 1 more\n"
           "exercises/01_x/x.cu:89:1: error: why [unknown]; item \"three\"\n"
           "exercises/01_x/x.cu:12:1: error: why [unknown]; item \"four\"\n"
           "exercises/01_x/x.cu:1:1: error: why [crash]; item \"more\"\n"
           "exercises/01_x/x.cu:1:1: warning: a fault of the grader, not in your code: no check; "
           "item \"five\"\n");
}
END_TEST

// Where it happened comes before where the kernel was launched; what has no other line has that.
START_TEST(test_launch) {
    struct result* r = fresh();
    failed_item(r, "one", CAUSE_bad_address,
                "==CPU device== ERROR: bad address 0 in thread (0,0,0): a NULL pointer\n"
                "  kernel k<<<(1,1,1), (4,1,1)>>> launched at a/x.cu:20, block (0,0,0)\n"
                "    at a/x.cu:7 in k(float*)\n    called at a/x.cu:9 in k(float*)\n");
    failed_item(r, "two", CAUSE_bad_launch,
                "no GPU takes it\n  kernel k<<<(1,1,1), (4,1,1)>>> launched at a/x.cu:20\n");
    expect(r, NULL,
           "exercises/01_x/x.cu:7:1: error: why [bad_address]; item \"one\"\n"
           "exercises/01_x/x.cu:20:1: error: why [bad_launch]; item \"two\"\n");
}
END_TEST

// Whatever stands in a message, a problem is one line of plain characters, and there are not more
// than a hundred.
START_TEST(test_hostile) {
    struct result* r = fresh();
    strcpy(r->file, "a/\033[31mb.cu");
    struct result_item* item = failed_item(r, "one", CAUSE_race, "");
    add_access(add_finding(item, "\033]0;x\007\n", 4294967295u), "\n", "\033", "\x80", 1, 2);
    char* many = malloc(200 * 50);
    ck_assert_ptr_nonnull(many);
    many[0] = '\0';
    for (int i = 0; i < 200; i++)
        sprintf(many + strlen(many), "\033[31mb.cu:%d:1: error: \x1b y\n", i + 1);
    char* said = printed(r, many);
    int lines = 0;
    for (const char* p = said; *p; p++) {
        ck_assert(*p == '\n' || (*p >= ' ' && *p < 127));
        lines += *p == '\n';
    }
    ck_assert_int_eq(lines, 100);
    free(said);
    free(many);
}
END_TEST

const struct lesson lesson = {.name = "00_none"};

int main(void) {
    Suite* suite = suite_create("problems");
    TCase* t = tcase_create("problems");
    tcase_add_test(t, test_nothing);
    tcase_add_test(t, test_compiler);
    tcase_add_test(t, test_first_error);
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_findings);
    tcase_add_test(t, test_causes);
    tcase_add_test(t, test_launch);
    tcase_add_test(t, test_hostile);
    suite_add_tcase(suite, t);
    return run_suite(suite, 8);
}
