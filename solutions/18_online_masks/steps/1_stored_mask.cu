// 1_stored_mask.cu: the mask is written out, a byte for each pair of a query and a key, and a warp
// computes each row: a query of O and of dQ, or a key of dK and dV.
//
//     S  = C(scale Q K^T)    P = softmax(S) over what is seen    O = P V
//     dV = P^T dO    dS = P * (dO V^T - delta) * C'    dQ = scale dS K,  dK = scale dS^T Q
//
// What is wrong with it: N_q x N_k bytes are written and read, and asked one by one, to leave out
// most; each warp reads for itself what it needs; and nothing is multiplied by tensor cores.
#include "online_masks.h"

#include <cuda_bf16.h>
#include <math.h>

enum { LANES = 32, WARPS = 4, MAX_D = 128, MAX_GRID_Y = 65535 };

// ---- device helpers ------------------------------------------------------------------------

// x added up over the lanes of the warp.
__device__ float warp_sum(float x) {
    for (int step = LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

// The scale times a dot product of two rows, capped; *slope is how much that grows with the score.
__device__ float score_of(const bf16* q, const bf16* k, int d, float scale, float softcap,
                          float* slope) {
    float sum = 0.0f;
    for (int x = threadIdx.x; x < d; x += LANES)
        sum += __bfloat162float(q[x]) * __bfloat162float(k[x]);
    float s = scale * warp_sum(sum);
    *slope = 1.0f;
    if (softcap == 0.0f) return s;
    float t = tanhf(s / softcap);
    *slope = 1.0f - t * t;
    return softcap * t;
}

__device__ float dot(const bf16* a, const bf16* b, int d) {
    float slope;
    return score_of(a, b, d, 1.0f, 0.0f, &slope);
}

__device__ float rounded(float x) {
    return __bfloat162float(__float2bfloat16(x));
}

// ---- GPU kernels ---------------------------------------------------------------------------

// seen[b][i][j] = 1 if query i sees key j, else 0.                                  (README eq. 1)
// Grid (ceil(N_q / WARPS), ceil(N_k / LANES), B), of keys in as many rows as a grid has; block
// (LANES, WARPS).
__global__ void mask_kernel(uint8_t* seen, const struct online_mask mask, int N_q, int N_k) {
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y, first = (int64_t)blockIdx.y * LANES;
    if (i >= N_q) return;
    for (int64_t j = first + threadIdx.x; j < N_k; j += (int64_t)gridDim.y * LANES) {
        int64_t q = i + N_k - N_q, start = 0, end = N_k;
        bool in_document = q >= 0;
        if (mask.documents > 0) {
            const int* begin = mask.cu_seqlens_gpu + blockIdx.z * ((int64_t)mask.documents + 1);
            int n = 0;
            while (n < mask.documents && begin[n + 1] <= q) n++;
            in_document &= n < mask.documents;
            start = begin[n];
            end = n < mask.documents ? begin[n + 1] : start;
        }
        int64_t window = mask.window > 0 ? mask.window : (int64_t)N_q + N_k;
        bool late = mask.causal ? j > q : j > q + window;
        bool early = mask.causal ? q - j >= window : q - j > window;
        seen[((int64_t)blockIdx.z * N_q + i) * N_k + j] = in_document && j >= start && j < end &&
                                                          (!late || j < start + mask.prefix) &&
                                                          (!early || j < start + mask.sinks);
    }
}

// O and LSE. Grid (ceil(N_q / WARPS), B * H), block (LANES, WARPS): a warp per query.
__global__ void forward_kernel(bf16* O, float* LSE, const bf16* Q, const bf16* K, const bf16* V,
                               const uint8_t* seen, int N_q, int N_k, int H, int d,
                               struct strides stride_o, struct strides stride_q,
                               struct strides stride_k, struct strides stride_v, float scale,
                               float softcap) {
    int lane = threadIdx.x;
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    int64_t batch = blockIdx.y / H, head = blockIdx.y % H;
    if (i >= N_q) return;  // a whole warp
    Q += batch * stride_q.b + head * stride_q.h + i * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + i * stride_o.n;
    seen += (batch * N_q + i) * N_k;

    float m = -INFINITY, l = 0.0f, O_reg[MAX_D / LANES] = {0.0f}, slope;
    for (int64_t j = 0; j < N_k; j++) {
        if (!seen[j]) continue;  // for all lanes alike
        float s = score_of(Q, K + j * stride_k.n, d, scale, softcap, &slope);
        float m_new = fmaxf(m, s), alpha = expf(m - m_new), p = expf(s - m_new);
        l = alpha * l + p;
        m = m_new;
        for (int x = lane; x < d; x += LANES)
            O_reg[x / LANES] =
                alpha * O_reg[x / LANES] + rounded(p) * __bfloat162float(V[j * stride_v.n + x]);
    }
    for (int x = lane; x < d; x += LANES)
        O[x] = __float2bfloat16(l > 0.0f ? O_reg[x / LANES] / l : 0.0f);
    if (lane == 0) LSE[blockIdx.y * (int64_t)N_q + i] = l > 0.0f ? m + logf(l) : -INFINITY;
}

// dQ, and delta for the next kernel. Grid and block as above.
__global__ void dq_kernel(bf16* dQ, float* delta, const bf16* Q, const bf16* K, const bf16* V,
                          const bf16* O, const float* LSE, const bf16* dO, const uint8_t* seen,
                          int N_q, int N_k, int H, int d, struct strides stride_dq,
                          struct strides stride_q, struct strides stride_k, struct strides stride_v,
                          struct strides stride_o, struct strides stride_do, float scale,
                          float softcap) {
    int lane = threadIdx.x;
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    int64_t batch = blockIdx.y / H, head = blockIdx.y % H;
    if (i >= N_q) return;  // a whole warp
    Q += batch * stride_q.b + head * stride_q.h + i * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + i * stride_o.n;
    dO += batch * stride_do.b + head * stride_do.h + i * stride_do.n;
    dQ += batch * stride_dq.b + head * stride_dq.h + i * stride_dq.n;
    seen += (batch * N_q + i) * N_k;
    int64_t row = blockIdx.y * (int64_t)N_q + i;

    float delta_i = dot(dO, O, d), dQ_reg[MAX_D / LANES] = {0.0f}, slope;
    for (int64_t j = 0; j < N_k; j++) {
        if (!seen[j]) continue;
        float p = expf(score_of(Q, K + j * stride_k.n, d, scale, softcap, &slope) - LSE[row]);
        float dS = rounded(p * (dot(dO, V + j * stride_v.n, d) - delta_i) * slope);
        for (int x = lane; x < d; x += LANES)
            dQ_reg[x / LANES] += dS * __bfloat162float(K[j * stride_k.n + x]);
    }
    for (int x = lane; x < d; x += LANES) dQ[x] = __float2bfloat16(scale * dQ_reg[x / LANES]);
    if (lane == 0) delta[row] = delta_i;
}

// dK and dV. Grid (ceil(N_k / WARPS), B * H), block (LANES, WARPS): a warp per key.
__global__ void dk_dv_kernel(bf16* dK, bf16* dV, const bf16* Q, const bf16* K, const bf16* V,
                             const float* LSE, const float* delta, const bf16* dO,
                             const uint8_t* seen, int N_q, int N_k, int H, int d,
                             struct strides stride_dk, struct strides stride_dv,
                             struct strides stride_q, struct strides stride_k,
                             struct strides stride_v, struct strides stride_do, float scale,
                             float softcap) {
    int lane = threadIdx.x;
    int64_t j = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    int64_t batch = blockIdx.y / H, head = blockIdx.y % H;
    if (j >= N_k) return;  // a whole warp
    Q += batch * stride_q.b + head * stride_q.h;
    K += batch * stride_k.b + head * stride_k.h + j * stride_k.n;
    V += batch * stride_v.b + head * stride_v.h + j * stride_v.n;
    dO += batch * stride_do.b + head * stride_do.h;
    dK += batch * stride_dk.b + head * stride_dk.h + j * stride_dk.n;
    dV += batch * stride_dv.b + head * stride_dv.h + j * stride_dv.n;
    seen += batch * N_q * N_k + j;
    LSE += blockIdx.y * (int64_t)N_q;
    delta += blockIdx.y * (int64_t)N_q;

    float dK_reg[MAX_D / LANES] = {0.0f}, dV_reg[MAX_D / LANES] = {0.0f}, slope;
    for (int64_t i = 0; i < N_q; i++) {
        if (!seen[i * N_k]) continue;
        const bf16 *q = Q + i * stride_q.n, *g = dO + i * stride_do.n;
        float p = expf(score_of(q, K, d, scale, softcap, &slope) - LSE[i]);
        float dS = rounded(p * (dot(g, V, d) - delta[i]) * slope);
        for (int x = lane; x < d; x += LANES) {
            dV_reg[x / LANES] += rounded(p) * __bfloat162float(g[x]);
            dK_reg[x / LANES] += dS * __bfloat162float(q[x]);
        }
    }
    for (int x = lane; x < d; x += LANES) {
        dK[x] = __float2bfloat16(scale * dK_reg[x / LANES]);
        dV[x] = __float2bfloat16(dV_reg[x / LANES]);
    }
}

// ---- launchers -----------------------------------------------------------------------------

static bool is_mask(const struct online_mask* mask, int B) {
    return mask->window >= 0 && mask->sinks >= 0 && mask->prefix >= 0 && mask->documents >= 0 &&
           mask->softcap >= 0 && mask->softcap < INFINITY &&
           (mask->documents == 0 || B == 0 || mask->cu_seqlens_gpu);
}

static bool is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// A row begins at a multiple of 16 bytes: so do the array and all its steps.
static bool is_aligned(const bf16* array, struct strides step) {
    return (uintptr_t)array % 16 == 0 && (step.b | step.n | step.h) % 8 == 0;
}

// The mask of all batches, which belongs to the caller.
static int write_mask(uint8_t** seen_gpu, struct online_mask mask, int B, int N_q, int N_k) {
    COURSE_TRY(cudaMallocAsync((void**)seen_gpu, (size_t)B * N_q * N_k + 1, 0));
    int64_t key_blocks = CEIL_DIV((int64_t)N_k, LANES);
    dim3 grid(CEIL_DIV((int64_t)N_q, WARPS), key_blocks < MAX_GRID_Y ? key_blocks : MAX_GRID_Y, B);
    if (N_q > 0 && N_k > 0) mask_kernel<<<grid, dim3(LANES, WARPS)>>>(*seen_gpu, mask, N_q, N_k);
    return COURSE_OK;
}

extern "C" int online_masks_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu,
                                    const bf16* K_gpu, const bf16* V_gpu, int B, int N_q, int N_k,
                                    int H, int d, struct strides stride_o, struct strides stride_q,
                                    struct strides stride_k, struct strides stride_v, float scale,
                                    struct online_mask mask) {
    if (!is_mask(&mask, B) || B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1)
        return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y || !(scale > 0.0f))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || (N_k > 0 && (!K_gpu || !V_gpu))) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!is_aligned(O_gpu, stride_o) || !is_aligned(Q_gpu, stride_q) ||
        !is_aligned(K_gpu, stride_k) || !is_aligned(V_gpu, stride_v))
        return COURSE_UNSUPPORTED;

    uint8_t* seen_gpu;
    if (write_mask(&seen_gpu, mask, B, N_q, N_k) != COURSE_OK) return COURSE_CUDA_ERROR;
    dim3 grid(CEIL_DIV((int64_t)N_q, WARPS), B * H);
    forward_kernel<<<grid, dim3(LANES, WARPS)>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, seen_gpu, N_q,
                                                 N_k, H, d, stride_o, stride_q, stride_k, stride_v,
                                                 scale, mask.softcap);
    bool failed = cudaGetLastError() != cudaSuccess;
    COURSE_TRY(cudaFreeAsync(seen_gpu, 0));
    return failed ? COURSE_CUDA_ERROR : COURSE_OK;
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
    if (!is_mask(&mask, B) || B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1)
        return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    for (int a = 0; a < 8; a++)
        if (!is_valid(stride[a], d)) return COURSE_BAD_ARGUMENT;
    if (B == 0 || H == 0) return COURSE_OK;
    if (N_q > 0 && (!LSE_gpu || !workspace_gpu)) return COURSE_BAD_ARGUMENT;
    for (int a = 0; a < 8; a++)
        if (!array[a] && (a < 4 ? N_q : N_k) > 0) return COURSE_BAD_ARGUMENT;
    for (int a = 0; a < 8; a++)
        if (!is_aligned(array[a], stride[a])) return COURSE_UNSUPPORTED;

    uint8_t* seen_gpu;
    float* delta_gpu = (float*)workspace_gpu;
    if (write_mask(&seen_gpu, mask, B, N_q, N_k) != COURSE_OK) return COURSE_CUDA_ERROR;
    dim3 block(LANES, WARPS), queries(CEIL_DIV((int64_t)N_q, WARPS), B * H);
    dim3 keys(CEIL_DIV((int64_t)N_k, WARPS), B * H);
    if (N_q > 0)
        dq_kernel<<<queries, block>>>(dQ_gpu, delta_gpu, Q_gpu, K_gpu, V_gpu, O_gpu, LSE_gpu,
                                      dO_gpu, seen_gpu, N_q, N_k, H, d, stride_dq, stride_q,
                                      stride_k, stride_v, stride_o, stride_do, scale, mask.softcap);
    if (N_k > 0)
        dk_dv_kernel<<<keys, block>>>(dK_gpu, dV_gpu, Q_gpu, K_gpu, V_gpu, LSE_gpu, delta_gpu,
                                      dO_gpu, seen_gpu, N_q, N_k, H, d, stride_dk, stride_dv,
                                      stride_q, stride_k, stride_v, stride_do, scale, mask.softcap);
    bool failed = cudaGetLastError() != cudaSuccess;
    COURSE_TRY(cudaFreeAsync(seen_gpu, 0));
    return failed ? COURSE_CUDA_ERROR : COURSE_OK;
}
