// cards.c: see cards.h. Per compute capability: CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability". Multiprocessors and L2: NVIDIA's architecture whitepapers
// (A100, GA102, AD102, L4 and L40 data sheets, H100, RTX Blackwell); L2 of an H200, whose whole
// cache is there where an H100 has five sixths of it: what CUDA reports; of the smallest part of an
// H100: NVIDIA Multi-Instance GPU User Guide.
#include "cpu/cards/cards.h"

#include <string.h>

#define KB *(size_t)1024
#define MB *(size_t)1048576

const struct known_card cards[] = {
    {"h200", "NVIDIA H200", 9, 0, 132, 2048, 32, 65536, 228 KB, 227 KB, 60 MB},
    {"h100", "NVIDIA H100 SXM", 9, 0, 132, 2048, 32, 65536, 228 KB, 227 KB, 50 MB},
    {"h100-1g", "NVIDIA H100 MIG 1g.10gb", 9, 0, 16, 2048, 32, 65536, 228 KB, 227 KB, 6 MB},
    {"a100", "NVIDIA A100", 8, 0, 108, 2048, 32, 65536, 164 KB, 163 KB, 40 MB},
    {"a10", "NVIDIA A10", 8, 6, 72, 1536, 16, 65536, 100 KB, 99 KB, 6 MB},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 1536, 16, 65536, 100 KB, 99 KB, 6 MB},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 1536, 24, 65536, 100 KB, 99 KB, 72 MB},
    {"l4", "NVIDIA L4", 8, 9, 58, 1536, 24, 65536, 100 KB, 99 KB, 48 MB},
    {"l40", "NVIDIA L40", 8, 9, 142, 1536, 24, 65536, 100 KB, 99 KB, 96 MB},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 12, 0, 170, 1536, 24, 65536, 100 KB, 99 KB, 96 MB},
    {0},
};

const struct known_card* card_named(const char* id) {
    if (!id || !*id) return cards;
    for (const struct known_card* c = cards; c->id; c++)
        if (strcmp(c->id, id) == 0) return c;
    return NULL;
}

static size_t rounded_up(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

int card_blocks(const struct known_card* card, int threads, int registers, size_t shared) {
    if (threads < 1 || threads > CARD_BLOCK_THREADS) return 0;
    if (registers > CARD_THREAD_REGISTERS || shared > card->shared_block) return 0;
    int warps = (threads + CARD_WARP - 1) / CARD_WARP;
    int most = card->blocks;
    int by_warps = card->threads / CARD_WARP / warps;
    if (by_warps < most) most = by_warps;
    if (registers > 0) {
        // A warp stays on one part of the multiprocessor: each part holds whole warps.
        int of_warp = (int)rounded_up((size_t)registers * CARD_WARP, CARD_REGISTER_UNIT);
        int part = card->registers / CARD_WARPS_OF_PARTITION;
        int by_registers = part / of_warp * CARD_WARPS_OF_PARTITION / warps;
        if (by_registers < most) most = by_registers;
    }
    size_t of_block = rounded_up(shared + CARD_SHARED_RESERVED, CARD_SHARED_UNIT);
    int by_shared = (int)(card->shared / of_block);
    return by_shared < most ? by_shared : most;
}
