// spans_by_atomics.cu: two kernels without sums between blocks, written without backward.h. A block
// of 64 keys or queries finds the span of what sees them by atomicMin and atomicMax in shared
// memory. Nothing but delta is kept in the workspace, and what nobody sees is not read.
#include <cuda_bf16.h>
#include <limits.h>
#include <math.h>

#include "hopper.h"
#include "hopper_backward.h"

namespace bwd {

constexpr int kTile = 64;
constexpr int kThreads = 128;
constexpr int kPanel = 64 * 64;
constexpr float kLog2e = 1.44269504088896f;

template <int kHeadDim> struct Smem {
    bf16 own[2][kHeadDim / 64][kPanel];        // K, V or Q, dO
    bf16 walked[2][2][kHeadDim / 64][kPanel];  // stage; Q, dO or K, V
    float lse[kTile], delta[kTile];
    int lo, hi;
    mbarrier own_full, walked_full[2];
};

struct Params {
    CUtensorMap q, k, v, dout;
    bf16 *dq, *dk, *dv;
    const bf16 *o, *grad;
    struct strides s_dq, s_dk, s_dv, s_o, s_do;
    const float* lse;
    float* delta;
    const int* cu_seqlens;
    int batches, n_q, n_k, h_q, h_k, group, causal, window, documents;
    int tiles_q, tiles_k;
    float scale;
};

struct Span {
    int64_t lo, hi;
};

__device__ inline Span document_of(const Params& p, int b, int64_t pos) {
    if (p.documents == 0) return {0, p.n_k};
    const int* ends = p.cu_seqlens + b * ((int64_t)p.documents + 1);
    if (pos < 0 || pos >= ends[p.documents]) return {0, 0};
    int64_t lo = 0, hi = p.documents;
    while (hi - lo > 1) {
        const int64_t mid = (lo + hi) / 2;
        (ends[mid] <= pos ? lo : hi) = mid;
    }
    return {ends[lo], ends[hi]};
}

// Keys that query i sees.
__device__ inline Span keys_of_query(const Params& p, int b, int64_t i) {
    if (i >= p.n_q) return {0, 0};
    const int64_t pos = i + p.n_k - p.n_q;
    Span s = document_of(p, b, pos);
    if (p.causal) s.hi = min(s.hi, pos + 1);
    if (p.window) s.lo = max(s.lo, pos - p.window + 1);
    if (s.lo >= s.hi) s = {0, 0};
    return s;
}

// Queries that see key j.
__device__ inline Span queries_of_key(const Params& p, int b, int64_t j) {
    if (j >= p.n_k) return {0, 0};
    const int64_t shift = (int64_t)p.n_k - p.n_q;
    Span s = {0, p.n_q};
    if (p.documents) {
        const Span doc = document_of(p, b, j);
        if (doc.lo >= doc.hi) return {0, 0};
        s.lo = max(s.lo, doc.lo - shift);
        s.hi = min(s.hi, doc.hi - shift);
    }
    if (p.causal) s.lo = max(s.lo, j - shift);
    if (p.window) s.hi = min(s.hi, j - shift + p.window);
    if (s.lo >= s.hi) s = {0, 0};
    return s;
}

// The union of 64 spans, one of each of the first 64 threads.
__device__ inline Span union_of(int* lo, int* hi, Span mine) {
    if (threadIdx.x == 0) *lo = INT_MAX, *hi = 0;
    __syncthreads();
    if (threadIdx.x < kTile && mine.lo < mine.hi) {
        atomicMin(lo, (int)mine.lo);
        atomicMax(hi, (int)mine.hi);
    }
    __syncthreads();
    return {*lo, *hi};
}

// C = A B^T, 64 x 64 over the head dimension.
template <int kHeadDim> __device__ inline void multiply_nt(float (&c)[32], unsigned a, unsigned b) {
#pragma unroll
    for (int x = 0; x < kHeadDim / 16; x++) {
        const int at = x / 4 * (kPanel / 8) + x % 4 * 2;
        wgmma_bf16<64, K_MAJOR, K_MAJOR>(c, a + at, b + at, x > 0);
    }
}

// acc += A B, A in registers, 64 x 64; B 64 x kHeadDim.
template <int kHeadDim>
__device__ inline void multiply_rn(float (&acc)[kHeadDim / 2], const unsigned (&a)[16],
                                   unsigned b) {
#pragma unroll
    for (int n = 0; n < 4; n++)
        wgmma_bf16_registers<kHeadDim, MN_MAJOR>(acc, &a[4 * n], b + n * 128, 1);
}

__device__ inline void round_all(unsigned (&packed)[16], const float (&x)[32]) {
#pragma unroll
    for (int i = 0; i < 16; i++) packed[i] = pack_bf16(x[2 * i], x[2 * i + 1]);
}

template <int kHeadDim>
__device__ inline void load_pair(bf16 (&to)[2][kHeadDim / 64][kPanel], mbarrier* full,
                                 const CUtensorMap& first, const CUtensorMap& second, int64_t row,
                                 int head, int batch) {
    mbarrier_arrive_expect(full, sizeof(to));
    for (int panel = 0; panel < kHeadDim / 64; panel++) {
        tma_load_4d(to[0][panel], &first, full, L2_EVICT_NORMAL, 64 * panel, (int)row, head, batch);
        tma_load_4d(to[1][panel], &second, full, L2_EVICT_NORMAL, 64 * panel, (int)row, head,
                    batch);
    }
}

// Q and dO of a step: tiles of queries [tile0, tile0 + tiles) of each head of the group.
template <int kHeadDim>
__device__ inline void fetch_queries(Smem<kHeadDim>& smem, const Params& p, int64_t tile0,
                                     int64_t tiles, int b, int h, int64_t step) {
    load_pair<kHeadDim>(smem.walked[step % 2], &smem.walked_full[step % 2], p.q, p.dout,
                        (tile0 + step % tiles) * kTile, (int)(h * p.group + step / tiles), b);
}

template <int kHeadDim>
__device__ inline void fetch_keys(Smem<kHeadDim>& smem, const Params& p, int64_t tile0, int b,
                                  int h, int64_t step) {
    load_pair<kHeadDim>(smem.walked[step % 2], &smem.walked_full[step % 2], p.k, p.v,
                        (tile0 + step) * kTile, h, b);
}

// The warpgroup's 64 rows from row0 on, those before `rows`.
template <int kHeadDim>
__device__ inline void write_rows(bf16* base, const struct strides& s, int b, int h, int64_t row0,
                                  int64_t rows, const float (&acc)[kHeadDim / 2], float factor) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = row0 + threadIdx.x / 32 * 16 + lane / 4 + 8 * half;
        if (row >= rows) continue;
        bf16* to = base + b * s.b + h * s.h + row * s.n + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < kHeadDim / 8; j++)
            *(unsigned*)(to + 8 * j) =
                pack_bf16(acc[4 * j + 2 * half] * factor, acc[4 * j + 2 * half + 1] * factor);
    }
}

