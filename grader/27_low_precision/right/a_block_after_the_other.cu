// a_block_after_the_other.cu: written without flash8.h and quantise.h. A warp rounds a row at a
// time, and a block of one warpgroup has 64 queries. All its lanes look up the scales themselves.
#include "low_precision.h"

#include <cuda_bf16.h>
#include <float.h>
#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "hopper.h"

namespace {

constexpr int kBlock = SCALE_BLOCK;
constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// ---- quantise

constexpr int kQuantWarps = 8, kRowsOfWarp = kBlock / kQuantWarps;

struct Quant {
    rows x;
    e4m3* to;
    float* scales;
    int n, heads, blocks;
    bool per_block, rotated, transposed;
};

enum class Mode { own, find, use };

template <int D, Mode mode> __global__ void __launch_bounds__(kQuantWarps * 32) quantise(Quant p) {
    constexpr int V = D / 32;  // neighbours in a lane
    __shared__ unsigned amax_bits;
    __shared__ __align__(16) unsigned char tile[D][kBlock];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t head = blockIdx.x / p.blocks;
    const int row0 = (int)(blockIdx.x % p.blocks) * kBlock;
    const bf16* X = head_of(p.x, (int)(head / p.heads), (int)(head % p.heads)) + lane * V;
    if (threadIdx.x == 0) amax_bits = __float_as_uint(SMALLEST_AMAX);
    __syncthreads();

    float x[kRowsOfWarp][V], largest = 0.f;
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
        const int64_t row = (int64_t)row0 + warp * kRowsOfWarp + r;
        unsigned word[V / 2] = {};
        if (row < p.n) {
            if constexpr (V == 4) {
                const uint2 two = *reinterpret_cast<const uint2*>(X + row * p.x.stride.n);
                word[0] = two.x, word[V / 2 - 1] = two.y;
            } else {
                word[0] = *reinterpret_cast<const unsigned*>(X + row * p.x.stride.n);
            }
        }
#pragma unroll
        for (int i = 0; i < V; ++i)
            x[r][i] = __uint_as_float(i % 2 ? word[i / 2] & 0xffff0000u : word[i / 2] << 16);
        if (p.rotated) {
#pragma unroll
            for (int w = 1; w < V; w *= 2)
#pragma unroll
                for (int i = 0; i < V; ++i)
                    if (!(i & w)) {
                        const float a = x[r][i], b = x[r][i + w];
                        x[r][i] = a + b, x[r][i + w] = a - b;
                    }
#pragma unroll
            for (int m = 1; m < 32; m *= 2)
#pragma unroll
                for (int i = 0; i < V; ++i) {
                    const float mine = x[r][i], other = __shfl_xor_sync(~0u, mine, m);
                    x[r][i] = lane & m ? other - mine : mine + other;
                }
            const float factor = D == 64 ? 0.125f : 0.0883883461f;
#pragma unroll
            for (int i = 0; i < V; ++i) x[r][i] *= factor;
        }
#pragma unroll
        for (int i = 0; i < V; ++i)
            if (fabsf(x[r][i]) <= FLT_MAX) largest = fmaxf(largest, fabsf(x[r][i]));
    }

    float scale;
    if constexpr (mode == Mode::use) {
        scale = *p.scales;
    } else {
        atomicMax(&amax_bits, __float_as_uint(largest));
        __syncthreads();
        scale = __uint_as_float(amax_bits) / E4M3_LARGEST;
        if (threadIdx.x == 0) {
            if (mode == Mode::own) p.scales[blockIdx.x] = scale;
            if (mode == Mode::find) atomicMax((unsigned*)p.scales, __float_as_uint(scale));
        }
        if (mode == Mode::find) return;
    }

    const float factor = 1.0f / scale;
    e4m3* to = p.to + head * (p.transposed ? D * PADDED(p.n) : (int64_t)D * p.n);
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
        const int in_block = warp * kRowsOfWarp + r;
        const int64_t row = (int64_t)row0 + in_block;
        const unsigned bytes =
            pack_e4m3(x[r][0] * factor, x[r][1] * factor, V == 4 ? x[r][V - 2] * factor : 0.f,
                      V == 4 ? x[r][V - 1] * factor : 0.f);
        if (p.transposed) {
            const int k = in_block % 16, place = k % 8 / 2 * 4 + k / 8 * 2 + k % 2;
#pragma unroll
            for (int i = 0; i < V; ++i)
                tile[lane * V + i][in_block / 16 * 16 + place] = (unsigned char)(bytes >> 8 * i);
        } else if (row < p.n) {
            if constexpr (V == 4)
                *reinterpret_cast<unsigned*>(to + row * D + lane * V) = bytes;
            else
                *reinterpret_cast<unsigned short*>(to + row * D + lane * V) = (unsigned short)bytes;
        }
    }
    if (!p.transposed) return;
    __syncthreads();
    for (int e = threadIdx.x; e < D * kBlock / 16; e += kQuantWarps * 32) {
        const int c = e / (kBlock / 16), k = e % (kBlock / 16) * 16;
        if (row0 + (int64_t)k < PADDED(p.n))
            *reinterpret_cast<uint4*>(to + c * PADDED(p.n) + row0 + k) =
                *reinterpret_cast<const uint4*>(&tile[c][k]);
    }
}

