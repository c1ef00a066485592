// whole_exponents.cu: m is rounded up to a whole number, so alpha is a power of two, and the
// largest weight is between 2^7 and 2^8. O stays as it is where alpha is 1 in the whole warp.
#include "low_precision.h"

#include <float.h>

#include "flash8.h"
#include "hopper.h"
#include "quantise.h"

// P is relative to its largest weight so far, which is then 2^8: e4m3 has numbers up to 448, and
// more than half of them are above 1, where P alone has none. It cancels in O / l. (README eq. 5)
#define P_EXPONENT 8.0f

// ---- to eight bits -----------------------------------------------------------------------------

// Which scale a kernel uses: its own block's, which it stores; or one for all, of which it
// finds the largest in a first pass, or which it uses in a second.
enum pass { OWN_SCALE, FIND_SCALE, USE_SCALE };

// Grid: blocks of 128 rows of all heads.
template <class T>
__global__ void __launch_bounds__(QUANTISE_THREADS)
    quantise_kernel(const struct quantise p, enum pass what) {
    __shared__ float of_warp[QUANTISE_WARPS];
    __shared__ unsigned tile[T::d][WORDS];
    struct rows_of_block at = find_rows(p);
    float x[T::PASSES][PIECE], scale;
    load_rows<T>(x, p, at);
    if (p.rotated) rotate<T>(x);
    if (what == USE_SCALE) {
        scale = p.scales[0];
    } else {
        // amax = the largest finite |x|, scale = amax / 448                       (README eq. 1)
        float amax = SMALLEST_AMAX;
#pragma unroll
        for (int i = 0; i < T::PASSES * PIECE; i++) {
            float size = fabsf(x[i / PIECE][i % PIECE]);
            if (size <= FLT_MAX) amax = fmaxf(amax, size);
        }
        scale = largest_of_block(amax, of_warp) / E4M3_LARGEST;
        // Of positive floats the larger one has the larger bits.
        if (threadIdx.x == 0 && what == FIND_SCALE)
            atomicMax((unsigned*)p.scales, __float_as_uint(scale));
        if (threadIdx.x == 0 && what == OWN_SCALE) p.scales[blockIdx.x] = scale;
        if (what == FIND_SCALE) return;
    }
    // byte = e4m3(x (1 / scale)): four at a time, of a row, or of four rows whose bytes are
    // neighbours in V^T
    float factor = 1.0f / scale;
#pragma unroll
    for (int i = 0; i < T::PASSES * PIECE; i++) x[i / PIECE][i % PIECE] *= factor;
    if (p.transposed) {
        unsigned word[T::PASSES / 4][PIECE];
#pragma unroll
        for (int n = 0; n < T::PASSES / 4; n++)
#pragma unroll
            for (int i = 0; i < PIECE; i++)
                word[n][i] =
                    pack_e4m3(x[4 * n][i], x[4 * n + 1][i], x[4 * n + 2][i], x[4 * n + 3][i]);
        store_transposed<T>(p, at, word, tile);
    } else {
        unsigned word[T::PASSES][2];
#pragma unroll
        for (int pass = 0; pass < T::PASSES; pass++)
#pragma unroll
            for (int n = 0; n < 2; n++)
                word[pass][n] = pack_e4m3(x[pass][4 * n], x[pass][4 * n + 1], x[pass][4 * n + 2],
                                          x[pass][4 * n + 3]);
        store_bytes<T>(p, at, word);
    }
}