// delta_i = sum over x of dO_ix O_ix: a warp for each row.
__global__ void delta_kernel(const __grid_constant__ Params p, int d) {
    const int64_t rows = (int64_t)p.batches * p.h_q * p.n_q;
    const int lane = threadIdx.x % 32;
    for (int64_t r = (int64_t)blockIdx.x * (kThreads / 32) + threadIdx.x / 32; r < rows;
         r += (int64_t)gridDim.x * (kThreads / 32)) {
        const int64_t i = r % p.n_q, h = r / p.n_q % p.h_q, b = r / p.n_q / p.h_q;
        const bf16* o = p.o + b * p.s_o.b + h * p.s_o.h + i * p.s_o.n;
        const bf16* g = p.grad + b * p.s_do.b + h * p.s_do.h + i * p.s_do.n;
        float sum = 0.0f;
        for (int x = 2 * lane; x < d; x += 64) {
            const float2 a = __bfloat1622float2(*(const __nv_bfloat162*)(o + x));
            const float2 c = __bfloat1622float2(*(const __nv_bfloat162*)(g + x));
            sum = fmaf(a.x, c.x, fmaf(a.y, c.y, sum));
        }
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == 0) p.delta[r] = sum;
    }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) dkv_kernel(const __grid_constant__ Params p) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Smem<kHeadDim>& smem = *reinterpret_cast<Smem<kHeadDim>*>(raw);
    const int bh = blockIdx.x / p.tiles_k, b = bh / p.h_k, h = bh % p.h_k;
    const int64_t row0 = (int64_t)(blockIdx.x % p.tiles_k) * kTile;
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16 + lane / 4;
    const Span all = union_of(&smem.lo, &smem.hi, queries_of_key(p, b, row0 + threadIdx.x));
    const Span mine[2] = {queries_of_key(p, b, row0 + first),
                          queries_of_key(p, b, row0 + first + 8)};
    const int64_t tile0 = all.lo / kTile;
    const int64_t tiles = all.lo < all.hi ? (all.hi + kTile - 1) / kTile - tile0 : 0;
    const int64_t steps = tiles * p.group;
    float dk[kHeadDim / 2], dv[kHeadDim / 2];
