// traffic.h: what the instrumented build counts, for the arena and for make profile.
//
// In a plain program and on a GPU there is nothing to count: start and stop do nothing.
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "wall/arena.h"

void traffic_start(void);
void traffic_stop(struct arena_traffic* traffic);  // since traffic_start()

// Prints everything since the start per line and array: "table", "csv"; NULL: nothing.
void traffic_print(const char* format);

#endif
