// rows_of_any_tile.cu: a thread per row, 32 rows a block. The tiles have 16 rows, and begin where
// the rows of the block begin to see something, wherever that is: first those of the sinks, then
// those of the window. The ends are the minima and maxima over all rows. In fp32, without tensor
// cores.
//
//     S  = C(scale Q K^T)    P = softmax(S) over what is seen    O = P V
//     dV = P^T dO    dS = P * (dO V^T - delta) * C'    dQ = scale dS K,  dK = scale dS^T Q
#include "online_masks.h"

#include <cuda_bf16.h>
#include <math.h>

enum { ROWS = 32, TILE = 16, MAX_GRID_Y = 65535 };  // rows of a block, a warp; of a tile

// ---- device helpers ------------------------------------------------------------------------

struct place {
    struct online_mask mask;
    int64_t batch, N_q, N_k;
};

// The document of a position, [*start, *end); false if there is none.
__device__ bool find_document(const struct place& p, int64_t position, int64_t* start,
                              int64_t* end) {
    *start = 0, *end = p.N_k;
    if (p.mask.documents == 0) return position >= 0 && position < p.N_k;
    const int* ends = p.mask.cu_seqlens_gpu + p.batch * ((int64_t)p.mask.documents + 1);
    int n = 0;
    while (n < p.mask.documents && ends[n + 1] <= position) n++;
    if (n == p.mask.documents || position < 0) return false;
    *start = ends[n], *end = ends[n + 1];
    return true;
}

// What a row sees, or what sees it: [from, to), and of a query the sinks [start, sinks).
struct interval {
    int64_t start, sinks, from, to;
};

__device__ bool contains(struct interval i, int64_t n) {
    return (n >= i.from && n < i.to) || (n >= i.start && n < i.sinks);
}
// Of all lanes, the least and the largest of a number, at least 0.
__device__ int64_t least(int64_t x) {
    for (int step = ROWS / 2; step > 0; step /= 2) {
        int64_t other = __shfl_xor_sync(0xffffffffu, x, step);
        x = other < x ? other : x;
    }
    return x;
}
__device__ int64_t largest(int64_t x) {
    return -least(-x);
}

// What any lane sees: from the first to the last row of each interval. A lane that sees nothing
// does not count.
__device__ struct interval of_all(struct interval i) {
    const int64_t none = (int64_t)1 << 40;
    bool sinks = i.start < i.sinks, any = i.from < i.to;
    struct interval all = {least(sinks ? i.start : none), largest(sinks ? i.sinks : 0),
                           least(any ? i.from : none), largest(any ? i.to : 0)};
    if (all.sinks > all.from) all.sinks = all.from;
    return all;
}

// The tile behind the one that begins at `first`; the first one is that behind -1.
__device__ int64_t next_tile(struct interval all, int64_t first) {
    int64_t next = first < 0 ? all.start : first + TILE;
    if (next < all.sinks) return next;
    return first < all.from ? all.from : next;
}
// How many of its rows are wanted.
__device__ int64_t rows_of_tile(struct interval all, int64_t first) {
    int64_t end = first < all.sinks ? all.sinks : all.to;
    return end - first < TILE ? end - first : TILE;
}

__device__ struct interval seen_by_query(const struct place& p, int64_t i) {
    int64_t q = i + p.N_k - p.N_q, start, end, W = p.mask.window;
    bool causal = p.mask.causal != 0;
    if (i >= p.N_q || !find_document(p, q, &start, &end)) return {0, 0, 0, 0};
    struct interval seen = {start, start, start, end};
    int64_t last = causal ? q : W > 0 ? q + W : end;  // not later than that, or in the prefix
    if (last < start + p.mask.prefix - 1) last = start + p.mask.prefix - 1;
    if (last + 1 < end) seen.to = last + 1;
    if (W == 0) return seen;
    if (q - W + causal > start) seen.from = q - W + causal;
    seen.sinks = start + p.mask.sinks < seen.from ? start + p.mask.sinks : seen.from;
    return seen;
}