#pragma unroll
    for (int i = 0; i < kHeadDim / 2; i++) dk[i] = dv[i] = 0.0f;
    wgmma_hold<kHeadDim / 2>(dk);
    wgmma_hold<kHeadDim / 2>(dv);

    if (threadIdx.x == 0 && steps > 0) {
        mbarrier_init(&smem.own_full, 1);
        mbarrier_init(&smem.walked_full[0], 1);
        mbarrier_init(&smem.walked_full[1], 1);
        fence_mbarrier_init();
        load_pair<kHeadDim>(smem.own, &smem.own_full, p.k, p.v, row0, h, b);
        fetch_queries<kHeadDim>(smem, p, tile0, tiles, b, h, 0);
        if (steps > 1) fetch_queries<kHeadDim>(smem, p, tile0, tiles, b, h, 1);
    }
    __syncthreads();
    if (steps > 0) mbarrier_wait(&smem.own_full, 0);
    const unsigned k = wgmma_descriptor(smem.own[0][0], 0), v = wgmma_descriptor(smem.own[1][0], 0);

    for (int64_t step = 0; step < steps; step++) {
        const int stage = step % 2;
        const int64_t query0 = (tile0 + step % tiles) * kTile;
        const int64_t head = (int64_t)b * p.h_q + h * p.group + step / tiles;
        if (threadIdx.x < kTile) {
            const bool exists = query0 + threadIdx.x < p.n_q;
            const int64_t at = head * p.n_q + query0 + threadIdx.x;
            smem.lse[threadIdx.x] = exists ? p.lse[at] * kLog2e : 0.0f;
            smem.delta[threadIdx.x] = exists ? p.delta[at] : 0.0f;
        }
        __syncthreads();
        mbarrier_wait(&smem.walked_full[stage], step / 2 % 2);
        const unsigned q = wgmma_descriptor(smem.walked[stage][0][0], kPanel * 2);
        const unsigned g = wgmma_descriptor(smem.walked[stage][1][0], kPanel * 2);
        float s[32], dp[32];
        wgmma_fence();
        multiply_nt<kHeadDim>(s, k, q);
        multiply_nt<kHeadDim>(dp, v, g);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold<32>(s);
        wgmma_hold<32>(dp);
#pragma unroll
        for (int i = 0; i < 32; i++) {
            const int column = i / 4 * 8 + lane % 4 * 2 + i % 2, r = i / 2 % 2;
            const int64_t query = query0 + column;
            const bool seen = query >= mine[r].lo && query < mine[r].hi;
            const float weight =
                seen ? exp2_approx(fmaf(s[i], p.scale * kLog2e, -smem.lse[column])) : 0.0f;
            s[i] = weight;
            dp[i] = weight * (dp[i] - smem.delta[column]);
        }
        unsigned weights[16], ds[16];
        round_all(weights, s);
        round_all(ds, dp);
        wgmma_fence();
        multiply_rn<kHeadDim>(dv, weights, g);
        multiply_rn<kHeadDim>(dk, ds, q);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold<kHeadDim / 2>(dv);
        wgmma_hold<kHeadDim / 2>(dk);
        __syncthreads();
        if (threadIdx.x == 0 && step + 2 < steps)
            fetch_queries<kHeadDim>(smem, p, tile0, tiles, b, h, step + 2);
    }
    write_rows<kHeadDim>(p.dv, p.s_dv, b, h, row0, p.n_k, dv, 1.0f);
    write_rows<kHeadDim>(p.dk, p.s_dk, b, h, row0, p.n_k, dk, p.scale);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) dq_kernel(const __grid_constant__ Params p) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Smem<kHeadDim>& smem = *reinterpret_cast<Smem<kHeadDim>*>(raw);
    const int bh = blockIdx.x / p.tiles_q, b = bh / p.h_q, h = bh % p.h_q;
    const int64_t row0 = (int64_t)(blockIdx.x % p.tiles_q) * kTile;
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16 + lane / 4;
    const Span all = union_of(&smem.lo, &smem.hi, keys_of_query(p, b, row0 + threadIdx.x));
    const int64_t tile0 = all.lo / kTile;
    const int64_t steps = all.lo < all.hi ? (all.hi + kTile - 1) / kTile - tile0 : 0;
    Span mine[2];
    float lse[2] = {0.0f, 0.0f}, delta[2] = {0.0f, 0.0f}, dq[kHeadDim / 2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int64_t i = row0 + first + 8 * r;
        mine[r] = keys_of_query(p, b, i);
        if (i >= p.n_q) continue;
        lse[r] = p.lse[(int64_t)bh * p.n_q + i] * kLog2e;
        delta[r] = p.delta[(int64_t)bh * p.n_q + i];
    }
