// Mistakes in the order between threads, TMA and wgmma: see async_order.h.
//
// A load by TMA writes shared memory at any time from its issue until somebody has waited at its
// mbarrier; a store, and a product of wgmma, reads it at any time from the issue until the wait.
// So each is looked at twice: at the issue, what came before it, and at the end, what came in
// between. Later accesses meet the slots that the end leaves.
#include "cpu/watch/async_order.h"
#include <string.h>
#include "cpu/device/watcher.h"
#include "cpu/watch/access.h"
#include "cpu/watch/async_finding.h"
#include "cpu/watch/beyond.h"
#include "cpu/watch/bounds.h"
#include "cpu/watch/counters.h"
#include "cpu/watch/finding.h"
#include "cpu/watch/races.h"
#include "cpu/watch/sites.h"

enum { PIECE = 16 };

static uint64_t offset_of(const char* p) {
    return (uint64_t)(p - ARENA_BASE);
}

// ---- findings ----------------------------------------------------------------------------------

static const char REFILL[] =
    "before the next load into the same place all its readers arrive at a barrier, and the\n"
    "        producer waits for it. Who multiplies from it arrives after wgmma_wait()";
static const char FENCE[] =
    "each thread that has written calls fence_proxy_async(), then comes a barrier, and then one\n"
    "        thread starts TMA, or the warpgroup multiplies";
static const char FENCE_GLOBAL[] =
    "who has waited for the writes, or each thread that has written, calls\n"
    "        fence_proxy_async_global() before TMA reads them or adds to them";
static const char BARRIER[] =
    "between threads that write and TMA or wgmma that reads lie fence_proxy_async() and a barrier";
// ---- what comes before -------------------------------------------------------------------------

// Somebody beyond reads or writes memory on behalf of threads.
struct act {
    struct side by;
    unsigned first, count;  // the threads
    const void* pc;
    uint64_t seen[4];  // of the last word: most words have been written together
    bool strayed;
};

static bool is_known(struct watch* watch, uint64_t offset, uint64_t earlier, unsigned t) {
    return earlier < cudev_order_known(watch, t, slot_thread(earlier)) ||
           cudev_order_covers(watch, offset, earlier, t, true);
}

// The access in slot number i of the word came before, as all threads of the act know; and where
// it is a write of a thread, with a fence between.
static void check_earlier(struct watch* watch, const char* p, unsigned i, struct act* act,
                          bool writes) {
    const uint64_t offset = offset_of(p), slot = RACE_SHADOW[offset >> 2][i];
    if (slot < watch->block_floor || !slot_mask(slot)) return;
    if (slot >> SLOT_THREAD_SHIFT == act->seen[i]) return;
    act->seen[i] = slot >> SLOT_THREAD_SHIFT;
    const unsigned other = slot_thread(slot);
    const bool by_thread = other < beyond_of(watch);
    if (writes && i < 2 && other == thread_of_tma(watch)) return;  // its readers are in between
    for (unsigned t = act->first; t < act->first + act->count; t++) {
        if (!is_known(watch, offset, slot, t)) {
            cudev_async_found(watch, p, act->by, cudev_side_of(watch, slot, i < 2),
                              writes      ? "it is not known to be done"
                              : by_thread ? "no barrier between"
                                          : "nobody has waited in between",
                              writes      ? REFILL
                              : by_thread ? BARRIER
                                          : cudev_wait_first);
            return;
        }
        if (i < 2 && by_thread && slot < cudev_order_known(watch, t, other) &&
            slot >= cudev_order_fenced(watch, t, other)) {
            cudev_async_found(watch, p, act->by, cudev_side_of(watch, slot, true),
                              "no fence_proxy_async() between", FENCE);
            return;
        }
    }
}

static bool in_bounds(struct watch* watch, const char* p, struct act* act,
                      enum cudev_access access) {
    const uint64_t offset = offset_of(p);
    if (offset + PIECE <= OWNER_SHADOW[offset >> PAGE_SHIFT]) return true;
    if (!act->strayed) cudev_bounds_stray(watch, offset, PIECE, access, act->pc);
    act->strayed = true;
    return false;
}

