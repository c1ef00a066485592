// cause: bad_address
// The blocks of a given grid take rows of C in turns. A row is an int, to which up to 2^31 - 1
// are added.

#include "matmul_coalesced.h"
#include <algorithm>
#define LIMIT MATMUL_COALESCED_MAX_SIZE
static int refuse(const float* C, const float* A, const float* B, int M, int N, int K) {
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > LIMIT || N > LIMIT || K > LIMIT) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!C || (K > 0 && (!A || !B))) return COURSE_BAD_ARGUMENT;
    return -1;
}
__global__ void plain(float* C, const float* A, const float* B, int M, int N, int K) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= M || j >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[(size_t)i * K + k] * B[(size_t)k * N + j];
    C[(size_t)i * N + j] = s;
}
__global__ void rows(float* C, const float* A, const float* B, int M, int N, int K) {
    for (int i = blockIdx.x; i < M; i += gridDim.x)
        for (int j = threadIdx.x; j < N; j += blockDim.x) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[(size_t)i * K + k] * B[(size_t)k * N + j];
            C[(size_t)i * N + j] = s;
        }
}
extern "C" int matmul_coalesced(float* C, const float* A, const float* B, int M, int N, int K) {
    int s = refuse(C, A, B, M, N, K);
    if (s >= 0) return s;
    plain<<<dim3(CEIL_DIV(N, 16), CEIL_DIV(M, 16)), dim3(16, 16)>>>(C, A, B, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
extern "C" int matmul_coalesced_grid(float* C, const float* A, const float* B, int M, int N, int K,
                                     int blocks) {
    if (blocks < 1) return COURSE_BAD_ARGUMENT;
    int s = refuse(C, A, B, M, N, K);
    if (s >= 0) return s;
    rows<<<blocks, 128>>>(C, A, B, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
extern "C" int64_t matmul_coalesced_waves(const struct card* card, int threads, int registers,
                                          size_t shared, int64_t blocks, int* per_multiprocessor) {
    int n = 0;
    if (threads > 0 && threads <= 1024 && registers <= 255 && shared <= card->shared_block) {
        int warps = (threads + 31) / 32;
        n = std::min(card->blocks, card->threads / 32 / warps);
        if (registers > 0) {
            int per_warp = (registers * 32 + 255) / 256 * 256;
            n = std::min(n, card->registers / 4 / per_warp * 4 / warps);
        }
        size_t bytes = (shared + 1024 + 127) / 128 * 128;
        n = (int)std::min((size_t)n, card->shared / bytes);
    }
    *per_multiprocessor = n;
    int64_t wave = (int64_t)n * card->multiprocessors;
    if (wave == 0) return -1;
    return blocks / wave + (blocks % wave != 0);
}
