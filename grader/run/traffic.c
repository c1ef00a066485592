// traffic.c: see traffic.h.
#include "run/traffic.h"

#include <stdio.h>

void traffic_start(void) {}

void traffic_stop(struct arena_traffic* traffic) {
    (void)traffic;
}

void traffic_print(const char* format) {
    (void)format;
}
