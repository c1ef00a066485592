// result.c: a result goes to JSON and comes back, whatever a student's program printed into it.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check/state.h"
#include "report/result.h"
#include "test/unit/run.h"

START_TEST(test_there_and_back) {
    static struct result r, back;
    memset(&r, 0, sizeof r);
    strcpy(r.lesson, "12_flash_forward");
    strcpy(r.message, "x.cu does not compile");
    strcpy(r.compiler, "x.cu:1: error: \"a\"\nx.cu:2: error\n");
    strcpy(r.seed, "18446744073709551615");
    strcpy(r.file, "a \"quoted\"\\name\n\xff.cu");
    r.complete = true;
    r.item_count = 2;
    strcpy(r.item[0].name, "one");
    r.item[0].outcome = OUTCOME_PASS;
    r.item[0].points = r.item[0].max_points = 60;
    strcpy(r.item[1].name, "two");
    strcpy(r.item[1].message, "\033[31m \x80\xfe ]]> \t\x01 <b>&");
    strcpy(r.item[1].cause, "tail_dropped");
    strcpy(r.item[1].sentence, cause_sentence(CAUSE_tail_dropped));
    r.item[1].outcome = OUTCOME_FAIL;
    r.item[1].max_points = 40;
    struct finding_values* v = &r.item[1].finding[0];
    r.item[1].finding_count = v->access_count = 1;
    *v = (struct finding_values){
        "race", "race on \033s", "a/x.cu", 5, 0, 7, 1, {{.line = 9, .plain = true}}, "k<4>",
        20,     "one\n  two"};
    strcpy(v->access[0].verb, "write");
    result_total(&r);
    ck_assert_int_eq(r.score, 60);
    ck_assert_int_eq(r.max_score, 100);
    char* json = result_to_json(&r);
    ck_assert_ptr_nonnull(json);
    ck_assert(result_from_json(json, &back));
    ck_assert_int_eq(back.score, 60);
    ck_assert_int_eq(back.item_count, 2);
    ck_assert_str_eq(back.seed, r.seed);
    ck_assert_str_eq(back.message, r.message);
    ck_assert_str_eq(back.compiler, r.compiler);
    ck_assert_int_eq(back.item[1].outcome, OUTCOME_FAIL);
    ck_assert_str_eq(back.item[1].cause, "tail_dropped");
    ck_assert_str_eq(back.item[1].sentence, r.item[1].sentence);
    ck_assert_ptr_nonnull(strstr(back.item[1].message, "]]>"));
    const struct finding_values* w = &back.item[1].finding[0];
    ck_assert_int_eq(back.item[0].finding_count, 0);
    ck_assert_int_eq(back.item[1].finding_count, 1);
    ck_assert_str_eq(w->kind, "race");
    ck_assert_str_eq(w->kernel, "k<4>");
    ck_assert_str_eq(w->file, "a/x.cu");
    ck_assert_str_eq(w->next, "one\n  two");
    ck_assert(w->line == 5 && w->caller == 7 && w->launch == 20 && w->access_count == 1);
    ck_assert(w->access[0].line == 9 && w->access[0].plain);
    ck_assert_str_eq(w->access[0].verb, "write");
    ck_assert_ptr_null(strchr(w->words, '\033'));
    free(json);
}
END_TEST

// What scripts read: each cause once, in the order of the items; a grader error has none.
START_TEST(test_verdict) {
    static struct result r = {.seed = "7", .item_count = 4};
    char* said = NULL;
    size_t size;
    const char* names[] = {"a", "b", "c d", "e"};
    for (int i = 0; i < 4; i++) {
        strcpy(r.item[i].name, names[i]);
        r.item[i].max_points = 25;
        r.item[i].points = i < _i ? 0 : 25;
        r.item[i].outcome = i < _i ? i == 2 ? OUTCOME_ERROR : OUTCOME_FAIL : OUTCOME_PASS;
        strcpy(r.item[i].cause, i < _i && i != 2 ? "race" : "");
    }
    result_total(&r);
    FILE* to = open_memstream(&said, &size);
    result_print_verdict(&r, to);
    fclose(to);
    ck_assert_str_eq(said, _i == 0   ? "100 100 0 - -\n7\n"
                           : _i == 1 ? "75 100 0 race a\n7\n"
                           : _i == 2 ? "50 100 0 race a|b\n7\n"
                                     : "25 100 1 race,? a|b|c d\n7\n");
    free(said);
}
END_TEST

// What is mended first: known wrong answers, unknown ones, costs, questions without an answer.
START_TEST(test_begin) {
    ck_assert_int_eq(result_begin(NULL), 0);
    ck_assert_int_eq(result_begin("int x;\n"), 0);
    ck_assert_int_eq(result_begin("// your code goes here\n"), 1);
    ck_assert_int_eq(result_begin("int x;\n\n  // your code goes here (about 2 lines)\n"), 3);
    const char later[] = "// your code goes here (about 2 lines): 2nd half: wait\n";
    char both[200];
    snprintf(both, sizeof both, "%s// your code goes here: O\n", later);
    ck_assert_int_eq(result_begin(later), 0);
    ck_assert_int_eq(result_begin(both), 2);
}
END_TEST

