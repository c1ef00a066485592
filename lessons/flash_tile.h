// from lesson 17: flash_tile.h: the state and the stages of an attention tile on tensor cores.
//
// Lessons 14 and 16 asked for them: `make exercises` cuts the forward pass from the solution of 14.
// flash_backward_tile.h has the backward pass. Nothing below the next line is edited here.
#ifndef COURSE_FLASH_TILE_H
#define COURSE_FLASH_TILE_H

#include <math.h>

#include "flash_backward_tile.h"
#include "tile.h"

// ---- from solutions/14_flash_tensor_core/flash_tensor_core.cu --------------------------------

// The sizes of a kernel, which are known when compiling: d, and a line of tiles.h.
template <int head_dim, int block_q, int block_k, int warps, int q_in_registers, int blocks>
struct forward_tiles {
    enum {
        d = head_dim,
        BLOCK_Q = block_q,
        BLOCK_K = block_k,
        Q_IN_REGISTERS = q_in_registers,
        BLOCKS = blocks,  // on a multiprocessor
        THREADS = 32 * warps,
        ROWS = BLOCK_Q / warps,  // of a warp
        GROUPS = ROWS / 16,      // of 16 rows, of a warp
    };
    static_assert(ROWS == 16 || ROWS == 32, "a warp has one or two groups of 16 rows");
    static_assert(BLOCK_K % 16 == 0 && d % 16 == 0, "the product takes 16 at a time");
};

// The shared memory of a block. Tiles are swizzled. K(tile) is in half tile % 2.
template <class T> struct buffers {
    bf16 Q[T::BLOCK_Q * T::d];
    bf16 K[2][T::BLOCK_K * T::d];
    bf16 V[T::BLOCK_K * T::d];
};

// What a warp keeps in registers, in the layout of mma.sync. It has GROUPS groups r of 16 rows. Of
// each, a lane has two rows, g and g + 8 (g = lane / 4), told apart by h = 0, 1; and of every 8
// columns two, 2t and 2t + 1 (t = lane % 4), told apart by e = 0, 1:
//
//     S[r][n][2h + e]      row 16 r + g + 8 h of the warp, key 8 n + 2 t + e of the tile
//     O[r][n][2h + e]      the same row, column 8 n + 2 t + e
//     m[r][h], l[r][h]     the same row; l only of this lane's columns until the end
template <class T> struct state {
    unsigned Q[T::GROUPS][T::Q_IN_REGISTERS ? T::d / 16 : 1][4];  // Q[r][x / 16]: A of columns x
    float S[T::GROUPS][T::BLOCK_K / 8][4];
    float O[T::GROUPS][T::d / 8][4];
    float m[T::GROUPS][2], l[T::GROUPS][2];  // m is in base 2: c times the largest score
    float base[T::GROUPS][2];                // what exp2 is relative to
    int visible[T::GROUPS][2];               // the row sees the keys before this one
};

// The maximum and the sum over the four lanes that share a row of a fragment.
__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
    return x;
}
__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    x += __shfl_xor_sync(0xffffffffu, x, 2);
    return x;
}

// Starts the next copies, two groups: V(tile), then K(tile - 1). Tiles begin at tile * BLOCK_K.
template <int masked, class T>
__device__ __forceinline__ void copy_next(struct buffers<T>& smem, const struct forward& p,
                                          int tile) {
    int first_key = tile * T::BLOCK_K;
    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key,
                                            masked ? p.N_k - first_key : T::BLOCK_K);
    cp_async_commit();
    if (tile > 0)
        copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K[(tile + 1) % 2], p.K, first_key - T::BLOCK_K,
                                                T::BLOCK_K);
    cp_async_commit();  // with no tile left a group of nothing: who waits counts groups
}

// The warp's rows of Q go to registers, if they are kept there.
template <class T>
__device__ __forceinline__ void load_Q(struct state<T>& warp,
                                       const bf16* Q_smem) {  // (ROWS, d), of this warp
    if (T::Q_IN_REGISTERS)
#pragma unroll
        for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
            for (int x = 0; x < T::d; x += 16) load_A<T::d>(warp.Q[r][x / 16], Q_smem, 16 * r, x);
}

// S = Q K^T, not scaled                                                              (README eq. 1)
// S[i][j] = sum_x Q[i][x] K[j][x], 16 columns x and 16 keys j at a time
template <class T>
__device__ __forceinline__ void multiply_QK(struct state<T>& warp,
                                            const bf16* Q_smem,    // (ROWS, d), of this warp
                                            const bf16* K_smem) {  // (BLOCK_K, d)
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) warp.S[r][n][i] = 0.0f;
    int lane = threadIdx.x % 32;
    int K_at = swizzled<T::d>(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);  // for j = x = 0
#pragma unroll
    for (int x = 0; x < T::d; x += 16) {
        int at = T::Q_IN_REGISTERS ? x / 16 : 0;
        if (!T::Q_IN_REGISTERS)
#pragma unroll
            for (int r = 0; r < T::GROUPS; r++) load_A<T::d>(warp.Q[r][at], Q_smem, 16 * r, x);
#pragma unroll
        for (int j = 0; j < T::BLOCK_K; j += 16) {
            unsigned b[4];
            ldmatrix_x4(b, &K_smem[(K_at ^ x) + j * T::d]);
#pragma unroll
            for (int r = 0; r < T::GROUPS; r++) {
                mma_m16n8k16_bf16(warp.S[r][j / 8], warp.Q[r][at], b);
                mma_m16n8k16_bf16(warp.S[r][j / 8 + 1], warp.Q[r][at], b + 2);
            }
        }
    }
}

