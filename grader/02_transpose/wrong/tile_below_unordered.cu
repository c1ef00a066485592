// cause: race
// A grid has at most 65535 blocks in y, so a block goes on with a tile further down. Nothing
// keeps it from loading that one while the last one is still read.

#include "transpose.h"
__global__ void k(float* out, const float* in, int rows, int cols) {
    __shared__ float t[32][33];
    int64_t c0 = (int64_t)blockIdx.x * 32;
    for (int64_t r0 = (int64_t)blockIdx.y * 32; r0 < rows; r0 += (int64_t)gridDim.y * 32) {
        for (int j = threadIdx.y; j < 32; j += 8)
            if (r0 + j < rows && c0 + threadIdx.x < cols)
                t[j][threadIdx.x] = in[(r0 + j) * cols + c0 + threadIdx.x];
        __syncthreads();
        for (int j = threadIdx.y; j < 32; j += 8)
            if (c0 + j < cols && r0 + threadIdx.x < rows)
                out[(c0 + j) * rows + r0 + threadIdx.x] = t[threadIdx.x][j];
    }
}
extern "C" int transpose(float* out, const float* in, int rows, int cols) {
    if (rows < 0 || cols < 0) return COURSE_BAD_ARGUMENT;
    if (!rows || !cols) return COURSE_OK;
    if (!out || !in) return COURSE_BAD_ARGUMENT;
    int down = CEIL_DIV(rows, 32);
    dim3 grid(CEIL_DIV(cols, 32), down > 65535 ? 65535 : down);
    k<<<grid, dim3(32, 8)>>>(out, in, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
