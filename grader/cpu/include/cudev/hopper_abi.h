// The interface between include/cudev/hopper.h and the runtime: the instructions of Hopper GPUs.
// Plain C. Each call ends the program with a diagnosis where the card that the device poses as is
// no Hopper GPU, and where a GPU would hang or fault. file, line: of the call in the kernel.
#ifndef CUDEV_HOPPER_ABI_H
#define CUDEV_HOPPER_ABI_H

#ifdef __cplusplus
extern "C" {
#endif

// ---- mbarriers: mbarriers.c. bar: 8 bytes in the block's shared memory -------------------------

void cudev_mbarrier_init(void* bar, unsigned count, const char* file, int line);
void cudev_mbarrier_fence_init(const char* file, int line);
void cudev_mbarrier_inval(void* bar, const char* file, int line);
// One arrival at the barrier of the cluster's block `rank` (-1: this one), which announces `bytes`.
void cudev_mbarrier_arrive(void* bar, int rank, unsigned bytes, const char* file, int line);
// Waits until the phase of this parity is complete.
void cudev_mbarrier_wait(void* bar, unsigned parity, const char* file, int line);

// ---- TMA: bulk_copies.c, tensor_map.c ----------------------------------------------------------

// See tensor_map_encode() in lessons/hopper.h. map: 128 bytes. Returns a CUresult.
int cudev_tensor_map_encode(void* map, const void* p, int type, int rank,
                            const unsigned long long* sizes, const unsigned long long* strides,
                            const unsigned* box, int swizzle, const char* file, int line);

// A copy between shared and global memory.
struct cudev_bulk {
    const char* name;  // of the function, for reports
    void* shared;
    const void* map;  // NULL: the bytes lie in a row at `global`
    int rank;         // of the map that the function wants
    int c[5];         // where the box begins
    void* global;
    unsigned bytes;  // without a map
    void* bar;       // of a load
    unsigned mask;   // blocks of the cluster that get it; 0: this one
    int adds;        // a store that adds floats
};
void cudev_bulk_load(const struct cudev_bulk* copy, const char* file, int line);
void cudev_bulk_store(const struct cudev_bulk* copy, const char* file, int line);
void cudev_bulk_commit(const char* file, int line);
// All groups of the calling thread but its `pending` newest have read their shared memory; with
// `written`, they have written global memory as well.
void cudev_bulk_wait(unsigned pending, int written, const char* file, int line);
// fence.proxy.async for shared memory, or for global.
void cudev_fence_proxy(int global, const char* file, int line);

// ---- flags in global memory: watch/fence_order.c ------------------------------------------------

// Watched, a thread's first look at a flag comes before the newest add_release() of another block,
// where nothing says that it comes behind: *value is what was there before. A thread that waits for
// too few goes on then, each time.
int cudev_flag_is_late(const int* flag, int* value);
void cudev_flag_added(const int* flag, int before, int more);

// ---- wgmma: warpgroup.c -------------------------------------------------------------------------

enum cudev_format { CUDEV_BF16, CUDEV_E4M3, CUDEV_E5M2 };

// One product as the calling lane gives it.
struct cudev_product {
    const char* name;
    float* d;               // n / 2 registers, which live until the wait
    const unsigned* a;      // 4 registers, likewise; NULL: A is in shared memory
    unsigned a_low, b_low;  // see cudev_wgmma_descriptor()
    int n, a_major, b_major, swizzle, add;
    enum cudev_format format;  // of A and B
    const void* pc;            // the runtime's
};
unsigned cudev_wgmma_descriptor(const void* tile, unsigned panel_bytes, const char* file, int line);
void cudev_wgmma(struct cudev_product* product, const char* file, int line);
void cudev_wgmma_fence(const char* file, int line);
void cudev_wgmma_commit(const char* file, int line);
void cudev_wgmma_wait(unsigned pending, const char* file, int line);

// ---- numbers of eight bits: eight_bits.c --------------------------------------------------------

// Two floats as bytes, rounded to nearest even; a float that is too large becomes the largest
// number, NaN 0x7F. x0 is the lower byte.
unsigned cudev_pack_eight(float x0, float x1, enum cudev_format format);
// A byte as a number.
double cudev_from_eight(unsigned char bits, enum cudev_format format);

// ---- the rest -----------------------------------------------------------------------------------

// stmatrix: 2 or 4 matrices of 8 x 8 16-bit numbers, a word of each from the calling lane, to rows
// that lanes 0..7, 8..15, ... give: matrix.c.
void cudev_store_matrices(void* row, const unsigned* words, unsigned matrices, int transposed,
                          const char* file, int line);
// setmaxnreg: the calling warp goes on with so many registers a thread: registers.c.
void cudev_set_registers(int increase, unsigned registers, const char* file, int line);

// griddepcontrol.
void cudev_grid_wait(const char* file, int line);
void cudev_grid_launch(const char* file, int line);

// Clusters: of one block each.
unsigned cudev_cluster_rank(const char* file, int line);
void cudev_cluster_sync(const char* file, int line);
void* cudev_cluster_shared(const void* p, unsigned rank, const char* file, int line);

#ifdef __cplusplus
}
#endif
#endif
