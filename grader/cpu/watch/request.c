// The cost of one request of a warp: 32-byte sectors of global memory, or wavefronts of shared
// memory.
#include <string.h>
#include "cpu/watch/bounds.h"
#include "cpu/watch/counters.h"

// ---- global memory -----------------------------------------------------------------------------

struct sector {
    uint32_t number;
    uint32_t bytes;  // which of the 32
};

// The distinct sectors of a request. Every access lies within one of them.
static unsigned find_sectors(struct sector* sector, const uint32_t* offset, unsigned lanes,
                             unsigned bytes) {
    const uint32_t mask = bytes == 32 ? ~0u : (1u << bytes) - 1;
    unsigned count = 0;
    uint32_t highest = 0;
    for (unsigned i = 0; i < lanes; i++) {
        uint32_t number = offset[i] >> SECTOR_SHIFT, at = offset[i] & 31;
        unsigned s = count;
        if (count && number <= highest)
            while (s > 0 && sector[s - 1].number != number) s--;
        else
            s = 0;
        if (s == 0) {
            sector[count].number = number;
            sector[count++].bytes = mask << at;
            if (number > highest) highest = number;
        } else {
            sector[s - 1].bytes |= mask << at;
        }
    }
    return count;
}

// Sets the bits; returns which of them are new. Workers may do so at the same time.
static uint64_t touch(uint64_t* touched, uint64_t bits, uint64_t* before) {
    *before = __atomic_load_n(touched, __ATOMIC_RELAXED);
    if ((*before & bits) == bits) return 0;
    *before = __atomic_fetch_or(touched, bits, __ATOMIC_RELAXED);
    return bits & ~*before;
}

// Does who stores there end a part of its work? See note_loaded().
static bool is_result(uint64_t offset) {
    const struct profile* p = profile();
    for (unsigned i = 0; i < p->results; i++)
        if (offset >= p->result[i].begin && offset < p->result[i].end) return true;
    return !p->results;
}

static void note_touched(struct watch* watch, const struct sector* s, enum log_kind kind,
                         unsigned warp) {
    uint64_t bits = log_loads(kind) ? (uint64_t)s->bytes : (uint64_t)s->bytes << 32;
    uint64_t before, fresh = touch(&LAUNCH_TOUCHED[s->number], bits, &before);
    if (!fresh) return;
    if ((kind == LOG_STORE || kind == LOG_TMA_STORE) &&
        is_result((uint64_t)s->number << SECTOR_SHIFT))
        watch->parts.stored |= 1u << warp;
    struct kernel_counts* c = cudev_counters_kernel(watch);
    struct worker_profile* total = &profile()->worker[watch->worker->number];
    c->read_bytes += (unsigned)__builtin_popcount((uint32_t)fresh);
    c->written_bytes += (unsigned)__builtin_popcount((uint32_t)(fresh >> 32));
    c->read_sectors += (uint32_t)bits && !(uint32_t)before;
    c->written_sectors += bits >> 32 && !(before >> 32);
    fresh = touch(&TOTAL_TOUCHED[s->number], bits, &before);
    total->read_bytes += (unsigned)__builtin_popcount((uint32_t)fresh);
    total->written_bytes += (unsigned)__builtin_popcount((uint32_t)(fresh >> 32));
    if ((uint64_t)s->number << SECTOR_SHIFT < IMAGE_OFFSET) return;
    uint32_t known = (uint32_t)before | (uint32_t)(before >> 32);
    total->static_bytes += (unsigned)__builtin_popcount((uint32_t)(fresh | fresh >> 32) & ~known);
}

// Which bytes of the sector are loaded again? Those that any warp has loaded before the last
// barrier of the block, unless another warp has been first since. And those that this warp has
// loaded itself, and no other warp since. From now on it has loaded all that it loads now.
static uint32_t loaded_before(struct block_read* r, const struct sector* s, unsigned warp,
                              uint16_t barriers) {
    const uint64_t all = warp * 0x0842108421u;
    uint32_t again = 0;
    if (r->barrier != barriers) {
        r->barrier = barriers;
        for (unsigned i = 0; i < 8; i++)
            if (r->bytes >> 4 * i & 15) r->old |= 1u << i;
    }
    if (!r->bytes || (r->warps == all && !r->old)) {
        again = r->bytes & s->bytes;
        r->bytes |= s->bytes;
        r->warps = all;
        return again;
    }
    for (unsigned i = 0; i < 8; i++) {
        const uint32_t word = (uint32_t)15 << 4 * i;
        const uint64_t mine = (uint64_t)31 << 5 * i;
        if (!(s->bytes & word)) continue;
        if (!(r->old >> i & 1) && (r->warps ^ all) & mine) r->bytes &= ~word;
        again |= r->bytes & s->bytes & word;
        r->bytes |= s->bytes & word;
        r->warps = (r->warps & ~mine) | (all & mine);
        r->old &= ~(1u << i);
    }
    return again;
}

