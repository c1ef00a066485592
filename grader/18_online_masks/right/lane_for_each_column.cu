// lane_for_each_column.cu: tiles of 32 x 32 in shared memory, a lane for each column of a tile,
// without tensor cores. All lanes of a warp read LSE and delta of a row at one place.
#include <cuda_bf16.h>
#include <math.h>

#include "online_masks.h"

namespace {

constexpr int kTile = 32;
constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = kTile / kWarps;  // of a warp
constexpr unsigned kAllLanes = 0xffffffffu;

struct Tensor {
    bf16* data;
    int64_t batch_stride, row_stride, head_stride;

    __device__ bf16* head(int b, int h) const {
        return data + b * batch_stride + h * head_stride;
    }
};

Tensor make_tensor(const bf16* data, const strides& s) {
    return Tensor{const_cast<bf16*>(data), s.b, s.n, s.h};
}

// Half-open.
struct Interval {
    int64_t lo, hi;
    __device__ bool contains(int64_t x) const {
        return lo <= x && x < hi;
    }
    __device__ bool empty() const {
        return lo >= hi;
    }
};

struct Params {
    Tensor q, k, v, o, dout, dq, dk, dv;
    float* lse_out;
    const float* lse;
    float* delta;
    online_mask mask;
    int seqlen_q, seqlen_k, num_heads;
    float scale;
};

// Which document does a position belong to?
__device__ Interval document_at(const Params& p, int b, int64_t pos) {
    if (pos < 0 || pos >= p.seqlen_k) return {0, 0};
    if (p.mask.documents == 0) return {0, p.seqlen_k};
    const int* ends = p.mask.cu_seqlens_gpu + b * (static_cast<int64_t>(p.mask.documents) + 1);
    int64_t lo = 0, hi = static_cast<int64_t>(p.mask.documents) + 1;
    while (lo < hi) {  // upper bound
        const int64_t mid = (lo + hi) / 2;
        if (ends[mid] <= pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo > p.mask.documents) return {0, 0};
    return {ends[lo - 1], ends[lo]};
}

struct VisibleKeys {
    Interval sinks, keys;
    __device__ bool operator()(int64_t j) const {
        return keys.contains(j) || sinks.contains(j);
    }
};

__device__ VisibleKeys visible_keys(const Params& p, int b, int64_t i) {
    const int64_t pos = i + p.seqlen_k - p.seqlen_q, window = p.mask.window;
    const Interval doc = document_at(p, b, pos);
    VisibleKeys out = {{0, 0}, {0, 0}};
    if (i >= p.seqlen_q || doc.empty()) return out;
    out.keys = doc;
    if (p.mask.causal || window > 0) {
        const int64_t end = p.mask.causal ? pos + 1 : pos + window + 1;
        const int64_t prefix_end = doc.lo + p.mask.prefix;
        const int64_t limit = end > prefix_end ? end : prefix_end;
        if (limit < out.keys.hi) out.keys.hi = limit;
    }
    if (window > 0) {
        const int64_t begin = p.mask.causal ? pos - window + 1 : pos - window;
        if (begin > out.keys.lo) out.keys.lo = begin;
        const int64_t sinks_end = doc.lo + p.mask.sinks;
        out.sinks = {doc.lo, sinks_end < out.keys.lo ? sinks_end : out.keys.lo};
    }
    return out;
}

__device__ Interval visible_queries(const Params& p, int b, int64_t j) {
    const Interval doc = document_at(p, b, j);
    if (doc.empty()) return {0, 0};
    const int64_t window = p.mask.window, shift = static_cast<int64_t>(p.seqlen_k) - p.seqlen_q;
    Interval out = doc;
    if ((p.mask.causal || window > 0) && j >= doc.lo + p.mask.prefix) {
        const int64_t begin = p.mask.causal ? j : j - window;
        if (begin > out.lo) out.lo = begin;
    }
    if (window > 0 && j >= doc.lo + p.mask.sinks) {
        const int64_t end = p.mask.causal ? j + window : j + window + 1;
        if (end < out.hi) out.hi = end;
    }
    out.lo -= shift, out.hi -= shift;
    if (out.lo < 0) out.lo = 0;
    if (out.hi > p.seqlen_q) out.hi = p.seqlen_q;
    return out;
}

// Tiles [sink_begin, sink_end) and then [begin, end).
struct TileList {
    int sink_begin, sink_end, begin, end;
    __device__ int count() const {
        return sink_end - sink_begin + end - begin;
    }
    __device__ int operator[](int n) const {
        const int sinks = sink_end - sink_begin;
        return n < sinks ? sink_begin + n : begin + n - sinks;
    }
};

// One thread looks at all rows of the block.
__device__ void list_key_tiles(TileList* list, const VisibleKeys* rows) {
    int64_t lo = INT64_MAX, hi = 0;
    Interval sinks = {0, 0};
    bool any = false;
    for (int r = 0; r < kTile; r++) {
        if (rows[r].keys.empty()) continue;
        if (!any) sinks = rows[r].sinks;
        any = true;
        lo = rows[r].keys.lo < lo ? rows[r].keys.lo : lo;
        hi = rows[r].keys.hi > hi ? rows[r].keys.hi : hi;
    }
    *list = {0, 0, 0, 0};
    if (!any) return;
    list->begin = static_cast<int>(lo / kTile);
    list->end = static_cast<int>((hi + kTile - 1) / kTile);
    if (sinks.empty()) return;
    list->sink_begin = static_cast<int>(sinks.lo / kTile);
    const int sink_end = static_cast<int>((sinks.hi + kTile - 1) / kTile);
    list->sink_end = sink_end < list->begin ? sink_end : list->begin;
    if (list->sink_end < list->sink_begin) list->sink_end = list->sink_begin;
}

template <int kDim> struct Tile {
    uint4 pieces[kTile][kDim / 8 + 1];  // one more: rows begin in other banks

    __device__ float at(int row, int x) const {
        return __bfloat162float(reinterpret_cast<const bf16*>(pieces[row])[x]);
    }
    __device__ void load(const bf16* base, int64_t row_stride, int64_t first, int64_t limit) {
        for (int e = threadIdx.x; e < kTile * (kDim / 8); e += kThreads) {
            const int r = e / (kDim / 8), c = e % (kDim / 8);
            uint4 value = make_uint4(0, 0, 0, 0);
            if (first + r < limit)
                value = *reinterpret_cast<const uint4*>(base + (first + r) * row_stride + c * 8);
            pieces[r][c] = value;
        }
    }
};

__device__ float warp_max(float x) {
    for (int offset = 16; offset > 0; offset >>= 1)
        x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, offset));
    return x;
}
__device__ float warp_sum(float x) {
    for (int offset = 16; offset > 0; offset >>= 1) x += __shfl_xor_sync(kAllLanes, x, offset);
    return x;
}
__device__ float round_to_bf16(float x) {
    return __bfloat162float(__float2bfloat16(x));
}

