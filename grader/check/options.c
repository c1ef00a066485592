// options.c: the command line. See command.h.
#include "check/command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "wall/fingerprint.h"

static const char usage[] =
    "usage: check FILE.cu [--device cpu|cuda] [--card ID] [--seed N] [--case SUBSTRING]\n"
    "             [--format text|json|line|verdict] [--isolation bubblewrap|userid|limits]\n"
    "             [--save RESULT.json] [--log FILE] [--repeat N] [--seconds S] [--stop]\n"
    "             [--at-once N] [--uninspected]\n"
    "       check profile FILE.cu [--format table|csv|json] [--case SUBSTRING] [--seed N]\n"
    "       check debug FILE.cu --program PROGRAM [--case SUBSTRING] [--seed N]\n"
    "       check last RESULT.json    (for scripts: what a saved result says)\n"
    "       check --list      (the items)\n"
    "       check --idea      (for scripts: its points, naive file or -, the idea; its items)\n"
    "       check --causes    (every cause with its kind, answer or cost)\n"
    "       check --fingerprint\n"
    "       check --key       (of what a program here is made of, besides the submission)\n";

void options_refuse(const char* format, ...) {
    va_list values;
    va_start(values, format);
    text_vsay(stderr, format, values);
    va_end(values);
    exit(STATUS_NOTHING);
}

// Prints a hash of something of this lesson.
static _Noreturn void print_hash(int (*hash)(const char* lesson, char hex[65])) {
    char hex[65];
    if (hash(lesson.name, hex) != 0) {
        perror("a file of the grader cannot be read; run make in the course's folder");
        exit(STATUS_ERROR);
    }
    puts(hex);
    exit(0);
}

static const char* const formats[] = {"text",    "problems", "json", "line",
                                      "verdict", "table",    "csv"};

const char* format_name(enum format format) {
    return formats[format];
}

bool format_is_report(enum format format) {
    return format == FORMAT_TEXT || format == FORMAT_PROBLEMS;
}

static enum format read_format(enum command_name command, const char* name) {
    bool profile = command == COMMAND_PROFILE;
    for (int i = FORMAT_TEXT; i <= FORMAT_CSV; i++)
        if (strcmp(name, formats[i]) == 0 &&
            (i == FORMAT_JSON || (i == FORMAT_TABLE || i == FORMAT_CSV) == profile))
            return (enum format)i;
    options_refuse("FORMAT=%s: unknown format; %s is expected", name,
                   profile ? "table, csv or json" : "text, json or problems");
}

// A first word that is no command is the file to grade.
static enum command_name read_command(const char* word) {
    return strcmp(word, "profile") == 0 ? COMMAND_PROFILE
           : strcmp(word, "debug") == 0 ? COMMAND_DEBUG
           : strcmp(word, "last") == 0  ? COMMAND_LAST
                                        : COMMAND_GRADE;
}

// The options; those from LIST on ask something about the lesson, which has no file then.
enum option_name {
    DEVICE,
    CARD,
    SEED,
    CASE,
    FORMAT,
    ISOLATION,
    SAVE,
    LOG,
    PROGRAM,
    SECONDS,
    AT_ONCE,
    STOP,
    UNINSPECTED,
    REPEAT,
    LIST,
    CAUSES,
    IDEA,
    KEY,
    FINGERPRINT,
};
static const struct option names[] = {
    {"device", required_argument, NULL, DEVICE},
    {"card", required_argument, NULL, CARD},
    {"seed", required_argument, NULL, SEED},
    {"case", required_argument, NULL, CASE},
    {"format", required_argument, NULL, FORMAT},
    {"isolation", required_argument, NULL, ISOLATION},
    {"save", required_argument, NULL, SAVE},
    {"log", required_argument, NULL, LOG},
    {"program", required_argument, NULL, PROGRAM},
    {"seconds", required_argument, NULL, SECONDS},
    {"at-once", required_argument, NULL, AT_ONCE},
    {"stop", no_argument, NULL, STOP},
    {"uninspected", no_argument, NULL, UNINSPECTED},
    {"repeat", required_argument, NULL, REPEAT},
    {"list", no_argument, NULL, LIST},
    {"causes", no_argument, NULL, CAUSES},
    {"idea", no_argument, NULL, IDEA},
    {"key", no_argument, NULL, KEY},
    {"fingerprint", no_argument, NULL, FINGERPRINT},
    {0},
};