template <int d> static int launch_quantise(const struct quantise& p, int blocks) {
    void (*kernel)(struct quantise, enum pass) = quantise_kernel<quantise_sizes<d>>;
    if (p.per_block) {
        kernel<<<blocks, QUANTISE_THREADS>>>(p, OWN_SCALE);
        COURSE_TRY(cudaGetLastError());
        return COURSE_OK;
    }
    COURSE_TRY(cudaMemsetAsync(p.scales, 0, sizeof(float)));
    kernel<<<blocks, QUANTISE_THREADS>>>(p, FIND_SCALE);
    COURSE_TRY(cudaGetLastError());
    kernel<<<blocks, QUANTISE_THREADS>>>(p, USE_SCALE);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int low_precision_quantise(e4m3* to_gpu, float* scales_gpu, const bf16* X_gpu, int B,
                                      int N, int H, int d, struct strides stride_x, int per_block,
                                      int rotated, int transposed) {
    struct quantise p = {{X_gpu, stride_x}, to_gpu,  scales_gpu, B, N, H,
                         per_block,         rotated, transposed};
    int blocks, status = check_quantise(&p, d, &blocks);
    if (status != COURSE_OK || blocks == 0) return status;
    p.blocks = CEIL_DIV(N, SCALE_BLOCK);
    return d == 128 ? launch_quantise<128>(p, blocks) : launch_quantise<64>(p, blocks);
}

// ---- attention ---------------------------------------------------------------------------------

template <int head_dim> struct flash_tiles : block_sizes<head_dim, ROWS, SCALE_BLOCK> {
    enum { THREADS = WARPGROUP };
};

// The scales of a block of K and of V.
struct scales {
    float k, v;
};

template <class T> struct block_smem {
    e4m3 Q[T::BLOCK_Q * T::d];
    e4m3 K[T::BLOCK_K * T::d];
    e4m3 V[T::d * T::BLOCK_K];
    bf16 O[T::d / PANEL][T::BLOCK_Q * PANEL];
    mbarrier loaded;
};

// What a thread knows of its two rows.
template <class T> struct state {
    float S[T::BLOCK_K / 2];
    float O[T::d / 2];
    unsigned P[T::BLOCK_K / 8];
    float m[2], l[2];      // m: in base 2, and of the weights times the scale of V
    struct scales scales;  // of the block that is in S
    float c;               // scale * log2(e) * the scale of its rows of Q
    int seen[2];
};

// scale * log2(e) * the scale of a warpgroup's rows of Q, which lie in one block of 128.
__device__ __forceinline__ float factor_of_rows(const struct flash& p, const struct place& place,
                                                int first_row) {
    int64_t head = (int64_t)place.batch * p.H_q + place.head;
    const unsigned row = min((unsigned)first_row, (unsigned)p.N_q - 1);
    int64_t block = head * CEIL_DIV(p.N_q, SCALE_BLOCK) + row / SCALE_BLOCK;
    return p.c * p.Q_scales[p.per_block ? block : 0];
}

// m becomes the larger of itself and the rows' maximum; what was summed is to be multiplied by
// alpha.
//     m_i = max(m_i, max_j S_ij c k + log2 v)                                     (README eq. 4)
template <class T>
__device__ __forceinline__ void raise_maximum(struct state<T>& s, float alpha[2]) {
    float part[2][2] = {{s.S[0], s.S[1]}, {s.S[2], s.S[3]}};  // two of a row: a shorter chain
#pragma unroll
    for (int i = 4; i < T::BLOCK_K / 2; i++)
        part[i / 2 % 2][i % 2] = fmaxf(part[i / 2 % 2][i % 2], s.S[i]);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float M = fmaxf(part[r][0], part[r][1]);
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 1));
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 2));
        M = fmaxf(ceilf(fmaf(M, s.c * s.scales.k, __log2f(s.scales.v))), s.m[r]);
        alpha[r] = M == -INFINITY ? 1.0f : exp2_approx(s.m[r] - M);
        s.m[r] = M;
    }
}

// S becomes P, and sum what l gains. A row that has seen no key yet has m = -infinity and only
// scores of -infinity: with guard it is shifted by 0.
//     P_ij = 2^(S_ij c k + log2 v - m_i + 8),    l gains P / v                    (README eq. 5)
template <class T>
__device__ __forceinline__ void exponentials(struct state<T>& s, float sum[2], bool guard) {
    float shift[2], c = s.c * s.scales.k, from = __log2f(s.scales.v) + P_EXPONENT;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        shift[r] = from - (guard && s.m[r] == -INFINITY ? 0.0f : s.m[r]);
        sum[r] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < T::BLOCK_K / 2; i++) {
        s.S[i] = exp2_approx(fmaf(s.S[i], c, shift[i / 2 % 2]));
        sum[i / 2 % 2] += s.S[i];
    }
    float of_v = __fdividef(1.0f, s.scales.v);
    sum[0] *= of_v, sum[1] *= of_v;
}

// P as the A of a product of eight bits. A lane's four numbers of a word are neighbours in k there;
// in S they come in pairs, of keys 2t, 2t + 1 and 2t + 8, 2t + 9 of 16. So it takes these for
// neighbours, and V^T has its keys in this order.
template <class T> __device__ __forceinline__ void pack(struct state<T>& s) {
#pragma unroll
    for (int n = 0; n < T::BLOCK_K / 8; n++) {
        const float* P = &s.S[n / 2 * 8 + n % 2 * 2];
        s.P[n] = pack_e4m3(P[0], P[1], P[4], P[5]);
    }
}

// The scales of block j of a head of keys. Behind the last key there are none.
__device__ __forceinline__ struct scales scales_of(const struct flash& p, int head, int j) {
    struct scales scales = {1.0f, 1.0f};
    int blocks = CEIL_DIV(p.N_k, SCALE_BLOCK);
    int64_t at = p.per_block ? (int64_t)head * blocks + j : 0;
    if (j < blocks) scales.k = p.K_scales[at], scales.v = p.V_scales[at];
    return scales;
}

// l of the whole rows: LSE, and factor = 1 / l.                                   (README eq. 6)
//     LSE = (m - 8) ln 2 + ln l;  O = 0 and LSE = -infinity for a row that sees no key
__device__ __forceinline__ void finish_sums(const struct flash& p, const struct place& place,
                                            int row, const float m[2], const float l[2],
                                            float factor[2]) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum = l[r];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        // Unsigned: the last tile may end behind what an int counts.
        if (threadIdx.x % 4 == 0 && (unsigned)row + 8 * r < (unsigned)p.N_q)
            p.LSE[((int64_t)place.batch * p.H_q + place.head) * p.N_q + row + 8 * r] =
                sum > 0 ? (m[r] - P_EXPONENT + __log2f(sum)) * LN_2 : -INFINITY;
        factor[r] = sum > 0 ? 1.0f / sum : 0.0f;
    }
}

