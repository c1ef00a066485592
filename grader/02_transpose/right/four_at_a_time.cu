// 16 bytes a thread where both sizes are multiples of 4 and both arrays aligned to 16; single
// floats elsewhere. 256 threads in one dimension.
#include "transpose.h"

enum {
    TILE = 32,      // rows and columns of a tile: 8 vectors a row, so 4 rows a warp
    THREADS = 256,  // of a block
    WIDTH = 4,      // elements of a vector
};

// ---- device helpers

inline __device__ float4 load4(const float* p) {
    return *reinterpret_cast<const float4*>(p);
}

// nvcc 13 may split the assignment of a float4 into four stores, but not this.
inline __device__ void store4(float* p, float4 v) {
    __stwb(reinterpret_cast<float4*>(p), v);
}

// ---- GPU kernels

// rows and cols are multiples of WIDTH, out and in aligned to 16 bytes.
__global__ void vector_kernel(float* __restrict__ out,       // (cols, rows)  out
                              const float* __restrict__ in,  // (rows, cols)
                              int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    unsigned across = CEIL_DIV((unsigned)cols, TILE);
    int64_t row0 = (int64_t)(blockIdx.x / across) * TILE,
            col0 = (int64_t)(blockIdx.x % across) * TILE;
    int first =
        threadIdx.x * WIDTH;  // this thread's first element, counted along the rows of a tile

    // tile[j][x .. x + 3] = in[row0 + j][col0 + x .. col0 + x + 3]
    for (int i = first; i < TILE * TILE; i += THREADS * WIDTH) {
        int j = i / TILE, x = i % TILE;
        if (row0 + j >= rows || col0 + x >= cols) continue;
        float4 v = load4(&in[(row0 + j) * cols + col0 + x]);
        tile[j][x] = v.x;
        tile[j][x + 1] = v.y;
        tile[j][x + 2] = v.z;
        tile[j][x + 3] = v.w;
    }
    __syncthreads();  // the tile is written -> other threads' elements are read below

    // out[col0 + j][row0 + x .. row0 + x + 3] = tile[x .. x + 3][j]
    for (int i = first; i < TILE * TILE; i += THREADS * WIDTH) {
        int j = i / TILE, x = i % TILE;
        if (col0 + j >= cols || row0 + x >= rows) continue;
        float4 v = make_float4(tile[x][j], tile[x + 1][j], tile[x + 2][j], tile[x + 3][j]);
        store4(&out[(col0 + j) * rows + row0 + x], v);
    }
}

__global__ void scalar_kernel(float* __restrict__ out,       // (cols, rows)  out
                              const float* __restrict__ in,  // (rows, cols)
                              int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    unsigned across = CEIL_DIV((unsigned)cols, TILE);
    int64_t row0 = (int64_t)(blockIdx.x / across) * TILE,
            col0 = (int64_t)(blockIdx.x % across) * TILE;

    // tile[j][x] = in[row0 + j][col0 + x]
    for (int i = threadIdx.x; i < TILE * TILE; i += THREADS) {
        int j = i / TILE, x = i % TILE;
        if (row0 + j < rows && col0 + x < cols) tile[j][x] = in[(row0 + j) * cols + col0 + x];
    }
    __syncthreads();  // the tile is written -> other threads' elements are read below

    // out[col0 + j][row0 + x] = tile[x][j]
    for (int i = threadIdx.x; i < TILE * TILE; i += THREADS) {
        int j = i / TILE, x = i % TILE;
        if (col0 + j < cols && row0 + x < rows) out[(col0 + j) * rows + row0 + x] = tile[x][j];
    }
}

// ---- launcher

extern "C" int transpose(float* out_gpu, const float* in_gpu, int rows, int cols) {
    if (rows < 0 || cols < 0) return COURSE_BAD_ARGUMENT;
    if (rows == 0 || cols == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (out_gpu == NULL || in_gpu == NULL) return COURSE_BAD_ARGUMENT;

    unsigned tiles = CEIL_DIV((unsigned)rows, TILE) * CEIL_DIV((unsigned)cols, TILE);
    bool aligned = ((uintptr_t)out_gpu | (uintptr_t)in_gpu) % sizeof(float4) == 0;
    if (rows % WIDTH == 0 && cols % WIDTH == 0 && aligned)
        vector_kernel<<<tiles, THREADS>>>(out_gpu, in_gpu, rows, cols);
    else
        scalar_kernel<<<tiles, THREADS>>>(out_gpu, in_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
