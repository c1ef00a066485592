// wgmma: products of a warpgroup, four warps, that run while its threads go on.
//
// A product is computed as late as it may be: when a warp waits for it. Until then D is NaN, and
// shared memory and registers of A are read no earlier. All four warps must have issued it; the
// first one that waits computes for all, and each takes its D when it waits itself.
#include <stdio.h>
#include <string.h>
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/scheduler.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/warp.h"
#include "cpu/device/watcher.h"

enum {
    MOST_PRODUCTS = 128,  // of a warpgroup that a warp has not waited for
    ACCUMULATORS = 8,     // D that a warp uses at a time
    MOST_COLUMNS = 256,
    WORDS = 16,  // of 16 bits that a row of an operand has: 16 of k, or 32 of eight bits
    MOST_K = 32,
    ROWS = 16,  // of a warp
};

// A D of a warp, from the first product that runs on it until the warp has waited for the last.
struct accumulator {
    bool runs;
    float* d[WARP_SIZE];
    unsigned n;
    uint32_t last;  // number of the last product on it, + 1
    float value[ROWS * MOST_COLUMNS];
};

struct warp_state {
    uint32_t issued, groups;  // products; groups committed
    uint32_t waited;          // products
    bool fenced;              // wgmma_fence() since the last commit
    uint32_t wanted;          // products that it waits for; 0: it does not
    struct accumulator accumulator[ACCUMULATORS];
};

struct warpgroup {
    bool touched;                           // by the block that runs
    unsigned first;                         // warp
    uint32_t computed, issued;              // products: by all; by at least one warp
    struct product product[MOST_PRODUCTS];  // number i at i % MOST_PRODUCTS
    struct warp_state warp[WARPGROUP];
};

void cudev_warpgroups_create(struct worker* w) {
    w->hopper->warpgroup = cudev_worker_memory(MAX_WARPGROUPS * sizeof *w->hopper->warpgroup);
}

void cudev_warpgroups_begin(struct worker* w) {
    for (unsigned g = 0; g < MAX_WARPGROUPS; g++) {
        struct warpgroup* group = &w->hopper->warpgroup[g];
        if (!group->touched) continue;  // by the last block
        group->touched = false;
        group->computed = group->issued = 0;
        for (unsigned i = 0; i < WARPGROUP; i++) {
            struct warp_state* s = &group->warp[i];
            s->issued = s->groups = s->waited = s->wanted = 0;
            s->fenced = false;
            for (unsigned k = 0; k < ACCUMULATORS; k++) {
                s->accumulator[k].runs = false;
                s->accumulator[k].n = 0;
            }
        }
    }
}

static struct product* number(struct warpgroup* g, uint32_t i) {
    return &g->product[i % MOST_PRODUCTS];
}

static struct warpgroup* own_group(struct worker* w, unsigned warp) {
    const struct warp_place place = cudev_warp_place(w, warp);
    struct warpgroup* g = &w->hopper->warpgroup[place.warpgroup];
    g->first = place.first;
    g->touched = true;
    return g;
}

// ---- operands in shared memory -----------------------------------------------------------------

// The low half of a descriptor: the address in the window of shared memory in 16 bytes, which on a
// GPU has 14 bits and here 16; from bit 16 on the distance of panels, likewise.
unsigned cudev_wgmma_descriptor(const void* tile, unsigned panel_bytes, const char* file,
                                int line) {
    const struct place at = {"wgmma_descriptor()", file, line};
    struct worker* w = cudev_in_hopper(at.what, file, line);
    cudev_check_shared(w, &at, tile, 16, 16);
    if (panel_bytes % 16 || panel_bytes >= 1u << 18)
        cudev_hopper_mistake(w, "bad_address", &at,
                             "gets a distance of panels that is no multiple of 16 below 2^18",
                             "panel_bytes: rows of a panel times 128 bytes");
    return (unsigned)((const char*)tile - w->shared->window) >> 4 | panel_bytes >> 4 << 16;
}