#pragma unroll
    for (int i = 0; i < kHeadDim / 2; i++) dq[i] = 0.0f;
    wgmma_hold<kHeadDim / 2>(dq);

    if (threadIdx.x == 0 && steps > 0) {
        mbarrier_init(&smem.own_full, 1);
        mbarrier_init(&smem.walked_full[0], 1);
        mbarrier_init(&smem.walked_full[1], 1);
        fence_mbarrier_init();
        load_pair<kHeadDim>(smem.own, &smem.own_full, p.q, p.dout, row0, h, b);
        fetch_keys<kHeadDim>(smem, p, tile0, b, h / p.group, 0);
        if (steps > 1) fetch_keys<kHeadDim>(smem, p, tile0, b, h / p.group, 1);
    }
    __syncthreads();
    if (steps > 0) mbarrier_wait(&smem.own_full, 0);
    const unsigned q = wgmma_descriptor(smem.own[0][0], 0), g = wgmma_descriptor(smem.own[1][0], 0);

    for (int64_t step = 0; step < steps; step++) {
        const int stage = step % 2;
        mbarrier_wait(&smem.walked_full[stage], step / 2 % 2);
        const unsigned k = wgmma_descriptor(smem.walked[stage][0][0], kPanel * 2);
        const unsigned v = wgmma_descriptor(smem.walked[stage][1][0], kPanel * 2);
        float s[32], dp[32];
        wgmma_fence();
        multiply_nt<kHeadDim>(s, q, k);
        multiply_nt<kHeadDim>(dp, g, v);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold<32>(s);
        wgmma_hold<32>(dp);
#pragma unroll
        for (int i = 0; i < 32; i++) {
            const int r = i / 2 % 2;
            const int64_t key = (tile0 + step) * kTile + i / 4 * 8 + lane % 4 * 2 + i % 2;
            const bool seen = key >= mine[r].lo && key < mine[r].hi;
            const float weight = seen ? exp2_approx(fmaf(s[i], p.scale * kLog2e, -lse[r])) : 0.0f;
            dp[i] = weight * (dp[i] - delta[r]);
        }
        unsigned ds[16];
        round_all(ds, dp);
        wgmma_fence();
        multiply_rn<kHeadDim>(dq, ds, k);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold<kHeadDim / 2>(dq);
        __syncthreads();
        if (threadIdx.x == 0 && step + 2 < steps)
            fetch_keys<kHeadDim>(smem, p, tile0, b, h / p.group, step + 2);
    }
    write_rows<kHeadDim>(p.dq, p.s_dq, b, h, row0, p.n_q, dq, p.scale);
}

__global__ void zero_rows(bf16* base, struct strides s, int B, int N, int H, int d) {
    const int64_t all = (int64_t)B * N * H * (d / 8);
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < all;
         e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t x = e % (d / 8) * 8, row = e / (d / 8);
        const int64_t n = row % N, h = row / N % H, b = row / N / H;
        *(uint4*)(base + b * s.b + n * s.n + h * s.h + x) = make_uint4(0, 0, 0, 0);
    }
}

int set_to_zero(bf16* base, const struct strides& s, int B, int N, int H, int d) {
    if (N == 0 || H == 0) return COURSE_OK;
    zero_rows<<<1024, 256>>>(base, s, B, N, H, d);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

bool make_map(CUtensorMap* map, const bf16* data, const struct strides& s, int B, int N, int H,
              int d) {
    const cuuint64_t sizes[4] = {(cuuint64_t)d, (cuuint64_t)N, (cuuint64_t)H, (cuuint64_t)B};
    const cuuint64_t bytes[3] = {(cuuint64_t)s.n * 2, (cuuint64_t)s.h * 2, (cuuint64_t)s.b * 2};
    const cuuint32_t box[4] = {64, kTile, 1, 1};
    return tensor_map_encode(map, data, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, sizes, bytes, box,
                             128) == 0;
}

template <int kHeadDim> int launch(const Params& p) {
    const int bytes = sizeof(Smem<kHeadDim>);
    const cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dkv_kernel<kHeadDim>, limit, bytes));
    COURSE_TRY(cudaFuncSetAttribute(dq_kernel<kHeadDim>, limit, bytes));
    const int64_t rows = (int64_t)p.batches * p.h_q * p.n_q;
    delta_kernel<<<(unsigned)(rows / 4 + 1 < 65536 ? rows / 4 + 1 : 65536), kThreads>>>(p,
                                                                                        kHeadDim);
    COURSE_TRY(cudaGetLastError());
    dkv_kernel<kHeadDim><<<(unsigned)p.batches * p.h_k * p.tiles_k, kThreads, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    dq_kernel<kHeadDim><<<(unsigned)p.batches * p.h_q * p.tiles_q, kThreads, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

