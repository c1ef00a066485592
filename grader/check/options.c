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

void options_parse(int argc, char** argv, struct options* o) {
    static const struct option names[] = {{"device", 1, 0, 'd'},      {"card", 1, 0, 'p'},
                                          {"seed", 1, 0, 's'},        {"case", 1, 0, 'c'},
                                          {"format", 1, 0, 'f'},      {"isolation", 1, 0, 'i'},
                                          {"save", 1, 0, 'o'},        {"log", 1, 0, 'l'},
                                          {"program", 1, 0, 'g'},     {"list", 0, 0, 'n'},
                                          {"repeat", 1, 0, 'r'},      {"stop", 0, 0, 'x'},
                                          {"seconds", 1, 0, 't'},     {"uninspected", 0, 0, 'u'},
                                          {"at-once", 1, 0, 'a'},     {"causes", 0, 0, 'k'},
                                          {"idea", 0, 0, 'b'},        {"key", 0, 0, 'y'},
                                          {"fingerprint", 0, 0, 'h'}, {0, 0, 0, 0}};
    int option;
    char* end;
    if (argc > 1 && (o->command = read_command(argv[1])) != COMMAND_GRADE) argv++, argc--;
    o->format = o->command == COMMAND_PROFILE ? FORMAT_TABLE : FORMAT_TEXT;
    if (getrandom(&o->seed, sizeof o->seed, 0) != sizeof o->seed)
        options_refuse("no random seed: %s", strerror(errno));
    opterr = 0;  // its own words repeat any bytes
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (option) {
        case 'd':
            if (strcmp(optarg, "cpu") && strcmp(optarg, "cuda"))
                options_refuse("DEVICE=%s: unknown device; cpu or cuda is expected", optarg);
            o->device = optarg;
            break;
        case 'p':
            o->card = card_named(optarg);
            if (!o->card) options_refuse("CARD=%s: unknown card; make doctor lists them", optarg);
            break;
        case 's':
            errno = 0;
            o->seed = strtoull(optarg, &end, 0);
            if (errno || end == optarg || *end || *optarg == '-')
                options_refuse("SEED=%s: not a seed; a number from 0 to %llu is expected", optarg,
                               ULLONG_MAX);
            break;
        case 'c':
            o->filter = optarg;
            break;
        case 'f':
            o->format = read_format(o->command, optarg);
            break;
        case 'i':
            o->isolation = optarg;
            break;
        case 'o':
            o->save = optarg;
            break;
        case 'l':
            o->log = optarg;
            break;
        case 'g':
            o->program = optarg;
            break;
        case 't':
            o->seconds = strtod(optarg, &end);
            if (*end || !(o->seconds > 0))
                options_refuse("--seconds %s: a time is expected", optarg);
            break;
        case 'a':
            o->at_once = atoi(optarg);
            if (o->at_once < 1) options_refuse("--at-once %s: a number from 1 on", optarg);
            break;
        case 'x':
            o->stop = true;
            break;
        case 'u':
            o->uninspected = true;
            break;
        case 'r':
            o->repeat = atoi(optarg);
            break;
        case 'n':
            for (int i = 0; lesson.items[i].run; i++) puts(lesson.items[i].name);
            exit(0);
        case 'k':
            for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
                printf("%s %s\n", cause_id(i), cause_is_cost(i) ? "cost" : "answer");
            exit(0);
        case 'b':
            printf("%d %s %s\n", idea_points(), lesson.idea.naive ? lesson.idea.naive : "-",
                   lesson.idea.what);
            for (int i = 0; lesson.items[i].run; i++)
                if (item_is_idea(&lesson.items[i])) puts(lesson.items[i].name);
            exit(0);
        case 'y':
            print_hash(build_key);
        case 'h':
            print_hash(fingerprint);
        default:
            options_refuse("%s: no such option, or its value is missing\n%s", argv[optind - 1],
                           usage);
        }
    }
    if (o->repeat < 1) o->repeat = 1;
    if (o->at_once < 1) o->at_once = 1;
    if (optind + 1 != argc) options_refuse("one file is expected\n%s", usage);
    o->file = argv[optind];
    if (o->command == COMMAND_DEBUG && !o->program)
        options_refuse("--program is missing\n%s", usage);
}
