// row_by_warp.cu: two kernels of small blocks, as small_blocks.cu, behind a kernel that makes delta
// with a warp for each row, whose lanes all read the row's LSE: one request, one sector.
#include "hopper_backward.h"

#include <limits.h>
#include <math.h>

#include "before_after.h"
#include "hopper.h"

enum {
    OWN = 64,    // rows of a block: keys, or queries
    WALK = 64,   // rows of a tile that it walks over: queries, or keys
    STAGES = 2,  // of tiles
    THREADS = WARPGROUP,
    ROWS_THREADS = 256,  // of a block of rows_kernel
};

// A block's own rows and the tiles it walks over: K, V and Q, dO; or Q, dO and K, V.
template <int d> struct block_smem {
    bf16 own[2][d / PANEL][OWN * PANEL];
    bf16 walk[STAGES][2][d / PANEL][WALK * PANEL];
    float LSE[STAGES][WALK], delta[STAGES][WALK];  // of the keys' kernel
    mbarrier own_full, walk_full[STAGES];
};

// C = A B^T: 64 of the block's own rows, the columns are a tile's rows.
template <int d>
__device__ __forceinline__ void issue_scores(float C[WALK / 2], unsigned A, unsigned B) {
    const int IN_PANEL = PANEL / 16;
    wgmma_fence();
    wgmma_bf16_first<WALK, K_MAJOR, K_MAJOR>(C, A, B);
#pragma unroll
    for (int x = 1; x < d / 16; x++)
        wgmma_bf16<WALK, K_MAJOR, K_MAJOR>(
            C, A + x / IN_PANEL * (OWN * 128 / 16) + x % IN_PANEL * 2,
            B + x / IN_PANEL * (WALK * 128 / 16) + x % IN_PANEL * 2, 1);
    wgmma_commit();
}

// D += A B over the tile's rows. A is in registers.
template <int d>
__device__ __forceinline__ void issue_sums(float D[d / 2], const unsigned A[WALK / 4], unsigned B) {
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < WALK / 16; i++)
        wgmma_bf16_registers<d, MN_MAJOR>(D, &A[4 * i], B + i * (16 * 128 / 16), 1);
    wgmma_commit();
}

__device__ __forceinline__ void pack(unsigned packed[WALK / 4], const float x[WALK / 2]) {
#pragma unroll
    for (int i = 0; i < WALK / 4; i++) packed[i] = pack_bf16(x[2 * i], x[2 * i + 1]);
}

// Tile number t of a walk, by thread 0: two boxes, and with numbers of rows these, too.
template <int d>
__device__ __forceinline__ void load(struct block_smem<d>& smem, const CUtensorMap* first,
                                     const CUtensorMap* second, const float* LSE,
                                     const float* delta, unsigned t, int row, int head, int batch) {
    const unsigned stage = t % STAGES, numbers = LSE ? 2 * WALK * sizeof(float) : 0;
    mbarrier* full = &smem.walk_full[stage];
    mbarrier_arrive_expect(full, sizeof smem.walk[0] + numbers);
    tma_load_5d(smem.walk[stage][0], first, full, L2_EVICT_LAST, 0, row, 0, head, batch);
    tma_load_5d(smem.walk[stage][1], second, full, L2_EVICT_LAST, 0, row, 0, head, batch);
    if (!LSE) return;
    bulk_load(smem.LSE[stage], LSE, WALK * sizeof(float), full);
    bulk_load(smem.delta[stage], delta, WALK * sizeof(float), full);
}

// The block's own rows, and the barriers. All threads call.
template <int d>
__device__ __forceinline__ void begin(struct block_smem<d>& smem, const CUtensorMap* first,
                                      const CUtensorMap* second, int row, int head, int batch) {
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.own_full, 1);
        for (int i = 0; i < STAGES; i++) mbarrier_init(&smem.walk_full[i], 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&smem.own_full, sizeof smem.own);
        tma_load_5d(smem.own[0], first, &smem.own_full, L2_EVICT_FIRST, 0, row, 0, head, batch);
        tma_load_5d(smem.own[1], second, &smem.own_full, L2_EVICT_FIRST, 0, row, 0, head, batch);
    }
    __syncthreads();  // the barriers are there before anybody waits
}

