// one_row_of_blocks.cu: blocks in one row of the grid, each with 256 neighbours of C wherever its
// rows end. The grid that strides has two axes of threads and goes row by row. A multiprocessor is
// filled block by block, each warp on the partition with the most registers left, until the next
// block finds no room.
#include "matmul_coalesced.h"

enum { THREADS = 256, ACROSS = 64, DOWN = 4 };

__global__ void elements_kernel(float* C, const float* A, const float* B, int64_t elements, int N,
                                int K) {
    int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e >= elements) return;
    const float* a = A + e / N * K;
    const float* b = B + e % N;
    float sum = 0.0f;
    for (int k = 0; k < K; k++, b += N) sum = fmaf(a[k], *b, sum);
    C[e] = sum;
}

__global__ void rows_kernel(float* C, const float* A, const float* B, int M, int N, int K) {
    int64_t pieces = CEIL_DIV(N, ACROSS), patches = pieces * CEIL_DIV(M, DOWN);
    for (int64_t p = blockIdx.x; p < patches; p += gridDim.x) {
        int64_t row = p / pieces * DOWN + threadIdx.y, col = p % pieces * ACROSS + threadIdx.x;
        if (row >= M || col >= N) continue;
        float sum = 0.0f;
        for (int64_t k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

static int refused(const float* C, const float* A, const float* B, int M, int N, int K) {
    const int largest = MATMUL_COALESCED_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > largest || N > largest || K > largest) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    return C == NULL || (K > 0 && (A == NULL || B == NULL)) ? COURSE_BAD_ARGUMENT : -1;
}

int matmul_coalesced(float* C, const float* A, const float* B, int M, int N, int K) {
    int status = refused(C, A, B, M, N, K);
    if (status >= 0) return status;
    int64_t elements = (int64_t)M * N;
    elements_kernel<<<(unsigned)CEIL_DIV(elements, THREADS), THREADS>>>(C, A, B, elements, N, K);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}

int matmul_coalesced_grid(float* C, const float* A, const float* B, int M, int N, int K,
                          int blocks) {
    if (blocks <= 0) return COURSE_BAD_ARGUMENT;
    int status = refused(C, A, B, M, N, K);
    if (status >= 0) return status;
    rows_kernel<<<blocks, dim3(ACROSS, DOWN)>>>(C, A, B, M, N, K);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}

// ---- how a grid runs

// What is still free on a multiprocessor.
struct room {
    int blocks, warps, registers[4];
    size_t shared;
};

// Takes room for one more block; false if there is none.
static bool place(struct room* r, int warps, int registers_of_warp, size_t shared) {
    if (r->blocks < 1 || r->warps < warps || r->shared < shared) return false;
    r->blocks--;
    r->warps -= warps;
    r->shared -= shared;
    for (int w = 0; w < warps; w++) {
        int most = 0;
        for (int p = 1; p < 4; p++)
            if (r->registers[p] > r->registers[most]) most = p;
        if (r->registers[most] < registers_of_warp) return false;
        r->registers[most] -= registers_of_warp;
    }
    return true;
}

int64_t matmul_coalesced_waves(const struct card* card, int threads, int registers, size_t shared,
                               int64_t blocks, int* per_multiprocessor) {
    *per_multiprocessor = 0;
    if (threads < 1 || threads > 1024 || registers > 255 || shared > card->shared_block) return -1;
    struct room room = {.blocks = card->blocks, .warps = card->threads / 32};
    for (int p = 0; p < 4; p++) room.registers[p] = card->registers / 4;
    room.shared = card->shared;
    size_t of_block = (shared + 1024 + 127) & ~(size_t)127;
    while (place(&room, (threads + 31) / 32, (registers + 7) / 8 * 256, of_block))
        ++*per_multiprocessor;
    if (*per_multiprocessor == 0) return -1;
    int64_t wave = (int64_t)*per_multiprocessor * card->multiprocessors;
    return (blocks + wave - 1) / wave;
}
