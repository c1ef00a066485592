// A thread for each element, counted in one dimension. Where the blocks are more than 2^20 they are
// folded into rows of the grid, of which the last is filled up with blocks that have nothing to do.
#include "matmul_coalesced.h"

enum {
    THREADS = 256,  // of a block
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

// One thread for each element of C; blockDim.x = THREADS.
__global__ void matmul_coalesced_kernel(float* __restrict__ C,        // (M, N)  out
                                        const float* __restrict__ A,  // (M, K)
                                        const float* __restrict__ B,  // (K, N)
                                        int M, int N, int K) {
    int64_t block = (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    int64_t e = block * THREADS + threadIdx.x;  // the last row of blocks may reach past the end
    if (e >= (int64_t)M * N) return;            // no barrier follows: leaving early is fine
    C[e] = element(A, B, (int)(e / N), (int)(e % N), N, K);
}

// All threads of the grid take the elements of C in turns; blockDim.x = THREADS.
__global__ void matmul_coalesced_grid_kernel(float* __restrict__ C,        // (M, N)  out
                                             const float* __restrict__ A,  // (M, K)
                                             const float* __restrict__ B,  // (K, N)
                                             int M, int N, int K) {
    int64_t elements = (int64_t)M * N, threads = (int64_t)gridDim.x * THREADS;
    for (int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x; e < elements; e += threads) {
        int row = (int)(e / N), col = (int)(e % N);  // lanes that are neighbours: col, col + 1
        C[e] = element(A, B, row, col, N, K);
    }
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

    const int64_t most = 1 << 20;  // blocks in x: more are folded into rows of blocks
    int64_t blocks = CEIL_DIV((int64_t)M * N, THREADS), across = blocks < most ? blocks : most;
    dim3 grid((unsigned)across, (unsigned)CEIL_DIV(blocks, across));
    matmul_coalesced_kernel<<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
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
    if (threads >= 1 && threads <= MOST_THREADS && registers <= MOST_REGISTERS &&
        shared <= card->shared_block) {
        int warps = CEIL_DIV(threads, WARP);
        at_once = card->blocks;
        int by_warps = card->threads / WARP / warps;
        if (by_warps < at_once) at_once = by_warps;
        if (registers > 0) {
            int of_warp = CEIL_DIV(registers * WARP, REGISTER_UNIT) * REGISTER_UNIT;
            int in_partition = card->registers / PARTITIONS / of_warp;  // whole warps
            int by_registers = in_partition * PARTITIONS / warps;
            if (by_registers < at_once) at_once = by_registers;
        }
        size_t of_block = CEIL_DIV(shared + SHARED_TAKEN, SHARED_UNIT) * SHARED_UNIT;
        int by_shared = (int)(card->shared / of_block);
        if (by_shared < at_once) at_once = by_shared;
    }
    *per_multiprocessor = at_once;

    int64_t waves = 0;
    int64_t wave = (int64_t)at_once * card->multiprocessors;  // blocks
    waves = wave > 0 ? blocks / wave + (blocks % wave > 0) : -1;
    return waves;
}