// dK and dV of 128 keys.
template <int d>
__device__ __forceinline__ void of_keys(struct block_smem<d>& smem, const struct backward& p) {
    const int w = threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;
    const int head = blockIdx.x / p.tiles_k % p.H_k, batch = blockIdx.x / p.tiles_k / p.H_k;
    const int row0 = blockIdx.x % p.tiles_k * OWN, warp_row = threadIdx.x / 32 * WARP_ROWS;
    // The tiles of queries of a head that see some of the keys: none, if all these are behind the
    // last document, or end before the first query.
    const int last_key = min(row0 + OWN, keys_of<true>(p, batch)) - 1;
    int first = 0, end = 0;
    if (row0 <= last_key) {
        first = queries_of_key<true>(p, batch, row0).from / WALK;
        end = CEIL_DIV(max(0, queries_of_key<true>(p, batch, last_key).to), (int)WALK);
    }
    const int of_head = max(0, end - first), all = of_head * p.group;
    const int STAGE = 2 * d * WALK * 2 / 16, SECOND = STAGE / 2;
    const unsigned K = wgmma_descriptor(smem.own[0][0] + w * ROWS * PANEL, 0);
    const unsigned V = wgmma_descriptor(smem.own[1][0] + w * ROWS * PANEL, 0);
    const unsigned Q = wgmma_descriptor(smem.walk[0][0][0], WALK * 128);
    float dK[d / 2], dV[d / 2], S[WALK / 2], dP[WALK / 2];
    struct range seen[2];  // the queries that see the key of a lane's row
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int key = row0 + warp_row + lane / 4 + 8 * r;
        seen[r] = {INT_MAX, INT_MAX};
        if (key <= last_key) seen[r] = queries_of_key<true>(p, batch, key);
    }
#pragma unroll
    for (int i = 0; i < d / 2; i++) dK[i] = dV[i] = 0.0f;
    wgmma_hold<d / 2>(dK);
    wgmma_hold<d / 2>(dV);
    begin<d>(smem, &p.K_map, &p.V_map, row0, head, batch);
    for (int t = -1; t < all; t++) {
        if (threadIdx.x == 0 && t + 1 < all) {
            const int h = head * p.group + (t + 1) / of_head, tile = first + (t + 1) % of_head;
            const int64_t at = ((int64_t)(batch * p.H_q + h) * p.tiles_q) * OWN + tile * WALK;
            load<d>(smem, &p.Q_map, &p.dO_map, p.LSE + at, p.delta + at, t + 1, tile * WALK, h,
                    batch);
        }
        if (t < 0) {
            mbarrier_wait(&smem.own_full, 0);
            continue;
        }
        const unsigned stage = t % STAGES;
        mbarrier_wait(&smem.walk_full[stage], t / STAGES % 2);
        issue_scores<d>(S, K, Q + stage * STAGE);
        issue_scores<d>(dP, V, Q + stage * STAGE + SECOND);
        wgmma_wait<0>();
        wgmma_hold<WALK / 2>(S);
        wgmma_hold<WALK / 2>(dP);
        const int first_query = (first + t % of_head) * WALK;
#pragma unroll
        for (int i = 0; i < WALK / 2; i++) {
            // A number of LSE's and delta's for each query: place_of_row().
            const int at = i / 8 * 16 + lane % 4 * 4 + i / 4 % 2 * 2 + i % 2;
            const int query = first_query + i / 4 * 8 + lane % 4 * 2 + i % 2;
            S[i] = exp2_approx(fmaf(S[i], p.c, smem.LSE[stage][at]));
            if (query < seen[i / 2 % 2].from || query >= seen[i / 2 % 2].to) S[i] = 0.0f;
            dP[i] = S[i] * (dP[i] + smem.delta[stage][at]);
        }
        unsigned P[WALK / 4], dS[WALK / 4];
        pack(P, S);
        issue_sums<d>(dV, P, Q + stage * STAGE + SECOND);
        pack(dS, dP);
        issue_sums<d>(dK, dS, Q + stage * STAGE);
        wgmma_wait<0>();
        wgmma_hold<d / 2>(dV);
        wgmma_hold<d / 2>(dK);
        __syncthreads();  // all have read the tile before it is loaded over
    }
    store_rows<d / PANEL>(&p.dV_map, smem.own[1][0] + warp_row * PANEL, OWN * PANEL, dV, 1.0f,
                          row0 + warp_row, p.N_k, 0, head, batch);
    store_rows<d / PANEL>(&p.dK_map, smem.own[0][0] + warp_row * PANEL, OWN * PANEL, dK, p.scale,
                          row0 + warp_row, p.N_k, 0, head, batch);
    if (lane == 0) bulk_wait<0>();  // shared memory must live until it is read
}