bool too_many(int B, int H, int tiles) {
    const int64_t heads = (int64_t)B * H;
    return tiles > 0 && heads > INT_MAX / tiles;
}

}  // namespace bwd

extern "C" int
hopper_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                int B, int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
                struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                struct strides stride_k, struct strides stride_v, struct strides stride_o,
                struct strides stride_do, float scale, int causal, int window, int documents,
                const int* cu_seqlens_gpu, int deterministic, void* workspace_gpu) {
    using namespace bwd;
    (void)deterministic;  // it always is
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0) return COURSE_BAD_ARGUMENT;
    if (window < 0 || documents < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if (d != 64 && d != 128) return COURSE_UNSUPPORTED;
    if (N_q > (1 << 30) || N_k > (1 << 30)) return COURSE_UNSUPPORTED;
    const int tiles_q = CEIL_DIV(N_q, kTile), tiles_k = CEIL_DIV(N_k, kTile);
    if (too_many(B, H_q, tiles_q) || too_many(B, H_k, tiles_k)) return COURSE_UNSUPPORTED;
    if (window > 0 && !causal) return COURSE_UNSUPPORTED;
    if (B == 0 || H_k == 0) return COURSE_OK;

    const bool queries = N_q > 0 && H_q > 0, keys = N_k > 0;
    if (queries && (!dQ_gpu || !Q_gpu || !O_gpu || !dO_gpu || !LSE_gpu)) return COURSE_BAD_ARGUMENT;
    if (keys && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (queries && !workspace_gpu) return COURSE_BAD_ARGUMENT;
    if (documents > 0 && !cu_seqlens_gpu) return COURSE_BAD_ARGUMENT;
    const struct strides s[8] = {stride_dq, stride_dk, stride_dv, stride_q,
                                 stride_k,  stride_v,  stride_o,  stride_do};
    const bf16* const array[8] = {dQ_gpu, dK_gpu, dV_gpu, Q_gpu, K_gpu, V_gpu, O_gpu, dO_gpu};
    for (int i = 0; i < 8; i++)
        if (s[i].b < 0 || s[i].h < 0 || s[i].n < d) return COURSE_BAD_ARGUMENT;
    for (int i = 0; i < 8; i++) {
        if (((uintptr_t)array[i] & 15) || ((s[i].b | s[i].n | s[i].h) & 7))
            return COURSE_UNSUPPORTED;
        if ((s[i].b | s[i].n | s[i].h) >> 39) return COURSE_UNSUPPORTED;
    }
    int device = 0, major = 0;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    if (major != 9) return COURSE_UNSUPPORTED;

    if (!keys) return set_to_zero(dQ_gpu, stride_dq, B, N_q, H_q, d);
    if (!queries) {
        const int status = set_to_zero(dK_gpu, stride_dk, B, N_k, H_k, d);
        return status != COURSE_OK ? status : set_to_zero(dV_gpu, stride_dv, B, N_k, H_k, d);
    }
    Params p;
    if (!make_map(&p.q, Q_gpu, stride_q, B, N_q, H_q, d) ||
        !make_map(&p.dout, dO_gpu, stride_do, B, N_q, H_q, d) ||
        !make_map(&p.k, K_gpu, stride_k, B, N_k, H_k, d) ||
        !make_map(&p.v, V_gpu, stride_v, B, N_k, H_k, d))
        return COURSE_CUDA_ERROR;
    p.dq = dQ_gpu, p.dk = dK_gpu, p.dv = dV_gpu, p.o = O_gpu, p.grad = dO_gpu;
    p.s_dq = stride_dq, p.s_dk = stride_dk, p.s_dv = stride_dv, p.s_o = stride_o;
    p.s_do = stride_do;
    p.lse = LSE_gpu, p.delta = (float*)workspace_gpu, p.cu_seqlens = cu_seqlens_gpu;
    p.batches = B, p.n_q = N_q, p.n_k = N_k, p.h_q = H_q, p.h_k = H_k, p.group = H_q / H_k;
    p.causal = causal != 0, p.window = window, p.documents = documents;
    p.tiles_q = tiles_q, p.tiles_k = tiles_k, p.scale = scale;
    return d == 64 ? launch<64>(p) : launch<128>(p);
}
