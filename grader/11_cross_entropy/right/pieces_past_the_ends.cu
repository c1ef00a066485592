// A row as pieces of 16 bytes that begin at lines; those that reach past its ends are loaded and
// stored number by number, by the one thread that has them.

#include "cross_entropy.h"
#include <cuda_bf16.h>
#include <math.h>
#include "ptx.h"

#define MINUS_INF_PAIR 0xff80ff80u

__device__ float bf(unsigned w, int high) {
    return __uint_as_float(high ? w & 0xffff0000u : w << 16);
}

// The 8 logits from column j on; -inf outside of the row.
__device__ uint4 load8(const bf16* x, int64_t j, int V) {
    if (j >= 0 && j + 8 <= V) return *(const uint4*)(x + j);
    unsigned w[4] = {MINUS_INF_PAIR, MINUS_INF_PAIR, MINUS_INF_PAIR, MINUS_INF_PAIR};
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (j + k >= 0 && j + k < V) {
            unsigned h = ((const unsigned short*)x)[j + k];
            w[k / 2] = k % 2 ? (w[k / 2] & 0xffffu) | h << 16 : (w[k / 2] & 0xffff0000u) | h;
        }
    return make_uint4(w[0], w[1], w[2], w[3]);
}

__device__ void store8(bf16* x, int64_t j, int V, uint4 v) {
    if (j >= 0 && j + 8 <= V) {
        *(uint4*)(x + j) = v;
        return;
    }
    unsigned w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (j + k >= 0 && j + k < V)
            ((unsigned short*)x)[j + k] = (unsigned short)(k % 2 ? w[k / 2] >> 16 : w[k / 2]);
}

struct sums {
    float m, l, total;
};

__device__ void take(struct sums* s, uint4 v, int64_t j, int V) {
    unsigned w[4] = {v.x, v.y, v.z, v.w};
    float m = s->m;
#pragma unroll
    for (int k = 0; k < 8; k++) m = fmaxf(m, bf(w[k / 2], k % 2));
    if (m != -INFINITY) {
        s->l *= exp2_approx((s->m - m) * 1.44269504f);
#pragma unroll
        for (int k = 0; k < 8; k++) s->l += exp2_approx((bf(w[k / 2], k % 2) - m) * 1.44269504f);
        s->m = m;
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (j + k >= 0 && j + k < V) s->total += bf(w[k / 2], k % 2);
}

__device__ struct sums join(struct sums a, struct sums b) {
    float m = fmaxf(a.m, b.m), l = 0.0f;
    if (a.l > 0.0f) l += a.l * exp2_approx((a.m - m) * 1.44269504f);
    if (b.l > 0.0f) l += b.l * exp2_approx((b.m - m) * 1.44269504f);
    return {m, l, a.total + b.total};
}

__device__ uint4 grad8(uint4 v, int64_t j, float m, float over, float base, int64_t label,
                       float hit) {
    unsigned w[4] = {v.x, v.y, v.z, v.w};
    float g[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        g[k] = exp2_approx((bf(w[k / 2], k % 2) - m) * 1.44269504f) * over - base;
        if (j + k == label) g[k] -= hit;
    }
    return make_uint4(pack_bf16(g[0], g[1]), pack_bf16(g[2], g[3]), pack_bf16(g[4], g[5]),
                      pack_bf16(g[6], g[7]));
}

// workspace[0]: N as an int; then a loss for each row.
__global__ void count_rows(int* N, const int64_t* labels, int64_t rows, int64_t ignore) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    int mine = 0;
    for (int64_t i = threadIdx.x; i < rows; i += blockDim.x) mine += labels[i] != ignore;
    atomicAdd(&n, mine);
    __syncthreads();
    if (threadIdx.x == 0) *N = n;
}

