// from lesson 17: flash_tile.h: the state and the stages of an attention tile on tensor cores.
//
// Lessons 14 and 16 asked for them: `make exercises` cuts them from their solutions, the forward
// pass first, then the backward pass. Nothing below the next line is edited here.
#ifndef COURSE_FLASH_TILE_H
#define COURSE_FLASH_TILE_H

#include <math.h>

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

// ---- from solutions/16_flash_backward_split/flash_backward_split.cu --------------------------

enum { GROUPS = 2, ROWS = 32 };  // of a warp in each product: groups of 16 rows, rows

// The sizes of dk_dv_kernel, which are known when compiling: d, and a part of a line of tiles.h.
template <int head_dim, int block_k, int tile_q, int shares, int blocks> struct keys_tiles {
    enum {
        d = head_dim,
        BLOCK_K = block_k,          // keys of a block
        TILE_Q = tile_q,            // queries in a tile
        SHARES = shares,            // warps that share 32 keys
        QUERIES = TILE_Q / SHARES,  // a warp's part of a tile for S and dP
        COLUMNS = d / SHARES,       // a warp's part of dK and dV
        THREADS = BLOCK_K * SHARES,
        BLOCKS = blocks,                             // on a multiprocessor
        PUT = SHARES > 1 ? BLOCK_K* TILE_Q : PIECE,  // elements of P in shared memory
    };
    static_assert(SHARES == 1 || TILE_Q % 64 == 0, "a row of P has the 8 pieces of a swizzle");
};

// The sizes of dq_kernel.
template <int head_dim, int block_q, int tile_k, int blocks> struct queries_tiles {
    enum {
        d = head_dim,
        BLOCK_Q = block_q,  // queries of a block
        TILE_K = tile_k,    // keys in a tile
        THREADS = BLOCK_Q,
        BLOCKS = blocks,  // on a multiprocessor
    };
};

// What a line of tiles.h says: the sizes of both kernels.
template <int d, int block_k, int tile_q, int shares, int blocks_k, int block_q, int tile_k,
          int blocks_q>
struct backward_tiles {
    typedef keys_tiles<d, block_k, tile_q, shares, blocks_k> keys;
    typedef queries_tiles<d, block_q, tile_k, blocks_q> queries;
};

// The shared memory of a block of dk_dv_kernel. Tiles of queries have two buffers: tile i is in
// half i % 2.
template <class T> struct keys_smem {
    bf16 K[T::BLOCK_K * T::d], V[T::BLOCK_K * T::d];
    bf16 Q[2][T::TILE_Q * T::d], dO[2][T::TILE_Q * T::d];
    float LSE[2][T::TILE_Q], delta[2][T::TILE_Q];
    bf16 P[T::PUT], dS[T::PUT];  // (BLOCK_K, TILE_Q), a row is a key; used if warps share keys
};

// The shared memory of a block of dq_kernel. Tiles of keys have two buffers: tile j is in half j %
// 2.
template <class T> struct queries_smem {
    bf16 Q[T::BLOCK_Q * T::d], dO[T::BLOCK_Q * T::d];
    bf16 K[2][T::TILE_K * T::d], V[2][T::TILE_K * T::d];
};

// On the host: may a block have so much shared memory on the current device?
static inline bool block_may_have(size_t bytes) {
    int device = 0, most = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess &&
           bytes <= (size_t)most;
}

// What a warp keeps in registers, in the layout of mma.sync. Its rows are two groups r of 16. Of
// each, a lane has two rows, g and g + 8 (g = lane / 4), told apart by h = 0, 1; and of every 8
// columns n two, 2t and 2t + 1 (t = lane % 4), told apart by e = 0, 1:
//
//     C[r][n][2h + e]    row 16 r + g + 8 h, column 8 n + 2 t + e
//
// In dk_dv_kernel rows are keys: S and dP are transposed. S becomes P, and dP becomes dS.
template <class T> struct keys_state {
    float S[GROUPS][T::QUERIES / 8][4], dP[GROUPS][T::QUERIES / 8][4];
    float dK[GROUPS][T::COLUMNS / 8][4], dV[GROUPS][T::COLUMNS / 8][4];
};