// dQ of 128 queries.
template <int d>
__device__ __forceinline__ void of_queries(struct block_smem<d>& smem, const struct backward& p) {
    const int w = threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;
    const int head = blockIdx.x / p.tiles_q % p.H_q, batch = blockIdx.x / p.tiles_q / p.H_q;
    const int row0 = blockIdx.x % p.tiles_q * OWN, warp_row = threadIdx.x / 32 * WARP_ROWS;
    const int first = keys_of_query(p, batch, row0).from / WALK;  // tile of keys that is seen
    const int all = CEIL_DIV(max(0, keys_of_query(p, batch, row0 + OWN - 1).to), (int)WALK) - first;
    const int STAGE = 2 * d * WALK * 2 / 16, SECOND = STAGE / 2;
    const unsigned Q = wgmma_descriptor(smem.own[0][0] + w * ROWS * PANEL, 0);
    const unsigned dO = wgmma_descriptor(smem.own[1][0] + w * ROWS * PANEL, 0);
    const unsigned K = wgmma_descriptor(smem.walk[0][0][0], WALK * 128);
    float dQ[d / 2], S[WALK / 2], dP[WALK / 2], LSE[2], delta[2];
    struct range sees[2];  // keys
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int i = warp_row + lane / 4 + 8 * r;
        const int64_t at = (int64_t)blockIdx.x * OWN + place_of_row(i);
        LSE[r] = p.LSE[at], delta[r] = p.delta[at];
        sees[r] = keys_of_query(p, batch, row0 + i);
    }
#pragma unroll
    for (int i = 0; i < d / 2; i++) dQ[i] = 0.0f;
    wgmma_hold<d / 2>(dQ);
    begin<d>(smem, &p.Q_map, &p.dO_map, row0, head, batch);
    for (int t = -1; t < all; t++) {
        if (threadIdx.x == 0 && t + 1 < all)
            load<d>(smem, &p.K_map, &p.V_map, NULL, NULL, t + 1, (first + t + 1) * WALK,
                    head / p.group, batch);
        if (t < 0) {
            mbarrier_wait(&smem.own_full, 0);
            continue;
        }
        const unsigned stage = t % STAGES;
        mbarrier_wait(&smem.walk_full[stage], t / STAGES % 2);
        issue_scores<d>(S, Q, K + stage * STAGE);
        issue_scores<d>(dP, dO, K + stage * STAGE + SECOND);
        wgmma_wait<0>();
        wgmma_hold<WALK / 2>(S);
        wgmma_hold<WALK / 2>(dP);
#pragma unroll
        for (int i = 0; i < WALK / 2; i++) {
            const int r = i / 2 % 2, key = (first + t) * WALK + i / 4 * 8 + lane % 4 * 2 + i % 2;
            const bool is_seen = key >= sees[r].from && key < sees[r].to;
            const float P = is_seen ? exp2_approx(fmaf(S[i], p.c, LSE[r])) : 0.0f;
            dP[i] = P * (dP[i] + delta[r]);
        }
        unsigned dS[WALK / 4];
        pack(dS, dP);
        issue_sums<d>(dQ, dS, K + stage * STAGE);
        wgmma_wait<0>();
        wgmma_hold<d / 2>(dQ);
        __syncthreads();  // all have read the tile before it is loaded over
    }
    mbarrier_wait(&smem.own_full, 0);  // also where no key is seen: Q's place is written below
    store_rows<d / PANEL>(&p.dQ_map, smem.own[0][0] + warp_row * PANEL, OWN * PANEL, dQ, p.scale,
                          row0 + warp_row, p.N_q, 0, head, batch);
    if (lane == 0) bulk_wait<0>();  // shared memory must live until it is read
}

