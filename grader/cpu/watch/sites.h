// Sites: the instructions of the program that access memory, numbered from 1 as they come. 0: not
// known.
#ifndef CUDEV_SITES_H
#define CUDEV_SITES_H

#include <stdbool.h>
#include "cpu/device/lines.h"
#include "cpu/watch/shadow.h"

struct sites {
    uint32_t count;
    const void* pc[MAX_SITES];  // where the call that announces the access returns to
    bool adds[MAX_SITES];       // it adds a float: in another order the sum is another
    bool by_tma[MAX_SITES];     // it is a copy by TMA
};

static inline struct sites* sites(void) {
    return (struct sites*)SITES_BASE;
}

unsigned cudev_new_site(const void* pc);

// The number of the site whose call returns to pc.
static inline unsigned site_at(const void* pc) {
    size_t distance = (size_t)((const char*)pc - __executable_start);
    if (distance >= TEXT_BYTES) return 0;
    unsigned site = SITE_OF[distance];
    return site ? site : cudev_new_site(pc);
}

// The line of the program to which each site belongs (line 0: not known). Functions of the device's
// headers are skipped. caller: the innermost line in a .cu file, where the site lies in a function
// of a header that is inlined there; NULL: nobody asks.
void cudev_site_lines(const unsigned* site, struct source_line* line, struct source_line* caller,
                      unsigned count);

#endif