// Grid: the tiles of queries of all heads.
template <class T>
__global__ void __launch_bounds__(T::THREADS)
    low_precision_kernel(const __grid_constant__ struct flash p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<T>& smem = *(struct block_smem<T>*)memory;
    struct place place = place_of_block<T>(p);
    place.row0 = (p.tiles_of_head - 1) * T::BLOCK_Q - place.row0;
    find_walk<T>(p, place);
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.loaded, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barrier is there before anybody waits

    struct state<T> s;
    int first = threadIdx.x / 32 * WARP_ROWS, row = place.row0 + first + threadIdx.x % 32 / 4;
    int head = key_head(p, place);
    unsigned parity = 0;
    unsigned Q = wgmma_descriptor(smem.Q, 0), K = wgmma_descriptor(smem.K, 0);
    unsigned V = wgmma_descriptor(smem.V, 0);
    s.seen[0] = keys_seen(p, row), s.seen[1] = keys_seen(p, row + 8);
    s.c = factor_of_rows(p, place, place.row0);
    s.m[0] = s.m[1] = -INFINITY, s.l[0] = s.l[1] = 0.0f;
    for (int i = 0; i < T::d / 2; i++) s.O[i] = 0.0f;
    for (int j = place.last; j >= place.first; j--, parity ^= 1) {
        if (threadIdx.x == 0) {
            bool is_first = j == place.last;
            int bytes = sizeof smem.K + sizeof smem.V + (is_first ? sizeof smem.Q : 0);
            mbarrier_arrive_expect(&smem.loaded, bytes);
            if (is_first)
                tma_load_3d(smem.Q, &p.Q_map, &smem.loaded, L2_EVICT_FIRST, 0, place.row0,
                            place.batch * p.H_q + place.head);
            tma_load_3d(smem.K, &p.K_map, &smem.loaded, L2_EVICT_LAST, 0, j * T::BLOCK_K, head);
            load_V<T>(smem.V, p, &smem.loaded, j * T::BLOCK_K, head);
        }
        s.scales = scales_of(p, head, j);
        mbarrier_wait(&smem.loaded, parity);
        issue_QK<T>(s.S, Q, K);
        wgmma_wait<0>();
        wgmma_hold<T::BLOCK_K / 2>(s.S);
        float alpha[2], sum[2];
        mask_edges<T>(s.S, s.seen, j * T::BLOCK_K);
        raise_maximum<T>(s, alpha);
        exponentials<T>(s, sum, true);
        if (__any_sync(0xffffffff, alpha[0] != 1.0f || alpha[1] != 1.0f))
            multiply_rows<T>(s.O, alpha);
        for (int r = 0; r < 2; r++) s.l[r] = alpha[r] * s.l[r] + sum[r];
        pack<T>(s);
        issue_PV<T>(s.O, s.P, V);
        wgmma_wait<0>();
        wgmma_hold<T::d / 2>(s.O);
        __syncthreads();  // both products of all warps are done before K and V are loaded anew
    }
    float factor[2];
    finish_sums(p, place, row, s.m, s.l, factor);
    multiply_rows<T>(s.O, factor);
    store_O<T>(p, place, first, s.O, smem.O);
    bulk_wait<0>();  // shared memory must live until it is read
}

template <class T> static int launch(struct flash p, const struct arrays8& arrays) {
    if (make_maps<T>(&p, &arrays)) return COURSE_CUDA_ERROR;
    p.tiles_of_head = CEIL_DIV(p.N_q, T::BLOCK_Q);
    void (*kernel)(struct flash) = low_precision_kernel<T>;
    const int bytes = sizeof(struct block_smem<T>);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<p.tiles_of_head * p.B * p.H_q, T::THREADS, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int low_precision(bf16* O_gpu, float* LSE_gpu, const e4m3* Q_gpu, const e4m3* K_gpu,
                             const e4m3* Vt_gpu, const float* Q_scales_gpu,
                             const float* K_scales_gpu, const float* V_scales_gpu, int B, int N_q,
                             int N_k, int H_q, int H_k, int d, struct strides stride_o, float scale,
                             int causal, int per_block, int* tickets_gpu) {
    const struct arrays8 arrays = {Q_gpu, K_gpu, Vt_gpu};
    struct flash p = {};
    p.O = {O_gpu, stride_o}, p.LSE = LSE_gpu, p.tickets = tickets_gpu;
    p.Q_scales = Q_scales_gpu, p.K_scales = K_scales_gpu, p.V_scales = V_scales_gpu;
    p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.causal = causal != 0, p.per_block = per_block != 0, p.c = scale * LOG2_E;
    int multiprocessors, status = check_call(&arrays, &p, d, scale, &multiprocessors);
    if (status != COURSE_OK || multiprocessors == 0) return status;
    return d == 128 ? launch<flash_tiles<128>>(p, arrays) : launch<flash_tiles<64>>(p, arrays);
}