const char* cudev_operand_at(const struct worker* w, unsigned low, int major, int swizzle,
                             unsigned outer, unsigned k) {
    const uint64_t begin = (uint64_t)(low & 0xffff) << 4, panel = (uint64_t)(low >> 16) << 4;
    const uint64_t row = (uint64_t)swizzle, eight_rows = 8 * row;
    const unsigned in_row = (unsigned)swizzle / 2;  // numbers
    uint64_t at;
    if (major == 0)
        at = outer / 8 * eight_rows + outer % 8 * row + 2 * k;
    else
        at = outer / in_row * panel + k / 8 * eight_rows + k % 8 * row + 2 * (outer % in_row);
    return w->shared->window +
           (cudev_swizzled(begin + at, (unsigned)swizzle) & (SHARED_WINDOW - 1));
}

void cudev_operand_pieces(struct worker* w, const struct product* p, bool is_a,
                          void (*f)(struct worker* w, const struct product* p, const char* piece)) {
    const int major = is_a ? p->is.a_major : p->is.b_major;
    const unsigned low = is_a ? p->is.a_low : p->is.b_low;
    const unsigned outer = is_a ? ROWS * WARPGROUP : (unsigned)p->is.n;
    if (is_a && p->is.a) return;
    for (unsigned i = 0; i < outer; i += major ? 8 : 1)
        for (unsigned k = 0; k < WORDS; k += major ? 1 : 8)
            f(w, p, cudev_operand_at(w, low, major, p->is.swizzle, i, k));
}

static double from_bf16(uint16_t bits) {
    uint32_t word = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &word, sizeof x);
    return (double)x;
}

static unsigned k_of(const struct product* p) {
    return p->is.format == CUDEV_BF16 ? 16 : 32;
}

// The operand as numbers: to[outer * stride_outer + k * stride_k].
static void unpack(const struct worker* w, const struct product* p, unsigned low, int major,
                   unsigned outer, double* to, unsigned stride_outer, unsigned stride_k) {
    uint16_t bits[8];
    unsigned char bytes[sizeof bits];
    for (unsigned i = 0; i < outer; i += major ? 8 : 1)
        for (unsigned k = 0; k < WORDS; k += major ? 1 : 8) {
            const char* piece = cudev_operand_at(w, low, major, p->is.swizzle, i, k);
            memcpy(bits, piece, sizeof bits);
            memcpy(bytes, piece, sizeof bytes);
            for (unsigned e = 0; e < sizeof bytes && p->is.format != CUDEV_BF16; e++)
                to[i * stride_outer + (2 * k + e) * stride_k] =
                    cudev_from_eight(bytes[e], p->is.format);
            for (unsigned e = 0; e < 8 && p->is.format == CUDEV_BF16; e++)
                to[(i + (major ? e : 0)) * stride_outer + (k + (major ? 0 : e)) * stride_k] =
                    from_bf16(bits[e]);
        }
}

// A of a warp in registers: the shares of its lanes are those of mma.m16n8k16; of eight bits, those
// of mma.m16n8k32.
static void unpack_registers(const struct product* p, const unsigned* const* a, double* to) {
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        for (unsigned e = 0; e < 8 && p->is.format == CUDEV_BF16; e++) {
            unsigned row = l / 4 + 8 * (e >> 1 & 1), k = 2 * (l % 4) + (e & 1) + 8 * (e >> 2);
            to[row * 16 + k] = from_bf16((uint16_t)(a[l][e / 2] >> 16 * (e & 1)));
        }
        for (unsigned e = 0; e < 16 && p->is.format != CUDEV_BF16; e++) {
            unsigned row = l / 4 + 8 * (e >> 2 & 1), k = 4 * (l % 4) + (e & 3) + 16 * (e >> 3);
            unsigned char byte = (unsigned char)(a[l][e / 4] >> 8 * (e & 3));
            to[row * 32 + k] = cudev_from_eight(byte, p->is.format);
        }
    }
}

// ---- D -----------------------------------------------------------------------------------------

// Register i of a lane's share.
static unsigned place_in_D(unsigned lane, unsigned i, unsigned n) {
    return (lane / 4 + 8 * (i >> 1 & 1)) * n + 8 * (i >> 2) + 2 * (lane % 4) + (i & 1);
}

