// 1_in_turn.cu: a warpgroup for each tile of 64 queries: TMA, Q K^T, softmax and P V in turn. While
// one of them works, the others wait.
//
//     S = scale Q K^T,  P = softmax(S),  O = P V                                (README eq. 1)
#include "hopper_flash.h"

#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "hopper.h"

#define LOG2_E 1.44269504f
#define LN_2 0.69314718f

enum {
    BLOCK_Q = 64,    // queries of a block: the M of wgmma
    BLOCK_K = 128,   // keys of a tile
    WARP_ROWS = 16,  // queries of a warp
    THREADS = 128,   // a warpgroup
};

template <int d> struct block_smem {
    bf16 Q[d / PANEL][BLOCK_Q * PANEL];
    bf16 K[d / PANEL][BLOCK_K * PANEL];
    bf16 V[d / PANEL][BLOCK_K * PANEL];
    bf16 O[d / PANEL][BLOCK_Q * PANEL];
    mbarrier loaded;
};

struct flash {
    CUtensorMap Q_map, K_map, V_map, O_map;
    struct rows Q, K, V, O;
    float* LSE;
    int B, N_q, N_k, H_q, H_k, causal, window;
    int behind;  // 1 if there is no key: see launch()
    float c;     // scale * log2(e)
};

// Query i sees keys [from, to).
struct range {
    int from, to;
};
__device__ __forceinline__ struct range visible(const struct flash& p, int i) {
    int q = min(i, p.N_q - 1) + (p.N_k - p.N_q);
    struct range keys = {0, p.N_k};
    if (p.causal) keys.to = min(p.N_k, q + 1);
    if (p.window) keys.from = max(0, q - p.window + 1);
    return keys;
}

// S = Q K^T: Q and K are descriptors.                                             (README eq. 2)
template <int d>
__device__ __forceinline__ void issue_QK(float S[BLOCK_K / 2], unsigned Q, unsigned K) {
    const int IN_PANEL = PANEL / 16;
    wgmma_fence();
#pragma unroll
    for (int x = 0; x < d / 16; x++)
        wgmma_bf16<BLOCK_K, K_MAJOR, K_MAJOR>(
            S, Q + x / IN_PANEL * (BLOCK_Q * 128 / 16) + x % IN_PANEL * 2,
            K + x / IN_PANEL * (BLOCK_K * 128 / 16) + x % IN_PANEL * 2, x > 0);
    wgmma_commit();
}

// O += P V. P is in registers.                                                    (README eq. 2)
template <int d>
__device__ __forceinline__ void issue_PV(float O[d / 2], const unsigned P[BLOCK_K / 4],
                                         unsigned V) {
    wgmma_fence();
#pragma unroll
    for (int n = 0; n < BLOCK_K / 16; n++)
        wgmma_bf16_registers<d, MN_MAJOR>(O, &P[4 * n], V + n * (16 * 128 / 16), 1);
    wgmma_commit();
}

// ---- softmax of a warp's rows. A lane has two rows of S: S[i] is of row i / 2 % 2, of key
//      i / 4 * 8 + i % 2 from its first key on.

__device__ __forceinline__ void mask(float S[BLOCK_K / 2], const struct range keys[2],
                                     int first_key) {
#pragma unroll
    for (int i = 0; i < BLOCK_K / 2; i++) {
        int n = first_key + i / 4 * 8 + i % 2;
        if (n >= keys[i / 2 % 2].to || n < keys[i / 2 % 2].from) S[i] = -INFINITY;
    }
}

// m becomes the larger of itself and the rows' maximum; what was summed is to be multiplied by
// alpha.
__device__ __forceinline__ void raise_maximum(const float S[BLOCK_K / 2], float m[2],
                                              float alpha[2], float c) {
    float part[2][2] = {{S[0], S[1]}, {S[2], S[3]}};  // two of a row: a shorter chain
#pragma unroll
    for (int i = 4; i < BLOCK_K / 2; i++)
        part[i / 2 % 2][i % 2] = fmaxf(part[i / 2 % 2][i % 2], S[i]);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float M = fmaxf(part[r][0], part[r][1]);
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 1));
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 2));
        M = fmaxf(M, m[r]);
        alpha[r] = M == -INFINITY ? 1.0f : exp2_approx((m[r] - M) * c);
        m[r] = M;
    }
}