// 16 bytes that are read.
static void check_read(struct watch* watch, const char* p, struct act* act, bool first) {
    static const uint32_t all_set = 0x0f0f0f0f;
    if (first && !in_bounds(watch, p, act, CUDEV_READ)) return;
    if (first && memcmp(&INIT_SHADOW[offset_of(p) >> 2], &all_set, sizeof all_set) != 0) {
        const struct bulk_copy* load = cudev_bulk_load_at(watch->worker, p);
        if (load)
            cudev_async_found(
                watch, p, act->by,
                (struct side){site_at(load->pc), thread_of_tma(watch), "loads by TMA"},
                "nobody has waited in between", cudev_wait_first);
        else
            cudev_bounds_uninitialised(watch, offset_of(p), PIECE, CUDEV_READ, act->pc);
        return;
    }
    for (unsigned x = 0; x < PIECE; x += 4)
        for (unsigned i = 0; i < 2; i++) check_earlier(watch, p + x, i, act, false);
}

// ---- what comes in between ---------------------------------------------------------------------

// Has somebody written to the 16 bytes since that time?
static void check_overwritten(struct watch* watch, const char* p, uint64_t since, struct side by,
                              const char* why) {
    for (unsigned x = 0; x < PIECE; x += 4) {
        const uint64_t slot = RACE_SHADOW[offset_of(p + x) >> 2][0];
        if (slot < since || !slot_mask(slot)) continue;
        cudev_async_found(watch, p + x, by, cudev_side_of(watch, slot, true), why, cudev_hand_back);
        return;
    }
}

static uint64_t tick(struct watch* watch) {
    const uint64_t now = watch->now;
    watch->now += ONE_TICK;
    return now;
}

// ---- mbarriers ---------------------------------------------------------------------------------

void cudev_async_mbarrier_made(struct worker* w, void* bar, const void* pc) {
    struct watch* watch = w->watch;
    if (!watch->check) return;
    cudev_access_for(w, w->current, bar, sizeof(uint64_t), CUDEV_WRITE, pc);
    cudev_bounds_unwritten(offset_of(bar), sizeof(uint64_t));
}

void cudev_async_mbarrier_used(struct worker* w, const struct mbarrier* b, const void* pc,
                               bool by_tma) {
    struct watch* watch = w->watch;
    if (!watch->check) return;
    const unsigned t = w->current;
    const uint64_t offset = offset_of(b->at), slot = RACE_SHADOW[offset >> 2][0];
    const struct side user = {site_at(pc), t, "uses it"};
    const struct side maker = {site_at(b->pc), b->thread, "makes the mbarrier"};
    if (slot >= watch->block_floor && slot_thread(slot) == b->thread &&
        !is_known(watch, offset, slot, t))
        cudev_async_found(watch, b->at, user, maker, "no barrier between",
                          "after fence_mbarrier_init() a __syncthreads(), in a cluster a "
                          "cluster_sync(), lets the\n"
                          "        other threads see the barriers");
    else if (by_tma && !b->fenced)
        cudev_async_found(
            watch, b->at, user, maker, "no fence_mbarrier_init() between",
            "the thread that makes the barriers calls it once after all of them: TMA does not "
            "see\n        them otherwise");
}

// ---- TMA ---------------------------------------------------------------------------------------

static bool is_load(const struct bulk_copy* c) {
    return c->barrier != NULL;
}

static struct act running_act;  // of the callbacks below; one worker runs while checks are on

// Checks that a fence follows what threads of this launch have written to global memory, and TMA
// reads or adds to.
static void check_fenced(struct watch* watch, const struct bulk_copy* c, const char* p,
                         unsigned bytes) {
    for (unsigned x = 0; x < bytes && offset_of(p + x) < WINDOW_OFFSET; x += 4)
        for (unsigned i = 0; i < 2; i++) {
            const uint64_t slot = RACE_SHADOW[offset_of(p + x) >> 2][i];
            if (slot < watch->launch_floor || !slot_mask(slot) || slot & SLOT_ATOMIC ||
                sites()->by_tma[slot_site(slot)] || cudev_order_fenced_global(watch, slot))
                continue;
            cudev_async_found(watch, p + x, cudev_side_of_copy(watch, c),
                              cudev_side_of(watch, slot, true),
                              "no fence_proxy_async_global() between", FENCE_GLOBAL);
            return;
        }
}