// Answers such an option, and ends the program.
static _Noreturn void answer(enum option_name question) {
    if (question == KEY) print_hash(build_key);
    if (question == FINGERPRINT) print_hash(fingerprint);
    if (question == IDEA)
        printf("%d %s %s\n", idea_points(), lesson.idea.naive ? lesson.idea.naive : "-",
               lesson.idea.what);
    for (int i = 0; question != CAUSES && lesson.items[i].run; i++)
        if (question == LIST || item_is_idea(&lesson.items[i])) puts(lesson.items[i].name);
    for (int i = CAUSE_NONE + 1; question == CAUSES && i < CAUSE_COUNT; i++)
        printf("%s %s\n", cause_id(i), cause_rank(i) == RANK_COST ? "cost" : "answer");
    exit(0);
}

static uint64_t read_seed(const char* text) {
    char* end;
    errno = 0;
    const uint64_t seed = strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-')
        options_refuse("SEED=%s: not a seed; a number from 0 to %llu is expected", text,
                       ULLONG_MAX);
    return seed;
}

static double read_seconds(const char* text) {
    char* end;
    const double seconds = strtod(text, &end);
    if (*end || !(seconds > 0)) options_refuse("--seconds %s: a time is expected", text);
    return seconds;
}

static void set(struct options* o, enum option_name option, const char* value) {
    switch (option) {
    case DEVICE:
        if (strcmp(value, "cpu") != 0 && strcmp(value, "cuda") != 0)
            options_refuse("DEVICE=%s: unknown device; cpu or cuda is expected", value);
        o->device = value;
        break;
    case CARD:
        o->card = card_named(value);
        if (!o->card) options_refuse("CARD=%s: unknown card; make doctor lists them", value);
        break;
    case SEED:
        o->seed = read_seed(value);
        break;
    case CASE:
        o->filter = value;
        break;
    case FORMAT:
        o->format = read_format(o->command, value);
        break;
    case ISOLATION:
        o->isolation = value;
        break;
    case SAVE:
        o->save = value;
        break;
    case LOG:
        o->log = value;
        break;
    case PROGRAM:
        o->program = value;
        break;
    case SECONDS:
        o->seconds = read_seconds(value);
        break;
    case AT_ONCE:
        o->at_once = atoi(value);
        if (o->at_once < 1) options_refuse("--at-once %s: a number from 1 on", value);
        break;
    case STOP:
        o->stop = true;
        break;
    case UNINSPECTED:
        o->uninspected = true;
        break;
    case REPEAT:
        o->repeat = atoi(value);
        break;
    case LIST:
    case CAUSES:
    case IDEA:
    case KEY:
    case FINGERPRINT:
        answer(option);
    }
}

void options_parse(int argc, char** argv, struct options* o) {
    int option;
    if (argc > 1 && (o->command = read_command(argv[1])) != COMMAND_GRADE) argv++, argc--;
    o->format = o->command == COMMAND_PROFILE ? FORMAT_TABLE : FORMAT_TEXT;
    if (getrandom(&o->seed, sizeof o->seed, 0) != sizeof o->seed)
        options_refuse("no random seed: %s", strerror(errno));
    opterr = 0;                   // its own words repeat any bytes
    unsetenv("POSIXLY_CORRECT");  // the file may stand before the options
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (option == '?')
            options_refuse("%s: no such option, or its value is missing\n%s", argv[optind - 1],
                           usage);
        set(o, (enum option_name)option, optarg);
    }
    if (o->repeat < 1) o->repeat = 1;
    if (o->at_once < 1) o->at_once = 1;
    if (optind + 1 != argc) options_refuse("one file is expected\n%s", usage);
    o->file = argv[optind];
    if (o->command == COMMAND_DEBUG && !o->program)
        options_refuse("--program is missing\n%s", usage);
}