// S becomes 2^((S - m) c), and sum its rows' sums. A row that has seen no key yet has m = -infinity
// and only scores of -infinity: it is shifted by 0.
__device__ __forceinline__ void exponentials(float S[BLOCK_K / 2], const float m[2], float sum[2],
                                             float c) {
    float shift[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        shift[r] = m[r] == -INFINITY ? 0.0f : m[r] * c;
        sum[r] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < BLOCK_K / 2; i++) {
        S[i] = exp2_approx(fmaf(S[i], c, -shift[i / 2 % 2]));
        sum[i / 2 % 2] += S[i];
    }
}

__device__ __forceinline__ void pack(unsigned P[BLOCK_K / 4], const float S[BLOCK_K / 2]) {
#pragma unroll
    for (int i = 0; i < BLOCK_K / 4; i++) P[i] = pack_bf16(S[2 * i], S[2 * i + 1]);
}

template <int d>
__device__ __forceinline__ void multiply_rows(float O[d / 2], const float factor[2]) {
#pragma unroll
    for (int i = 0; i < d / 2; i++) O[i] *= factor[i / 2 % 2];
}

// O / l leaves by way of shared memory, 16 rows of a warp.
template <int d>
__device__ __forceinline__ void store_rows(const struct flash& p, struct block_smem<d>& smem,
                                           const float O[d / 2], int row0, int head, int batch) {
    int lane = threadIdx.x % 32, first = threadIdx.x / 32 * WARP_ROWS, row = first + lane % 16;
#pragma unroll
    for (int x = 0; x < d; x += 16) {
        const float* o = &O[x / 2];
        unsigned word[4] = {pack_bf16(o[0], o[1]), pack_bf16(o[2], o[3]), pack_bf16(o[4], o[5]),
                            pack_bf16(o[6], o[7])};
        int piece = (x % PANEL / 8 + lane / 16) ^ row % 8;
        stmatrix_x4(&smem.O[x / PANEL][row * PANEL + piece * 8], word);
    }
    fence_proxy_async();  // the lane's stores come before TMA's reads
    __syncwarp();         // ... all lanes'
    if (lane != 0) return;
    if (row0 + first < p.N_q)
        for (int panel = 0; panel < d / PANEL; panel++)
            tma_store_5d(&p.O_map, smem.O[panel] + first * PANEL, 0, row0 + first, panel, head,
                         batch);
    bulk_commit();
    bulk_wait<0>();  // shared memory must live until it is read
}