template <int d>
__global__ void __launch_bounds__(THREADS, 2)
    keys_kernel(const __grid_constant__ struct backward p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    of_keys<d>(*(struct block_smem<d>*)memory, p);
}

template <int d>
__global__ void __launch_bounds__(THREADS, 2)
    queries_kernel(const __grid_constant__ struct backward p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    of_queries<d>(*(struct block_smem<d>*)memory, p);
}

// -delta and -log2(e) LSE of a tile of queries, a warp for each row. Of a row that is none LSE is
// infinite, so P is 0.
template <int d>
__global__ void __launch_bounds__(ROWS_THREADS)
    rows_kernel(const __grid_constant__ struct backward p) {
    const int64_t tile = blockIdx.x, head = tile / p.tiles_q;
    const int batch = (int)(head / p.H_q), h = (int)(head % p.H_q), lane = threadIdx.x % 32;
    const __nv_bfloat162* O = (const __nv_bfloat162*)head_of(p.O, batch, h);
    const __nv_bfloat162* dO = (const __nv_bfloat162*)head_of(p.dO, batch, h);
    for (int i = threadIdx.x / 32; i < OWN; i += ROWS_THREADS / 32) {
        const int64_t row = tile % p.tiles_q * OWN + i, at = tile * OWN + place_of_row(i);
        float delta = 0.0f, LSE = INFINITY;
        if (row < p.N_q) {
            LSE = p.LSE_in[head * p.N_q + row];
            if (LSE == -INFINITY) LSE = INFINITY;  // sees no key
            for (int x = lane; x < d / 2; x += 32) {
                const float2 o = __bfloat1622float2(O[row * p.O.stride.n / 2 + x]);
                const float2 g = __bfloat1622float2(dO[row * p.dO.stride.n / 2 + x]);
                delta += o.x * g.x + o.y * g.y;
            }
        }
        for (int step = 16; step > 0; step /= 2) delta += __shfl_xor_sync(~0u, delta, step);
        if (lane == 0) p.delta[at] = -delta, p.LSE[at] = -LOG2_E * LSE;
    }
}

