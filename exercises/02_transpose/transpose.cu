// transpose.cu: out = in^T, through a tile in shared memory whose rows are one float too long.
//
// A block owns one TILE x TILE tile. It reads the tile along the rows of in, parks it in shared
// memory, and writes it along the rows of out, so that the lanes of a warp are neighbours both
// times.
// Slower versions on the way here: steps/1_naive.cu, steps/2_tiled.cu.
//
//     make grade LESSON=02         make profile LESSON=02
#include "transpose.h"

enum {
    TILE = 64,  // rows and columns of a tile; a multiple of 32, so that a warp stays in one row
    ROWS = 8,   // rows of threads in a block: 512 threads, each with TILE / ROWS elements
};

static_assert(TILE % ROWS == 0, "all threads of a block have equally many elements");

// ---- device helper

// Transposes one tile: out[col0 + j][row0 + i] = in[row0 + i][col0 + j] for 0 <= i, j < TILE, as
// far as these elements exist. All threads of the block call it; it waits once.
inline __device__ void transpose_tile(float* __restrict__ out,       // (cols, rows)  out
                                      const float* __restrict__ in,  // (rows, cols)
                                      int rows,                      // of in
                                      int cols,                      // of in
                                      int64_t row0,  // the tile begins at in[row0][col0]
                                      int64_t col0,  // both are multiples of TILE
                                      int x,         // this thread, [0, TILE)
                                      int y) {       // and [0, ROWS)
    // your code goes here (about 10 lines): declare a tile in shared memory; load it, wait, store it
}

// ---- GPU kernel

// One block per tile; blockDim = (TILE, ROWS). Blocks are counted down the columns of in, which is
// along the rows of out: those that run at the same time write next to each other.
__global__ void transpose_kernel(float* __restrict__ out,       // (cols, rows)  out
                                 const float* __restrict__ in,  // (rows, cols)
                                 int rows, int cols) {
    unsigned tiles_down = CEIL_DIV((unsigned)rows, TILE);
    int64_t row0 = (int64_t)(blockIdx.x % tiles_down) * TILE;  // [0, rows)
    int64_t col0 = (int64_t)(blockIdx.x / tiles_down) * TILE;  // [0, cols)
    transpose_tile(out, in, rows, cols, row0, col0, threadIdx.x, threadIdx.y);
}

// ---- launcher

extern "C" int transpose(float* out_gpu, const float* in_gpu, int rows, int cols) {
    if (rows < 0 || cols < 0) return COURSE_BAD_ARGUMENT;
    if (rows == 0 || cols == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (out_gpu == NULL || in_gpu == NULL) return COURSE_BAD_ARGUMENT;

    // One long row of blocks: grid.x reaches 2^31 - 1, grid.y and grid.z only 65535. A matrix with
    // more tiles than that has terabytes.
    unsigned tiles = CEIL_DIV((unsigned)rows, TILE) * CEIL_DIV((unsigned)cols, TILE);
    dim3 block(TILE, ROWS);
    transpose_kernel<<<tiles, block>>>(out_gpu, in_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