__device__ struct interval seeing_key(const struct place& p, int64_t k) {
    int64_t start, end, W = p.mask.window, shift = p.N_k - p.N_q;
    bool causal = p.mask.causal != 0;
    if (k >= p.N_k || !find_document(p, k, &start, &end)) return {0, 0, 0, 0};
    int64_t from = causal ? k : W > 0 ? k - W : start, to = end;
    if (from < start || k < start + p.mask.prefix) from = start;
    if (W > 0 && k >= start + p.mask.sinks && k + W + !causal < to) to = k + W + !causal;
    from -= shift, to -= shift;
    return {0, 0, from < 0 ? 0 : from, to > p.N_q ? p.N_q : to};
}

// tile[n][x] = rows[first + n][x] for n < count.
template <int d>
__device__ void load_tile(bf16 tile[TILE][d], const bf16* rows, int64_t stride_n, int64_t first,
                          int64_t count) {
    for (int e = threadIdx.x; e < count * d; e += ROWS) {
        int n = e / d, x = e % d;
        tile[n][x] = rows[(first + n) * stride_n + x];
    }
}

template <int d> __device__ void load_row(float row[d], const bf16* from, bool exists) {
    for (int x = 0; x < d; x++) row[x] = exists ? __bfloat162float(from[x]) : 0.0f;
}

template <int d> __device__ float dot(const float a[d], const bf16 b[d]) {
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += a[x] * __bfloat162float(b[x]);
    return sum;
}

// A score from scale Q K, and its slope.
__device__ float capped(float s, float softcap, float* slope) {
    *slope = 1.0f;
    if (softcap == 0.0f) return s;
    float t = tanhf(s / softcap);
    *slope = 1.0f - t * t;
    return softcap * t;
}

__device__ float rounded(float x) {
    return __bfloat162float(__float2bfloat16(x));
}

// ---- GPU kernels: grid (rows / ROWS, B * H), block ROWS ------------------------------------

struct arrays {
    bf16 *O, *dQ, *dK, *dV;
    const bf16 *Q, *K, *V, *dO, *O_in;
    float *LSE, *delta;
    const float* LSE_in;
    struct strides o, q, k, v, dq, dk, dv, g;
    int H;
    float scale;
};

__device__ int64_t head_at(struct strides s, int H) {
    return blockIdx.y / H * s.b + blockIdx.y % H * s.h;
}

template <int d> __global__ void forward_kernel(struct arrays a, struct place p) {
    __shared__ bf16 K[TILE][d], V[TILE][d];
    int64_t i = (int64_t)blockIdx.x * ROWS + threadIdx.x;
    p.batch = blockIdx.y / a.H;
    struct interval seen = seen_by_query(p, i);
    float q[d], O[d] = {0.0f}, m = -INFINITY, l = 0.0f, slope;
    load_row<d>(q, a.Q + head_at(a.q, a.H) + i * a.q.n, i < p.N_q);
    const struct interval all = of_all(seen);
    for (int64_t first = next_tile(all, -1); first < all.to; first = next_tile(all, first)) {
        int64_t count = rows_of_tile(all, first);
        load_tile<d>(K, a.K + head_at(a.k, a.H), a.k.n, first, count);
        load_tile<d>(V, a.V + head_at(a.v, a.H), a.v.n, first, count);
        __syncwarp();  // the tiles are written before they are read
        for (int j = 0; j < count; j++) {
            if (!contains(seen, first + j)) continue;
            float s = capped(a.scale * dot<d>(q, K[j]), p.mask.softcap, &slope);
            float m_new = fmaxf(m, s), alpha = expf(m - m_new), w = expf(s - m_new);
            l = alpha * l + w;
            m = m_new;
            for (int x = 0; x < d; x++)
                O[x] = alpha * O[x] + rounded(w) * __bfloat162float(V[j][x]);
        }
        __syncwarp();  // they are read before the next ones are written
    }
    if (i >= p.N_q) return;
    for (int x = 0; x < d; x++)
        a.O[head_at(a.o, a.H) + i * a.o.n + x] = __float2bfloat16(l > 0.0f ? O[x] / l : 0.0f);
    a.LSE[blockIdx.y * p.N_q + i] = l > 0.0f ? m + logf(l) : -INFINITY;
}