// Grid: the tiles of 64 queries of all heads.
template <int d>
__global__ void __launch_bounds__(THREADS)
    hopper_flash_kernel(const __grid_constant__ struct flash p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<d>& smem = *(struct block_smem<d>*)memory;
    int tiles = CEIL_DIV(p.N_q, BLOCK_Q), row0 = (int)(blockIdx.x % tiles) * BLOCK_Q;
    int head = blockIdx.x / tiles % p.H_q, batch = blockIdx.x / tiles / p.H_q;
    int key_head = head / (p.H_q / p.H_k), lane = threadIdx.x % 32;
    int row = row0 + threadIdx.x / 32 * WARP_ROWS + lane / 4;  // the other is 8 further
    struct range keys[2] = {visible(p, row), visible(p, row + 8)};
    int first = visible(p, row0).from / BLOCK_K;
    int last = max(first, (visible(p, row0 + BLOCK_Q - 1).to - 1) / BLOCK_K);
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.loaded, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barrier is there before anybody waits

    float S[BLOCK_K / 2], O[d / 2], m[2] = {-INFINITY, -INFINITY}, l[2] = {}, alpha[2], sum[2];
    unsigned P[BLOCK_K / 4], parity = 0;
    unsigned Q = wgmma_descriptor(smem.Q[0], 0), K = wgmma_descriptor(smem.K[0], 0);
    unsigned V = wgmma_descriptor(smem.V[0], BLOCK_K * 128);
    for (int i = 0; i < d / 2; i++) O[i] = 0.0f;
    for (int j = last; j >= first; j--, parity ^= 1) {
        if (threadIdx.x == 0) {
            int bytes = sizeof smem.K + sizeof smem.V + (j == last ? sizeof smem.Q : 0);
            int key = j * BLOCK_K + p.behind;
            mbarrier_arrive_expect(&smem.loaded, bytes);
            if (j == last)
                tma_load_5d(smem.Q, &p.Q_map, &smem.loaded, L2_EVICT_FIRST, 0, row0, 0, head,
                            batch);
            tma_load_5d(smem.K, &p.K_map, &smem.loaded, L2_EVICT_LAST, 0, key, 0, key_head, batch);
            tma_load_5d(smem.V, &p.V_map, &smem.loaded, L2_EVICT_LAST, 0, key, 0, key_head, batch);
        }
        mbarrier_wait(&smem.loaded, parity);
        issue_QK<d>(S, Q, K);
        wgmma_wait<0>();
        wgmma_hold<BLOCK_K / 2>(S);
        mask(S, keys, j * BLOCK_K + lane % 4 * 2);
        raise_maximum(S, m, alpha, p.c);
        exponentials(S, m, sum, p.c);
        multiply_rows<d>(O, alpha);
        for (int r = 0; r < 2; r++) l[r] = alpha[r] * l[r] + sum[r];
        pack(P, S);
        issue_PV<d>(O, P, V);
        wgmma_wait<0>();
        wgmma_hold<d / 2>(O);
        __syncthreads();  // both products of all warps are done before K and V are loaded anew
    }
    for (int r = 0; r < 2; r++) {
        l[r] += __shfl_xor_sync(0xffffffff, l[r], 1);
        l[r] += __shfl_xor_sync(0xffffffff, l[r], 2);
        if (lane % 4 == 0 && row + 8 * r < p.N_q)
            p.LSE[((int64_t)batch * p.H_q + head) * p.N_q + row + 8 * r] =
                l[r] > 0 ? (m[r] * p.c + __log2f(l[r])) * LN_2 : -INFINITY;
        alpha[r] = l[r] > 0 ? __fdividef(1.0f, l[r]) : 0.0f;
    }
    multiply_rows<d>(O, alpha);
    store_rows<d>(p, smem, O, row0, head, batch);
}

template <int d> static int launch(struct flash p) {
    // An array without rows has no map. Without a key it is that of a row of Q, and the boxes lie
    // behind it: they are zeros.
    p.behind = p.N_k == 0;
    if (p.N_k == 0) p.K = p.V = p.Q;
    int rows = p.N_k + p.behind, panels = d / PANEL;
    if (encode(&p.Q_map, p.Q, p.B, p.N_q, p.H_q, d, BLOCK_Q, panels) ||
        encode(&p.O_map, p.O, p.B, p.N_q, p.H_q, d, WARP_ROWS, 1) ||
        encode(&p.K_map, p.K, p.B, rows, p.H_k, d, BLOCK_K, panels) ||
        encode(&p.V_map, p.V, p.B, rows, p.H_k, d, BLOCK_K, panels))
        return COURSE_CUDA_ERROR;
    void (*kernel)(struct flash) = hopper_flash_kernel<d>;
    const int bytes = sizeof(struct block_smem<d>);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<CEIL_DIV(p.N_q, BLOCK_Q) * p.B * p.H_q, THREADS, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int hopper_flash(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                            const bf16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                            struct strides stride_o, struct strides stride_q,
                            struct strides stride_k, struct strides stride_v, float scale,
                            int causal, int window, int* tickets_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1 || window < 0)
        return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || CEIL_DIV(N_q, BLOCK_Q) * ((int64_t)B * H_q) > INT_MAX ||
        !(scale > 0) || (window && !causal))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !tickets_gpu || (N_k > 0 && (!K_gpu || !V_gpu)))
        return COURSE_BAD_ARGUMENT;
    const struct rows arrays[4] = {
        {Q_gpu, stride_q}, {K_gpu, stride_k}, {V_gpu, stride_v}, {O_gpu, stride_o}};
    int status = check_rows(arrays, 4, d), multiprocessors;
    if (status == COURSE_OK) status = find_hopper(&multiprocessors);
    if (status != COURSE_OK) return status;
    struct flash p = {};
    p.Q = arrays[0], p.K = arrays[1], p.V = arrays[2], p.O = arrays[3];
    p.LSE = LSE_gpu;
    p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.causal = causal != 0, p.window = window, p.c = scale * LOG2_E;
    return d == 128 ? launch<128>(p) : launch<64>(p);
}