// array: Q, K, V, O, dO, dQ, dK, dV. The keys' kernel walks over 64 queries, so its boxes have 64
// rows of Q, and those of the queries' kernel 128: each has maps of its own.
template <int d> static int launch(struct backward p, const struct rows array[8], void* workspace) {
    const int PANELS = d / PANEL, bytes = sizeof(struct block_smem<d>);
    p.O = array[3], p.dO = array[4], p.block_k = OWN;
    p.tiles_q = CEIL_DIV(p.N_q, (int)OWN), p.tiles_k = CEIL_DIV(p.N_k, (int)OWN);
    const int tiles = p.B * p.H_q * p.tiles_q;
    p.sums = (float*)workspace;  // not used
    p.LSE = p.sums + (int64_t)tiles * OWN * d;
    p.delta = p.LSE + (int64_t)tiles * OWN;
    p.turns = (int*)(p.delta + (int64_t)tiles * OWN);
    COURSE_TRY(cudaFuncSetAttribute((void (*)(struct backward))keys_kernel<d>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    COURSE_TRY(cudaFuncSetAttribute((void (*)(struct backward))queries_kernel<d>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    rows_kernel<d><<<tiles, ROWS_THREADS>>>(p);
    COURSE_TRY(cudaGetLastError());
    if (encode(&p.dQ_map, array[5], p.B, p.N_q, p.H_q, d, WARP_ROWS, 1) ||
        encode(&p.dK_map, array[6], p.B, p.N_k, p.H_k, d, WARP_ROWS, 1) ||
        encode(&p.dV_map, array[7], p.B, p.N_k, p.H_k, d, WARP_ROWS, 1))
        return COURSE_CUDA_ERROR;
    for (int of_keys = 0; of_keys <= 1; of_keys++) {
        const int queries = of_keys ? WALK : OWN, keys = of_keys ? OWN : WALK;
        if (encode(&p.Q_map, array[0], p.B, p.N_q, p.H_q, d, queries, PANELS) ||
            encode(&p.dO_map, array[4], p.B, p.N_q, p.H_q, d, queries, PANELS) ||
            encode(&p.K_map, array[1], p.B, p.N_k, p.H_k, d, keys, PANELS) ||
            encode(&p.V_map, array[2], p.B, p.N_k, p.H_k, d, keys, PANELS))
            return COURSE_CUDA_ERROR;
        if (of_keys)
            keys_kernel<d><<<p.B * p.H_k * p.tiles_k, THREADS, bytes>>>(p);
        else
            queries_kernel<d><<<tiles, THREADS, bytes>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}

// The gradients of what meets nothing: dQ without keys, dK and dV without queries.
static int store_zeros(bf16* first, struct strides stride, int B, int N, int H, int d) {
    const struct zeros z = {first, stride, N, H, d, (int64_t)B * N * H * (d / 8)};
    if (z.pieces == 0) return COURSE_OK;
    const int64_t blocks = CEIL_DIV(z.pieces, ZERO_THREADS);
    zero_kernel<<<(unsigned)(blocks < 65535 ? blocks : 65535), ZERO_THREADS>>>(z);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int
hopper_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                int B, int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
                struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                struct strides stride_k, struct strides stride_v, struct strides stride_o,
                struct strides stride_do, float scale, int causal, int window, int documents,
                const int* cu_seqlens_gpu, int deterministic, void* workspace_gpu) {
    const struct rows array[8] = {{Q_gpu, stride_q},   {K_gpu, stride_k},   {V_gpu, stride_v},
                                  {O_gpu, stride_o},   {dO_gpu, stride_do}, {dQ_gpu, stride_dq},
                                  {dK_gpu, stride_dk}, {dV_gpu, stride_dv}};
    int status = check_backward(array, LSE_gpu, workspace_gpu, B, N_q, N_k, H_q, H_k, d, causal,
                                window, documents, cu_seqlens_gpu);
    if (status != COURSE_OK) return status;
    if (B == 0 || H_k == 0) return COURSE_OK;
    if (N_k == 0) return store_zeros(dQ_gpu, stride_dq, B, N_q, H_q, d);
    if (N_q == 0 || H_q == 0) {
        status = store_zeros(dK_gpu, stride_dk, B, N_k, H_k, d);
        return status ? status : store_zeros(dV_gpu, stride_dv, B, N_k, H_k, d);
    }
    struct backward p = {};
    p.LSE_in = LSE_gpu, p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.group = H_q / H_k, p.causal = causal != 0, p.scale = scale, p.c = scale * LOG2_E;
    p.window = window, p.documents = documents, p.cu_seqlens = cu_seqlens_gpu;
    (void)deterministic;  // always
    return d == 128 ? launch<128>(p, array, workspace_gpu) : launch<64>(p, array, workspace_gpu);
}
