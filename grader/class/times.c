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

int64_t time_written_out(const char* text) {
    static const char* const clocks[] = {" %I:%M %p", " %H:%M"};
    struct tm t;
    for (int i = 0; i < 2; i++) {
        memset(&t, 0, sizeof t);
        t.tm_isdst = -1;
        const char* end = strptime(text, "%A, %d %B %Y,", &t);
        if (end) end = strptime(end, clocks[i], &t);
        if (end && !*end) return (int64_t)mktime(&t);
    }
    return 0;
}
