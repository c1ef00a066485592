// naive.cu: a right answer without the idea of the lesson: a warp for each query, on the ordinary
// cores, from global memory.
//
//     S = scale Q K^T,  P = softmax(S),  O = P V                                (README eq. 1)
#include "hopper_flash.h"

#include <cuda_bf16.h>
#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "hopper.h"

enum { LANES = 32, MAX_D = 128, OWN = MAX_D / LANES };  // OWN: columns of a lane

struct attention {
    struct rows Q, K, V, O;
    float* LSE;
    int B, N_q, N_k, H_q, H_k, d, causal, window;
    float scale;
};

// A block is a warp, and its number a query of (B, H_q, N_q).
__global__ void naive_kernel(const struct attention p) {
    int64_t block = blockIdx.x;
    int lane = threadIdx.x, i = block % p.N_q, q = i + (p.N_k - p.N_q);
    int h = block / p.N_q % p.H_q, b = block / p.N_q / p.H_q, group = p.H_q / p.H_k;
    const bf16* Q = head_of(p.Q, b, h) + i * p.Q.stride.n;
    int first = p.window ? max(0, q - p.window + 1) : 0;
    int end = p.causal ? min(p.N_k, q + 1) : p.N_k;
    float m = -INFINITY, l = 0.0f, O[OWN] = {};
    for (int j = first; j < end; j++) {
        const bf16* K = head_of(p.K, b, h / group) + j * p.K.stride.n;
        const bf16* V = head_of(p.V, b, h / group) + j * p.V.stride.n;
        float S = 0.0f;
        for (int x = lane; x < p.d; x += LANES)
            S += __bfloat162float(Q[x]) * __bfloat162float(K[x]);
        for (int n = LANES / 2; n > 0; n /= 2) S += __shfl_xor_sync(0xffffffff, S, n);
        S *= p.scale;
        float larger = fmaxf(m, S), alpha = expf(m - larger), P = expf(S - larger);
        m = larger, l = alpha * l + P;
        for (int n = 0; n * LANES < p.d; n++)
            O[n] = alpha * O[n] + P * __bfloat162float(V[n * LANES + lane]);
    }
    bf16* out = (bf16*)head_of(p.O, b, h) + i * p.O.stride.n;
    for (int n = 0; n * LANES < p.d; n++)
        out[n * LANES + lane] = __float2bfloat16(l > 0 ? O[n] / l : 0.0f);
    if (lane == 0) p.LSE[block] = l > 0 ? m + logf(l) : -INFINITY;
}

extern "C" int hopper_flash(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                            const bf16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                            struct strides stride_o, struct strides stride_q,
                            struct strides stride_k, struct strides stride_v, float scale,
                            int causal, int window, int* tickets_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1 || window < 0)
        return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || CEIL_DIV(N_q, 64) * ((int64_t)B * H_q) > INT_MAX || !(scale > 0) ||
        (window && !causal) || (int64_t)B * H_q * N_q > INT_MAX)
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !tickets_gpu || (N_k > 0 && (!K_gpu || !V_gpu)))
        return COURSE_BAD_ARGUMENT;
    const struct rows array[4] = {
        {Q_gpu, stride_q}, {K_gpu, stride_k}, {V_gpu, stride_v}, {O_gpu, stride_o}};
    int multiprocessors, status = check_rows(array, 4, d);
    if (status == COURSE_OK) status = find_hopper(&multiprocessors);
    if (status != COURSE_OK) return status;
    const struct attention p = {array[0], array[1], array[2], array[3], LSE_gpu, B,      N_q,
                                N_k,      H_q,      H_k,      d,        causal,  window, scale};
    naive_kernel<<<B * H_q * N_q, LANES>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
