// naive.cu: a right answer without the idea of the lesson: a thread for each query, on the ordinary
// cores, from global memory; every byte becomes a float.
//
//     x = scale_x * byte,  S = scale Q K^T,  P = softmax(S),  O = P V       (README eq. 1, 2)
#include "low_precision.h"

#include <float.h>

#include "flash8.h"
#include "hopper.h"
#include "quantise.h"

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

enum { THREADS = 32, MAX_D = 128 };

__device__ float value(e4m3 byte) {
    int e = byte >> 3 & 15, f = byte & 7;
    float size = e ? ldexpf(8 + f, e - 10) : ldexpf(f, -9);
    return byte & 0x80 ? -size : size;
}

// A block is 32 queries of a head.
__global__ void naive_kernel(const struct flash p, const struct arrays8 arrays, int d) {
    int blocks = CEIL_DIV(p.N_q, THREADS), head = blockIdx.x / blocks, h = head % p.H_q;
    int i = blockIdx.x % blocks * THREADS + threadIdx.x, b = head / p.H_q;
    if (i >= p.N_q) return;
    int64_t of_keys = (int64_t)b * p.H_k + h / (p.H_q / p.H_k), padded = PADDED(p.N_k);
    int T_q = CEIL_DIV(p.N_q, SCALE_BLOCK), T_k = CEIL_DIV(p.N_k, SCALE_BLOCK);
    const e4m3* Q = arrays.Q + ((int64_t)head * p.N_q + i) * d;
    float c = p.c * LN_2 * p.Q_scales[p.per_block ? (int64_t)head * T_q + i / SCALE_BLOCK : 0];
    float m = -INFINITY, l = 0.0f, O[MAX_D];
    for (int x = 0; x < d; x++) O[x] = 0.0f;
    for (int j = 0; j < keys_seen(p, i); j++) {
        const e4m3* K = arrays.K + (of_keys * p.N_k + j) * d;
        int64_t block = p.per_block ? of_keys * T_k + j / SCALE_BLOCK : 0;
        // Of 16 keys, number n = 2 t + r + 8 u has byte 4 t + r + 2 u.
        int64_t byte = j / 16 * 16 + j % 8 / 2 * 4 + j % 2 + j % 16 / 8 * 2;
        float S = 0.0f;
        for (int x = 0; x < d; x++) S += value(Q[x]) * value(K[x]);
        S *= c * p.K_scales[block];
        float larger = fmaxf(m, S), alpha = expf(m - larger), P = expf(S - larger);
        m = larger, l = alpha * l + P;
        P *= p.V_scales[block];
        for (int x = 0; x < d; x++)
            O[x] = alpha * O[x] + P * value(arrays.Vt[(of_keys * d + x) * padded + byte]);
    }
    const struct strides s = p.O.stride;
    bf16* out = (bf16*)p.O.first + b * s.b + h * s.h + i * s.n;
    for (int x = 0; x < d; x++) out[x] = __float2bfloat16(l > 0 ? O[x] / l : 0.0f);
    p.LSE[(int64_t)head * p.N_q + i] = l > 0 ? m + logf(l) : -INFINITY;
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
    naive_kernel<<<CEIL_DIV(N_q, THREADS) * B * H_q, THREADS>>>(p, arrays, d);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
