// Tiles of 32 x 32 without padding: element (y, x) stands in column x ^ y of its row, so that a
// column of the tile meets every bank once. A grid of two dimensions, tiles counted across.
#include "transpose.h"

enum {
    TILE = 32,  // rows and columns of a tile: one warp reads a row
    ROWS = 4,   // rows of threads in a block: 128 threads, each with TILE / ROWS elements
    MAX_Y = 4,  // blocks in grid.y: each takes several tiles, one after the other
};

// ---- GPU kernel

// Block (bx, by) moves the tiles in tile column bx and tile rows by, by + gridDim.y, ...
__global__ void swizzled_kernel(float* __restrict__ out,       // (cols, rows)  out
                                const float* __restrict__ in,  // (rows, cols)
                                int rows, int cols) {
    __shared__ float tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int64_t col0 = (int64_t)blockIdx.x * TILE;
    for (int64_t row0 = (int64_t)blockIdx.y * TILE; row0 < rows;
         row0 += (int64_t)gridDim.y * TILE) {
        // tile[j][x ^ j] = in[row0 + j][col0 + x]
        for (int j = y; j < TILE; j += ROWS)
            if (row0 + j < rows && col0 + x < cols)
                tile[j][x ^ j] = in[(row0 + j) * cols + col0 + x];
        __syncthreads();  // the tile is written -> other threads' elements are read below

        // out[col0 + j][row0 + x] = tile[x][j ^ x]
        for (int j = y; j < TILE; j += ROWS)
            if (col0 + j < cols && row0 + x < rows)
                out[(col0 + j) * rows + row0 + x] = tile[x][j ^ x];
        __syncthreads();  // the tile has been read -> the next one overwrites it
    }
}

// ---- launcher

extern "C" int transpose(float* out_gpu, const float* in_gpu, int rows, int cols) {
    if (rows < 0 || cols < 0) return COURSE_BAD_ARGUMENT;
    if (rows == 0 || cols == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (out_gpu == NULL || in_gpu == NULL) return COURSE_BAD_ARGUMENT;

    int tiles_down = (int)CEIL_DIV((unsigned)rows, TILE);
    dim3 grid(CEIL_DIV((unsigned)cols, TILE), tiles_down < MAX_Y ? tiles_down : MAX_Y);
    dim3 block(TILE, ROWS);
    swizzled_kernel<<<grid, block>>>(out_gpu, in_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