// The score of a dot product; slope: how much it grows with the scaled product.
__device__ float score(const Params& p, float dot, float* slope) {
    *slope = 1.0f;
    if (p.mask.softcap == 0.0f) return dot * p.scale;
    const float t = tanhf(dot * (p.scale / p.mask.softcap));
    *slope = 1.0f - t * t;
    return p.mask.softcap * t;
}

// acc[r][c] += sum_j weight_j[r] tile[j][lane + 32 c], where lane j has weight_j.
template <int kDim>
__device__ void accumulate(float (&acc)[kRows][kDim / 32], const float (&weight)[kRows],
                           const Tile<kDim>& tile) {
    const int lane = threadIdx.x % 32;
    for (int j = 0; j < kTile; j++) {
        float w[kRows];
#pragma unroll
        for (int r = 0; r < kRows; r++) w[r] = __shfl_sync(kAllLanes, weight[r], j);
#pragma unroll
        for (int c = 0; c < kDim / 32; c++) {
            const float x = tile.at(j, lane + 32 * c);
#pragma unroll
            for (int r = 0; r < kRows; r++) acc[r][c] = fmaf(w[r], x, acc[r][c]);
        }
    }
}

// dot[r] = row row0 + r of a times row `lane` of b.
template <int kDim>
__device__ void dot_rows(float (&dot)[kRows], const Tile<kDim>& a, int row0, const Tile<kDim>& b) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < kRows; r++) dot[r] = 0.0f;
    for (int x = 0; x < kDim; x++) {
        const float y = b.at(lane, x);
#pragma unroll
        for (int r = 0; r < kRows; r++) dot[r] = fmaf(a.at(row0 + r, x), y, dot[r]);
    }
}

