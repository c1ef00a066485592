// Things that only Hopper GPUs have, of the block that a worker runs: mbarriers, copies by TMA,
// products of warpgroups, registers that warps pass on. Each file has its state here; see the
// README.
#ifndef CUDEV_DEVICE_HOPPER_H
#define CUDEV_DEVICE_HOPPER_H

#include "cpu/device/tensor_map.h"
#include "cpu/device/waiting.h"
#include "cpu/device/worker.h"
#include "cpu/include/cudev/hopper_abi.h"
#include "cpu/include/cudev/watching.h"

enum {
    MAX_MBARRIERS = 256,  // of a block
    MBARRIER_BYTES = 8,
    WARPGROUP = 4,                               // warps
    MAX_WARPGROUPS = 2 * MAX_WARPS / WARPGROUP,  // in a cluster some have fewer warps
};

// The calling worker. Ends the program where the card is no Hopper GPU.
struct worker* cudev_in_hopper(const char* what, const char* file, int line);
// Ends the program: a mistake in the call at this place.
void cudev_hopper_mistake(struct worker* w, const char* kind, const struct place* at,
                          const char* text, const char* next) __attribute__((noreturn));
// Ends the program unless [p, p + bytes) is shared memory and p a multiple of `alignment`.
void cudev_check_shared(struct worker* w, const struct place* at, const void* p, unsigned bytes,
                        unsigned alignment);

// ---- mbarriers.c --------------------------------------------------------------------------------

struct mbarrier {
    char* at;           // NULL: none
    unsigned count;     // arrivals a phase
    unsigned pending;   // that are missing in the running phase
    long long missing;  // bytes announced in it that have not landed
    uint32_t phase;     // number of the running phase
    bool fenced;        // since its init: the async proxy and the cluster know it
    bool awaited;       // somebody waits: `waiting`
    unsigned thread;    // that made it
    const void* pc;     // where
    struct place made, arrived, announced;  // line 0: nobody did
    bool waited;  // somebody has waited here: first this thread, last for this parity
    unsigned waiter, parity;
    struct place again;    // where it waited for the parity that it had waited for before
    unsigned unseen;       // phases that are over since somebody last did
    struct place overrun;  // who ended a phase while nobody had waited for the one before
    uint32_t waiting[MAX_WARPS];
    struct cudev_clock clock;  // of all arrivals so far
    struct cudev_clock done;   // of the phases that are complete
    char name[80];             // "full[1]"
    char text[2][112];         // "mbarrier_wait(full[1], 0)"
};

// The barrier at bar, which must have been made: else ends the program.
struct mbarrier* cudev_mbarrier_at(struct worker* w, void* bar, const struct place* at);

// ---- phases.c -----------------------------------------------------------------------------------

// No thread can run. Lets bytes land that somebody waits for; returns whether a thread is ready.
bool cudev_mbarriers_settle(struct worker* w);
bool cudev_mbarriers_report(const struct worker* w);

// ---- bulk_copies.c ------------------------------------------------------------------------------

// A copy that is on its way.
struct bulk_copy {
    struct cudev_bulk want;
    struct tensor_map map;  // rank 0: bytes in a row
    struct place place;
    const void* pc;   // of the issue
    unsigned thread;  // that asked
    unsigned bytes;   // of shared memory
    uint64_t time;    // the watcher's, of the issue
    struct mbarrier* barrier;
    uint32_t phase;  // of the barrier that it counts for
    uint32_t group;  // of a store: of the thread
    char* read;      // of a store: what it has read, NULL: nothing yet
};

// Bytes on their way for the running phase of the barrier.
unsigned cudev_bulk_bytes_for(const struct worker* w, const struct mbarrier* b);
// All of them land.
void cudev_bulk_land(struct worker* w, struct mbarrier* b);
// The load that will write there; NULL: none.
const struct bulk_copy* cudev_bulk_load_at(const struct worker* w, const char* p);
void cudev_bulk_end(struct worker* w);  // the block ends: what is on its way gets there, or not

// Pieces of a row of a copy: 16 bytes in shared memory, `bytes` of them from `skip` on in global
// memory as well.
typedef void cudev_piece(struct worker* w, const struct bulk_copy* c, char* shared, char* global,
                         unsigned skip, unsigned bytes);
