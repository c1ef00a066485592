// kept.c: budgets on what a kernel keeps in memory of its own, stores, and loads again. All that it
// keeps is global memory on a GPU, also the local arrays of a thread that no registers can hold.
#include "base/dtype.h"
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
    check_local(c, cause, of_a_thread);
}

void check_local(struct check* c, enum cause cause, int64_t of_a_thread) {
    check_at_most(c, cause, "bytes of a thread's local arrays and variables",
                  (double)check_traffic(c)->local_bytes_per_thread, (double)of_a_thread);
}

void check_stored_once(struct check* c, const char* output) {
    const struct arena_traffic* t = check_traffic(c);
    const struct tensor* of = check_tensor(c, output);
    char what[96];
    if (!of) check_error(c, "check_stored_once() of %s, which the case does not declare", output);
    snprintf(what, sizeof what, "times that each element of %s is stored", output);
    double bytes = (double)of->count * (double)dtype_size(of->dtype);
    check_at_most(c, CAUSE_too_much_written, what,
                  (double)(t->global_store_bytes + t->filled_bytes) / bytes, 1.01);
}

int64_t check_loaded_again(struct check* c, const char* array) {
    const struct tensor* of = check_tensor(c, array);
    if (!of) check_error(c, "loads of %s, which the case does not declare, are asked for", array);
    return check_traffic(c)->loaded_again[of - c->tensor];
}

void check_loaded_once(struct check* c, const char* array) {
    check_loaded_once_of(c, array, check_traffic(c)->global_load_bytes / 10);
}

void check_loaded_once_of(struct check* c, const char* array, int64_t more) {
    const long long again = check_loaded_again(c, array), most = more;
    if (c->session->log)
        fprintf(c->session->log, "   bytes of %s loaded again: %lld, at most %lld\n", array, again,
                most);
    if (again <= most || !c->session->judges_costs) return;
    c->record->counted = true;
    check_fail(c, CAUSE_loaded_again,
               "bytes of %s that a warp loads from global memory again: %lld, at most %lld", array,
               again, most);
}
