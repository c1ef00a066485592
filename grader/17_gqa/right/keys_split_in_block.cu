// keys_split_in_block.cu: four warps share the keys of a block of 8 packed rows, each with an m, l
// and O of its own, merged in shared memory; each warp reads Q. Backward a thread owns a key or a
// query, without a workspace.
#include "gqa.h"

#include <cuda_fp16.h>
#include <math.h>

#define MAX_HEAD 256      // the largest d
#define MAX_GRID_Y 65535  // the limit of gridDim.y
#define ROWS 8            // packed rows of a block
#define PARTS 4           // warps of a block: shares of the keys
#define THREADS 64        // of a block, backward

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q. (lesson 13,
// eq. 1)
__device__ int64_t keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    if (seen < 0) seen = 0;
    if (seen > N_k) seen = N_k;
    return seen;
}

// Grid (ceil(N_q * group / ROWS), B * H_k), block 32 * PARTS.
__global__ void __launch_bounds__(32 * PARTS)
    forward_kernel(fp16* O, float* LSE, const fp16* Q, const fp16* K, const fp16* V, int N_q,
                   int N_k, int H_k, int group, int d, struct strides stride_o,
                   struct strides stride_q, struct strides stride_k, struct strides stride_v,
                   float scale, int causal) {
    __shared__ float merged_m[PARTS][ROWS], merged_l[PARTS][ROWS], merged_O[PARTS][ROWS][MAX_HEAD];
    int lane = threadIdx.x % 32, part = threadIdx.x / 32;
    int64_t batch = blockIdx.y / H_k, key_head = blockIdx.y % H_k,
            first_row = (int64_t)blockIdx.x * ROWS, n_rows = (int64_t)N_q * group;
    K += batch * stride_k.b + key_head * stride_k.h;
    V += batch * stride_v.b + key_head * stride_v.h;
    float q[ROWS][8] = {}, o[ROWS][8] = {}, m[ROWS], l[ROWS] = {};
    int64_t visible[ROWS], end = 0;
    for (int r = 0; r < ROWS; r++) {
        int64_t row = first_row + r, query = row / group, head = key_head * group + row % group;
        m[r] = -INFINITY;
        visible[r] = row < n_rows ? keys_seen(query, N_q, N_k, causal) : 0;
        if (visible[r] > end) end = visible[r];
        if (row < n_rows)
            for (int c = 0; c * 32 + lane < d; c++)
                q[r][c] = __half2float(__ldg(&Q[batch * stride_q.b + head * stride_q.h +
                                                query * stride_q.n + c * 32 + lane]));
    }
    for (int64_t j = part; j < end; j += PARTS) {
        float k[8] = {}, v[8] = {};
        for (int c = 0; c * 32 + lane < d; c++) {
            k[c] = __half2float(K[j * stride_k.n + c * 32 + lane]);
            v[c] = __half2float(V[j * stride_v.n + c * 32 + lane]);
        }
        for (int r = 0; r < ROWS; r++) {
            if (j >= visible[r]) continue;
            float s = 0.0f;
            for (int c = 0; c < 8; c++) s += q[r][c] * k[c];
            for (int step = 16; step; step /= 2) s += __shfl_xor_sync(~0u, s, step);
            s *= scale;
            if (s > m[r]) {
                float alpha = expf(m[r] - s);
                l[r] *= alpha;
                for (int c = 0; c < 8; c++) o[r][c] *= alpha;
                m[r] = s;
            }
            float p = expf(s - m[r]);
            l[r] += p;
            for (int c = 0; c < 8; c++) o[r][c] += p * v[c];
        }
    }
    for (int r = 0; r < ROWS; r++) {
        if (lane == 0) merged_m[part][r] = m[r], merged_l[part][r] = l[r];
        for (int c = 0; c * 32 + lane < d; c++) merged_O[part][r][c * 32 + lane] = o[r][c];
    }
    __syncthreads();
    for (int r = part; r < ROWS && first_row + r < n_rows; r += PARTS) {
        int64_t query = (first_row + r) / group, head = key_head * group + (first_row + r) % group;
        float top = -INFINITY, sum = 0.0f;
        for (int s = 0; s < PARTS; s++) top = fmaxf(top, merged_m[s][r]);
        for (int s = 0; s < PARTS; s++)
            sum += merged_l[s][r] > 0.0f ? merged_l[s][r] * expf(merged_m[s][r] - top) : 0.0f;
        for (int x = lane; x < d; x += 32) {
            float value = 0.0f;
            for (int s = 0; s < PARTS; s++)
                if (merged_l[s][r] > 0.0f) value += merged_O[s][r][x] * expf(merged_m[s][r] - top);
            O[batch * stride_o.b + head * stride_o.h + query * stride_o.n + x] =
                __float2half(sum > 0.0f ? value / sum : 0.0f);
        }
        if (lane == 0)
            LSE[(batch * H_k * group + head) * N_q + query] =
                sum > 0.0f ? top + logf(sum) : -INFINITY;
    }
}

struct gradients {
    fp16 *dQ, *dK, *dV;
    const fp16 *Q, *K, *V, *O, *dO;
    const float* LSE;
    int N_q, N_k, H_q, group, d, causal;
    float scale;
    struct strides dq, dk, dv, q, k, v, o, g;
};

__device__ int64_t at(struct strides s, int64_t b, int64_t h, int64_t n) {
    return b * s.b + h * s.h + n * s.n;
}

__device__ float product(const fp16* x, const fp16* y, int d) {
    float sum = 0.0f;
    for (int k = 0; k < d; k++) sum += __half2float(x[k]) * __half2float(y[k]);
    return sum;
}