// In dq_kernel rows are queries. What belongs to a row has the number 2r + h.
template <class T> struct queries_state {
    float S[GROUPS][T::TILE_K / 8][4], dP[GROUPS][T::TILE_K / 8][4];
    float dQ[GROUPS][T::d / 8][4];
    float base[2 * GROUPS], delta[2 * GROUPS];  // base = log2(e) LSE
    int visible[2 * GROUPS];                    // the row sees the keys before this one
};

// The first query that sees key j: row i sees it if i >= seen_from. From 0 to N_q (lesson 15).
__device__ __forceinline__ int seen_from(int64_t j, int N_q, int N_k, int causal) {
    int64_t first = causal ? j - N_k + N_q : 0;
    return (int)(first < 0 ? 0 : first > N_q ? N_q : first);
}

// C = A B^T
// C[i][j] = sum_x A[i][x] B[j][x], 16 columns x and 16 rows j of B at a time
template <int d, int COLUMNS>
__device__ __forceinline__ void multiply_transposed(float C[GROUPS][COLUMNS / 8][4],
                                                    const bf16* A_smem,    // (ROWS, d)
                                                    const bf16* B_smem) {  // (COLUMNS, d)
#pragma unroll
    for (int r = 0; r < GROUPS; r++)
#pragma unroll
        for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) C[r][n][i] = 0.0f;
    int lane = threadIdx.x % 32;
    int A_at = swizzled<d>(lane % 16, lane / 16 * 8);
    int B_at = swizzled<d>(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
#pragma unroll
    for (int x = 0; x < d; x += 16) {
        unsigned a[GROUPS][4], b[4];
#pragma unroll
        for (int r = 0; r < GROUPS; r++) ldmatrix_x4(a[r], &A_smem[(A_at ^ x) + 16 * r * d]);
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 16) {
            ldmatrix_x4(b, &B_smem[(B_at ^ x) + j * d]);
#pragma unroll
            for (int r = 0; r < GROUPS; r++) {
                mma_m16n8k16_bf16(C[r][j / 8], a[r], b);
                mma_m16n8k16_bf16(C[r][j / 8 + 1], a[r], b + 2);
            }
        }
    }
}

// C += A B for 16 columns of A and the 16 rows of B from B_smem on; B_at: where a lane's row is
// C[i][x] += sum_j A[i][j] B[j][x], 16 columns x at a time
template <int COLUMNS>
__device__ __forceinline__ void multiply_16(float C[GROUPS][COLUMNS / 8][4],
                                            const unsigned a[GROUPS][4], const bf16* B_smem,
                                            int B_at) {
#pragma unroll
    for (int x = 0; x < COLUMNS; x += 16) {
        unsigned b[4];
        ldmatrix_x4_trans(b, &B_smem[B_at ^ x]);
#pragma unroll
        for (int r = 0; r < GROUPS; r++) {
            mma_m16n8k16_bf16(C[r][x / 8], a[r], b);
            mma_m16n8k16_bf16(C[r][x / 8 + 1], a[r], b + 2);
        }
    }
}

// C += A B, A from shared memory; of B the COLUMNS columns from first_column on
template <int d, int INNER, int COLUMNS>
__device__ __forceinline__ void multiply_shared(float C[GROUPS][COLUMNS / 8][4],
                                                const bf16* A_smem,  // (ROWS, INNER)
                                                const bf16* B_smem,  // (INNER, d)
                                                int first_column) {
    int lane = threadIdx.x % 32;
    int A_at = swizzled<INNER>(lane % 16, lane / 16 * 8);
    int B_at = swizzled<d>(lane % 16, first_column + lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < INNER; j += 16) {
        unsigned a[GROUPS][4];
#pragma unroll
        for (int r = 0; r < GROUPS; r++) ldmatrix_x4(a[r], &A_smem[(A_at ^ j) + 16 * r * INNER]);
        multiply_16<COLUMNS>(C, a, B_smem + j * d, B_at);
    }
}