// Global memory, for the thread that asked.
static void check_global(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                         unsigned skip, unsigned bytes) {
    (void)shared;
    const enum cudev_access access = is_load(c)     ? CUDEV_READ
                                     : c->want.adds ? CUDEV_ATOMIC
                                                    : CUDEV_WRITE;
    if (access == CUDEV_ATOMIC) sites()->adds[site_at(c->pc)] = true;
    sites()->by_tma[site_at(c->pc)] = true;
    if (access != CUDEV_WRITE) check_fenced(w->watch, c, global + skip, bytes);
    w->watch->by_tma = true;
    for (const char* p = global + skip; bytes;) {
        unsigned piece = (uintptr_t)p % 4 == 0 && bytes >= 4 ? bytes / 4 * 4 : 2;
        if (access == CUDEV_ATOMIC) piece = 4;
        cudev_access_for(w, c->thread, p, piece, access, c->pc);
        p += piece;
        bytes -= piece;
    }
    w->watch->by_tma = false;
}

static void source_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                         unsigned skip, unsigned bytes) {
    (void)c, (void)global, (void)skip, (void)bytes;
    check_read(w->watch, shared, &running_act, true);
}

static void target_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                         unsigned skip, unsigned bytes) {
    (void)c, (void)global, (void)skip, (void)bytes;
    if (!in_bounds(w->watch, shared, &running_act, CUDEV_WRITE)) return;
    for (unsigned x = 0; x < PIECE; x += 4)
        for (unsigned i = 0; i < 4; i++) check_earlier(w->watch, shared + x, i, &running_act, true);
    cudev_bounds_unwritten(offset_of(shared), PIECE);
}

static const struct bulk_copy* running_load;
static void product_piece(struct worker* w, const struct product* p, const char* piece) {
    const struct bulk_copy* c = running_load;
    if ((size_t)(piece - (char*)c->want.shared) >= c->bytes) return;
    const struct side product = {site_at(p->is.pc), thread_of_warpgroup(w->watch, 0), "multiplies"};
    cudev_async_found(w->watch, piece, cudev_side_of_copy(w->watch, c), product,
                      "its wgmma still runs", REFILL);
}

static void check_product(struct worker* w, const struct product* p, void* arg) {
    (void)arg;
    cudev_operand_pieces(w, p, true, product_piece);
    cudev_operand_pieces(w, p, false, product_piece);
}

// Nothing that is still on its way may touch the place of a load.
static void check_running(struct worker* w, const struct bulk_copy* c) {
    const struct bulk_copies* all = &w->hopper->bulk;
    const char* begin = c->want.shared;
    running_load = c;
    cudev_products_running(w, check_product, NULL);
    for (unsigned i = 0; i < all->loads + all->stores; i++) {
        const struct bulk_copy* o = i < all->loads ? &all->load[i] : &all->store[i - all->loads];
        const char* other = o->want.shared;
        if (o->read || other >= begin + c->bytes || begin >= other + o->bytes) continue;
        cudev_async_found(w->watch, begin > other ? begin : other, cudev_side_of_copy(w->watch, c),
                          cudev_side_of_copy(w->watch, o),
                          is_load(o) ? "both are on their way" : "it is not awaited",
                          is_load(o) ? REFILL : cudev_hand_back);
    }
}

uint64_t cudev_async_issued(struct worker* w, const struct bulk_copy* c) {
    struct watch* watch = w->watch;
    if (watch->profile) cudev_profile_bulk(watch, c);
    if (!watch->check) return 0;
    running_act = (struct act){
        .by = cudev_side_of_copy(watch, c), .first = c->thread, .count = 1, .pc = c->pc};
    if (is_load(c)) {
        check_running(w, c);
        cudev_bulk_pieces(w, c, target_piece);
        cudev_bulk_pieces(w, c, check_global);
    } else {
        cudev_bulk_pieces(w, c, source_piece);
    }
    tick(watch);
    return watch->now;
}