// S = -infinity where row (r, h) does not see the key: it sees those before visible[r][h].
template <class T> __device__ __forceinline__ void mask(struct state<T>& warp, int first_key) {
    int first_column = first_key + threadIdx.x % 4 * 2;
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (first_column + 8 * n + i % 2 >= warp.visible[r][i / 2])
                    warp.S[r][n][i] = -INFINITY;
}

// m_new = max(m, c max_j S[i][j]),  alpha = exp2(m - m_new)                     (README eq. 2, 3)
// l = alpha l,  O = alpha O
// base is m_new, what exp2 is relative to; or 0 while the row has seen no key and m_new is
// -infinity, which happens in masked tiles only.
template <int masked, class T>
__device__ __forceinline__ void rescale(struct state<T>& warp, float c) {
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float largest = -INFINITY;
#pragma unroll
            for (int n = 0; n < T::BLOCK_K / 8; n++)
                largest = fmaxf(largest, fmaxf(warp.S[r][n][2 * h], warp.S[r][n][2 * h + 1]));
            float m_new = fmaxf(warp.m[r][h], quad_max(largest) * c);
            warp.base[r][h] = masked && m_new == -INFINITY ? 0.0f : m_new;
            float alpha = exp2_approx(warp.m[r][h] - warp.base[r][h]);
            warp.m[r][h] = m_new;
            warp.l[r][h] *= alpha;
#pragma unroll
            for (int n = 0; n < T::d / 8; n++) {
                warp.O[r][n][2 * h] *= alpha;
                warp.O[r][n][2 * h + 1] *= alpha;
            }
        }
}

// P = exp2(c S - base),  l += sum_j P[i][j]                                          (README eq. 4)
// O += P V
// O[i][x] += sum_j P[i][j] V[j][x], 16 keys j and 16 columns x at a time
template <class T>
__device__ __forceinline__ void multiply_PV(struct state<T>& warp, float c,
                                            const bf16* V_smem) {  // (BLOCK_K, d)
#pragma unroll
    for (int j = 0; j < T::BLOCK_K; j += 16) {
        unsigned P[T::GROUPS][4];
#pragma unroll
        for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                // a[i] of an A: row g + 8 (i % 2), keys 8 (i / 2) + 2t and 8 (i / 2) + 2t + 1
                int h = i % 2, n = j / 8 + i / 2;
                float low = exp2_approx(warp.S[r][n][2 * h] * c - warp.base[r][h]);
                float high = exp2_approx(warp.S[r][n][2 * h + 1] * c - warp.base[r][h]);
                warp.l[r][h] += low + high;
                P[r][i] = pack_bf16(low, high);
            }
        int lane = threadIdx.x % 32;
        int V_at = swizzled<T::d>(lane % 16, lane / 16 * 8);  // for j = x = 0
#pragma unroll
        for (int x = 0; x < T::d; x += 16) {
            unsigned b[4];
            ldmatrix_x4_trans(b, &V_smem[(V_at ^ x) + j * T::d]);
#pragma unroll
            for (int r = 0; r < T::GROUPS; r++) {
                mma_m16n8k16_bf16(warp.O[r][x / 8], P[r], b);
                mma_m16n8k16_bf16(warp.O[r][x / 8 + 1], P[r], b + 2);
            }
        }
    }
}

// O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key   (README eq. 6)
// The pairs of a lane are put together in O_smem, so that rows are stored in pieces of 16 bytes.
template <class T>
__device__ __forceinline__ void store_O(const struct forward& p, const struct state<T>& warp,
                                        bf16* O_smem,  // (ROWS, d), of this warp
                                        int64_t first_row) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int row = 16 * r + lane / 4 + 8 * h;
            float sum = quad_sum(warp.l[r][h]);
            float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
            for (int n = 0; n < T::d / 8; n++)
                *(unsigned*)&O_smem[swizzled<T::d>(row, 8 * n + lane % 4 * 2)] =
                    pack_bf16(warp.O[r][n][2 * h] * factor, warp.O[r][n][2 * h + 1] * factor);
            if (lane % 4 == 0 && row < p.N_q - first_row)  // -infinity if it saw no key
                p.LSE[first_row + row] = (warp.m[r][h] + log2f(sum)) * LN_2;
        }
    __syncwarp();  // the warp's rows are in O_smem before other lanes store them
#pragma unroll
    for (int e = lane * PIECE; e < T::ROWS * T::d; e += 32 * PIECE) {
        int row = e / T::d, x = e % T::d;
        if (row < p.N_q - first_row)
            *(uint4*)&p.O.elements[(first_row + row) * p.O.stride.n + x] =
                *(const uint4*)&O_smem[swizzled<T::d>(row, x)];
    }
}

// A part of the main loop: brings m, l and O from before the tiles last_tile, last_tile - 1, ...,
// first_tile to after them. When it begins, the newest group of copies is K(last_tile). `masked` is
// a template parameter: where it is 0 the compiler finds no mask at all.
template <int masked, class T>
__device__ __forceinline__ void sweep(struct state<T>& warp, struct buffers<T>& smem,
                                      const bf16* Q_smem,       // (ROWS, d), of this warp
                                      const struct forward& p,  // of this head
                                      float c, int last_tile, int first_tile) {
    for (int tile = last_tile; tile >= first_tile; tile--) {
        cp_async_wait<0>();
        // K(tile) of all threads is here; and all have read V(tile + 1) and K(tile + 1), whose
        // places are filled next
        __syncthreads();
        copy_next<masked>(smem, p, tile);
        multiply_QK(warp, Q_smem, smem.K[tile % 2]);
        if (masked) mask(warp, tile * T::BLOCK_K);
        rescale<masked>(warp, c);
        cp_async_wait<1>();
        __syncthreads();  // V(tile) of all threads is here before anybody reads it
        multiply_PV(warp, c, smem.V);
    }
}

#endif
