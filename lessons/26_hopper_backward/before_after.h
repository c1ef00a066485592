// before_after.h: what runs before and after the five products of lesson 26. Given.
//
//     delta_i = sum_x dO_ix O_ix,  -LSE_i log2(e)                          before   (README eq. 2)
//     dQ = scale * (sum of dS K), rounded                                  after    (README eq. 7)
//
// The launches overlap: griddep_launch() lets the next one begin where there is room, and there
// griddep_wait() comes before what the kernel before has written.
#ifndef BEFORE_AFTER_H
#define BEFORE_AFTER_H

#include <math.h>

#include "backward.h"

enum {
    BEFORE_THREADS = 256,
    ZERO_THREADS = 256,
    MOST_CLEARED = 16,  // tiles that a block clears ahead
};

// The rows of a tile as a thread wants them: in a product with queries as columns, thread t of four
// has columns 2 t, 2 t + 1, 2 t + 8, 2 t + 9 of each 16. They are 16 bytes in a row.
__device__ __forceinline__ int place_of_row(int i) {
    return i / 16 * 16 + i % 8 / 2 * 4 + i % 16 / 8 * 2 + i % 2;
}

// The numbers of the lane's columns, of so many queries from there on: that of number i of S^T is
// [i / 4 * 2 + i % 2].
template <int queries>
__device__ __forceinline__ void load_columns(float x[queries / 4], const float* from) {
#pragma unroll
    for (int i = 0; i < queries / 4; i += 4)
        *(float4*)&x[i] = *(const float4*)&from[i * 4 + threadIdx.x % 4 * 4];
}

// ---- sums cleared ahead: where `cleared` is not NULL the kernel before clears those of the first
// section alone. Clearing is half of what that kernel moves; and what is cleared long before
// somebody adds to it does not stay in L2.

// Halves of tiles of a section.
__device__ __forceinline__ int64_t halves_of(const struct backward& p, int section) {
    const struct range heads = heads_of(p, section);
    return (int64_t)(heads.to - heads.from) * p.group * p.tiles_q * CONSUMERS;
}

// Is a block's share small beside its rounds? A head's only block, or one of few with very many
// queries, would clear for long while others wait: the kernel before does it.
static inline bool few_to_clear(const struct backward& p) {
    return p.tiles_k > 1 && (int64_t)p.group * p.tiles_q <= MOST_CLEARED * (int64_t)p.tiles_k;
}

// One warp of each block: its share of the sums of the section behind its own.
__device__ __forceinline__ void clear_ahead(const struct backward& p) {
    const int next = section_of_block(p) + 1, blocks = p.section * p.tiles_k;
    const int lane = threadIdx.x % 32;
    if (!p.cleared) return;
    griddep_wait();  // the counters are there
    if (next * (int64_t)p.section >= p.B * p.H_k) return;
    float4* sums = (float4*)(p.sums + heads_of(p, next).from * (int64_t)p.group * p.tiles_q *
                                          CONSUMERS * HALF);
    int done = 0;
    for (int64_t half = blockIdx.x % blocks; half < halves_of(p, next); half += blocks, done++)
#pragma unroll 8
        for (int i = lane; i < HALF / 4; i += 32)
            sums[half * (HALF / 4) + i] = make_float4(0, 0, 0, 0);
    __syncwarp();                                                // all lanes' zeros come before ...
    if (lane == 0 && done) add_release(&p.cleared[next], done);  // ... what another block adds
}

// A warp waits until the sums of this block's section are cleared. Blocks of the section before see
// to that, which were launched before this one. Lane 0 may add then.
__device__ __forceinline__ void await_cleared(const struct backward& p) {
    const int section = section_of_block(p);
    if (p.cleared && section > 0 && threadIdx.x % 32 == 0) {  // else the kernel before has done it
        while (load_acquire(&p.cleared[section]) < halves_of(p, section)) continue;
        fence_proxy_async_global();  // the zeros come before what TMA adds
    }
    __syncwarp();
}

// Before: delta and LSE of a tile of queries, its sums cleared; its turns begin with the first
// block of keys that adds to it.
// delta_i = sum_x dO_ix O_ix: d / 8 lanes share a row, 16 bytes each.
template <int d, int BLOCK_Q>
__global__ void __launch_bounds__(BEFORE_THREADS)
    before_kernel(const __grid_constant__ struct backward p) {
    const int LANES = d / 8, STEP = BEFORE_THREADS / LANES, TURNS = BLOCK_Q / STEP;
    const int64_t tile = blockIdx.x, head = tile / p.tiles_q;
    const int first_row = (int)(tile % p.tiles_q) * BLOCK_Q;
    const int batch = (int)(head / p.H_q), h = (int)(head % p.H_q);
    const bf16* O = head_of(p.O, batch, h);
    const bf16* dO = head_of(p.dO, batch, h);
    float4* sums = (float4*)(p.sums + tile * (BLOCK_Q * d));
    griddep_launch();  // the next kernel may begin: it waits for this one before it reads LSE
    if (!p.cleared || head < heads_of(p, 0).to * p.group) {
#pragma unroll
        for (int i = threadIdx.x; i < BLOCK_Q * d / 4; i += BEFORE_THREADS)
            sums[i] = make_float4(0, 0, 0, 0);
    }
    // No section has less than a head, and no head less than a tile.
    if (p.cleared && threadIdx.x == 0 && tile < p.B * p.H_k) p.cleared[tile] = 0;
    if (threadIdx.x < CONSUMERS)
        p.turns[tile * CONSUMERS + threadIdx.x] =
            keys_of_query(p, batch, first_row).from / p.block_k;
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++) {
        const int i = turn * STEP + threadIdx.x / LANES, row = first_row + i;
        float sum = 0.0f;
        if (row < p.N_q) {
            const int x = threadIdx.x % LANES * 8;
            const uint4 o8 = *(const uint4*)&O[row * p.O.stride.n + x];
            const uint4 g8 = *(const uint4*)&dO[row * p.dO.stride.n + x];
#pragma unroll
            for (int pair = 0; pair < 4; pair++) {
                const float2 o = __bfloat1622float2(((const __nv_bfloat162*)&o8)[pair]);
                const float2 g = __bfloat1622float2(((const __nv_bfloat162*)&g8)[pair]);
                sum += o.x * g.x + o.y * g.y;
            }
        }
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, step);
        if (threadIdx.x % LANES == 0) {
            const float LSE = row < p.N_q ? p.LSE_in[head * p.N_q + row] : -INFINITY;
            const int64_t at = tile * BLOCK_Q + place_of_row(i);
            p.delta[at] = -sum;
            p.LSE[at] = LSE == -INFINITY ? -INFINITY : -LSE * LOG2_E;
        }
    }
}