static void take_D(struct accumulator* c) {
    for (unsigned l = 0; l < WARP_SIZE; l++)
        for (unsigned i = 0; i < c->n / 2; i++) c->value[place_in_D(l, i, c->n)] = c->d[l][i];
}

static bool same_D(const struct accumulator* c) {
    for (unsigned l = 0; l < WARP_SIZE; l++)
        for (unsigned i = 0; i < c->n / 2; i++)
            if (memcmp(&c->value[place_in_D(l, i, c->n)], &c->d[l][i], sizeof(float)) != 0)
                return false;
    return true;
}

// What D is while a product runs: a NaN that signals. To multiply it is to write, too: what comes
// out is a NaN that does not.
static const uint32_t RUNNING = 0xffbfffff;

static void poison_D(const struct accumulator* c) {
    for (unsigned l = 0; l < WARP_SIZE; l++)
        for (unsigned i = 0; i < c->n / 2; i++) memcpy(&c->d[l][i], &RUNNING, sizeof RUNNING);
}

// Has the kernel written there since?
static bool poisoned(const struct accumulator* c) {
    uint32_t word;
    for (unsigned l = 0; l < WARP_SIZE; l++)
        for (unsigned i = 0; i < c->n / 2; i++) {
            memcpy(&word, &c->d[l][i], sizeof word);
            if (word != RUNNING) return false;
        }
    return true;
}

// ---- computing ---------------------------------------------------------------------------------

// Has the kernel written to A in registers since it issued the product?
static bool A_changed(const struct product* p, unsigned warp) {
    for (unsigned l = warp * WARP_SIZE; l < (warp + 1) * WARP_SIZE; l++)
        if (memcmp(p->a[l], p->kept[l], sizeof p->kept[l]) != 0) return true;
    return false;
}

static void compute(struct worker* w, struct warpgroup* g, struct product* p) {
    static __thread double a[ROWS * WARPGROUP * MOST_K], b[MOST_K * MOST_COLUMNS];
    const unsigned n = (unsigned)p->is.n, K = k_of(p);
    if (w->watch) cudev_watcher->product_computed(w, p);
    unpack(w, p, p->is.b_low, p->is.b_major, n, b, 1, n);
    if (!p->is.a) unpack(w, p, p->is.a_low, p->is.a_major, ROWS * WARPGROUP, a, K, 1);
    for (unsigned i = 0; i < WARPGROUP; i++) {
        struct accumulator* c = &g->warp[i].accumulator[p->accumulator[i]];
        if (p->is.a) unpack_registers(p, &p->a[i * WARP_SIZE], a + i * ROWS * K);
        if (!p->is.add) memset(c->value, 0, ROWS * n * sizeof(float));
        cudev_multiply_rows(c->value, a + i * ROWS * K, b, n, K, p->is.a != NULL);
    }
}

// Have all four warps issued the products that the warp wants?
static bool can_compute(struct warpgroup* g, uint32_t wanted) {
    for (unsigned i = 0; i < WARPGROUP; i++)
        if (g->warp[i].issued < wanted) return false;
    return true;
}

// The warp gets each D of whose products it has waited for the last.
static void deliver(struct worker* w, struct warpgroup* g, unsigned warp, uint32_t wanted) {
    struct warp_state* s = &g->warp[warp - g->first];
    while (g->computed < wanted) compute(w, g, number(g, g->computed++));
    for (uint32_t i = s->waited; w->watch && i < wanted; i++)
        if (number(g, i)->is.a && A_changed(number(g, i), warp - g->first))
            cudev_watcher->touched(w, number(g, i), false);
    for (unsigned k = 0; k < ACCUMULATORS; k++) {
        struct accumulator* c = &s->accumulator[k];
        if (!c->runs || c->last > wanted) continue;
        if (w->watch && !poisoned(c)) cudev_watcher->touched(w, number(g, c->last - 1), true);
        for (unsigned l = 0; l < WARP_SIZE; l++)
            for (unsigned i = 0; i < c->n / 2; i++) c->d[l][i] = c->value[place_in_D(l, i, c->n)];
        c->runs = false;
    }
    s->waited = wanted;
    if (w->watch && wanted) cudev_watcher->products_waited(w, warp, number(g, wanted - 1));
}

