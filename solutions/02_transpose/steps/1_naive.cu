// Step 1: the definition, one thread per element.
//
// What was wrong before: nothing yet; this is the start. The lanes of a warp read neighbours in a
// row of in: 32 floats in one piece, 4 sectors of 32 bytes. They write down a column of out, each
// lane a whole row away from the next: 32 sectors, and of each only 4 bytes are wanted.
#include "transpose.h"

enum {
    WIDTH = 32,  // threads along a row of in
    ROWS = 8,    // rows of threads in a block
};

// ---- GPU kernel

// One thread per element; blockDim = (WIDTH, ROWS).
__global__ void naive_kernel(float* __restrict__ out,       // (cols, rows)  out
                             const float* __restrict__ in,  // (rows, cols)
                             int rows, int cols) {
    unsigned blocks_across = CEIL_DIV((unsigned)cols, WIDTH);
    int64_t row = (int64_t)(blockIdx.x / blocks_across) * ROWS + threadIdx.y;
    int64_t col = (int64_t)(blockIdx.x % blocks_across) * WIDTH + threadIdx.x;
    if (row >= rows || col >= cols) return;  // no barrier follows: leaving early is fine

    out[col * rows + row] = in[row * cols + col];
}

// ---- launcher

extern "C" int transpose(float* out_gpu, const float* in_gpu, int rows, int cols) {
    if (rows < 0 || cols < 0) return COURSE_BAD_ARGUMENT;
    if (rows == 0 || cols == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (out_gpu == NULL || in_gpu == NULL) return COURSE_BAD_ARGUMENT;

    unsigned blocks = CEIL_DIV((unsigned)rows, ROWS) * CEIL_DIV((unsigned)cols, WIDTH);
    dim3 block(WIDTH, ROWS);
    naive_kernel<<<blocks, block>>>(out_gpu, in_gpu, rows, cols);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