// dQ and delta.
template <int d> __global__ void dq_kernel(struct arrays a, struct place p) {
    __shared__ bf16 K[TILE][d], V[TILE][d];
    int64_t i = (int64_t)blockIdx.x * ROWS + threadIdx.x;
    p.batch = blockIdx.y / a.H;
    struct interval seen = seen_by_query(p, i);
    float q[d], g[d], dQ[d] = {0.0f}, slope, delta = 0.0f;
    load_row<d>(q, a.Q + head_at(a.q, a.H) + i * a.q.n, i < p.N_q);
    load_row<d>(g, a.dO + head_at(a.g, a.H) + i * a.g.n, i < p.N_q);
    if (i < p.N_q) delta = dot<d>(g, a.O_in + head_at(a.o, a.H) + i * a.o.n);
    float LSE = i < p.N_q ? a.LSE_in[blockIdx.y * p.N_q + i] : 0.0f;
    const struct interval all = of_all(seen);
    for (int64_t first = next_tile(all, -1); first < all.to; first = next_tile(all, first)) {
        int64_t count = rows_of_tile(all, first);
        load_tile<d>(K, a.K + head_at(a.k, a.H), a.k.n, first, count);
        load_tile<d>(V, a.V + head_at(a.v, a.H), a.v.n, first, count);
        __syncwarp();  // the tiles are written before they are read
        for (int j = 0; j < count; j++) {
            if (!contains(seen, first + j)) continue;
            float w = expf(capped(a.scale * dot<d>(q, K[j]), p.mask.softcap, &slope) - LSE);
            float dS = rounded(w * (dot<d>(g, V[j]) - delta) * slope);
            for (int x = 0; x < d; x++) dQ[x] += dS * __bfloat162float(K[j][x]);
        }
        __syncwarp();  // they are read before the next ones are written
    }
    if (i >= p.N_q) return;
    for (int x = 0; x < d; x++)
        a.dQ[head_at(a.dq, a.H) + i * a.dq.n + x] = __float2bfloat16(a.scale * dQ[x]);
    a.delta[blockIdx.y * p.N_q + i] = delta;
}

template <int d> __global__ void dk_dv_kernel(struct arrays a, struct place p) {
    __shared__ bf16 Q[TILE][d], dO[TILE][d];
    __shared__ float LSE[TILE], delta[TILE];
    int64_t j = (int64_t)blockIdx.x * ROWS + threadIdx.x;
    p.batch = blockIdx.y / a.H;
    struct interval seen = seeing_key(p, j);
    float k[d], v[d], dK[d] = {0.0f}, dV[d] = {0.0f}, slope;
    load_row<d>(k, a.K + head_at(a.k, a.H) + j * a.k.n, j < p.N_k);
    load_row<d>(v, a.V + head_at(a.v, a.H) + j * a.v.n, j < p.N_k);
    const struct interval all = of_all(seen);
    for (int64_t first = next_tile(all, -1); first < all.to; first = next_tile(all, first)) {
        int64_t count = rows_of_tile(all, first);
        load_tile<d>(Q, a.Q + head_at(a.q, a.H), a.q.n, first, count);
        load_tile<d>(dO, a.dO + head_at(a.g, a.H), a.g.n, first, count);
        int64_t row = first + threadIdx.x;
        if (threadIdx.x < count) {
            LSE[threadIdx.x] = a.LSE_in[blockIdx.y * p.N_q + row];
            delta[threadIdx.x] = a.delta[blockIdx.y * p.N_q + row];
        }
        __syncwarp();  // the tiles are written before they are read
        for (int i = 0; i < count; i++) {
            if (!contains(seen, first + i)) continue;
            float w = expf(capped(a.scale * dot<d>(k, Q[i]), p.mask.softcap, &slope) - LSE[i]);
            float dS = rounded(w * (dot<d>(v, dO[i]) - delta[i]) * slope);
            for (int x = 0; x < d; x++) {
                dV[x] += rounded(w) * __bfloat162float(dO[i][x]);
                dK[x] += dS * __bfloat162float(Q[i][x]);
            }
        }
        __syncwarp();  // they are read before the next ones are written
    }
    if (j >= p.N_k) return;
    for (int x = 0; x < d; x++) {
        a.dK[head_at(a.dk, a.H) + j * a.dk.n + x] = __float2bfloat16(a.scale * dK[x]);
        a.dV[head_at(a.dv, a.H) + j * a.dv.n + x] = __float2bfloat16(dV[x]);
    }
}

// ---- launchers -----------------------------------------------------------------------------

static bool is_mask(const struct online_mask* mask, int B) {
    return mask->window >= 0 && mask->sinks >= 0 && mask->prefix >= 0 && mask->documents >= 0 &&
           mask->softcap >= 0 && mask->softcap < INFINITY &&
           (mask->documents == 0 || B == 0 || mask->cu_seqlens_gpu);
}