// C += A B, A in registers, in the layout of a C (lesson 14)
template <int d, int INNER, int COLUMNS>
__device__ __forceinline__ void multiply_registers(float C[GROUPS][COLUMNS / 8][4],
                                                   const float A[GROUPS][INNER / 8][4],
                                                   const bf16* B_smem) {  // (INNER, d)
    int lane = threadIdx.x % 32;
    int B_at = swizzled<d>(lane % 16, lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < INNER; j += 16) {
        unsigned a[GROUPS][4];
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            const float* pair = &A[i / 4][j / 8 + i % 4 / 2][i % 2 * 2];
            a[i / 4][i % 4] = pack_bf16(pair[0], pair[1]);
        }
        multiply_16<COLUMNS>(C, a, B_smem + j * d, B_at);
    }
}

// tile[n][first_column + x] = factor C[n][x], rounded: the warp's part of a swizzled tile with rows
// of `width` elements, which begins at the warp's first row.
template <int width, int COLUMNS>
__device__ __forceinline__ void put(bf16* tile, int first_column,
                                    const float C[GROUPS][COLUMNS / 8][4], float factor) {
#pragma unroll
    for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
        for (int i = 0; i < 2 * GROUPS; i++) {
            int lane = threadIdx.x % 32;
            const float* pair = &C[i / 2][n][i % 2 * 2];
            int row = lane / 4 + 8 * i, x = first_column + 8 * n + lane % 4 * 2;
            *(unsigned*)&tile[swizzled<width>(row, x)] =
                pack_bf16(factor * pair[0], factor * pair[1]);
        }
}

// Row first + n of `a` becomes factor C[n], rounded, for rows before N; its columns from
// first_column on. By way of the tile, which nobody else uses there, so that rows are stored in
// pieces of 16 bytes.
template <int d, int COLUMNS>
__device__ __forceinline__ void store(struct array a, int first, int N, int first_column,
                                      bf16* tile, const float C[GROUPS][COLUMNS / 8][4],
                                      float factor) {
    put<d, COLUMNS>(tile, first_column, C, factor);
    __syncwarp();  // the warp's part is in the tile before other lanes store it
#pragma unroll
    for (int e = threadIdx.x % 32 * PIECE; e < ROWS * COLUMNS; e += 32 * PIECE) {
        int n = e / COLUMNS, x = first_column + e % COLUMNS;
        if (n < N - first)
            *(uint4*)&a.elements[(int64_t)(first + n) * a.stride.n + x] =
                *(const uint4*)&tile[swizzled<d>(n, x)];
    }
}

// Starts to copy a tile of queries into its buffers. Rows beyond N_q become zeros, LSE and delta
// too: their P is 1 and their dS 0, and P is multiplied by a dO of 0.
template <class T>
__device__ __forceinline__ void copy_queries(struct keys_smem<T>& smem, const struct backward& p,
                                             int tile) {
    int half = tile % 2, first = tile * T::TILE_Q, i = threadIdx.x;
    copy_tile<T::d, T::TILE_Q, T::THREADS>(smem.Q[half], p.Q, first, p.N_q - first);
    copy_tile<T::d, T::TILE_Q, T::THREADS>(smem.dO[half], p.dO, first, p.N_q - first);
    if (i < T::TILE_Q) {
        int used = i < p.N_q - first ? 4 : 0;
        cp_async4_zfill(&smem.LSE[half][i], &p.LSE[first + i], used);
        cp_async4_zfill(&smem.delta[half][i], &p.delta[first + i], used);
    }
}

