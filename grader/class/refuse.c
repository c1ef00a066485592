// refuse.c: how a run ends that cannot go on, and what its instructor has to look at. See class.h.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "class/class.h"

void class_refuse(const char* format, ...) {
    va_list values;
    va_start(values, format);
    text_vsay(stderr, format, values);
    va_end(values);
    exit(2);
}

enum { MOST_TODO = 300 };
static char* todo[MOST_TODO];
static int todos, more_todos;

void todo_say(const char* format, ...) {
    char text[2 * WHY_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    // The tables are read twice in a run.
    for (int i = 0; i < todos; i++)
        if (!strcmp(todo[i], text)) return;
    if (todos == MOST_TODO) {
        more_todos++;
        return;
    }
    if (!(todo[todos] = strdup(text))) class_refuse("no memory for what is to be looked at");
    todos++;
}

int todo_print(const char* id) {
    int said = 0;
    const size_t n = id ? strlen(id) : 0;
    fflush(stdout);
    for (int i = 0; i < todos; i++) {
        if (id && (strncmp(todo[i], id, n) != 0 || strncmp(todo[i] + n, ", lesson ", 9) != 0))
            continue;
        if (said++ == 0) fprintf(stderr, "\nTo be looked at:\n");
        text_say(stderr, "  %s", todo[i]);
    }
    if (more_todos > 0 && !id) fprintf(stderr, "  and %d more\n", more_todos);
    return said;
}
