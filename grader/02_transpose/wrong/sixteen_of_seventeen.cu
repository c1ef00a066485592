// cause: out_of_bounds
// Up to 16 columns are read in one piece, and rows get an odd pitch in shared memory: 17 for 16,
// for which there is no room.

#include "transpose.h"
__global__ void skinny(float* out, const float* in, int rows, int cols) {
    __shared__ float s[256 * 16];
    int pitch = cols | 1;
    int64_t r0 = (int64_t)blockIdx.x * 256;
    int n = (int)(rows - r0 < 256 ? rows - r0 : 256);
    for (int e = threadIdx.x; e < n * cols; e += 256)
        s[e / cols * pitch + e % cols] = in[r0 * cols + e];
    __syncthreads();
    if (threadIdx.x < n)
        for (int c = 0; c < cols; c++)
            out[(int64_t)c * rows + r0 + threadIdx.x] = s[threadIdx.x * pitch + c];
}
__global__ void tiled(float* out, const float* in, int rows, int cols) {
    __shared__ float t[32][33];
    unsigned down = CEIL_DIV((unsigned)rows, 32u);
    int64_t r = (int64_t)(blockIdx.x % down) * 32, c = (int64_t)(blockIdx.x / down) * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
        if (r + i < rows && c + threadIdx.x < cols)
            t[i][threadIdx.x] = in[(r + i) * cols + c + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        if (c + i < cols && r + threadIdx.x < rows)
            out[(c + i) * rows + r + threadIdx.x] = t[threadIdx.x][i];
}
extern "C" int transpose(float* out, const float* in, int rows, int cols) {
    if (rows < 0 || cols < 0) return COURSE_BAD_ARGUMENT;
    if (rows == 0 || cols == 0) return COURSE_OK;
    if (!out || !in) return COURSE_BAD_ARGUMENT;
    if (cols <= 16)
        skinny<<<CEIL_DIV((unsigned)rows, 256u), 256>>>(out, in, rows, cols);
    else
        tiled<<<CEIL_DIV((unsigned)rows, 32u) * CEIL_DIV((unsigned)cols, 32u), dim3(32, 8)>>>(
            out, in, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