static void serve(struct worker* w, struct warpgroup* g) {
    const unsigned first_warp = g->first;
    for (unsigned i = 0; i < WARPGROUP; i++) {
        struct warp_state* s = &g->warp[i];
        if (!s->wanted || !can_compute(g, s->wanted)) continue;
        deliver(w, g, first_warp + i, s->wanted);
        s->wanted = 0;
        w->waiting->in_call[first_warp + i] = 0;
        cudev_make_ready(w, first_warp + i, w->live[first_warp + i]);
    }
}

// ---- issuing -----------------------------------------------------------------------------------

static const struct cudev_product* given(const struct lane* lane) {
    return (const struct cudev_product*)(uintptr_t)lane->value;
}

static bool same_product(const struct cudev_product* a, const struct cudev_product* b) {
    return a->n == b->n && a->a_low == b->a_low && a->b_low == b->b_low &&
           a->a_major == b->a_major && a->b_major == b->b_major && a->swizzle == b->swizzle &&
           a->format == b->format && !a->add == !b->add && !a->a == !b->a;
}

static bool overlaps(const struct accumulator* c, const struct lane* lane, unsigned n) {
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        const float* d = given(&lane[l])->d;
        if (d < c->d[l] + c->n / 2 && c->d[l] < d + n / 2) return true;
    }
    return false;
}

static bool is_D(const struct accumulator* c, const struct lane* lane, unsigned n) {
    bool same = c->n == n;
    for (unsigned l = 0; same && l < WARP_SIZE; l++) same = c->d[l] == given(&lane[l])->d;
    return same;
}

// The D that the warp gives, which runs from now on. fence: it had to be ordered before.
static unsigned accumulator_of(struct worker* w, struct warp_state* s, const struct lane* lane,
                               bool* fence) {
    const struct cudev_product* own = given(lane);
    const unsigned n = (unsigned)own->n;
    unsigned free = ACCUMULATORS;
    for (unsigned k = 0; k < ACCUMULATORS; k++) {
        struct accumulator* c = &s->accumulator[k];
        bool same = is_D(c, lane, n);
        if (same && c->runs) return k;
        if (c->runs && overlaps(c, lane, n))
            cudev_hopper_mistake(w, "unsupported", &lane->place,
                                 "uses registers of a D on which a product of another size runs",
                                 "wait for that first, or use an array of its own");
        if (!c->runs && (free == ACCUMULATORS || same)) free = k;
    }
    if (free == ACCUMULATORS)
        cudev_not_here("products on more than 8 different D at a time", "wait in between",
                       lane->place.file, lane->place.line);
    struct accumulator* c = &s->accumulator[free];
    *fence = !(is_D(c, lane, n) && own->add && same_D(c));
    c->runs = true;
    c->n = n;
    for (unsigned l = 0; l < WARP_SIZE; l++) c->d[l] = given(&lane[l])->d;
    if (own->add) take_D(c);
    poison_D(c);
    return free;
}

// D and A are the thread's own variables: elsewhere the watchers would not see them change.
static bool is_register(const struct worker* w, const void* p, size_t bytes) {
    const char* stacks = STACK_BASE + (size_t)w->number * WORKER_STACKS;
    return (size_t)((const char*)p - stacks) < WORKER_STACKS - bytes && (uintptr_t)p % 4 == 0;
}

static void check_product(struct worker* w, unsigned warp, const struct lane* lane) {
    const struct place* at = &lane->place;
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        const struct cudev_product* own = given(&lane[l]);
        if (is_register(w, own->d, (size_t)own->n / 2 * sizeof(float)) &&
            (!own->a || is_register(w, own->a, 4 * sizeof(unsigned))))
            continue;
        cudev_hopper_mistake(w, "bad_address", at, "gets a D or an A that are no registers",
                             "d, and a in registers, are local arrays of each thread");
    }
    const unsigned first = cudev_warp_place(w, warp).first * WARP_SIZE;
    if (first % w->launch->of_block + WARPGROUP * WARP_SIZE > w->launch->of_block)
        cudev_hopper_mistake(w, "diverged_warp", at,
                             "is in a block whose last warpgroup has fewer "
                             "than four warps",
                             "a warpgroup is 128 threads: threadIdx.x / 128");
    for (unsigned l = 1; l < WARP_SIZE; l++)
        if (!same_product(given(lane), given(&lane[l])))
            cudev_hopper_mistake(w, "diverged_warp", at,
                                 "gets another descriptor or another `add` than lane 0",
                                 "compute them from what is the same for all 128 threads: "
                                 "threadIdx.x / 128");
}