template <int kDim>
__device__ void write_rows(const Tensor& t, int b, int h, int64_t first, int64_t limit,
                           const float (&acc)[kRows][kDim / 32], const float (&factor)[kRows]) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < kRows; r++) {
        if (first + r >= limit) continue;
        bf16* row = t.head(b, h) + (first + r) * t.row_stride;
#pragma unroll
        for (int c = 0; c < kDim / 32; c++)
            row[lane + 32 * c] = __float2bfloat16(acc[r][c] * factor[r]);
    }
}

template <int kDim> __global__ void __launch_bounds__(kThreads) fwd_kernel(const Params p) {
    __shared__ Tile<kDim> q, k, v;
    __shared__ VisibleKeys visible[kTile];
    __shared__ TileList list;
    const int b = blockIdx.y / p.num_heads, h = blockIdx.y % p.num_heads;
    const int row0 = threadIdx.x / 32 * kRows, lane = threadIdx.x % 32;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kTile;
    if (threadIdx.x < kTile) visible[threadIdx.x] = visible_keys(p, b, first + threadIdx.x);
    q.load(p.q.head(b, h), p.q.row_stride, first, p.seqlen_q);
    __syncthreads();
    if (threadIdx.x == 0) list_key_tiles(&list, visible);
    __syncthreads();

    float m[kRows], l[kRows], acc[kRows][kDim / 32] = {};
    for (int r = 0; r < kRows; r++) m[r] = -INFINITY, l[r] = 0.0f;
    for (int n = 0; n < list.count(); n++) {
        const int64_t key = static_cast<int64_t>(list[n]) * kTile;
        k.load(p.k.head(b, h), p.k.row_stride, key, p.seqlen_k);
        v.load(p.v.head(b, h), p.v.row_stride, key, p.seqlen_k);
        __syncthreads();
        float s[kRows], weight[kRows], slope;
        dot_rows(s, q, row0, k);
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            s[r] = visible[row0 + r](key + lane) ? score(p, s[r], &slope) : -INFINITY;
            const float m_new = fmaxf(m[r], warp_max(s[r]));
            const float base = m_new == -INFINITY ? 0.0f : m_new;
            const float alpha = expf(m[r] - base), e = expf(s[r] - base);
            m[r] = m_new;
            l[r] = l[r] * alpha + warp_sum(e);
            weight[r] = round_to_bf16(e);
#pragma unroll
            for (int c = 0; c < kDim / 32; c++) acc[r][c] *= alpha;
        }
        accumulate(acc, weight, v);
        __syncthreads();
    }

    float factor[kRows];
    for (int r = 0; r < kRows; r++) {
        factor[r] = l[r] > 0.0f ? 1.0f / l[r] : 0.0f;
        if (lane == 0 && first + row0 + r < p.seqlen_q)
            p.lse_out[static_cast<int64_t>(blockIdx.y) * p.seqlen_q + first + row0 + r] =
                l[r] > 0.0f ? m[r] + logf(l[r]) : -INFINITY;
    }
    write_rows<kDim>(p.o, b, h, first + row0, p.seqlen_q, acc, factor);
}

