// cards.h: the cards that the CPU device can pose as, and what fits on a multiprocessor of each.
#ifndef CARDS_H
#define CARDS_H

#include <stddef.h>

// A limit is what CUDA states for this compute capability; sizes of memory are bytes.
struct known_card {
    const char* id;    // for CARD=
    const char* name;  // as its driver says it
    int major, minor;  // compute capability
    int multiprocessors;
    int threads, blocks, registers;  // at once on a multiprocessor
    size_t shared, shared_block;     // on a multiprocessor, and at most for one block of it
    size_t l2;
};

enum {
    CARD_WARP = 32,
    CARD_BLOCK_THREADS = 1024,    // at most in one block, on every card
    CARD_THREAD_REGISTERS = 255,  // at most of one thread
    CARD_REGISTER_UNIT = 256,     // a warp gets registers in units of so many
    CARD_SHARED_UNIT = 128,       // a block gets shared memory in units of so many bytes
    CARD_SHARED_RESERVED = 1024,  // bytes that CUDA takes of every block's
    CARD_WARPS_OF_PARTITION = 4,  // a multiprocessor has so many parts, each with its registers
};

// All of them; the last one has no id.
extern const struct known_card cards[];

// The card with the least shared memory, threads and blocks on a multiprocessor: a kernel that runs
// there runs on all cards.
#define CARD_STRICTEST "rtx3090"

// A card that is newer than Hopper GPUs. Its blocks have as much shared memory as the strictest
// one's.
#define CARD_NEWER "rtx5090"

// The card of this id; the first one for NULL or ""; NULL if there is none.
const struct known_card* card_named(const char* id);

// How many blocks of `threads` threads, each with `registers` registers, and of `shared` bytes of
// static and dynamic shared memory a multiprocessor holds at once; 0 if not even one. registers = 0
// leaves them out: it is not known how many the kernel has.
int card_blocks(const struct known_card* card, int threads, int registers, size_t shared);

#endif
