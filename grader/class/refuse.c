// refuse.c: how a run ends that cannot go on. See class.h.
#include <stdarg.h>
#include <stdlib.h>

#include "class/class.h"

void class_refuse(const char* format, ...) {
    va_list values;
    va_start(values, format);
    text_vsay(stderr, format, values);
    va_end(values);
    exit(2);
}
