// naive.cu: a right answer without the idea of the lesson: a thread for each query, on the ordinary
// cores, from global memory.
//
//     S = scale Q K^T,  P = softmax(S),  O = P V                                (README eq. 1)
#include "hopper_flash.h"

#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "flash.h"

enum { THREADS = 32, MAX_D = 128 };

// A block is 32 queries of a head.
__global__ void naive_kernel(const struct flash p, int d, float scale) {
    int blocks = CEIL_DIV(p.N_q, THREADS), head = blockIdx.x / blocks, h = head % p.H_q;
    int i = blockIdx.x % blocks * THREADS + threadIdx.x;
    int b = head / p.H_q, group = p.H_q / p.H_k;
    if (i >= p.N_q) return;
    const struct place place = {i, h, b, 1, 0, 0, {0, p.documents}};
    const int* list = p.lists ? list_of(p, place) : NULL;
    const bf16* Q = head_of(p.Q, b, h) + i * p.Q.stride.n;
    struct range keys = visible<true>(p, place, i);
    float m = -INFINITY, l = 0.0f, O[MAX_D];
    for (int x = 0; x < d; x++) O[x] = 0.0f;
    for (int n = 1, j = keys.from; j < keys.to; j++) {
        if (list && j % LIST_BLOCK == 0) {  // to the next block that the list names
            if (n > list[0]) break;
            j = max(j, list[n++] * LIST_BLOCK);
        }
        const bf16* K = head_of(p.K, b, h / group) + j * p.K.stride.n;
        const bf16* V = head_of(p.V, b, h / group) + j * p.V.stride.n;
        float S = 0.0f;
        for (int x = 0; x < d; x++) S += __bfloat162float(Q[x]) * __bfloat162float(K[x]);
        S *= scale;
        float larger = fmaxf(m, S), alpha = expf(m - larger), P = expf(S - larger);
        m = larger, l = alpha * l + P;
        for (int x = 0; x < d; x++) O[x] = alpha * O[x] + P * __bfloat162float(V[x]);
    }
    bf16* out = (bf16*)head_of(p.O, b, h) + i * p.O.stride.n;
    for (int x = 0; x < d; x++) out[x] = __float2bfloat16(l > 0 ? O[x] / l : 0.0f);
    p.LSE[(int64_t)head * p.N_q + i] = l > 0 ? m + logf(l) : -INFINITY;
}

extern "C" int hopper_flash(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                            const bf16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                            struct strides stride_o, struct strides stride_q,
                            struct strides stride_k, struct strides stride_v, float scale,
                            int causal, int window, int documents, const int* cu_seqlens_gpu,
                            const int* lists_gpu, int* tickets_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1 || window < 0 || documents < 0)
        return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || CEIL_DIV(N_q, 64) * ((int64_t)B * H_q) > INT_MAX || !(scale > 0) ||
        (window && !causal) || CEIL_DIV(N_q, THREADS) * ((int64_t)B * H_q) > INT_MAX)
        return COURSE_UNSUPPORTED;
    if (lists_gpu && (causal || documents)) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !tickets_gpu || (N_k > 0 && (!K_gpu || !V_gpu)))
        return COURSE_BAD_ARGUMENT;
    if (documents > 0 && !cu_seqlens_gpu) return COURSE_BAD_ARGUMENT;
    const struct rows array[4] = {
        {Q_gpu, stride_q}, {K_gpu, stride_k}, {V_gpu, stride_v}, {O_gpu, stride_o}};
    int multiprocessors, status = check_rows(array, 4, d);
    if (status == COURSE_OK) status = find_hopper(&multiprocessors);
    if (status != COURSE_OK) return status;
    struct flash p = {};
    p.Q = array[0], p.K = array[1], p.V = array[2], p.O = array[3], p.LSE = LSE_gpu;
    p.B = B, p.N_q = N_q, p.N_k = N_k, p.H_q = H_q, p.H_k = H_k;
    p.causal = causal != 0, p.window = window;
    p.documents = documents, p.cu_seqlens = cu_seqlens_gpu, p.lists = lists_gpu;
    naive_kernel<<<CEIL_DIV(N_q, THREADS) * B * H_q, THREADS>>>(p, d, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
