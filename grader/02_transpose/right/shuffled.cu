// No shared memory: a warp holds a tile of 32 x 32 in registers, row i in register i, and turns it
// in five rounds of shuffles. In round k, blocks of k x k elements change places: each lane sends
// half of its registers to the lane k away and gets that lane's other half.
#include "transpose.h"

enum {
    TILE = 32,  // rows and columns of a tile: one warp
    WARPS = 4,  // of a block, each with a tile of its own
};
#define ALL_LANES 0xffffffffu  // every lane calls

// ---- device helper

// v[i] of lane j becomes v[j] of lane i.
inline __device__ void turn(float v[TILE], int lane) {
#pragma unroll
    for (int k = TILE / 2; k > 0; k /= 2) {
        bool upper = lane & k;
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            if (i & k) continue;  // with its partner
            float got = __shfl_xor_sync(ALL_LANES, upper ? v[i] : v[i + k], k);
            if (upper)
                v[i] = got;
            else
                v[i + k] = got;
        }
    }
}

// ---- GPU kernel

__global__ void shuffled_kernel(float* __restrict__ out,       // (cols, rows)  out
                                const float* __restrict__ in,  // (rows, cols)
                                int rows, int cols, unsigned tiles) {
    int lane = threadIdx.x % TILE;
    unsigned tile = blockIdx.x * WARPS + threadIdx.x / TILE;
    if (tile >= tiles) return;  // the whole warp
    unsigned down = CEIL_DIV((unsigned)rows, TILE);
    int64_t row0 = (int64_t)(tile % down) * TILE, col0 = (int64_t)(tile / down) * TILE;

    // v[i] = in[row0 + i][col0 + lane]
    float v[TILE];
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        bool inside = row0 + i < rows && col0 + lane < cols;
        v[i] = inside ? in[(row0 + i) * cols + col0 + lane] : 0.0f;
    }
    turn(v, lane);
    // out[col0 + i][row0 + lane] = v[i]
#pragma unroll
    for (int i = 0; i < TILE; i++)
        if (col0 + i < cols && row0 + lane < rows) out[(col0 + i) * rows + row0 + lane] = v[i];
}

// ---- launcher

extern "C" int transpose(float* out_gpu, const float* in_gpu, int rows, int cols) {
    if (rows < 0 || cols < 0) return COURSE_BAD_ARGUMENT;
    if (rows == 0 || cols == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (out_gpu == NULL || in_gpu == NULL) return COURSE_BAD_ARGUMENT;

    unsigned tiles = CEIL_DIV((unsigned)rows, TILE) * CEIL_DIV((unsigned)cols, TILE);
    shuffled_kernel<<<CEIL_DIV(tiles, WARPS), WARPS * TILE>>>(out_gpu, in_gpu, rows, cols, tiles);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
