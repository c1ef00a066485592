// cause: swapped_sizes
// The rows of out are taken to be as long as those of in: several elements are stored to one place,
// and which one stays there is chance.
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
    // The odd row length puts the elements of a column into different banks (README eq. 3).
    __shared__ float tile[TILE][TILE + 1];

    // tile[y + i][x] = in[row0 + y + i][col0 + x]      the lanes are neighbours along a row of in
    for (int i = 0; i < TILE; i += ROWS) {
        // Chosen, not branched around: no load has to wait for the one before it.
        bool inside = row0 + y + i < rows && col0 + x < cols;
        tile[y + i][x] = inside ? in[(row0 + y + i) * cols + col0 + x] : 0.0f;
    }
    __syncthreads();  // the whole tile is written -> other threads' elements are read below

    // out[col0 + y + i][row0 + x] = tile[x][y + i]     the lanes are neighbours along a row of out
    for (int i = 0; i < TILE; i += ROWS) {
        bool inside = col0 + y + i < cols && row0 + x < rows;
        if (inside) out[(col0 + y + i) * cols + row0 + x] = tile[x][y + i];
    }
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
