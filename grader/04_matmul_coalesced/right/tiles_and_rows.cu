// tiles_and_rows.cu: what comes later, here already: tiles in shared memory, as lesson 05 has them.
// A block of a given grid takes whole rows of C, one after another.
#include "matmul_coalesced.h"

#include <algorithm>

#define T 16

__global__ void tiled(float* C, const float* A, const float* B, int M, int N, int K) {
    __shared__ float a[T][T], b[T][T];
    const int x = threadIdx.x, y = threadIdx.y;
    const int64_t row = (int64_t)blockIdx.y * T + y, col = (int64_t)blockIdx.x * T + x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        a[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        b[y][x] = col < N && k0 + y < K ? B[(int64_t)(k0 + y) * N + col] : 0.0f;
        __syncthreads();  // both tiles are written -> they are read
        for (int k = 0; k < T; k++) sum += a[y][k] * b[k][x];
        __syncthreads();  // both tiles have been read -> they are overwritten
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

// Rows first: a block takes whole rows of C, as many as its turn has.
__global__ void rows(float* C, const float* A, const float* B, int M, int N, int K) {
    for (int64_t row = blockIdx.x; row < M; row += gridDim.x)
        for (int col = threadIdx.x; col < N; col += blockDim.x) {
            float sum = 0;
            for (int k = K - 1; k >= 0; k--) sum += A[row * K + k] * B[(int64_t)k * N + col];
            C[row * N + col] = sum;
        }
}

static int check(const void* C, const void* A, const void* B, int M, int N, int K) {
    if (std::min({M, N, K}) < 0) return COURSE_BAD_ARGUMENT;
    if (std::max({M, N, K}) > MATMUL_COALESCED_MAX_SIZE) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!C || (K && (!A || !B))) return COURSE_BAD_ARGUMENT;
    return COURSE_OK;
}

extern "C" int matmul_coalesced(float* C, const float* A, const float* B, int M, int N, int K) {
    int status = check(C, A, B, M, N, K);
    if (status || M == 0 || N == 0) return status;
    tiled<<<dim3(CEIL_DIV(N, T), CEIL_DIV(M, T)), dim3(T, T)>>>(C, A, B, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int matmul_coalesced_grid(float* C, const float* A, const float* B, int M, int N, int K,
                                     int blocks) {
    if (blocks < 1) return COURSE_BAD_ARGUMENT;
    int status = check(C, A, B, M, N, K);
    if (status || M == 0 || N == 0) return status;
    rows<<<blocks, 96>>>(C, A, B, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int64_t matmul_coalesced_waves(const struct card* card, int threads, int registers,
                                          size_t shared, int64_t blocks, int* per_multiprocessor) {
    *per_multiprocessor = 0;
    if (threads <= 0 || threads > 1024 || registers >= 256 || shared > card->shared_block)
        return -1;
    const long warps = (threads + 31L) / 32, of_thread = (registers + 7L) / 8 * 8;
    const long of_partition = of_thread ? card->registers / 4 / (of_thread * 32) : 1L << 20;
    const long by_memory = (long)(card->shared / ((shared + 1151) / 128 * 128));
    *per_multiprocessor = (int)std::min(
        {(long)card->blocks, card->threads / (warps * 32), of_partition * 4 / warps, by_memory});
    const int64_t at_once = (int64_t)*per_multiprocessor * card->multiprocessors;
    if (at_once == 0) return -1;
    return blocks == 0 ? 0 : (blocks - 1) / at_once + 1;
}