// COURSE_OK if all rows of all arrays can be used; array n has rows[n] rows a head.
static int check(const bf16* const* array, const struct strides* s, const int* rows, int count,
                 int d) {
    int status = COURSE_OK;
    for (int n = 0; n < count; n++) {
        if (s[n].b < 0 || s[n].h < 0 || s[n].n < d || (!array[n] && rows[n] > 0))
            return COURSE_BAD_ARGUMENT;
        if ((uintptr_t)array[n] % 16 || (s[n].b | s[n].n | s[n].h) % 8) status = COURSE_UNSUPPORTED;
    }
    return status;
}

extern "C" int online_masks_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu,
                                    const bf16* K_gpu, const bf16* V_gpu, int B, int N_q, int N_k,
                                    int H, int d, struct strides stride_o, struct strides stride_q,
                                    struct strides stride_k, struct strides stride_v, float scale,
                                    struct online_mask mask) {
    const bf16* const array[] = {O_gpu, Q_gpu, K_gpu, V_gpu};
    const struct strides stride[] = {stride_o, stride_q, stride_k, stride_v};
    const int rows[] = {N_q, N_q, N_k, N_k};
    if (!is_mask(&mask, B) || B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1)
        return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y || !(scale > 0.0f))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!LSE_gpu) return COURSE_BAD_ARGUMENT;
    int status = check(array, stride, rows, 4, d);
    if (status != COURSE_OK) return status;

    struct arrays a = {};
    a.O = O_gpu, a.Q = Q_gpu, a.K = K_gpu, a.V = V_gpu, a.LSE = LSE_gpu;
    a.o = stride_o, a.q = stride_q, a.k = stride_k, a.v = stride_v, a.H = H, a.scale = scale;
    struct place p = {mask, 0, N_q, N_k};
    dim3 grid(CEIL_DIV((int64_t)N_q, ROWS), B * H);
    void (*kernel)(struct arrays, struct place) =
        d == 64 ? forward_kernel<64> : forward_kernel<128>;
    kernel<<<grid, ROWS>>>(a, p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
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
    const bf16* const array[] = {dQ_gpu, Q_gpu, O_gpu, dO_gpu, dK_gpu, dV_gpu, K_gpu, V_gpu};
    const struct strides stride[] = {stride_dq, stride_q,  stride_o, stride_do,
                                     stride_dk, stride_dv, stride_k, stride_v};
    const int rows[] = {N_q, N_q, N_q, N_q, N_k, N_k, N_k, N_k}, none[8] = {0};
    if (!is_mask(&mask, B) || B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1)
        return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (check(array, stride, none, 8, d) == COURSE_BAD_ARGUMENT) return COURSE_BAD_ARGUMENT;
    if (B == 0 || H == 0) return COURSE_OK;
    if (N_q > 0 && (!LSE_gpu || !workspace_gpu)) return COURSE_BAD_ARGUMENT;
    int status = check(array, stride, rows, 8, d);
    if (status != COURSE_OK) return status;

    struct arrays a = {};
    a.dQ = dQ_gpu, a.dK = dK_gpu, a.dV = dV_gpu, a.Q = Q_gpu, a.K = K_gpu, a.V = V_gpu;
    a.O_in = O_gpu, a.LSE_in = LSE_gpu, a.dO = dO_gpu, a.delta = (float*)workspace_gpu;
    a.dq = stride_dq, a.dk = stride_dk, a.dv = stride_dv, a.q = stride_q, a.k = stride_k;
    a.v = stride_v, a.o = stride_o, a.g = stride_do, a.H = H, a.scale = scale;
    struct place p = {mask, 0, N_q, N_k};
    dim3 queries(CEIL_DIV((int64_t)N_q, ROWS), B * H), keys(CEIL_DIV((int64_t)N_k, ROWS), B * H);
    void (*dq)(struct arrays, struct place) = d == 64 ? dq_kernel<64> : dq_kernel<128>;
    void (*dk_dv)(struct arrays, struct place) = d == 64 ? dk_dv_kernel<64> : dk_dv_kernel<128>;
    if (N_q > 0) dq<<<queries, ROWS>>>(a, p);
    if (N_k > 0) dk_dv<<<keys, ROWS>>>(a, p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
