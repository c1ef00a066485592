// tiles.h: the tiles that the launcher of lesson 14 picks, by d and by the causal mask.
// `make tune LESSON=14` measures the candidates on your GPU and writes this file.
//
// clang-format off
// BLOCK_Q, BLOCK_K   rows of Q and of K in a tile; WARPS shares the rows of Q evenly, 16 or 32 each
// WARPS              in a block
// Q_IN_REGISTERS     1: Q is loaded from shared memory once, 0: again for every tile of K
// BLOCKS             how many blocks a multiprocessor shall hold: fewer registers for each
#ifndef TILES_H
#define TILES_H

// clang-format off
//                       BLOCK_Q, BLOCK_K, WARPS, Q_IN_REGISTERS, BLOCKS
#define TILES_64 128, 64, 4, 0, 2
#define TILES_64_CAUSAL 128, 64, 4, 0, 2
#define TILES_128 128, 64, 4, 0, 2  // spills 84 bytes
#define TILES_128_CAUSAL 128, 64, 4, 0, 2  // spills 84 bytes
// Where a block has less shared memory than these take: `make tune LESSON=14 SHARED=99`, for 99 KB.
#define TILES_128_99KB 128, 64, 4, 0, 2  // spills 84 bytes
#define TILES_128_CAUSAL_99KB 128, 64, 4, 0, 2  // spills 84 bytes
// clang-format on

#endif