// KEEP chunks of a thread in registers; 0: the row is read twice.
template <int T, int KEEP>
__global__ void __launch_bounds__(T)
    row(float* losses, float* LSE, bf16* logits, const int64_t* labels, const int* N, int V,
        int64_t stride, int64_t ignore, float eps) {
    __shared__ struct sums part[32];
    int64_t r = blockIdx.x, label = labels[r];
    bf16* x = logits + r * stride;
    // Chunk 0 begins at a multiple of 128 bytes: up to 63 logits in front of the row.
    int64_t first = -(int64_t)((uintptr_t)x % 128 / 2) + threadIdx.x * 8;
    if (label == ignore) {
        for (int64_t j = first; j < V; j += T * 8)
            if (j + 8 > 0) store8(x, j, V, make_uint4(0, 0, 0, 0));
        if (threadIdx.x == 0) LSE[r] = losses[r] = 0.0f;
        return;
    }
    bool valid = label >= 0 && label < V;
    float x_label = 0.0f;
    if (threadIdx.x == 0) x_label = valid ? __bfloat162float(x[label]) : NAN;
    struct sums s = {-INFINITY, 0.0f, 0.0f};
    uint4 kept[KEEP ? KEEP : 1];
    if (KEEP) {
#pragma unroll
        for (int i = 0; i < KEEP; i++) {
            int64_t j = first + (int64_t)i * T * 8;
            kept[i] = make_uint4(MINUS_INF_PAIR, MINUS_INF_PAIR, MINUS_INF_PAIR, MINUS_INF_PAIR);
            if (j + 8 > 0 && j < V) kept[i] = load8(x, j, V);
        }
#pragma unroll
        for (int i = 0; i < KEEP; i++) {
            int64_t j = first + (int64_t)i * T * 8;
            if (j + 8 > 0 && j < V) take(&s, kept[i], j, V);
        }
    } else {
        for (int64_t j = first; j < V; j += T * 8)
            if (j + 8 > 0) take(&s, load8(x, j, V), j, V);
    }
    for (int d = 16; d; d /= 2) {
        struct sums o;
        o.m = __shfl_xor_sync(0xffffffffu, s.m, d);
        o.l = __shfl_xor_sync(0xffffffffu, s.l, d);
        o.total = __shfl_xor_sync(0xffffffffu, s.total, d);
        s = join(s, o);
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0];
    for (int i = 1; i < T / 32; i++) s = join(s, part[i]);
    if (threadIdx.x == 0) {
        float ln = logf(s.l), off = s.m - x_label;
        if (eps > 0.0f) off = (1.0f - eps) * off + eps * (s.m - s.total / V);
        LSE[r] = s.m + ln;
        losses[r] = off + ln;
    }
    float n = (float)*N, over = valid ? 1.0f / (s.l * n) : NAN, base = eps / ((float)V * n),
          hit = (1.0f - eps) / n;
    if (KEEP) {
#pragma unroll
        for (int i = 0; i < KEEP; i++) {
            int64_t j = first + (int64_t)i * T * 8;
            if (j + 8 > 0 && j < V) store8(x, j, V, grad8(kept[i], j, s.m, over, base, label, hit));
        }
    } else {
        for (int64_t j = first; j < V; j += T * 8)
            if (j + 8 > 0) store8(x, j, V, grad8(load8(x, j, V), j, s.m, over, base, label, hit));
    }
}

__global__ void mean(float* loss, const float* losses, const int* N, int64_t rows) {
    __shared__ double part[256];
    double s = 0.0;
    for (int64_t i = threadIdx.x; i < rows; i += 256) s += losses[i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int h = 128; h; h /= 2) {
        if (threadIdx.x < h) part[threadIdx.x] += part[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0) *loss = *N ? (float)(part[0] / *N) : 0.0f;
}

#define LAUNCH(T, KEEP) \
    row<T, KEEP><<<(unsigned)rows, T>>>(losses, LSE, logits, labels, N, (int)V, stride, ignore, eps)

int cross_entropy(float* loss, float* LSE, bf16* logits, const int64_t* labels, int64_t rows,
                  int64_t V, int64_t stride, int64_t ignore, float eps, void* workspace) {
    if (rows < 0 || V < 1 || stride < V || !(eps >= 0.0f) || !(eps < 1.0f))
        return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (!loss || !LSE || !logits || !labels || !workspace) return COURSE_BAD_ARGUMENT;
    if (rows > 0x7fffffff || V > CROSS_ENTROPY_MAX_V) return COURSE_UNSUPPORTED;
    int* N = (int*)workspace;
    float* losses = (float*)workspace + 1;
    count_rows<<<1, 1024>>>(N, labels, rows, ignore);
    if (V <= 960)
        LAUNCH(128, 1);
    else if (V <= 8128)
        LAUNCH(512, 2);
    else if (V <= 57280)
        LAUNCH(1024, 7);
    else
        LAUNCH(1024, 0);
    COURSE_TRY(cudaGetLastError());
    mean<<<1, 256>>>(loss, losses, N, rows);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
