// Numbering the instructions that access memory, and finding their lines.
#include "cpu/watch/sites.h"
#include <pthread.h>

_Static_assert(sizeof(struct sites) <= SITES_SPACE, "the sites have 1 MiB of address space");

static pthread_mutex_t new_site = PTHREAD_MUTEX_INITIALIZER;

// 0 stands for all beyond the limit.
unsigned cudev_new_site(const void* pc) {
    struct sites* s = sites();
    uint16_t* number = &SITE_OF[(const char*)pc - __executable_start];
    pthread_mutex_lock(&new_site);
    if (!*number && s->count + 1 < MAX_SITES) {
        s->pc[++s->count] = pc;
        *number = (uint16_t)s->count;
    }
    pthread_mutex_unlock(&new_site);
    return *number;
}

void cudev_site_lines(const unsigned* site, struct source_line* line, struct source_line* caller,
                      unsigned count) {
    static struct source_line frames[256];
    for (unsigned first = 0; first < count; first += MAX_FRAMES) {
        void* pcs[MAX_FRAMES];
        unsigned n = count - first < MAX_FRAMES ? count - first : MAX_FRAMES;
        for (unsigned i = 0; i < n; i++)
            pcs[i] = (char*)(uintptr_t)sites()->pc[site[first + i]] - 1;
        int found = cudev_lines(pcs, (int)n, frames, 256);
        for (int i = found; i-- > 0;)  // the innermost frame comes first and is written last
            if (!cudev_is_ours(&frames[i])) line[first + (unsigned)frames[i].pc] = frames[i];
        for (int i = found; caller && i-- > 0;)
            if (!cudev_is_ours(&frames[i]) && cudev_line_in_cu(frames[i].file, frames[i].line))
                caller[first + (unsigned)frames[i].pc] = frames[i];
    }
}