__global__ void __launch_bounds__(kThreads) delta_kernel(const Params p, int dim) {
    const int b = blockIdx.y / p.num_heads, h = blockIdx.y % p.num_heads, lane = threadIdx.x % 32;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
    if (i >= p.seqlen_q) return;
    const bf16* o = p.o.head(b, h) + i * p.o.row_stride;
    const bf16* g = p.dout.head(b, h) + i * p.dout.row_stride;
    float sum = 0.0f;
    for (int x = lane; x < dim; x += 32) sum += __bfloat162float(o[x]) * __bfloat162float(g[x]);
    sum = warp_sum(sum);
    if (lane == 0) p.delta[static_cast<int64_t>(blockIdx.y) * p.seqlen_q + i] = sum;
}

template <int kDim> __global__ void __launch_bounds__(kThreads) dq_kernel(const Params p) {
    __shared__ Tile<kDim> q, g, k, v;
    __shared__ VisibleKeys visible[kTile];
    __shared__ TileList list;
    const int b = blockIdx.y / p.num_heads, h = blockIdx.y % p.num_heads;
    const int row0 = threadIdx.x / 32 * kRows, lane = threadIdx.x % 32;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kTile;
    if (threadIdx.x < kTile) visible[threadIdx.x] = visible_keys(p, b, first + threadIdx.x);
    q.load(p.q.head(b, h), p.q.row_stride, first, p.seqlen_q);
    g.load(p.dout.head(b, h), p.dout.row_stride, first, p.seqlen_q);
    __syncthreads();
    if (threadIdx.x == 0) list_key_tiles(&list, visible);
    __syncthreads();

    float lse[kRows], delta[kRows], acc[kRows][kDim / 32] = {};
    for (int r = 0; r < kRows; r++) {
        const int64_t at = static_cast<int64_t>(blockIdx.y) * p.seqlen_q + first + row0 + r;
        const bool exists = first + row0 + r < p.seqlen_q;
        lse[r] = exists ? p.lse[at] : 0.0f;
        delta[r] = exists ? p.delta[at] : 0.0f;
    }
    for (int n = 0; n < list.count(); n++) {
        const int64_t key = static_cast<int64_t>(list[n]) * kTile;
        k.load(p.k.head(b, h), p.k.row_stride, key, p.seqlen_k);
        v.load(p.v.head(b, h), p.v.row_stride, key, p.seqlen_k);
        __syncthreads();
        float s[kRows], dp[kRows], ds[kRows];
        dot_rows(s, q, row0, k);
        dot_rows(dp, g, row0, v);
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            float slope;
            const float weight = expf(score(p, s[r], &slope) - lse[r]);
            ds[r] = visible[row0 + r](key + lane)
                        ? round_to_bf16(weight * (dp[r] - delta[r]) * slope)
                        : 0.0f;
        }
        accumulate(acc, ds, k);
        __syncthreads();
    }
    float factor[kRows];
    for (int r = 0; r < kRows; r++) factor[r] = p.scale;
    write_rows<kDim>(p.dq, b, h, first + row0, p.seqlen_q, acc, factor);
}