template <int D> int launch_quantise(const Quant& p, int blocks) {
    constexpr int threads = kQuantWarps * 32;
    if (p.per_block) {
        quantise<D, Mode::own><<<blocks, threads>>>(p);
    } else {
        COURSE_TRY(cudaMemsetAsync(p.scales, 0, sizeof(float), 0));
        quantise<D, Mode::find><<<blocks, threads>>>(p);
        COURSE_TRY(cudaGetLastError());
        quantise<D, Mode::use><<<blocks, threads>>>(p);
    }
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// ---- attention

struct Attention {
    CUtensorMap q, k, v, out;
    float* lse;
    const float *q_scales, *k_scales, *v_scales;
    int nq, nk, hq, hk, tiles;
    bool causal, per_block;
    float c;
};

template <int D> struct Smem {
    e4m3 q[64 * D];
    e4m3 k[kBlock * D];
    e4m3 v[D * kBlock];
    bf16 o[4][D / PANEL][16 * PANEL];  // each warp's rows
    mbarrier q_full, k_full, v_full;
};

template <int D>
__global__ void __launch_bounds__(128, 1) attention8(const __grid_constant__ Attention p) {
    extern __shared__ __align__(1024) unsigned char raw[];
    auto& sm = *reinterpret_cast<Smem<D>*>(raw);
    const int64_t head = blockIdx.x / p.tiles;  // of all batches
    const int row0 = (int)(p.tiles - 1 - blockIdx.x % p.tiles) * 64;
    const int64_t kv_head = head / p.hq * p.hk + head % p.hq / (p.hq / p.hk);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto seen = [&](int64_t i) -> int64_t {
        if (!p.causal) return p.nk;
        return max((int64_t)0, min(i + 1 + p.nk - p.nq, (int64_t)p.nk));
    };
    const int64_t end = seen(min((int64_t)row0 + 63, (int64_t)p.nq - 1));
    const int blocks = (int)CEIL_DIV(end, kBlock);

    if (threadIdx.x == 0) {
        mbarrier_init(&sm.q_full, 1), mbarrier_init(&sm.k_full, 1), mbarrier_init(&sm.v_full, 1);
        fence_mbarrier_init();
        if (blocks > 0) {
            mbarrier_arrive_expect(&sm.q_full, sizeof sm.q);
            tma_load_3d(sm.q, &p.q, &sm.q_full, L2_EVICT_FIRST, 0, row0, (int)head);
        }
    }
    __syncthreads();

    const int64_t scale_row = head * CEIL_DIV(p.nq, kBlock) + row0 / kBlock;
    const float c = p.c * p.q_scales[p.per_block ? scale_row : 0];
    int64_t visible[2];
    for (int e = 0; e < 2; ++e) visible[e] = seen((int64_t)row0 + warp * 16 + lane / 4 + 8 * e);
    float s[kBlock / 2], o[D / 2], m[2] = {-INFINITY, -INFINITY}, l[2] = {0.f, 0.f};
    unsigned word[kBlock / 8];
#pragma unroll
    for (int i = 0; i < D / 2; ++i) o[i] = 0.f;
    const unsigned q = wgmma_descriptor(sm.q, 0), k = wgmma_descriptor(sm.k, 0);
    const unsigned v = wgmma_descriptor(sm.v, 0);
    if (blocks > 0) mbarrier_wait(&sm.q_full, 0);
    for (int j = 0; j < blocks; ++j) {
        __syncthreads();  // all products of the block before are done
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(&sm.k_full, sizeof sm.k);
            tma_load_3d(sm.k, &p.k, &sm.k_full, L2_EVICT_LAST, 0, j * kBlock, (int)kv_head);
            mbarrier_arrive_expect(&sm.v_full, sizeof sm.v);
            tma_load_3d(sm.v, &p.v, &sm.v_full, L2_EVICT_LAST, j * kBlock, 0, (int)kv_head);
        }
        const int64_t at = p.per_block ? kv_head * CEIL_DIV(p.nk, kBlock) + j : 0;
        const float factor = c * p.k_scales[at], v_scale = p.v_scales[at];
        const float log2_v = log2f(v_scale);
        mbarrier_wait(&sm.k_full, j % 2);
        wgmma_fence();
#pragma unroll
        for (int x = 0; x < D / 32; ++x) wgmma_e4m3<kBlock, D>(s, q + 2 * x, k + 2 * x, x > 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold<kBlock / 2>(s);

        float top[2] = {m[0], m[1]}, sum[2] = {0.f, 0.f};
#pragma unroll
        for (int i = 0; i < kBlock / 2; ++i) {
            const int64_t key = (int64_t)j * kBlock + i / 4 * 8 + lane % 4 * 2 + i % 2;
            s[i] = key < visible[i / 2 % 2] ? fmaf(s[i], factor, log2_v) : -INFINITY;
            top[i / 2 % 2] = fmaxf(top[i / 2 % 2], s[i]);
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            top[e] = fmaxf(top[e], __shfl_xor_sync(~0u, top[e], 1));
            top[e] = fmaxf(top[e], __shfl_xor_sync(~0u, top[e], 2));
            const float base = top[e] == -INFINITY ? 0.f : top[e];
            const float alpha = exp2_approx(m[e] - base);
            m[e] = top[e], top[e] = base - 8.0f;
            l[e] *= alpha;
#pragma unroll
            for (int i = 0; i < D / 2; ++i)
                if (i / 2 % 2 == e) o[i] *= alpha;
        }
#pragma unroll
        for (int i = 0; i < kBlock / 2; ++i) {
            s[i] = exp2_approx(s[i] - top[i / 2 % 2]);
            sum[i / 2 % 2] += s[i];
        }
        l[0] += sum[0] / v_scale, l[1] += sum[1] / v_scale;
#pragma unroll
        for (int n = 0; n < kBlock / 8; ++n) {
            const float* w = &s[n / 2 * 8 + n % 2 * 2];
            word[n] = pack_e4m3(w[0], w[1], w[4], w[5]);
        }
        mbarrier_wait(&sm.v_full, j % 2);
        wgmma_fence();
#pragma unroll
        for (int n = 0; n < kBlock / 32; ++n)
            wgmma_e4m3_registers<D>(o, &word[4 * n], v + n * 32 / 16, 1);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold<D / 2>(o);
    }

#pragma unroll
    for (int e = 0; e < 2; ++e) {
        float total = l[e];
        total += __shfl_xor_sync(~0u, total, 1);
        total += __shfl_xor_sync(~0u, total, 2);
        const int64_t row = (int64_t)row0 + warp * 16 + lane / 4 + 8 * e;
        if (lane % 4 == 0 && row < p.nq)
            p.lse[head * p.nq + row] =
                total > 0.f ? (m[e] - 8.0f + log2f(total)) * kLn2 : -INFINITY;
        const float inverse = total > 0.f ? 1.0f / total : 0.f;
#pragma unroll
        for (int x = 0; x < D / 8; ++x) {
            const int r = lane / 4 + 8 * e, piece = x % 8 ^ r % 8;
            *reinterpret_cast<unsigned*>(&sm.o[warp][x / 8][r * PANEL + piece * 8 + lane % 4 * 2]) =
                pack_bf16(o[4 * x + 2 * e] * inverse, o[4 * x + 2 * e + 1] * inverse);
        }
    }
    fence_proxy_async();
    __syncwarp();
    const int first = row0 + warp * 16;
    if (lane == 0 && first < p.nq) {
        for (int panel = 0; panel < D / PANEL; ++panel)
            tma_store_5d(&p.out, sm.o[warp][panel], 0, first, panel, (int)(head % p.hq),
                         (int)(head / p.hq));
        bulk_commit();
        bulk_wait<0>();
    }
}

int map_bytes(CUtensorMap* map, const e4m3* first, int64_t columns, int64_t rows, int64_t heads,
              int box_columns, int box_rows) {
    const cuuint64_t sizes[3] = {(cuuint64_t)columns, (cuuint64_t)rows, (cuuint64_t)heads};
    const cuuint64_t pitch[2] = {(cuuint64_t)columns, (cuuint64_t)(columns * rows)};
    const cuuint32_t box[3] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows, 1};
    return tensor_map_encode(map, first, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, sizes, pitch, box,
                             box_columns);
}

}  // namespace