static void keep_box(struct async_order* a, const struct filled_box* box) {
    for (unsigned i = 0; i < KEPT_BOXES && i < a->boxes; i++)
        if (a->box[i].begin < box->end && box->begin < a->box[i].end)
            a->box[i].end = a->box[i].begin;
    a->box[a->boxes++ % KEPT_BOXES] = *box;
}

static uint64_t landing;  // the slot that says so
static void landing_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                          unsigned skip, unsigned bytes) {
    struct watch* watch = w->watch;
    (void)global, (void)skip, (void)bytes;
    if (!in_bounds(watch, shared, &running_act, CUDEV_WRITE)) return;
    check_overwritten(watch, shared, c->time, cudev_side_of_copy(watch, c),
                      "while the load is on its way");
    for (unsigned x = 0; x < PIECE; x += 4) {
        uint64_t* slot = RACE_SHADOW[offset_of(shared + x) >> 2];
        slot[0] = landing | (uint64_t)15 << SLOT_MASK_SHIFT;
        slot[1] = slot[2] = slot[3] = 0;
    }
    cudev_bounds_written(offset_of(shared), PIECE);
}

void cudev_async_lands(struct worker* w, const struct bulk_copy* c) {
    struct watch* watch = w->watch;
    if (!watch->check) return;
    const unsigned tma = thread_of_tma(watch), site = site_at(c->pc);
    cudev_bulk_pieces(w, c, check_global);
    landing = tick(watch) | (uint64_t)tma << SLOT_THREAD_SHIFT | site;
    running_act.strayed = true;  // said at the issue
    cudev_bulk_pieces(w, c, landing_piece);
    cudev_order_tell(watch, &c->barrier->clock, tma, watch->now);
    if (c->map.rank)
        keep_box(&watch->async,
                 &(struct filled_box){c->want.shared, (char*)c->want.shared + c->bytes,
                                      c->map.swizzle, site});
}

static void reading_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                          unsigned skip, unsigned bytes) {
    (void)global, (void)skip, (void)bytes;
    check_overwritten(w->watch, shared, c->time, cudev_side_of_copy(w->watch, c),
                      "while the store still reads it");
    const uint64_t me = w->watch->now | (uint64_t)thread_of_stores(w->watch) << SLOT_THREAD_SHIFT |
                        site_at(c->pc) | (uint64_t)15 << SLOT_MASK_SHIFT;
    for (unsigned x = 0; x < PIECE; x += 4) {
        uint64_t* slot = RACE_SHADOW[offset_of(shared + x) >> 2];
        if (slot[0] >= c->time) continue;
        if (slot[2] < w->watch->block_floor)
            slot_begin_readers(slot, w->watch->block_floor, me);
        else
            slot[3] = me;
    }
}

void cudev_async_reads(struct worker* w, const struct bulk_copy* c) {
    if (!w->watch->check) return;
    cudev_bulk_pieces(w, c, reading_piece);
    tick(w->watch);
    cudev_order_learn(w->watch, c->thread, thread_of_stores(w->watch), w->watch->now);
}

void cudev_async_writes(struct worker* w, const struct bulk_copy* c) {
    if (w->watch->check) cudev_bulk_pieces(w, c, check_global);
}

void cudev_async_left(struct worker* w, const struct bulk_copy* c) {
    if (!w->watch->check) return;
    struct side by = cudev_side_of_copy(w->watch, c);
    cudev_async_found(
        w->watch, c->want.shared, by, (struct side){0, 0, NULL},
        is_load(c) ? "the block ends before it lands" : "the block ends before it has read",
        is_load(c) ? "somebody has to wait for each load, for the memory is another block's then"
                   : "bulk_commit(), and bulk_wait<0>() before the thread that stored returns");
}

// ---- wgmma -------------------------------------------------------------------------------------

static struct side side_of_product(struct worker* w, const struct product* p) {
    return (struct side){site_at(p->is.pc), thread_of_warpgroup(w->watch, p->warpgroup),
                         "multiplies"};
}

static bool first_issue;
static void operand_piece(struct worker* w, const struct product* p, const char* piece) {
    (void)p;
    check_read(w->watch, piece, &running_act, first_issue);
}