template <int kDim> __global__ void __launch_bounds__(kThreads) dkv_kernel(const Params p) {
    __shared__ Tile<kDim> k, v, q, g;
    __shared__ Interval visible[kTile];
    __shared__ float lse[kTile], delta[kTile];
    __shared__ int64_t range[2];
    const int b = blockIdx.y / p.num_heads, h = blockIdx.y % p.num_heads;
    const int row0 = threadIdx.x / 32 * kRows, lane = threadIdx.x % 32;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kTile;
    if (threadIdx.x < kTile) {
        const int64_t j = first + threadIdx.x;
        visible[threadIdx.x] = j < p.seqlen_k ? visible_queries(p, b, j) : Interval{0, 0};
    }
    k.load(p.k.head(b, h), p.k.row_stride, first, p.seqlen_k);
    v.load(p.v.head(b, h), p.v.row_stride, first, p.seqlen_k);
    __syncthreads();
    if (threadIdx.x == 0) {
        int64_t lo = INT64_MAX, hi = 0;
        for (int r = 0; r < kTile; r++)
            if (!visible[r].empty()) {
                lo = visible[r].lo < lo ? visible[r].lo : lo;
                hi = visible[r].hi > hi ? visible[r].hi : hi;
            }
        range[0] = lo, range[1] = hi;
    }
    __syncthreads();

    float dk[kRows][kDim / 32] = {}, dv[kRows][kDim / 32] = {};
    for (int64_t query = range[0] / kTile * kTile; query < range[1]; query += kTile) {
        q.load(p.q.head(b, h), p.q.row_stride, query, p.seqlen_q);
        g.load(p.dout.head(b, h), p.dout.row_stride, query, p.seqlen_q);
        if (threadIdx.x < kTile && query + threadIdx.x < p.seqlen_q) {
            const int64_t at = static_cast<int64_t>(blockIdx.y) * p.seqlen_q + query + threadIdx.x;
            lse[threadIdx.x] = p.lse[at];
            delta[threadIdx.x] = p.delta[at];
        } else if (threadIdx.x < kTile) {
            lse[threadIdx.x] = delta[threadIdx.x] = 0.0f;
        }
        __syncthreads();
        float s[kRows], dp[kRows], weight[kRows], ds[kRows];
        dot_rows(s, k, row0, q);
        dot_rows(dp, v, row0, g);
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            float slope;
            const float w = expf(score(p, s[r], &slope) - lse[lane]);
            const bool seen = visible[row0 + r].contains(query + lane);
            weight[r] = seen ? round_to_bf16(w) : 0.0f;
            ds[r] = seen ? round_to_bf16(w * (dp[r] - delta[lane]) * slope) : 0.0f;
        }
        accumulate(dv, weight, g);
        accumulate(dk, ds, q);
        __syncthreads();
    }
    float one[kRows], scale[kRows];
    for (int r = 0; r < kRows; r++) one[r] = 1.0f, scale[r] = p.scale;
    write_rows<kDim>(p.dv, b, h, first + row0, p.seqlen_k, dv, one);
    write_rows<kDim>(p.dk, b, h, first + row0, p.seqlen_k, dk, scale);
}

bool mask_is_legal(const online_mask& m, int B) {
    if (m.window < 0 || m.sinks < 0 || m.prefix < 0 || m.documents < 0) return false;
    if (!(m.softcap >= 0.0f) || isinf(m.softcap)) return false;
    return m.documents == 0 || B == 0 || m.cu_seqlens_gpu != nullptr;
}

bool strides_are_legal(const strides& s, int d) {
    return s.b >= 0 && s.h >= 0 && s.n >= d;
}

bool is_aligned(const bf16* data, const strides& s) {
    return reinterpret_cast<uintptr_t>(data) % 16 == 0 && s.b % 8 == 0 && s.n % 8 == 0 &&
           s.h % 8 == 0;
}

unsigned blocks_for(int n, int each) {
    return static_cast<unsigned>((static_cast<int64_t>(n) + each - 1) / each);
}

int launch_status() {
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}

}  // namespace

