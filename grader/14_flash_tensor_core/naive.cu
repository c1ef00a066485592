// naive.cu: a right answer without the idea of the lesson: a warp per query, on the ordinary cores,
// from global memory. Each lane keeps every 32nd element of the rows.
//
//     S_j = scale * sum_x Q_x K_jx,   O = sum_j exp(S_j) V_j / sum_j exp(S_j)  (lesson 12, eq. 4)
#include "flash_tensor_core.h"

#include <cuda_bf16.h>
#include <math.h>

enum { LANES = 32, WARPS = 4, MAX_D = 128, MAX_GRID_Y = 65535 };

__global__ void naive_kernel(bf16* O,        // (B, N_q, H, d)
                             float* LSE,     // (B, H, N_q)
                             const bf16* Q,  // (B, N_q, H, d)
                             const bf16* K,  // (B, N_k, H, d)
                             const bf16* V,  // (B, N_k, H, d)
                             int N_q, int N_k, int H, int d, struct strides stride_o,
                             struct strides stride_q, struct strides stride_k,
                             struct strides stride_v, float scale, int causal) {
    int lane = threadIdx.x;
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y;  // [0, N_q)
    int64_t batch = blockIdx.y / H, head = blockIdx.y % H;
    if (i >= N_q) return;
    Q += batch * stride_q.b + i * stride_q.n + head * stride_q.h;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + i * stride_o.n + head * stride_o.h;
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;

    float m = -INFINITY, l = 0.0f, O_reg[MAX_D / LANES] = {0.0f};
    for (int64_t j = 0; j < seen; j++) {
        float s = 0.0f;
        for (int x = lane; x < d; x += LANES)
            s += __bfloat162float(Q[x]) * __bfloat162float(K[j * stride_k.n + x]);
        for (int distance = LANES / 2; distance > 0; distance /= 2)
            s += __shfl_xor_sync(0xffffffffu, s, distance);
        float m_new = fmaxf(m, scale * s);
        float alpha = expf(m - m_new), p = expf(scale * s - m_new);
        l = alpha * l + p;
        m = m_new;
        float weight = __bfloat162float(__float2bfloat16(p));
        for (int x = lane; x < d; x += LANES)
            O_reg[x / LANES] =
                alpha * O_reg[x / LANES] + weight * __bfloat162float(V[j * stride_v.n + x]);
    }
    for (int x = lane; x < d; x += LANES)
        O[x] = __float2bfloat16(l > 0.0f ? O_reg[x / LANES] / l : 0.0f);
    if (lane == 0) LSE[(batch * H + head) * N_q + i] = l > 0.0f ? m + logf(l) : -INFINITY;
}

// A row begins at a multiple of 16 bytes: so do the array and all its steps.
static bool aligned(const bf16* array, struct strides step) {
    return (uintptr_t)array % 16 == 0 && (step.b | step.n | step.h) % 8 == 0;
}

static bool usable(struct strides step, int d) {
    return step.b >= 0 && step.h >= 0 && step.n >= d;
}

int flash_tensor_core(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                      const bf16* V_gpu, int B, int N_q, int N_k, int H, int d,
                      struct strides stride_o, struct strides stride_q, struct strides stride_k,
                      struct strides stride_v, float scale, int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y || !(scale > 0.0f))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (O_gpu == NULL || LSE_gpu == NULL || Q_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (K_gpu == NULL || V_gpu == NULL)) return COURSE_BAD_ARGUMENT;
    if (!usable(stride_o, d) || !usable(stride_q, d) || !usable(stride_k, d) ||
        !usable(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!aligned(O_gpu, stride_o) || !aligned(Q_gpu, stride_q) || !aligned(K_gpu, stride_k) ||
        !aligned(V_gpu, stride_v))
        return COURSE_UNSUPPORTED;

    dim3 grid((N_q - 1) / WARPS + 1, B * H);
    naive_kernel<<<grid, dim3(LANES, WARPS)>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H, d,
                                               stride_o, stride_q, stride_k, stride_v, scale,
                                               causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
