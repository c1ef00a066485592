// matmul_coalesced.cu: C = A B, one thread for each element of C, neighbouring lanes along a row.
//
// In each round of its loop a warp reads one or two numbers of A, which its lanes share, and
// neighbours in a row of B; at the end it writes neighbours in a row of C. The same with a grid of
// a given size, whose threads take one element after another; and how many blocks of a grid run at
// once. The slower version: steps/1_naive.cu, lanes down a column.
//
//     make grade LESSON=04         make profile LESSON=04
#include "matmul_coalesced.h"

enum {
    BLOCK = 16,     // rows and columns of C a block computes: 256 threads
    THREADS = 256,  // of a block of the grid that strides
};

// What CUDA's rules for blocks on a multiprocessor say (matmul_coalesced.h).
enum {
    WARP = 32,             // threads
    MOST_THREADS = 1024,   // of a block
    MOST_REGISTERS = 255,  // of a thread
    PARTITIONS = 4,        // of a multiprocessor
    REGISTER_UNIT = 256,   // a warp gets registers in units of so many
    SHARED_UNIT = 128,     // a block gets shared memory in units of so many bytes
    SHARED_TAKEN = 1024,   // bytes that every block takes besides
};

// ---- device helper

// sum_k A[row][k] * B[k][col]              (README eq. 1)
inline __device__ float element(const float* __restrict__ A,  // (M, K)
                                const float* __restrict__ B,  // (K, N)
                                int row, int col, int N, int K) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
    return sum;
}

// ---- GPU kernels

// One thread for each element of C; blockDim = (BLOCK, BLOCK).
__global__ void matmul_coalesced_kernel(float* __restrict__ C,        // (M, N)  out
                                        const float* __restrict__ A,  // (M, K)
                                        const float* __restrict__ B,  // (K, N)
                                        int M, int N, int K) {
    // your code goes here (about 4 lines): this thread's row and column; does C have that element?
}

// All threads of the grid take the elements of C in turns; blockDim.x = THREADS.
__global__ void matmul_coalesced_grid_kernel(float* __restrict__ C,        // (M, N)  out
                                             const float* __restrict__ A,  // (M, K)
                                             const float* __restrict__ B,  // (K, N)
                                             int M, int N, int K) {
    // your code goes here (about 6 lines): begin at this thread's element; how far to the next?
}

// ---- launchers

// What both return before they launch; also COURSE_OK if there is nothing to launch for.
static int status_of(const float* C_gpu, const float* A_gpu, const float* B_gpu, int M, int N,
                     int K) {
    const int most = MATMUL_COALESCED_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > most || N > most || K > most) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;
    return COURSE_OK;
}

extern "C" int matmul_coalesced(float* C_gpu, const float* A_gpu, const float* B_gpu, int M, int N,
                                int K) {
    int status = status_of(C_gpu, A_gpu, B_gpu, M, N, K);
    if (status != COURSE_OK) return status;
    if (M == 0 || N == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error

    // your code goes here (about 3 lines): block and grid, then the launch: which size belongs to x?
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int matmul_coalesced_grid(float* C_gpu, const float* A_gpu, const float* B_gpu, int M,
                                     int N, int K, int blocks) {
    if (blocks < 1) return COURSE_BAD_ARGUMENT;
    int status = status_of(C_gpu, A_gpu, B_gpu, M, N, K);
    if (status != COURSE_OK) return status;
    if (M == 0 || N == 0) return COURSE_OK;

    matmul_coalesced_grid_kernel<<<blocks, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- how a grid runs

extern "C" int64_t matmul_coalesced_waves(const struct card* card, int threads, int registers,
                                          size_t shared, int64_t blocks, int* per_multiprocessor) {
    int at_once = 0;  // blocks on a multiprocessor
    // your code goes here (about 16 lines): what no multiprocessor takes; then the least of four limits
    *per_multiprocessor = at_once;

    int64_t waves = 0;
    // your code goes here (about 2 lines): how many such pieces has the grid? And if no block fits?
    return waves;
}
