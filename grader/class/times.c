// times.c: points in time as platforms write them, in seconds since 1970. See class.h.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "class/class.h"

int64_t time_iso(const char* text) {
    struct tm t = {0};
    const char* end = strptime(text, "%Y-%m-%d", &t);
    if (end) end = strptime(end + strspn(end, "T "), "%H:%M", &t);
    if (end && *end == ':') end = strptime(end, ":%S", &t);
    if (!end) return 0;
    end += strspn(end, ".0123456789 ");
    int hours = 0, minutes = 0;
    char sign = '+';
    sscanf(end, "%c%2d:%2d", &sign, &hours, &minutes);
    int away = sign == '+' || sign == '-' ? hours * 3600 + minutes * 60 : 0;
    return (int64_t)timegm(&t) - (sign == '-' ? -away : away);
}

// Of the German months those that are written in another way than the English ones.
static const struct {
    const char* name;
    int month;
} german[] = {{"Januar", 0}, {"J\u00e4nner", 0}, {"Februar", 1}, {"M\u00e4rz", 2}, {"Mai", 4},
              {"Juni", 5},   {"Juli", 6},        {"Oktober", 9}, {"Dezember", 11}};

static const char* read_month(const char* text, struct tm* t) {
    for (size_t i = 0; i < sizeof german / sizeof *german; i++) {
        const size_t n = strlen(german[i].name);
        if (strncmp(text, german[i].name, n) != 0 || text[n] != ' ') continue;
        t->tm_mon = german[i].month;
        return text + n;
    }
    return strptime(text, "%B", t);
}

// Moodle writes strftimedaydatetime of its langconfig.php: "%A, %d %B %Y, %I:%M %p" in English,
// "%A, %d. %B %Y, %H:%M" in German. The day of the week tells nothing that the date does not.
int64_t time_written_out(const char* text) {
    static const char* const clocks[] = {" %Y, %I:%M %p", " %Y, %H:%M"};
    const char* date = strchr(text, ',');
    for (int i = 0; i < 2 && date; i++) {
        struct tm t;
        memset(&t, 0, sizeof t);
        t.tm_isdst = -1;
        const char* end = strptime(date + 1, " %d", &t);
        if (end) end += *end == '.';
        if (end) end = read_month(end + strspn(end, " "), &t);
        if (end) end = strptime(end, clocks[i], &t);
        if (end && !*end) return (int64_t)mktime(&t);
    }
    return 0;
}