// Did TMA fill the tile with the swizzle by which the product reads it?
static void check_swizzle(struct worker* w, const struct product* p, struct side by, bool is_a) {
    struct async_order* a = &w->watch->async;
    if (is_a && p->is.a) return;
    const char* at = cudev_operand_at(w, is_a ? p->is.a_low : p->is.b_low,
                                      is_a ? p->is.a_major : p->is.b_major, p->is.swizzle, 0, 0);
    const uint64_t slot = RACE_SHADOW[offset_of(at) >> 2][0];
    if (slot < w->watch->block_floor || slot_thread(slot) != thread_of_tma(w->watch)) return;
    for (unsigned i = 0; i < KEPT_BOXES && i < a->boxes; i++) {
        const struct filled_box* box = &a->box[i];
        if (at < box->begin || at >= box->end || box->swizzle == (unsigned)p->is.swizzle) continue;
        cudev_async_found(
            w->watch, at, by, (struct side){box->site, thread_of_tma(w->watch), "loads by TMA"},
            cudev_other_swizzle,
            "the swizzle of tensor_map_encode() and that of the wgmma function are the same");
    }
}

void cudev_async_product_issued(struct worker* w, struct product* p, unsigned warp, bool first,
                                bool unfenced) {
    struct watch* watch = w->watch;
    if (watch->profile && first)
        cudev_profile_count_wgmma(watch, p->is.pc, p->is.n, p->is.format == CUDEV_BF16 ? 16 : 32);
    if (!watch->check) return;
    const struct side by = side_of_product(w, p);
    if (unfenced)
        cudev_async_found(
            watch, NULL, by, (struct side){0, 0, NULL}, "no wgmma_fence() before it",
            "wgmma_fence() comes before each batch of products whose D, or A in registers, the\n"
            "        threads have touched");
    running_act =
        (struct act){.by = by, .first = warp * WARP_SIZE, .count = WARP_SIZE, .pc = p->is.pc};
    first_issue = first;
    for (int is_a = 0; is_a < 2; is_a++) {
        if (first) check_swizzle(w, p, by, is_a != 0);
        cudev_operand_pieces(w, p, is_a != 0, operand_piece);
    }
    if (!first) return;
    tick(watch);
    p->time = watch->now;
}

static struct side running_product;
static void computed_piece(struct worker* w, const struct product* p, const char* piece) {
    struct watch* watch = w->watch;
    const uint64_t me = watch->now | (uint64_t)running_product.thread << SLOT_THREAD_SHIFT |
                        running_product.site | (uint64_t)15 << SLOT_MASK_SHIFT;
    check_overwritten(watch, piece, p->time, running_product, "while its wgmma still runs");
    for (unsigned x = 0; x < PIECE; x += 4) {
        uint64_t* slot = RACE_SHADOW[offset_of(piece + x) >> 2];
        bool own = slot[2] < watch->block_floor || slot_thread(slot[2]) == running_product.thread;
        if (slot[0] >= p->time) continue;
        if (own)
            slot_begin_readers(slot, FIRST_TIME, me);
        else
            slot[3] = me;
    }
}

void cudev_async_product_computed(struct worker* w, struct product* p) {
    struct watch* watch = w->watch;
    if (!watch->check) return;
    running_product = side_of_product(w, p);
    cudev_operand_pieces(w, p, true, computed_piece);
    cudev_operand_pieces(w, p, false, computed_piece);
    tick(watch);
    p->time = watch->now;
}

void cudev_async_products_waited(struct worker* w, unsigned warp, const struct product* last) {
    if (!w->watch->check) return;
    const unsigned other = thread_of_warpgroup(w->watch, last->warpgroup);
    for (unsigned l = 0; l < WARP_SIZE; l++)
        cudev_order_learn(w->watch, warp * WARP_SIZE + l, other, last->time);
}

void cudev_async_touched(struct worker* w, const struct product* p, bool is_D) {
    if (!w->watch->check) return;
    struct side by = side_of_product(w, p);
    cudev_async_found(
        w->watch, NULL, by, (struct side){0, 0, NULL},
        is_D ? "a thread writes to its D before the wait"
             : "a thread writes to its A, in registers, before the wait",
        "registers of a product belong to it until wgmma_wait(): use others, or wait first");
}