// The first load of the sector by this block?
static void note_block(struct watch* watch, struct counts* c, const struct block_read* r) {
    struct worker_profile* own = &profile()->worker[watch->worker->number];
    if (r->part >= watch->parts.first) return;
    c->block_sectors++;
    if (++own->block_sectors > own->most_block_sectors)
        own->most_block_sectors = own->block_sectors;
}

// When a warp stores results where nothing was stored before, a part of its work has ended, and it
// may load all anew for the next one: so a few blocks may do the work of many. A barrier takes all
// warps to the same part. Sums that grow in global memory end nothing.
static void note_loaded(struct watch* watch, struct counts* c, unsigned warp,
                        const struct sector* s) {
    struct block_read* r = &BLOCK_READ[watch->worker->number][s->number];
    struct parts* p = &watch->parts;
    note_block(watch, c, r);
    if (p->stored >> warp & 1) {
        p->stored &= ~(1u << warp);
        if (++p->now[warp] > p->last) p->last = p->now[warp];
    }
    if (r->part != p->now[warp]) *r = (struct block_read){.part = p->now[warp]};
    unsigned again = (unsigned)__builtin_popcount(loaded_before(r, s, warp, p->barriers));
    if (!again) return;
    c->again += again;
    __atomic_fetch_add(&LOADED_AGAIN[s->number >> (PAGE_SHIFT - SECTOR_SHIFT)], again,
                       __ATOMIC_RELAXED);
}

// An atomic serves the threads that want the same address one after the other, in rounds. Each
// round moves its own sectors. Returns how many sectors the later rounds need. (Measured on an
// H200: test/hardware.)
static unsigned repeated_sectors(const struct request* q) {
    unsigned more = 0, round[WARP_SIZE];
    for (unsigned i = 0; i < q->lanes; i++) {
        round[i] = 0;
        for (unsigned j = 0; j < i; j++) round[i] += q->offset[j] == q->offset[i];
        bool first = round[i] > 0;  // of this sector in this round
        for (unsigned j = 0; j < i; j++)
            if (q->offset[j] >> SECTOR_SHIFT == q->offset[i] >> SECTOR_SHIFT &&
                round[j] == round[i])
                first = false;
        more += first;
    }
    return more;
}

static void count_global(struct watch* watch, struct counts* c, const struct request* q) {
    const enum log_kind kind = log_kind(q->instruction);
    struct sector sector[WARP_SIZE];
    unsigned sectors = find_sectors(sector, q->offset, q->lanes, log_bytes(q->instruction));
    unsigned useful = 0;
    if (kind == LOG_ATOMIC) {
        c->sectors += repeated_sectors(q);
        for (unsigned i = 0; i < q->lanes; i++)
            profile()->worker[watch->worker->number].read_only_atomics +=
                cudev_is_read_only(q->offset[i]);
    }
    for (unsigned i = 0; i < sectors; i++) {
        useful += (unsigned)__builtin_popcount(sector[i].bytes);
        note_touched(watch, &sector[i], kind, q->warp);
        if (log_loads(kind)) note_loaded(watch, c, q->warp, &sector[i]);
    }
    c->sectors += sectors;
    c->ideal_sectors += (useful + 31) / 32;
    if (kind == LOG_LOAD) c->distinct += useful;
}

// ---- shared memory -----------------------------------------------------------------------------

enum { BANKS = 32 };

// Distinct words that the busiest bank has to deliver to the lanes [from, to).
static __attribute__((noinline)) unsigned busiest_bank(const uint32_t* offset, unsigned from,
                                                       unsigned to, unsigned bytes) {
    uint32_t word[BANKS][WARP_SIZE];
    unsigned words[BANKS] = {0}, most = 0;
    for (unsigned i = from; i < to; i++)
        for (uint32_t w = offset[i] >> 2; w <= (offset[i] + bytes - 1) >> 2; w++) {
            unsigned bank = w % BANKS, n = 0;
            while (n < words[bank] && word[bank][n] != w) n++;
            if (n < words[bank]) continue;
            word[bank][n] = w;
            if (++words[bank] > most) most = words[bank];
        }
    return most;
}