void cudev_bulk_pieces(struct worker* w, const struct bulk_copy* c, cudev_piece* piece);

// ---- warpgroup.c --------------------------------------------------------------------------------

// A warp's warpgroup, numbered through the blocks of a cluster, and its place there.
struct warp_place {
    unsigned warpgroup, warp;
    unsigned first;  // warp of the warpgroup
};
static inline struct warp_place cudev_warp_place(const struct worker* w, unsigned warp) {
    const unsigned warps = (w->launch->of_block + WARP_SIZE - 1) / WARP_SIZE;
    const unsigned groups = (warps + WARPGROUP - 1) / WARPGROUP;
    const unsigned rank = warp / warps, own = warp % warps;
    return (struct warp_place){rank * groups + own / WARPGROUP, own % WARPGROUP,
                               warp - own % WARPGROUP};
}

// A product that has been issued and not been computed.
struct product {
    struct cudev_product is;  // of the first lane that gave it
    struct place place;
    uint32_t group;  // of the warps: groups before it
    uint32_t warps;  // which have issued it: bits of 4
    uint64_t time;   // the watcher's, of the first issue; then of the computation
    unsigned warpgroup;
    unsigned accumulator[WARPGROUP];
    const unsigned* a[WARPGROUP * WARP_SIZE];
    unsigned kept[WARPGROUP * WARP_SIZE][4];  // A in registers at the issue
};

// Where a word of an operand lies: row r of A or column r of B, numbers 2 i and 2 i + 1 of k where
// k runs fastest, else rows 2 i and 2 i + 1 of number r of k.
const char* cudev_operand_at(const struct worker* w, unsigned low, int major, int swizzle,
                             unsigned outer, unsigned k);
// Calls f for each of the 16-byte pieces of an operand, `outer` rows or columns of 16 numbers.
void cudev_operand_pieces(struct worker* w, const struct product* p, bool is_a,
                          void (*f)(struct worker* w, const struct product* p, const char* piece));
// The products that are issued and not computed, by age: calls f for each.
void cudev_products_running(struct worker* w,
                            void (*f)(struct worker* w, const struct product* p, void* arg),
                            void* arg);
void cudev_warpgroups_create(struct worker* w);
void cudev_warpgroups_begin(struct worker* w);
void cudev_warpgroups_end(struct worker* w);
void cudev_warpgroups_report(const struct worker* w);

// ---- product.c ----------------------------------------------------------------------------------

// d[16][n] += a[16][K] b[K][n], K 16, or 32 of numbers of eight bits. Products are exact; their sum
// with d is rounded once. (A GPU rounds those of eight bits to about 14 bits: lessons/wgmma.h.)
// in_registers: whether A was.
void cudev_multiply_rows(float* d, const double* a, const double* b, unsigned n, unsigned K,
                         int in_registers);
// See cudev_alter_products() (cudev.h).
void cudev_alter_wgmma(double (*product)(double a, double b), void (*open)(int open));

// ---- registers.c --------------------------------------------------------------------------------

void cudev_registers_begin(struct worker* w);
void cudev_registers_report(const struct worker* w);

// ---- hopper.c: the state of a block ------------------------------------------------------------

void cudev_hopper_create(struct worker* w);  // once for each worker

struct hopper {
    bool used;  // by the block that runs
    struct mbarriers {
        unsigned count;
        struct mbarrier barrier[MAX_MBARRIERS];
    } mbarriers;
    struct bulk_copies {
        struct bulk_copy* load;  // by age
        unsigned loads, load_room;
        struct bulk_copy* store;
        unsigned stores, store_room;
        uint32_t groups[MAX_THREADS];  // that a thread has committed
    } bulk;
    struct warpgroup* warpgroup;  // MAX_WARPGROUPS, warpgroup.c
    struct registers {
        unsigned of[MAX_WARPS];      // a thread, that each warp has
        unsigned free[MAX_CLUSTER];  // of each block: registers of a thread, for one warp
        unsigned wanted[MAX_WARPS];  // by warps that wait
        char text[MAX_WARPS][32];
    } registers;
};

#endif