// Products before this one are waited for by all warps.
static uint32_t oldest(const struct warpgroup* g) {
    uint32_t least = g->issued;
    for (unsigned i = 0; i < WARPGROUP; i++)
        if (g->warp[i].waited < least) least = g->warp[i].waited;
    return least;
}

static bool complete_product(struct worker* w, unsigned warp, uint32_t lanes) {
    (void)lanes;
    const struct lane* lane = cudev_lanes(w, warp);
    const struct cudev_product* own = given(lane);
    struct warpgroup* g = own_group(w, warp);
    const unsigned i = warp - g->first;
    struct warp_state* s = &g->warp[i];
    check_product(w, warp, lane);
    struct product* p = number(g, s->issued);
    const bool first = s->issued == g->issued;
    if (first && g->issued - oldest(g) == MOST_PRODUCTS)
        cudev_not_here("more than 128 products that nobody waits for", "wait in between",
                       lane->place.file, lane->place.line);
    if (first) {
        g->issued++;
        p->is = *own;
        p->place = lane->place;
        p->group = s->groups;
        p->warps = 0;
        p->warpgroup = (unsigned)(g - w->hopper->warpgroup);
    } else if (!same_product(&p->is, own) || p->group != s->groups) {
        char text[300];
        snprintf(text, sizeof text,
                 "is another product, or in another group, than the one that another warp of the "
                 "warpgroup has issued as its %uth, at %s:%d",
                 s->issued + 1, p->place.file, p->place.line);
        cudev_hopper_mistake(w, "diverged_warp", &lane->place, text,
                             "all four warps of a warpgroup issue the same products in the same "
                             "order");
    }
    bool fence = own->a != NULL;
    p->warps |= 1u << i;
    p->accumulator[i] = accumulator_of(w, s, lane, &fence);
    if (own->a) fence = true;
    s->accumulator[p->accumulator[i]].last = ++s->issued;
    for (unsigned l = 0; own->a && l < WARP_SIZE; l++) {
        p->a[i * WARP_SIZE + l] = given(&lane[l])->a;
        memcpy(p->kept[i * WARP_SIZE + l], given(&lane[l])->a, sizeof p->kept[0]);
    }
    w->met.products++;
    if (w->watch) cudev_watcher->product_issued(w, p, warp, first, fence && !s->fenced);
    serve(w, g);
    return true;
}

enum { OF_EIGHT = 1024 };  // arg: n, and this with numbers of eight bits

static const char* text_of_product(struct worker* w, unsigned arg, unsigned width) {
    (void)width;
    static __thread char text[2][4][24];
    (void)w;
    const bool eight = arg >= OF_EIGHT;
    const unsigned n = arg % OF_EIGHT;
    char* t = text[eight][n / 64 - 1];
    if (!*t) snprintf(t, sizeof text[0][0], "wgmma m64n%uk%d", n, eight ? 32 : 16);
    return t;
}

static const struct warp_function wgmma = {
    .text = text_of_product, .complete = complete_product, .whole_warp = true, .with_all_32 = true};

void cudev_wgmma(struct cudev_product* product, const char* file, int line) {
    struct worker* w = cudev_in_hopper(product->name, file, line);
    product->pc = __builtin_return_address(0);
    const unsigned arg = (unsigned)product->n + (product->format == CUDEV_BF16 ? 0 : OF_EIGHT);
    cudev_warp_call(w, &wgmma, ~0u, (uintptr_t)product, arg, 0, file, line);
}

// ---- fence, commit, wait -----------------------------------------------------------------------

static bool complete_fence(struct worker* w, unsigned warp, uint32_t lanes) {
    (void)lanes;
    struct warpgroup* g = own_group(w, warp);
    g->warp[warp - g->first].fenced = true;
    return true;
}

