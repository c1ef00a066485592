// quantise.h: what surrounds the step to eight bits: rows of X into registers, their rotation, and
// bytes out of registers, in the order of the contract. Given.
#ifndef QUANTISE_H
#define QUANTISE_H

#include <float.h>
#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "hopper.h"
#include "low_precision.h"

enum {
    QUANTISE_THREADS = 256,
    QUANTISE_WARPS = QUANTISE_THREADS / 32,
    PIECE = 8,                // elements of a row that a thread loads at once, 16 bytes
    WORDS = SCALE_BLOCK / 4,  // of a row of V^T
};

// What a kernel works on.
struct quantise {
    struct rows X;
    e4m3* to;
    float* scales;
    int B, N, H, per_block, rotated, transposed;
    int blocks;  // of 128 rows, of a head
};

// The sizes for rows of d elements. A row is loaded by d / 8 neighbouring threads, AT_ONCE rows at
// the same time.
template <int head_dim> struct quantise_sizes {
    enum {
        d = head_dim,
        LANES = d / PIECE,
        AT_ONCE = QUANTISE_THREADS / LANES,
        PASSES = SCALE_BLOCK / AT_ONCE,  // rows of a thread
    };
};

// A thread block's 128 rows: their head, and the first of them.
struct rows_of_block {
    int batch, head, row0;
};

__device__ __forceinline__ struct rows_of_block find_rows(const struct quantise& p) {
    int head = blockIdx.x / p.blocks;
    struct rows_of_block at = {head / p.H, head % p.H, (int)(blockIdx.x % p.blocks) * SCALE_BLOCK};
    return at;
}

// Row `pass` of the thread, of the 128. Four passes are the four keys whose bytes are neighbours in
// V^T: 2 t, 2 t + 1, 2 t + 8, 2 t + 9 of 16.
template <class T> __device__ __forceinline__ int row_of_pass(int pass) {
    int r = threadIdx.x / T::LANES, sixteen = r / 4 + T::AT_ONCE / 4 * (pass / 4);
    return sixteen * 16 + r % 4 * 2 + pass % 2 + pass % 4 / 2 * 8;
}

// The thread's elements. Behind the last row they are 0.
template <class T>
__device__ __forceinline__ void load_rows(float x[T::PASSES][PIECE], const struct quantise& p,
                                          const struct rows_of_block& at) {
    const bf16* X = head_of(p.X, at.batch, at.head) + threadIdx.x % T::LANES * PIECE;
#pragma unroll
    for (int pass = 0; pass < T::PASSES; pass++) {
        int64_t row = (int64_t)at.row0 + row_of_pass<T>(pass);
        uint4 piece = {0, 0, 0, 0};
        if (row < p.N) piece = *(const uint4*)(X + row * p.X.stride.n);
        const unsigned word[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
        for (int i = 0; i < PIECE; i++)
            x[pass][i] = __uint_as_float(i % 2 ? word[i / 2] & 0xffff0000 : word[i / 2] << 16);
    }
}

// The rows times a Hadamard matrix, divided by sqrt(d): see the contract.          (README eq. 7)
template <class T> __device__ __forceinline__ void rotate(float x[T::PASSES][PIECE]) {
    const float factor = T::d == 64 ? 0.125f : 0.0883883461f;  // 1 / sqrt(d)
#pragma unroll
    for (int pass = 0; pass < T::PASSES; pass++) {
#pragma unroll
        for (int w = 1; w < PIECE; w *= 2)
#pragma unroll
            for (int i = 0; i < PIECE; i++) {
                if (i & w) continue;
                float a = x[pass][i], b = x[pass][i + w];
                x[pass][i] = a + b, x[pass][i + w] = a - b;
            }
#pragma unroll
        for (int lane = 1; lane < T::LANES; lane *= 2)
#pragma unroll
            for (int i = 0; i < PIECE; i++) {
                float other = __shfl_xor_sync(0xffffffff, x[pass][i], lane);
                x[pass][i] = threadIdx.x & lane ? other - x[pass][i] : x[pass][i] + other;
            }
#pragma unroll
        for (int i = 0; i < PIECE; i++) x[pass][i] *= factor;
    }
}

// The largest x of all threads of the block, in each of them. x >= 0; of_warp is in shared memory.
__device__ __forceinline__ float largest_of_block(float x, float of_warp[QUANTISE_WARPS]) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, lane));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();  // all warps have written theirs before anybody reads them
    for (int w = 0; w < QUANTISE_WARPS; w++) x = fmaxf(x, of_warp[w]);
    return x;
}

