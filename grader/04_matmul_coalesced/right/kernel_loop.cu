// After the manner of a deep learning framework: a loop macro, one dimension for everything.
#include "matmul_coalesced.h"

#include <stdlib.h>

#define CUDA_KERNEL_LOOP(i, n)                                       \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, \
                 i##_step = (int64_t)blockDim.x * gridDim.x;         \
         i < (n); i += i##_step)

#define MM_CHECK(cond, status) \
    if (!(cond)) return (status)

namespace at_native {

static constexpr int kThreads = 128;

template <typename scalar_t, typename acc_t>
__global__ void mm_out_kernel(scalar_t* out, const scalar_t* self, const scalar_t* mat2, int64_t m,
                              int64_t n, int64_t k) {
    CUDA_KERNEL_LOOP(index, m * n) {
        const int64_t i = index / n;
        const int64_t j = index - i * n;
        acc_t acc = acc_t(0);
        for (int64_t p = 0; p < k; p++) acc += self[i * k + p] * mat2[p * n + j];
        out[index] = acc;
    }
}

static int launch(float* C, const float* A, const float* B, int M, int N, int K, int64_t blocks) {
    const auto legal = [](int v) { return v <= MATMUL_COALESCED_MAX_SIZE; };
    MM_CHECK(M >= 0 && N >= 0 && K >= 0, COURSE_BAD_ARGUMENT);
    MM_CHECK(legal(M) && legal(N) && legal(K), COURSE_UNSUPPORTED);
    const int64_t numel = int64_t(M) * N;
    MM_CHECK(numel != 0, COURSE_OK);
    MM_CHECK(C != nullptr, COURSE_BAD_ARGUMENT);
    MM_CHECK(K == 0 || (A != nullptr && B != nullptr), COURSE_BAD_ARGUMENT);
    if (blocks == 0) blocks = (numel + kThreads - 1) / kThreads;
    mm_out_kernel<float, float><<<(unsigned)blocks, kThreads>>>(C, A, B, M, N, K);
    const cudaError_t err = cudaGetLastError();
    MM_CHECK(err == cudaSuccess, COURSE_CUDA_ERROR);
    return COURSE_OK;
}

}  // namespace at_native

extern "C" int matmul_coalesced(float* C, const float* A, const float* B, int M, int N, int K) {
    // 500000^2 elements are 1.95 * 10^9 blocks of 128: fewer than 2^31.
    return at_native::launch(C, A, B, M, N, K, 0);
}

extern "C" int matmul_coalesced_grid(float* C, const float* A, const float* B, int M, int N, int K,
                                     int blocks) {
    MM_CHECK(blocks >= 1, COURSE_BAD_ARGUMENT);
    return at_native::launch(C, A, B, M, N, K, blocks);
}

// Tries n blocks at once, from the most on.
static bool fits(const card& c, int n, int warps, int registers, size_t shared) {
    if (n > c.blocks || (int64_t)n * warps > c.threads / 32) return false;
    if ((shared + 1024 + 127) / 128 * 128 > c.shared / (size_t)n) return false;
    if (registers <= 0) return true;
    const int each = (registers * 32 + 255) / 256 * 256;
    const int places = 4 * (c.registers / 4 / each);
    return (int64_t)n * warps <= places;
}

extern "C" int64_t matmul_coalesced_waves(const struct card* card, int threads, int registers,
                                          size_t shared, int64_t blocks, int* per_multiprocessor) {
    int n = 0;
    if (0 < threads && threads <= 1024 && registers < 256 && shared <= card->shared_block) {
        n = card->blocks;
        while (n > 0 && !fits(*card, n, (threads + 31) / 32, registers, shared)) n--;
    }
    *per_multiprocessor = n;
    if (n == 0 || card->multiprocessors == 0) return -1;
    const lldiv_t d = lldiv(blocks, (int64_t)n * card->multiprocessors);
    return d.quot + (d.rem != 0);
}