// P and dS of query i, key j and query head h.
__device__ void pair(const struct gradients* p, int64_t b, int64_t h, int64_t i, int64_t j,
                     float* P, float* dS) {
    int64_t g = h / p->group;
    const fp16* dO = p->dO + at(p->g, b, h, i);
    float s = product(p->Q + at(p->q, b, h, i), p->K + at(p->k, b, g, j), p->d);
    float dP = product(dO, p->V + at(p->v, b, g, j), p->d);
    float delta = product(dO, p->O + at(p->o, b, h, i), p->d);
    *P = expf(p->scale * s - p->LSE[(b * p->H_q + h) * p->N_q + i]);
    *dS = *P * (dP - delta);
}

// A thread for each key of each key head. Grid (ceil(N_k / THREADS), B * H_k).
__global__ void key_kernel(struct gradients p) {
    int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t H_k = p.H_q > 0 ? p.H_q / p.group : gridDim.y, b = blockIdx.y / H_k;
    int64_t g = blockIdx.y % H_k;
    float dK[MAX_HEAD] = {0.0f}, dV[MAX_HEAD] = {0.0f}, P, dS;
    if (j >= p.N_k) return;
    for (int64_t h = g * p.group; h < (g + 1) * p.group; h++)
        for (int64_t i = 0; i < p.N_q; i++) {
            if (j >= keys_seen(i, p.N_q, p.N_k, p.causal)) continue;
            pair(&p, b, h, i, j, &P, &dS);
            for (int x = 0; x < p.d; x++) {
                dV[x] += P * __half2float(p.dO[at(p.g, b, h, i) + x]);
                dK[x] += dS * __half2float(p.Q[at(p.q, b, h, i) + x]);
            }
        }
    for (int x = 0; x < p.d; x++) {
        p.dK[at(p.dk, b, g, j) + x] = __float2half(p.scale * dK[x]);
        p.dV[at(p.dv, b, g, j) + x] = __float2half(dV[x]);
    }
}

// A thread for each query of each query head. Grid (ceil(N_q / THREADS), B * H_q).
__global__ void query_kernel(struct gradients p) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t b = blockIdx.y / p.H_q, h = blockIdx.y % p.H_q;
    float dQ[MAX_HEAD] = {0.0f}, P, dS;
    if (i >= p.N_q) return;
    for (int64_t j = 0; j < keys_seen(i, p.N_q, p.N_k, p.causal); j++) {
        pair(&p, b, h, i, j, &P, &dS);
        for (int x = 0; x < p.d; x++)
            dQ[x] += dS * __half2float(p.K[at(p.k, b, h / p.group, j) + x]);
    }
    for (int x = 0; x < p.d; x++) p.dQ[at(p.dq, b, h, i) + x] = __float2half(p.scale * dQ[x]);
}

// No stride is negative, and a row is not longer than the way to the next.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// What both launchers ask of the sizes.
static int check_sizes(int B, int N_q, int N_k, int H_q, int H_k, int d) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H_q > MAX_GRID_Y || (int64_t)B * H_k > MAX_GRID_Y)
        return COURSE_UNSUPPORTED;
    return COURSE_OK;
}

extern "C" int gqa_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                           const fp16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                           struct strides stride_o, struct strides stride_q,
                           struct strides stride_k, struct strides stride_v, float scale,
                           int causal) {
    int status = check_sizes(B, N_q, N_k, H_q, H_k, d);
    if (status != COURSE_OK) return status;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;

    int group = H_q / H_k;
    forward_kernel<<<dim3(CEIL_DIV((int64_t)N_q * group, ROWS), B * H_k), 32 * PARTS>>>(
        O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H_k, group, d, stride_o, stride_q, stride_k,
        stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int
gqa_backward(fp16* dQ_gpu, fp16* dK_gpu, fp16* dV_gpu, const fp16* Q_gpu, const fp16* K_gpu,
             const fp16* V_gpu, const fp16* O_gpu, const float* LSE_gpu, const fp16* dO_gpu, int B,
             int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
             struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
             struct strides stride_k, struct strides stride_v, struct strides stride_o,
             struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    int status = check_sizes(B, N_q, N_k, H_q, H_k, d);
    if (status != COURSE_OK) return status;
    int has_queries = B > 0 && N_q > 0 && H_q > 0;
    int has_keys = B > 0 && N_k > 0 && H_k > 0;
    if (!has_queries && !has_keys) return COURSE_OK;
    if (!is_valid(stride_dq, d) || !is_valid(stride_dk, d) || !is_valid(stride_dv, d) ||
        !is_valid(stride_q, d) || !is_valid(stride_k, d) || !is_valid(stride_v, d) ||
        !is_valid(stride_o, d) || !is_valid(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    if (has_queries && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (has_keys && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;

    struct gradients p = {};
    p.dQ = dQ_gpu, p.dK = dK_gpu, p.dV = dV_gpu, p.Q = Q_gpu, p.K = K_gpu, p.V = V_gpu;
    p.O = O_gpu, p.dO = dO_gpu, p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.d = d, p.causal = causal, p.scale = scale;
    p.group = H_k > 0 ? H_q / H_k : 1;
    p.dq = stride_dq, p.dk = stride_dk, p.dv = stride_dv, p.q = stride_q, p.k = stride_k;
    p.v = stride_v, p.o = stride_o, p.g = stride_do;
    if (has_keys) {
        key_kernel<<<dim3(CEIL_DIV((int64_t)N_k, THREADS), B * H_k), THREADS>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    if (has_queries) {
        query_kernel<<<dim3(CEIL_DIV((int64_t)N_q, THREADS), B * H_q), THREADS>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