// The bytes of the thread's rows, packed: word[pass][n] has elements 4 n .. 4 n + 3 of its piece.
template <class T>
__device__ __forceinline__ void store_bytes(const struct quantise& p,
                                            const struct rows_of_block& at,
                                            const unsigned word[T::PASSES][2]) {
    int64_t head = (int64_t)at.batch * p.H + at.head;
    e4m3* to = p.to + head * p.N * T::d + threadIdx.x % T::LANES * PIECE;
#pragma unroll
    for (int pass = 0; pass < T::PASSES; pass++) {
        int64_t row = (int64_t)at.row0 + row_of_pass<T>(pass);
        uint2 bytes = {word[pass][0], word[pass][1]};
        if (row < p.N) *(uint2*)(to + row * T::d) = bytes;
    }
}

// The same transposed, by way of a tile in shared memory: word[n][i] has element i of the thread's
// piece, of its rows 4 n .. 4 n + 3, whose bytes are neighbours. A row of the tile is 32 words;
// they are moved by xor, so that the lanes of a warp write into different banks.
template <class T>
__device__ __forceinline__ void
store_transposed(const struct quantise& p, const struct rows_of_block& at,
                 const unsigned word[T::PASSES / 4][PIECE], unsigned tile[T::d][WORDS]) {
    int r = threadIdx.x / T::LANES, lane = threadIdx.x % T::LANES;
#pragma unroll
    for (int n = 0; n < T::PASSES / 4; n++)
#pragma unroll
        for (int i = 0; i < PIECE; i++)
            tile[lane * PIECE + i][(r + T::AT_ONCE * n) ^ lane * 2 % WORDS] = word[n][i];
    __syncthreads();  // the tile is whole before it is read by rows
    int64_t head = (int64_t)at.batch * p.H + at.head, padded = PADDED(p.N);
    for (int n = threadIdx.x; n < T::d * WORDS; n += QUANTISE_THREADS) {
        int x = n / WORDS, w = n % WORDS;
        int64_t key = (int64_t)at.row0 + 4 * w;
        if (key < padded)
            *(unsigned*)(p.to + (head * T::d + x) * padded + key) =
                tile[x][w ^ x / PIECE * 2 % WORDS];
    }
}

// ---- on the host

// What the contract says of the arguments of low_precision_quantise(), in its order. Sets *blocks,
// of 128 rows: with COURSE_OK and 0 of them there is nothing to do.
static inline int check_quantise(const struct quantise* p, int d, int* blocks) {
    *blocks = 0;
    if (p->B < 0 || p->N < 0 || p->H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)p->B * p->H > INT_MAX ||
        CEIL_DIV(p->N, SCALE_BLOCK) * ((int64_t)p->B * p->H) > INT_MAX)
        return COURSE_UNSUPPORTED;
    if (p->B == 0 || p->N == 0 || p->H == 0) return COURSE_OK;
    if (!p->X.first || !p->to || !p->scales) return COURSE_BAD_ARGUMENT;
    const struct strides s = p->X.stride;
    if (s.b < 0 || s.n < d || s.h < 0) return COURSE_BAD_ARGUMENT;
    if ((uintptr_t)p->X.first % 16 || (s.b | s.n | s.h) % 8 || (uintptr_t)p->to % 16)
        return COURSE_UNSUPPORTED;
    int multiprocessors, status = find_hopper(&multiprocessors);
    if (status == COURSE_OK) *blocks = CEIL_DIV(p->N, SCALE_BLOCK) * p->B * p->H;
    return status;
}

#endif
