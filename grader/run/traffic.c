// traffic.c: see traffic.h. The references are weak: a plain program must not link the watchers,
// and on a GPU there are none.
#include "run/traffic.h"

#include <stdio.h>
#include <string.h>

#include "cpu/include/cudev.h"

#pragma weak cudev_reset_traffic
#pragma weak cudev_get_traffic
#pragma weak cudev_write_profile

void traffic_start(void) {
    if (cudev_reset_traffic) cudev_reset_traffic();
}

void traffic_stop(struct arena_traffic* to) {
    struct cudev_traffic t;
    memset(to, 0, sizeof *to);
    if (!cudev_get_traffic) return;
    cudev_get_traffic(&t);
    *to = (struct arena_traffic){
        .launches = (int64_t)t.launches,
        .global_load_bytes = (int64_t)t.global_load_bytes,
        .global_load_requests = (int64_t)t.global_load_requests,
        .global_load_sectors = (int64_t)t.global_load_sectors,
        .global_store_bytes = (int64_t)t.global_store_bytes,
        .global_store_requests = (int64_t)t.global_store_requests,
        .global_store_sectors = (int64_t)t.global_store_sectors,
        .shared_load_requests = (int64_t)t.shared_load_requests,
        .shared_load_wavefronts = (int64_t)t.shared_load_wavefronts,
        .shared_load_conflicts = (int64_t)t.shared_load_conflicts,
        .shared_store_requests = (int64_t)t.shared_store_requests,
        .shared_store_wavefronts = (int64_t)t.shared_store_wavefronts,
        .shared_store_conflicts = (int64_t)t.shared_store_conflicts,
        .atomics = (int64_t)t.atomics,
        .barriers = (int64_t)t.barriers,
        .mma = (int64_t)t.mma,
        .unique_read_bytes = (int64_t)t.unique_read_bytes,
        .unique_written_bytes = (int64_t)t.unique_written_bytes,
    };
}

void traffic_print(const char* format) {
    if (format && cudev_write_profile) cudev_write_profile(stdout, format);
}
