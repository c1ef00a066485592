// packed.h: how spawn.c hands a call to the program: one file in memory, open in both.
//
// It begins with this header. Then come the arguments, in which `name` and `pointer` are offsets
// from the beginning of the file (0: NULL), then the names, then the arrays, each at a multiple of
// 256. The program writes the outputs over their old values, and the header's status.
#ifndef PACKED_H
#define PACKED_H

#include <stdint.h>

enum {
    PACKED_FILE = 3,  // the file's descriptor in the program
    PACKED_ALIGN = 256,
};

struct packed {
    int64_t bytes;     // of all
    int64_t count;     // of arguments
    int64_t status;    // what library_call() returns; LIBRARY_ENDED until the program knows it
    char missing[64];  // an argument that call.c did not find
};

#endif
