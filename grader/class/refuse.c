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

int todo_print(void) {
    fflush(stdout);
    if (todos > 0) fprintf(stderr, "\nTo be looked at:\n");
    for (int i = 0; i < todos; i++) text_say(stderr, "  %s", todo[i]);
    if (more_todos > 0) fprintf(stderr, "  and %d more\n", more_todos);
    return todos;
}