// 16 rows of a warp times a factor, as bf16, through shared memory to the tensor: row r of `tile`,
// whose panels are panel_elements apart, becomes row row0 + r of the head. acc: the warp's part of
// a D of wgmma with 64 * PANELS columns. Nobody else uses these rows of the tile.
template <int PANELS>
__device__ __forceinline__ void store_rows(const CUtensorMap* map, bf16* tile, int panel_elements,
                                           const float acc[PANELS * PANEL / 2], float factor,
                                           int row0, int N, int first_panel, int head, int batch) {
    const int lane = threadIdx.x % 32, row = lane % WARP_ROWS;
#pragma unroll
    for (int x = 0; x < PANELS * PANEL; x += 16) {
        const float* a = &acc[x / 2];
        const unsigned word[4] = {
            pack_bf16(a[0] * factor, a[1] * factor), pack_bf16(a[2] * factor, a[3] * factor),
            pack_bf16(a[4] * factor, a[5] * factor), pack_bf16(a[6] * factor, a[7] * factor)};
        const int piece = (x % PANEL / 8 + lane / 16) ^ row % 8;
        stmatrix_x4(&tile[x / PANEL * panel_elements + row * PANEL + piece * 8], word);
    }
    fence_proxy_async();  // the lane's stores come before TMA's reads
    __syncwarp();         // ... all lanes'
    if (lane == 0 && row0 < N)
        for (int panel = 0; panel < PANELS; panel++)
            tma_store_5d(map, tile + panel * panel_elements, 0, row0, first_panel + panel, head,
                         batch);
    if (lane == 0) bulk_commit();
}

// After: dQ of tile blockIdx.x. Warpgroup w has what consumer w has added up: with BLOCK_Q = 64 its
// 64 of 128 columns, with 128 its 64 of 128 rows. stage: CONSUMERS * ROWS * PANEL elements of
// shared memory, at a multiple of 1024 bytes.
template <int d, int BLOCK_Q>
__device__ __forceinline__ void convert_dQ(bf16* stage, const struct backward& p) {
    const int64_t tile = blockIdx.x, head = tile / p.tiles_q;
    const int w = threadIdx.x / WARPGROUP, thread = threadIdx.x % WARPGROUP;
    const int warp_row = thread / 32 * WARP_ROWS, row_of_w = BLOCK_Q == ROWS ? 0 : w * ROWS;
    const float4* sums = (const float4*)(p.sums + (tile * CONSUMERS + w) * HALF) + thread;
    griddep_wait();  // all blocks of the kernel before have added to the sums
    float dQ[PANEL / 2];
#pragma unroll
    for (int i = 0; i < PANEL / 2; i += 4) *(float4*)&dQ[i] = sums[i / 4 * WARPGROUP];
    store_rows<1>(&p.dQ_map, stage + (w * ROWS + warp_row) * PANEL, 0, dQ, p.scale,
                  (int)(tile % p.tiles_q) * BLOCK_Q + row_of_w + warp_row, p.N_q,
                  BLOCK_Q == ROWS ? w : 0, (int)(head % p.H_q), (int)(head / p.H_q));
    if (threadIdx.x % 32 == 0) bulk_wait<0>();  // shared memory must live until it is read
}

// Zeros in a (B, N, H, d) array, 16 bytes a thread: dQ without keys, dK and dV without queries.
struct zeros {
    bf16* first;
    struct strides stride;
    int N, H, d;
    int64_t pieces;
};
static __global__ void zero_kernel(struct zeros z) {
    const int64_t step = (int64_t)gridDim.x * ZERO_THREADS;
    for (int64_t e = (int64_t)blockIdx.x * ZERO_THREADS + threadIdx.x; e < z.pieces; e += step) {
        const int64_t row = e / (z.d / 8), head = row / z.N;
        bf16* to = z.first + head / z.H * z.stride.b + head % z.H * z.stride.h +
                   row % z.N * z.stride.n + e % (z.d / 8) * 8;
        *(uint4*)to = make_uint4(0, 0, 0, 0);
    }
}

#endif
