// traffic.c: see traffic.h. The references are weak: a plain program must not link the watchers,
// and on a GPU there are none.
#include "run/traffic.h"

#include "cpu/include/cudev.h"

#pragma weak cudev_get_traffic
#pragma weak cudev_loaded_again

struct arena_traffic run_traffic(unsigned char* const* array, uint32_t count) {
    struct cudev_traffic t = {0};
    if (cudev_get_traffic) cudev_get_traffic(&t);
    struct arena_traffic found = {
        .launches = (int64_t)t.launches,
        .global_load_bytes = (int64_t)t.global_load_bytes,
        .global_load_distinct_bytes = (int64_t)t.global_load_distinct_bytes,
        .global_load_requests = (int64_t)t.global_load_requests,
        .global_load_sectors = (int64_t)t.global_load_sectors,
        .global_store_bytes = (int64_t)t.global_store_bytes,
        .global_store_requests = (int64_t)t.global_store_requests,
        .global_store_sectors = (int64_t)t.global_store_sectors,
        .shared_load_bytes = (int64_t)t.shared_load_bytes,
        .shared_load_requests = (int64_t)t.shared_load_requests,
        .shared_load_wavefronts = (int64_t)t.shared_load_wavefronts,
        .shared_load_conflicts = (int64_t)t.shared_load_conflicts,
        .shared_store_requests = (int64_t)t.shared_store_requests,
        .shared_store_wavefronts = (int64_t)t.shared_store_wavefronts,
        .shared_store_conflicts = (int64_t)t.shared_store_conflicts,
        .global_load_excess_sectors =
            (int64_t)(t.global_load_sectors - t.global_load_ideal_sectors),
        .global_store_excess_sectors =
            (int64_t)(t.global_store_sectors - t.global_store_ideal_sectors),
        .atomics = (int64_t)t.atomics,
        .shared_atomics = (int64_t)t.shared_atomics,
        .global_atomic_bytes = (int64_t)t.global_atomic_bytes,
        .global_atomic_requests = (int64_t)t.global_atomic_requests,
        .global_atomic_sectors = (int64_t)t.global_atomic_sectors,
        .global_atomic_excess_sectors =
            (int64_t)(t.global_atomic_sectors - t.global_atomic_ideal_sectors),
        .shared_atomic_bytes = (int64_t)t.shared_atomic_bytes,
        .shared_atomic_requests = (int64_t)t.shared_atomic_requests,
        .shared_atomic_wavefronts = (int64_t)t.shared_atomic_wavefronts,
        .shared_atomic_conflicts = (int64_t)t.shared_atomic_conflicts,
        .input_atomics = (int64_t)t.read_only_atomics,
        .barriers = (int64_t)t.barriers,
        .shuffles = (int64_t)t.shuffles,
        .mma = (int64_t)t.mma,
        .wgmma_multiplications = (int64_t)t.wgmma_multiplications,
        .tma_load_bytes = (int64_t)t.tma_load_bytes,
        .tma_store_bytes = (int64_t)t.tma_store_bytes,
        .unique_read_bytes = (int64_t)t.unique_read_bytes,
        .unique_written_bytes = (int64_t)t.unique_written_bytes,
        .local_bytes_per_thread = (int64_t)t.local_bytes_per_thread,
        .local_bytes_per_block = (int64_t)t.local_bytes_per_block,
        .shared_bytes_per_block = (int64_t)t.shared_bytes_per_block,
        .block_read_bytes = (int64_t)t.block_read_bytes,
        .serial_read_bytes = (int64_t)t.serial_read_bytes,
        .static_bytes = (int64_t)t.static_bytes,
    };
    for (uint32_t i = 0; cudev_loaded_again && i < count; i++)
        if (array[i]) found.loaded_again[i] = (int64_t)cudev_loaded_again(array[i]);
    return found;
}