extern "C" int low_precision_quantise(e4m3* to_gpu, float* scales_gpu, const bf16* X_gpu, int B,
                                      int N, int H, int d, struct strides stride_x, int per_block,
                                      int rotated, int transposed) {
    if (B < 0 || N < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    const int64_t heads = (int64_t)B * H, blocks = CEIL_DIV(N, kBlock);
    if ((d != 64 && d != 128) || (blocks > 0 && heads > INT_MAX / blocks))
        return COURSE_UNSUPPORTED;
    if (heads == 0 || N == 0) return COURSE_OK;
    if (!to_gpu || !scales_gpu || !X_gpu) return COURSE_BAD_ARGUMENT;
    if (stride_x.b < 0 || stride_x.h < 0 || stride_x.n < d) return COURSE_BAD_ARGUMENT;
    if (((uintptr_t)X_gpu | (uintptr_t)to_gpu) % 16) return COURSE_UNSUPPORTED;
    if ((stride_x.b | stride_x.n | stride_x.h) % 8) return COURSE_UNSUPPORTED;
    int multiprocessors;
    const int status = find_hopper(&multiprocessors);
    if (status != COURSE_OK) return status;
    const Quant p = {{X_gpu, stride_x}, to_gpu,       scales_gpu,     N, H, (int)blocks,
                     per_block != 0,    rotated != 0, transposed != 0};
    return d == 64 ? launch_quantise<64>(p, (int)(heads * blocks))
                   : launch_quantise<128>(p, (int)(heads * blocks));
}

template <int D>
static int launch_attention(Attention p, const e4m3* Q, const e4m3* K, const e4m3* Vt, rows o,
                            int B) {
    p.tiles = CEIL_DIV(p.nq, 64);
    if (map_bytes(&p.q, Q, D, p.nq, (int64_t)B * p.hq, D, 64) ||
        encode(&p.out, o, B, p.nq, p.hq, D, 16, 1))
        return COURSE_CUDA_ERROR;
    if (p.nk > 0 && (map_bytes(&p.k, K, D, p.nk, (int64_t)B * p.hk, D, kBlock) ||
                     map_bytes(&p.v, Vt, PADDED(p.nk), D, (int64_t)B * p.hk, kBlock, D)))
        return COURSE_CUDA_ERROR;
    COURSE_TRY(cudaFuncSetAttribute(attention8<D>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)sizeof(Smem<D>)));
    attention8<D><<<(unsigned)p.tiles * B * p.hq, 128, sizeof(Smem<D>)>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int low_precision(bf16* O_gpu, float* LSE_gpu, const e4m3* Q_gpu, const e4m3* K_gpu,
                             const e4m3* Vt_gpu, const float* Q_scales_gpu,
                             const float* K_scales_gpu, const float* V_scales_gpu, int B, int N_q,
                             int N_k, int H_q, int H_k, int d, struct strides stride_o, float scale,
                             int causal, int per_block, int* tickets_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (H_k > 0 ? H_q % H_k != 0 : H_q > 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || !(scale > 0.f)) return COURSE_UNSUPPORTED;
    const int64_t heads = (int64_t)B * H_q, tiles = CEIL_DIV(N_q, 64);
    if (tiles > 0 && heads > INT_MAX / tiles) return COURSE_UNSUPPORTED;
    if (heads == 0 || N_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !Q_scales_gpu || !tickets_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !Vt_gpu || !K_scales_gpu || !V_scales_gpu))
        return COURSE_BAD_ARGUMENT;
    const rows o = {O_gpu, stride_o};
    int multiprocessors, status = check_rows(&o, 1, d);
    if (status != COURSE_OK) return status;
    if ((uintptr_t)Q_gpu % 16 || (N_k > 0 && ((uintptr_t)K_gpu | (uintptr_t)Vt_gpu) % 16))
        return COURSE_UNSUPPORTED;
    status = find_hopper(&multiprocessors);
    if (status != COURSE_OK) return status;
    Attention p = {};
    p.lse = LSE_gpu;
    p.q_scales = Q_scales_gpu, p.k_scales = K_scales_gpu, p.v_scales = V_scales_gpu;
    p.nq = N_q, p.nk = N_k, p.hq = H_q, p.hk = H_k;
    p.causal = causal != 0, p.per_block = per_block != 0, p.c = scale * kLog2e;
    return d == 64 ? launch_attention<64>(p, Q_gpu, K_gpu, Vt_gpu, o, B)
                   : launch_attention<128>(p, Q_gpu, K_gpu, Vt_gpu, o, B);
}
