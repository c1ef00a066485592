// kept.c: what a kernel keeps in memory of its own. All of it is global memory on a GPU, also the
// local arrays of a thread that no registers can hold.
#include "check/state.h"

void check_kept(struct check* c, enum cause cause, const char* unit, double units, double limit,
                int64_t of_a_thread) {
    enum { TABLE = 1024 };  // bytes of constants that a kernel may have
    const struct arena_traffic* t = check_traffic(c);
    char what[120];
    snprintf(what, sizeof what, "bytes of memory taken for each %s", unit);
    check_at_most(c, cause, what, (double)t->allocated_bytes / units, limit);
    check_at_most(c, cause, "bytes of static device memory that kernels use",
                  (double)t->static_bytes, TABLE);
    check_at_most(c, cause, "bytes of a thread's local arrays and variables",
                  (double)t->local_bytes_per_thread, (double)of_a_thread);
}