extern "C" int online_masks_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu,
                                    const bf16* K_gpu, const bf16* V_gpu, int B, int N_q, int N_k,
                                    int H, int d, struct strides stride_o, struct strides stride_q,
                                    struct strides stride_k, struct strides stride_v, float scale,
                                    struct online_mask mask) {
    if (!mask_is_legal(mask, B)) return COURSE_BAD_ARGUMENT;
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d != 64 && d != 128) return COURSE_UNSUPPORTED;
    if (static_cast<int64_t>(B) * H > 65535 || !(scale > 0.0f)) return COURSE_UNSUPPORTED;
    if (B == 0 || H == 0 || N_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    const strides all[] = {stride_o, stride_q, stride_k, stride_v};
    for (const strides& s : all)
        if (!strides_are_legal(s, d)) return COURSE_BAD_ARGUMENT;
    if (!is_aligned(O_gpu, stride_o) || !is_aligned(Q_gpu, stride_q) ||
        !is_aligned(K_gpu, stride_k) || !is_aligned(V_gpu, stride_v))
        return COURSE_UNSUPPORTED;

    Params p = {};
    p.o = make_tensor(O_gpu, stride_o);
    p.q = make_tensor(Q_gpu, stride_q);
    p.k = make_tensor(K_gpu, stride_k);
    p.v = make_tensor(V_gpu, stride_v);
    p.lse_out = LSE_gpu;
    p.mask = mask;
    p.seqlen_q = N_q;
    p.seqlen_k = N_k;
    p.num_heads = H;
    p.scale = scale;
    const dim3 grid(blocks_for(N_q, kTile), B * H);
    if (d == 64)
        fwd_kernel<64><<<grid, kThreads>>>(p);
    else
        fwd_kernel<128><<<grid, kThreads>>>(p);
    return launch_status();
}

extern "C" int online_masks_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu,
                                     const bf16* K_gpu, const bf16* V_gpu, const bf16* O_gpu,
                                     const float* LSE_gpu, const bf16* dO_gpu, int B, int N_q,
                                     int N_k, int H, int d, struct strides stride_dq,
                                     struct strides stride_dk, struct strides stride_dv,
                                     struct strides stride_q, struct strides stride_k,
                                     struct strides stride_v, struct strides stride_o,
                                     struct strides stride_do, float scale, struct online_mask mask,
                                     void* workspace_gpu) {
    if (!mask_is_legal(mask, B)) return COURSE_BAD_ARGUMENT;
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || static_cast<int64_t>(B) * H > 65535) return COURSE_UNSUPPORTED;
    const strides all[] = {stride_dq, stride_dk, stride_dv, stride_q,
                           stride_k,  stride_v,  stride_o,  stride_do};
    for (const strides& s : all)
        if (!strides_are_legal(s, d)) return COURSE_BAD_ARGUMENT;
    if (B == 0 || H == 0) return COURSE_OK;
    if (N_q > 0 && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_aligned(dQ_gpu, stride_dq) || !is_aligned(dK_gpu, stride_dk) ||
        !is_aligned(dV_gpu, stride_dv) || !is_aligned(Q_gpu, stride_q) ||
        !is_aligned(K_gpu, stride_k) || !is_aligned(V_gpu, stride_v) ||
        !is_aligned(O_gpu, stride_o) || !is_aligned(dO_gpu, stride_do))
        return COURSE_UNSUPPORTED;

    Params p = {};
    p.q = make_tensor(Q_gpu, stride_q);
    p.k = make_tensor(K_gpu, stride_k);
    p.v = make_tensor(V_gpu, stride_v);
    p.o = make_tensor(O_gpu, stride_o);
    p.dout = make_tensor(dO_gpu, stride_do);
    p.dq = make_tensor(dQ_gpu, stride_dq);
    p.dk = make_tensor(dK_gpu, stride_dk);
    p.dv = make_tensor(dV_gpu, stride_dv);
    p.lse = LSE_gpu;
    p.delta = static_cast<float*>(workspace_gpu);
    p.mask = mask;
    p.seqlen_q = N_q;
    p.seqlen_k = N_k;
    p.num_heads = H;
    p.scale = scale;
    if (N_q > 0) {
        delta_kernel<<<dim3(blocks_for(N_q, kWarps), B * H), kThreads>>>(p, d);
        const dim3 grid(blocks_for(N_q, kTile), B * H);
        if (d == 64)
            dq_kernel<64><<<grid, kThreads>>>(p);
        else
            dq_kernel<128><<<grid, kThreads>>>(p);
    }
    if (N_k > 0) {
        const dim3 grid(blocks_for(N_k, kTile), B * H);
        if (d == 64)
            dkv_kernel<64><<<grid, kThreads>>>(p);
        else
            dkv_kernel<128><<<grid, kThreads>>>(p);
    }
    return launch_status();
}