static bool complete_commit(struct worker* w, unsigned warp, uint32_t lanes) {
    (void)lanes;
    struct warpgroup* g = own_group(w, warp);
    struct warp_state* s = &g->warp[warp - g->first];
    s->groups++;
    s->fenced = false;
    return true;
}

// The products of all groups but the newest `pending`: their number.
static uint32_t products_of(struct warpgroup* g, const struct warp_state* s, unsigned pending) {
    uint32_t i = s->waited;
    while (i < s->issued && number(g, i)->group + pending < s->groups) i++;
    return i;
}

static bool complete_wait(struct worker* w, unsigned warp, uint32_t lanes) {
    struct warpgroup* g = own_group(w, warp);
    struct warp_state* s = &g->warp[warp - g->first];
    uint32_t wanted = products_of(g, s, cudev_lanes(w, warp)->arg);
    if (can_compute(g, wanted)) {
        deliver(w, g, warp, wanted);
        return true;
    }
    s->wanted = wanted;
    w->waiting->in_call[warp] |= lanes;
    return false;
}

#define OF_WARPGROUP(label, function) \
    { .name = label, .complete = function, .whole_warp = true, .with_all_32 = true }
static const struct warp_function fence_function = OF_WARPGROUP("wgmma_fence()", complete_fence);
static const struct warp_function commit_function = OF_WARPGROUP("wgmma_commit()", complete_commit);
static const struct warp_function wait_function = OF_WARPGROUP("wgmma_wait()", complete_wait);

static void call(const struct warp_function* function, unsigned arg, const char* file, int line) {
    struct worker* w = cudev_in_hopper(function->name, file, line);
    cudev_warp_call(w, function, ~0u, 0, arg, 0, file, line);
}

void cudev_wgmma_fence(const char* file, int line) {
    call(&fence_function, 0, file, line);
}

void cudev_wgmma_commit(const char* file, int line) {
    call(&commit_function, 0, file, line);
}

void cudev_wgmma_wait(unsigned pending, const char* file, int line) {
    call(&wait_function, pending, file, line);
}

// ---- questions ---------------------------------------------------------------------------------

void cudev_products_running(struct worker* w,
                            void (*f)(struct worker* w, const struct product* p, void* arg),
                            void* arg) {
    for (unsigned k = 0; k < MAX_WARPGROUPS; k++) {
        struct warpgroup* g = &w->hopper->warpgroup[k];
        for (uint32_t i = g->computed; i < g->issued; i++) f(w, number(g, i), arg);
    }
}

void cudev_warpgroups_report(const struct worker* w) {
    for (unsigned k = 0; k < MAX_WARPGROUPS; k++) {
        struct warpgroup* g = &w->hopper->warpgroup[k];
        for (unsigned i = 0; i < WARPGROUP; i++)
            if (g->warp[i].issued < g->issued)
                cudev_report_add("  warp %u has issued %u products of its warpgroup, and another "
                                 "warp %u, the last one at %s:%d\n",
                                 g->first + i, g->warp[i].issued, g->issued,
                                 number(g, g->issued - 1)->place.file,
                                 number(g, g->issued - 1)->place.line);
    }
}

void cudev_warpgroups_end(struct worker* w) {
    for (unsigned k = 0; k < MAX_WARPGROUPS; k++) {
        struct warpgroup* g = &w->hopper->warpgroup[k];
        for (unsigned i = 0; i < WARPGROUP; i++) {
            if (w->watch && g->warp[i].waited < g->warp[i].issued)
                cudev_watcher->product_left(w, number(g, g->warp[i].issued - 1));
            if (g->warp[i].issued == g->issued) continue;
            cudev_report_begin("diverged_warp",
                               "warp %u has returned, and of the products of its warpgroup it has "
                               "issued %u, while another warp has issued %u, the last one at %s:%d",
                               g->first + i, g->warp[i].issued, g->issued,
                               number(g, g->issued - 1)->place.file,
                               number(g, g->issued - 1)->place.line);
            cudev_report_launch(w);
            cudev_report_add("  next: all four warps of a warpgroup issue the same products in the "
                             "same order\n");
            cudev_report_end(EXIT_DIAGNOSIS);
        }
    }
}