START_TEST(test_first_to_mend) {
    static struct result r = {.item_count = 7};
    static const char* const causes[] = {"bug_not_named", "uncoalesced", "unknown", "unknown",
                                         "race",          "unknown",     "leak"};
    static const int wanted[] = {4, 6, 2, 1, 0};  // as items get right, the first wanted ones first
    for (int i = 0; i < 7; i++) {
        record_cause(&r.item[i], cause_from_id(causes[i]));
        r.item[i].outcome = OUTCOME_FAIL;
    }
    // where a gap is left, and only some are graded, the item that says where to begin
    r.item[2].unbegun = true;
    r.begin = 12;
    ck_assert_ptr_eq(result_first_to_mend(&r), &r.item[2]);
    r.complete = true;
    ck_assert_ptr_eq(result_first_to_mend(&r), &r.item[0]);
    r.score = 1;  // this is none
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        const struct result_item* item = result_first_to_mend(&r);
        ck_assert_ptr_nonnull(item);
        ck_assert_int_eq(item - r.item, wanted[k]);
        for (int i = 0; i < 7; i++)
            if (strcmp(causes[i], causes[wanted[k]]) == 0) r.item[i].outcome = OUTCOME_PASS;
    }
    ck_assert_ptr_null(result_first_to_mend(&r));
}
END_TEST

// Whatever a student's program prints and whatever a result says that a student brings: no byte of
// it reaches a terminal that would obey it.
static const char hostile[] = "\033[31m\xc2\x9b"
                              "31m\x9b\xef\xbf\xbe\xed\xa0\x80\xe2\x80\xae \xc3\xb6\r\x7f";
static const char plain[] = "?[31m??31m??????"
                            "???? \xc3\xb6??";

START_TEST(test_printed_text_is_plain) {
    char *said = NULL, text[200];
    size_t size;
    FILE* to = open_memstream(&said, &size);
    text_print(to, "  ", hostile);
    text_say(to, "%s: %d\n", hostile, 7);
    fclose(to);
    snprintf(text, sizeof text, "  %s\n%s: 7\n", plain, plain);
    ck_assert_str_eq(said, text);
    free(said);
    text_file_option("it's\n\033.cu", text, sizeof text);
    ck_assert_str_eq(text, " FILE='it'\\''s??.cu'");
}
END_TEST

START_TEST(test_result_is_plain) {
    static struct result r = {.item_count = 1}, back;
    snprintf(r.seed, sizeof r.seed, "1");
    snprintf(r.item[0].message, sizeof r.item[0].message, "%s\n\t%s", hostile, hostile);
    snprintf(r.file, sizeof r.file, "%s", hostile);
    char *json = result_to_json(&r), wanted[200];
    snprintf(wanted, sizeof wanted, "%s\n\t%s", plain, plain);
    ck_assert(result_from_json(json, &back));
    ck_assert_str_eq(back.item[0].message, wanted);
    ck_assert_str_eq(back.file, plain);
    free(json);
    ck_assert(
        result_from_json("{\"version\": 1, \"seed\": \"1\\u009b\\n2\\u001b\\ufffe\"}", &back));
    ck_assert_str_eq(back.seed, "1???2????");
}
END_TEST

START_TEST(test_other_versions_are_refused) {
    static struct result r;
    ck_assert(!result_from_json("", &r));
    ck_assert(!result_from_json("{}", &r));
    ck_assert(!result_from_json("[1, 2]", &r));
    ck_assert(!result_from_json("{\"version\": 2, \"score\": 100}", &r));
}
END_TEST

START_TEST(test_causes) {
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
        enum cause cause = (enum cause)i;
        struct result_item item;
        record_cause(&item, cause);
        ck_assert_str_eq(item.cause, cause_id(cause));
        ck_assert_int_eq(item.rank, cause_rank(cause));  // as command_last() has it
        ck_assert_int_eq(cause_from_id(cause_id(cause)), cause);
        ck_assert_uint_gt(strlen(cause_sentence(cause)), 10);
        ck_assert_uint_lt(strlen(cause_sentence(cause)), sizeof((struct result_item*)0)->sentence);
        ck_assert_uint_lt(strlen(cause_id(cause)), sizeof((struct result_item*)0)->cause);
    }
    ck_assert_int_eq(cause_from_id("no such cause"), CAUSE_NONE);
}
END_TEST

const struct lesson lesson = {.name = "00_none"};

int main(void) {
    Suite* suite = suite_create("result");
    TCase* t = tcase_create("result");
    tcase_add_test(t, test_there_and_back);
    tcase_add_loop_test(t, test_verdict, 0, 4);
    tcase_add_test(t, test_printed_text_is_plain);
    tcase_add_test(t, test_result_is_plain);
    tcase_add_test(t, test_other_versions_are_refused);
    tcase_add_test(t, test_causes);
    tcase_add_test(t, test_first_to_mend);
    tcase_add_test(t, test_begin);
    suite_add_tcase(suite, t);
    return run_suite(suite, 11);
}
