// text.c: the result as a student reads it. See result.h.
#include <stdio.h>
#include <string.h>

#include "report/result.h"

static const char* colour_code(enum outcome outcome, bool colour) {
    static const char* const codes[] = {"\033[33m", "\033[31m", "\033[32m"};
    return colour ? codes[outcome] : "";
}

static const char* plain(bool colour) {
    return colour ? "\033[0m" : "";
}

static const char* bold(bool colour) {
    return colour ? "\033[1m" : "";
}

void text_begin(const struct result* r, bool colour) {
    printf("%sLesson %s%s  %s\n", bold(colour), r->lesson, plain(colour), r->file);
    printf("device %s, isolation %s, seed %s\n\n", r->device, r->isolation, r->seed);
    fflush(stdout);
}

void text_print(FILE* to, const char* indent, const char* text) {
    bool start = true;
    for (const char* s = text; *s; s++) {
        if (start) fputs(indent, to);
        start = *s == '\n';
        unsigned char c = (unsigned char)*s;
        putc((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t' ? c : '?', to);
    }
    if (!start) putc('\n', to);
}

static void print_indented(const char* text) {
    text_print(stdout, "          ", text);
}

void text_item(const struct result_item* item, bool colour) {
    static const char* const words[] = {"ERROR", "FAIL", "OK"};
    printf("  %s%-5s%s %3d/%-3d %5.2f s  %s\n", colour_code(item->outcome, colour),
           words[item->outcome], plain(colour), item->points, item->max_points, item->seconds,
           item->name);
    if (item->outcome != OUTCOME_PASS) {
        print_indented(item->message);
        if (item->outcome == OUTCOME_ERROR)
            print_indented("This is a fault of the grader, not in your code. Please report it.");
        if (item->sentence[0])
            printf("          %slikely cause:%s %s [%s]\n", bold(colour), plain(colour),
                   item->sentence, item->cause);
    }
    fflush(stdout);
}

static const struct result_item* first_failed(const struct result* r) {
    for (int i = 0; i < r->item_count; i++)
        if (r->item[i].outcome == OUTCOME_FAIL) return &r->item[i];
    return NULL;
}

void text_end(const struct result* r, const char* log, const char* unchecked, bool colour) {
    const char* number = r->lesson;
    int digits = (int)strcspn(number, "_");
    const struct result_item* failed = first_failed(r);
    putchar('\n');
    if (r->message[0]) text_print(stdout, "", r->message);
    // What the student can do next, on this file and with this data.
    if (failed && !r->message[0]) {
        char file[640] = "";
        bool own = strncmp(r->file, "exercises/", 10) == 0;
        if (!own) snprintf(file, sizeof file, " FILE='%s'", r->file);
        if (own)
            printf("Next: make hint LESSON=%.*s\n      ", digits, number);
        else
            printf("Next: ");
        printf("make debug LESSON=%.*s%s SEED=%s CASE='%s'\n", digits, number, file, r->seed,
               failed->name);
    }
    if (unchecked[0]) printf("Not checked here: %s\n", unchecked);
    printf("Log: %s\n", log);
    if (!r->complete && !r->message[0]) printf("Only the items that match CASE were graded.\n");
    enum outcome how = r->score == r->max_score && r->max_score > 0 ? OUTCOME_PASS : OUTCOME_FAIL;
    printf("%sScore: %d/%d%s\n", colour_code(how, colour), r->score, r->max_score, plain(colour));
    fflush(stdout);
}
