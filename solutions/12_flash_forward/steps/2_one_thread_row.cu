// 2_one_thread_row.cu: one thread per query row, with the online softmax.
//
// What was wrong with 1_naive.cu: S and P travel through global memory four times, 16 N_q N_k
// bytes, and have to fit there. Here a score lives from its dot product to its use, in one
// register.
//
// What is still wrong: every thread reads all of K and V for itself, key by key, and the
// accumulator of a whole row of O (up to 256 floats) is too large for one thread's registers. It
// also rescales O at every key, where a tile of 16 keys needs it once.
#include "flash_forward.h"

#include <cuda_fp16.h>
#include <math.h>

#define ROWS 32          // threads, and query rows, per block
#define MIN_LENGTH 16    // N_q, N_k and d are powers of two from here on
#define MAX_HEAD 256     // the largest d
#define MAX_BATCH 65535  // the limit of gridDim.y

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (ceil(N_q / ROWS), B), ROWS threads.
__global__ void flash_forward_kernel(fp16* O,                     // (B, N_q, d)
                                     float* LSE,                  // (B, N_q)
                                     const fp16* __restrict__ Q,  // (B, N_q, d)
                                     const fp16* __restrict__ K,  // (B, N_k, d)
                                     const fp16* __restrict__ V,  // (B, N_k, d)
                                     int N_q, int N_k, int d, int64_t stride_ob, int64_t stride_on,
                                     int64_t stride_lb, int64_t stride_qb, int64_t stride_qn,
                                     int64_t stride_kb, int64_t stride_kn, int64_t stride_vb,
                                     int64_t stride_vn, float scale) {
    int64_t batch = blockIdx.y;
    int64_t i = (int64_t)blockIdx.x * ROWS + threadIdx.x;  // [0, N_q)
    if (i >= N_q) return;                                  // no barrier below
    const fp16* q = Q + batch * stride_qb + i * stride_qn;
    const fp16* k = K + batch * stride_kb;
    const fp16* v = V + batch * stride_vb;

    float m = -INFINITY;
    float l = 0.0f;
    float O_row[MAX_HEAD] = {0.0f};  // too many for registers: local memory

    for (int j = 0; j < N_k; j++) {
        // s = scale * sum_x Q[i][x] K[j][x]                                        (README eq. 1)
        float sum = 0.0f;
        for (int x = 0; x < d; x++) sum += __half2float(q[x]) * __half2float(k[x]);
        float s = scale * sum;

        // A tile of one key                                                  (README eq. 5 to 9)
        float m_new = fmaxf(m, s);
        float alpha = expf(m - m_new);
        float p = expf(s - m_new);
        l = alpha * l + p;
        for (int x = 0; x < d; x++) O_row[x] = alpha * O_row[x] + p * __half2float(v[x]);
        m = m_new;

        k += stride_kn;
        v += stride_vn;
    }

    // O = O / l,  LSE = m + ln l                                              (README eq. 10, 11)
    fp16* o = O + batch * stride_ob + i * stride_on;
    for (int x = 0; x < d; x++) o[x] = __float2half(O_row[x] / l);
    LSE[batch * stride_lb + i] = m + logf(l);
}

// ---- launcher ------------------------------------------------------------------------------

// n is 16, 32, 64, ...
static int is_supported_length(int n) {
    return n >= MIN_LENGTH && (n & (n - 1)) == 0;
}

// d is 16, 32, 64, 128 or 256.
static int is_supported_head(int d) {
    return is_supported_length(d) && d <= MAX_HEAD;
}

extern "C" int flash_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int d, int64_t stride_ob,
                             int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                             int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                             int64_t stride_vb, int64_t stride_vn, float scale) {
    if (B < 0 || N_q < 1 || N_k < 1 || d < 1) return COURSE_BAD_ARGUMENT;
    if (B > MAX_BATCH || !is_supported_length(N_q) || !is_supported_length(N_k))
        return COURSE_UNSUPPORTED;
    if (!is_supported_head(d)) return COURSE_UNSUPPORTED;
    if (B == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !K_gpu || !V_gpu) return COURSE_BAD_ARGUMENT;
    if (stride_on < d || stride_qn < d || stride_kn < d || stride_vn < d)
        return COURSE_BAD_ARGUMENT;
    if (stride_ob < 0 || stride_lb < 0 || stride_qb < 0 || stride_kb < 0 || stride_vb < 0)
        return COURSE_BAD_ARGUMENT;

    dim3 grid(CEIL_DIV(N_q, ROWS), B);
    flash_forward_kernel<<<grid, ROWS>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, d,
                                         stride_ob, stride_on, stride_lb, stride_qb, stride_qn,
                                         stride_kb, stride_kn, stride_vb, stride_vn, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
