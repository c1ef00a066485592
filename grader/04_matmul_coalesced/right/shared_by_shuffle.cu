// shared_by_shuffle.cu: a warp loads 32 numbers of a row of A at once, side by side, and its lanes
// pass them on. A warp of the grid that strides takes 64 columns of a row. The number of
// blocks is searched for, from the largest down.
#include "matmul_coalesced.h"

enum { LANES = 32, ROWS = 8 };

// 32 columns of one row of C for a warp; lanes beyond the last column load A all the same.
inline __device__ float sum_of(const float* A_row, const float* B, int col, int N, int K) {
    int lane = threadIdx.x % LANES;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += LANES) {
        float a = k0 + lane < K ? A_row[k0 + lane] : 0.0f;
        for (int k = 0; k < LANES && k0 + k < K; k++) {
            float a_k = __shfl_sync(0xffffffffu, a, k);
            if (col < N) sum += a_k * B[(size_t)(k0 + k) * N + col];
        }
    }
    return sum;
}

__global__ void warp_kernel(float* C, const float* A, const float* B, int M, int N, int K) {
    int row = blockIdx.y * ROWS + threadIdx.y, col = blockIdx.x * LANES + threadIdx.x;
    if (row >= M) return;  // whole warps
    float sum = sum_of(A + (size_t)row * K, B, col, N, K);
    if (col < N) C[(size_t)row * N + col] = sum;
}

// A warp for each piece of 64 columns of a row.
__global__ void grid_kernel(float* C, const float* A, const float* B, int M, int N, int K) {
    const int64_t pieces = CEIL_DIV(N, 2 * LANES), warps = (int64_t)gridDim.x * ROWS;
    for (int64_t p = (int64_t)blockIdx.x * ROWS + threadIdx.y; p < pieces * M; p += warps) {
        const int64_t row = p / pieces;
        const int col = (int)(p % pieces) * 2 * LANES + threadIdx.x;
        float first = sum_of(A + row * K, B, col, N, K);
        float second = sum_of(A + row * K, B, col + LANES, N, K);
        if (col < N) C[row * N + col] = first;
        if (col + LANES < N) C[row * N + col + LANES] = second;
    }
}

static bool is_bad(int M, int N, int K, const float* C, const float* A, const float* B,
                   int* status) {
    *status = COURSE_BAD_ARGUMENT;
    if (M < 0 || N < 0 || K < 0) return true;
    *status = COURSE_UNSUPPORTED;
    if (M > MATMUL_COALESCED_MAX_SIZE || N > MATMUL_COALESCED_MAX_SIZE ||
        K > MATMUL_COALESCED_MAX_SIZE)
        return true;
    *status = COURSE_OK;
    if (M == 0 || N == 0) return true;
    *status = COURSE_BAD_ARGUMENT;
    return !C || (K > 0 && (!A || !B));
}

int matmul_coalesced(float* C, const float* A, const float* B, int M, int N, int K) {
    int status;
    if (is_bad(M, N, K, C, A, B, &status)) return status;
    warp_kernel<<<dim3(CEIL_DIV(N, LANES), CEIL_DIV(M, ROWS)), dim3(LANES, ROWS)>>>(C, A, B, M, N,
                                                                                    K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

int matmul_coalesced_grid(float* C, const float* A, const float* B, int M, int N, int K,
                          int blocks) {
    int status;
    if (blocks < 1) return COURSE_BAD_ARGUMENT;
    if (is_bad(M, N, K, C, A, B, &status)) return status;
    grid_kernel<<<blocks, dim3(LANES, ROWS)>>>(C, A, B, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- how a grid runs

static bool hold(const struct card* card, int n, int warps, int registers, size_t shared) {
    if (n * warps > card->threads / 32) return false;
    size_t bytes = (shared + 1024) / 128 * 128 + ((shared + 1024) % 128 ? 128 : 0);
    if (n * bytes > card->shared) return false;
    if (registers == 0) return true;
    int room = card->registers / 4 / (CEIL_DIV(registers, 8) * 8 * 32);  // warps of a partition
    return CEIL_DIV(n * warps, 4) <= room;
}

int64_t matmul_coalesced_waves(const struct card* card, int threads, int registers, size_t shared,
                               int64_t blocks, int* per_multiprocessor) {
    int n = 0;
    if (threads > 0 && threads <= 1024 && registers < 256 && shared <= card->shared_block)
        for (n = card->blocks; n > 0 && !hold(card, n, CEIL_DIV(threads, 32), registers, shared);)
            n--;
    *per_multiprocessor = n;
    if (n == 0) return -1;
    int64_t left = blocks, waves = 0, wave = (int64_t)n * card->multiprocessors;
    waves = left / wave;
    left -= waves * wave;
    return left > 0 ? waves + 1 : waves;
}