// The same, quickly when no bank has more than one word.
static unsigned wavefronts(const uint32_t* offset, unsigned from, unsigned to, unsigned bytes) {
    uint32_t word[BANKS], busy = 0;
    for (unsigned i = from; i < to; i++) {
        if (i > from && offset[i] == offset[i - 1]) continue;
        for (uint32_t w = offset[i] >> 2; w <= (offset[i] + bytes - 1) >> 2; w++) {
            unsigned bank = w % BANKS;
            if (busy >> bank & 1 && word[bank] != w) return busiest_bank(offset, from, to, bytes);
            word[bank] = w;
            busy |= 1u << bank;
        }
    }
    return 1;
}

// Do lanes n and n ^ distance always ask for the same address?
static bool pair_up(const uint32_t* offset, const uint8_t* lane, unsigned lanes,
                    unsigned distance) {
    uint32_t of_lane[WARP_SIZE];
    uint32_t there = 0;
    for (unsigned i = 0; i < lanes; i++) {
        of_lane[lane[i]] = offset[i];
        there |= 1u << lane[i];
    }
    for (unsigned i = 0; i < lanes; i++)
        if (there >> (lane[i] ^ distance) & 1 && of_lane[lane[i] ^ distance] != offset[i])
            return false;
    return true;
}

// Bytes that lanes ask for, each counted once: accesses of a request coincide or lie apart.
static unsigned distinct_bytes(const struct request* q, unsigned bytes) {
    unsigned count = 0;
    uint32_t highest = 0;
    for (unsigned i = 0; i < q->lanes; i++) {
        bool known = false;
        if (i > 0 && q->offset[i] <= highest)
            for (unsigned j = i; j > 0 && !known; j--) known = q->offset[j - 1] == q->offset[i];
        count += !known;
        if (q->offset[i] > highest) highest = q->offset[i];
    }
    return count * bytes;
}

// A request is served in phases: 4 bytes a lane: the whole warp; 8: half warps; 16: quarters; twice
// as many lanes when neighbours (n, n ^ 1) or (n, n ^ 2) ask for the same.
static void count_shared(struct counts* c, const struct request* q) {
    const unsigned bytes = log_bytes(q->instruction), lanes = q->lanes;
    unsigned span = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;  // lanes of a phase
    if (span < 32 && log_kind(q->instruction) != LOG_MATRIX_LOAD &&
        (pair_up(q->offset, q->lane, lanes, 1) || pair_up(q->offset, q->lane, lanes, 2)))
        span *= 2;
    for (unsigned i = 0, end; i < lanes; i = end) {
        for (end = i; end < lanes && q->lane[end] / span == q->lane[i] / span;) end++;
        c->wavefronts += wavefronts(q->offset, i, end, bytes);
        c->ideal_wavefronts++;
    }
    if (log_kind(q->instruction) == LOG_LOAD) c->distinct += distinct_bytes(q, bytes);
}

void cudev_request(struct watch* watch, const struct request* q) {
    if (log_kind(q->instruction) == LOG_ROUND) return;
    // all lanes use the row of the first lane: a warp hardly ever accesses two arrays at once
    log_entry first = (q->instruction & ~(uint64_t)UINT32_MAX) | q->offset[0];
    struct counts* c = cudev_counters_row(watch, first);
    c->requests++;
    c->lanes += q->lanes;
    c->bytes += (uint64_t)q->lanes * log_bytes(first);
    if (q->offset[0] >= WINDOW_OFFSET)
        count_shared(c, q);
    else
        count_global(watch, c, q);
}

// A second load of a block by TMA is no waste: one thread loads for all warps, tile after tile.
void cudev_request_sector(struct watch* watch, log_entry instruction, uint32_t sector,
                          uint32_t bytes, unsigned warp) {
    const struct sector s = {sector, bytes};
    struct counts* c = cudev_counters_row(watch, instruction);
    c->bytes += (unsigned)__builtin_popcount(bytes);
    c->sectors++;
    c->ideal_sectors++;
    note_touched(watch, &s, log_kind(instruction), warp);
    if (!log_loads(log_kind(instruction))) return;
    struct block_read* r = &BLOCK_READ[watch->worker->number][sector];
    note_block(watch, c, r);
    if (r->part < watch->parts.first) *r = (struct block_read){.part = watch->parts.now[warp]};
}
