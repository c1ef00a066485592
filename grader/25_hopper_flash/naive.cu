// naive.cu: a right answer without the idea of the lesson: a thread for each query, on the ordinary
// cores, from global memory.
//
//     S = scale Q K^T,  P = softmax(S),  O = P V                                (README eq. 1)
#include "hopper_flash.h"

#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "hopper.h"

enum { THREADS = 32, MAX_D = 128 };

struct attention {
    struct rows Q, K, V, O;
    float* LSE;
    int B, N_q, N_k, H_q, H_k, d, causal, window;
    float scale;
};

// A block is 32 queries of a head.
__global__ void naive_kernel(const struct attention p) {
    int blocks = CEIL_DIV(p.N_q, THREADS), head = blockIdx.x / blocks, h = head % p.H_q;
    int i = blockIdx.x % blocks * THREADS + threadIdx.x, q = i + (p.N_k - p.N_q);
    int b = head / p.H_q, group = p.H_q / p.H_k;
    if (i >= p.N_q) return;
    const bf16* Q = head_of(p.Q, b, h) + i * p.Q.stride.n;
    int first = p.window ? max(0, q - p.window + 1) : 0;
    int end = p.causal ? min(p.N_k, q + 1) : p.N_k;
    float m = -INFINITY, l = 0.0f, O[MAX_D];
    for (int x = 0; x < p.d; x++) O[x] = 0.0f;
    for (int j = first; j < end; j++) {
        const bf16* K = head_of(p.K, b, h / group) + j * p.K.stride.n;
        const bf16* V = head_of(p.V, b, h / group) + j * p.V.stride.n;
        float S = 0.0f;
        for (int x = 0; x < p.d; x++) S += __bfloat162float(Q[x]) * __bfloat162float(K[x]);
        S *= p.scale;
        float larger = fmaxf(m, S), alpha = expf(m - larger), P = expf(S - larger);
        m = larger, l = alpha * l + P;
        for (int x = 0; x < p.d; x++) O[x] = alpha * O[x] + P * __bfloat162float(V[x]);
    }
    bf16* out = (bf16*)head_of(p.O, b, h) + i * p.O.stride.n;
    for (int x = 0; x < p.d; x++) out[x] = __float2bfloat16(l > 0 ? O[x] / l : 0.0f);
    p.LSE[(int64_t)head * p.N_q + i] = l > 0 ? m + logf(l) : -INFINITY;
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
        (window && !causal) || CEIL_DIV(N_q, THREADS) * ((int64_t)B * H_q) > INT_MAX)
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
    naive_kernel<<<CEIL_DIV(N_q, THREADS) * B * H_q, THREADS>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