// P^T = exp2(c S^T - log2(e) LSE), 0 where hidden;  dS^T = P^T * (dP^T - delta)   (README eq. 3, 5)
// Rows are keys, columns are queries: S[r][n][2h + e] is of key 16 r + g + 8 h, query 8 n + 2 t +
// e. S becomes P, dP becomes dS. Query x sees key n if x + ahead >= n.
template <int masked, class T>
__device__ __forceinline__ void weigh_keys(struct keys_state<T>& warp,
                                           const float* LSE,    // (QUERIES), shared memory
                                           const float* delta,  // (QUERIES), shared memory
                                           float c, int ahead) {
#pragma unroll
    for (int n = 0; n < T::QUERIES / 8; n++) {
        int lane = threadIdx.x % 32;
        int x = 8 * n + lane % 4 * 2;  // and x + 1
        float2 LSE_x = *(const float2*)&LSE[x], delta_x = *(const float2*)&delta[x];
        float base[2] = {LSE_x.x * LOG2_E, LSE_x.y * LOG2_E};
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            float *s = &warp.S[i / 4][n][i % 4], *g = &warp.dP[i / 4][n][i % 4];
            *s = exp2_approx(*s * c - base[i % 2]);
            if (masked && x + i % 2 + ahead < lane / 4 + i / 2 * 8) *s = 0.0f;
            *g = *s * (*g - (i % 2 ? delta_x.y : delta_x.x));
        }
    }
}

// dV += P^T dO,  dK += dS^T Q  (scale comes at the end)                        (README eq. 6, 7)
// Of a tile of queries, and the 32 keys from `key` on of the block. SHARES warps share them: each
// has made P and dS of QUERIES queries, from `query` on, and adds to COLUMNS columns of dV and dK.
template <class T>
__device__ __forceinline__ void add_keys(struct keys_state<T>& warp, struct keys_smem<T>& smem,
                                         int key, int query,
                                         const bf16* Q_tile,     // (TILE_Q, d)
                                         const bf16* dO_tile) {  // (TILE_Q, d)
    const int d = T::d, QUERIES = T::QUERIES, COLUMNS = T::COLUMNS, TILE_Q = T::TILE_Q;
    if (T::SHARES == 1) {
        multiply_registers<d, QUERIES, COLUMNS>(warp.dV, warp.S, dO_tile);
        multiply_registers<d, QUERIES, COLUMNS>(warp.dK, warp.dP, Q_tile);
    } else {
        bf16 *P_rows = smem.P + key * TILE_Q, *dS_rows = smem.dS + key * TILE_Q;
        put<TILE_Q, QUERIES>(P_rows, query, warp.S, 1.0f);
        put<TILE_Q, QUERIES>(dS_rows, query, warp.dP, 1.0f);
        int column = threadIdx.x / T::BLOCK_K * COLUMNS;
        __syncthreads();  // P and dS are written before other warps read them
        multiply_shared<d, TILE_Q, COLUMNS>(warp.dV, P_rows, dO_tile, column);
        multiply_shared<d, TILE_Q, COLUMNS>(warp.dK, dS_rows, Q_tile, column);
    }
}

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 2)
// Of query i of a head, for the half warp that calls it: 16 bytes per lane and turn. All its lanes
// get the sum; 0 if i is no query.
__device__ __forceinline__ float delta_of_row(const struct backward& p, int64_t i, int d) {
    float sum = 0.0f;
    for (int x = threadIdx.x % 16 * PIECE; x < d && i < p.N_q; x += 16 * PIECE) {
        uint4 o8 = *(const uint4*)&p.O.elements[i * p.O.stride.n + x];
        uint4 dO8 = *(const uint4*)&p.dO.elements[i * p.dO.stride.n + x];
        for (int pair = 0; pair < PIECE / 2; pair++) {
            float2 o = __bfloat1622float2(((const __nv_bfloat162*)&o8)[pair]);
            float2 g = __bfloat1622float2(((const __nv_bfloat162*)&dO8)[pair]);
            sum += o.x * g.x + o.y * g.y;
        }
    }
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

// A part of the main loop: what the tiles of queries last_tile, last_tile - 1, ..., first_tile add
// to dK and dV. When it begins, tile last_tile is on its way; it sends for the next ones, down to
// `start`. `masked` is a template parameter: where it is 0 the compiler finds no mask at all.
template <int masked, class T>
__device__ __forceinline__ void walk_queries(struct keys_state<T>& warp, struct keys_smem<T>& smem,
                                             const struct backward& p, int first_key, int last_tile,
                                             int first_tile, int start) {
    const int d = T::d, QUERIES = T::QUERIES, TILE_Q = T::TILE_Q;
    int key = threadIdx.x / 32 % (T::BLOCK_K / ROWS) * ROWS;  // the first of this warp's; and so on
    int query = threadIdx.x / T::BLOCK_K * QUERIES;
    // Query query + x of tile 0 sees key key + n if x + ahead >= n.
    int64_t ahead = (int64_t)p.N_k - p.N_q + query - first_key - key;
    float c = p.scale * LOG2_E;

#pragma unroll 1
    for (int tile = last_tile; tile >= first_tile; tile--) {
        int half = tile % 2;
        const bf16 *Q_tile = smem.Q[half], *dO_tile = smem.dO[half];
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read tile + 1, P and dS, whose
        // places are written next.
        __syncthreads();
        // S^T = K Q^T,  dP^T = V dO^T; the next tile travels meanwhile         (README eq. 1, 4)
        multiply_transposed<d, QUERIES>(warp.S, smem.K + key * d, Q_tile + query * d);
        if (tile > start) copy_queries(smem, p, tile - 1);
        multiply_transposed<d, QUERIES>(warp.dP, smem.V + key * d, dO_tile + query * d);
        weigh_keys<masked>(warp, smem.LSE[half] + query, smem.delta[half] + query, c,
                           (int)(ahead + (int64_t)tile * TILE_Q));
        add_keys(warp, smem, key, query, Q_tile, dO_tile);
    }
}

// Starts to copy a tile of keys into its buffers.
template <class T>
__device__ __forceinline__ void copy_keys(struct queries_smem<T>& smem, const struct backward& p,
                                          int tile) {
    int half = tile % 2, first = tile * T::TILE_K;
    copy_tile<T::d, T::TILE_K, T::THREADS>(smem.K[half], p.K, first, p.N_k - first);
    copy_tile<T::d, T::TILE_K, T::THREADS>(smem.V[half], p.V, first, p.N_k - first);
}

// dS = P * (dP - delta),  P = exp2(c S - log2(e) LSE), 0 where hidden             (README eq. 3, 5)
// Rows are queries, columns are keys: dP[r][n][2h + e] is of query (r, h) and key first_key + 8 n +
// 2 t + e, and becomes dS.
template <int masked, class T>
__device__ __forceinline__ void weigh_queries(struct queries_state<T>& warp, float c,
                                              int first_key) {
#pragma unroll
    for (int n = 0; n < T::TILE_K / 8; n++) {
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            int key = first_key + 8 * n + threadIdx.x % 4 * 2;  // and key + 1
            float weight = exp2_approx(warp.S[i / 4][n][i % 4] * c - warp.base[i / 2]);
            if (masked && key + i % 2 >= warp.visible[i / 2]) weight = 0.0f;
            warp.dP[i / 4][n][i % 4] = weight * (warp.dP[i / 4][n][i % 4] - warp.delta[i / 2]);
        }
    }
}

