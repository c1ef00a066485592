// tiles.h: the tiles that the launcher of lesson 16 picks, by d and by the causal mask.
// `make tune LESSON=16` measures the candidates on your GPU and writes this file.
//
// Of the kernel for dK and dV:
// clang-format off
//     BLOCK_K, TILE_Q   keys of a block, queries in a tile
//     SHARES            how many warps share 32 keys: 1, or 2 or 4 with a TILE_Q of at least 64
//     BLOCKS_K          how many blocks a multiprocessor shall hold: fewer registers for each
// Of the kernel for dQ:
// clang-format off
//     BLOCK_Q, TILE_K   queries of a block, 32 for each warp; keys in a tile
//     BLOCKS_Q          like BLOCKS_K
#ifndef TILES_H
#define TILES_H

// clang-format off
//              BLOCK_K, TILE_Q, SHARES, BLOCKS_K, BLOCK_Q, TILE_K, BLOCKS_Q
#define TILES_64 128, 32, 1, 2, 128, 64, 2
#define TILES_64_CAUSAL 128, 32, 1, 2, 128, 64, 2
#define TILES_128 64, 64, 2, 2, 128, 32, 2
#define TILES_128_CAUSAL 64, 64, 2, 2, 128, 32, 2
// Where a block has less shared memory than these take: `make tune LESSON=16 SHARED=99`, for 99 KB
// (sm_86, sm_89, sm_120).
#define TILES_128_99KB 32, 64, 4, 2, 128, 32, 2
#define TILES_128_CAUSAL_99KB 32, 64, 4, 2, 128, 32, 2
// clang-format on

#endif