// A part of the main loop: what the tiles of keys last_tile, ..., first_tile add to dQ. When it
// begins, tile last_tile is on its way.
template <int masked, class T>
__device__ __forceinline__ void walk_keys(struct queries_state<T>& warp,
                                          struct queries_smem<T>& smem, const struct backward& p,
                                          int last_tile, int first_tile) {
    const int d = T::d, TILE_K = T::TILE_K;
    int at = threadIdx.x / 32 * ROWS * d;  // of this warp's rows in Q and dO
#pragma unroll 1
    for (int tile = last_tile; tile >= first_tile; tile--) {
        int half = tile % 2;
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read tile + 1, whose place is
        // filled next.
        __syncthreads();
        // dP = dO V^T,  S = Q K^T                                               (README eq. 4, 1)
        multiply_transposed<d, TILE_K>(warp.dP, smem.dO + at, smem.V[half]);
        if (tile > 0) copy_keys(smem, p, tile - 1);
        multiply_transposed<d, TILE_K>(warp.S, smem.Q + at, smem.K[half]);
        weigh_queries<masked>(warp, p.scale * LOG2_E, tile * TILE_K);
        // dQ += dS K  (scale comes at the end)                                      (README eq. 8)
        multiply_registers<d, TILE_K, d>(warp.dQ, warp.dP, smem.K[half]);
    }
}

#endif
