// A right kernel of another design: a thread for each query, with its row of O and its scores of a
// tile; a block has 16 or 32 of them, which share tiles of keys. Each thread loads Q again for each
// key. l and the dot products are summed in double.
#include "flash_forward.h"

#include <cuda_fp16.h>
#include <math.h>

#define MIN_LENGTH 16
#define MAX_BATCH 65535

// A thread for each query, ROWS of them in a block, which share tiles of 16 keys. Sums in double.
template <int d, int ROWS>
__global__ void __launch_bounds__(ROWS)
    thread_per_row(fp16* O, float* LSE, const fp16* Q, const fp16* K, const fp16* V, int N_k,
                   int64_t stride_ob, int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                   int64_t stride_qn, int64_t stride_kb, int64_t stride_kn, int64_t stride_vb,
                   int64_t stride_vn, float scale) {
    __shared__ fp16 K_tile[16][d], V_tile[16][d];
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x, batch = blockIdx.y;
    const fp16* q = Q + batch * stride_qb + row * stride_qn;
    float O_row[d], scores[16], m = -INFINITY;
    double l = 0.0;
    for (int x = 0; x < d; x++) O_row[x] = 0.0f;

    for (int64_t first = 0; first < N_k; first += 16) {
        for (int n = 0; n < 16; n++)
            for (int x = threadIdx.x; x < d; x += ROWS) {
                K_tile[n][x] = K[batch * stride_kb + (first + n) * stride_kn + x];
                V_tile[n][x] = V[batch * stride_vb + (first + n) * stride_vn + x];
            }
        __syncthreads();
        float m_new = m;
        for (int n = 0; n < 16; n++) {
            double sum = 0.0;
            for (int x = 0; x < d; x++)
                sum += (double)(__half2float(q[x]) * __half2float(K_tile[n][x]));
            scores[n] = (float)(sum * (double)scale);
            m_new = fmaxf(m_new, scores[n]);
        }
        if (m_new > m) {
            float alpha = expf(m - m_new);
            l *= alpha;
            for (int x = 0; x < d; x++) O_row[x] *= alpha;
            m = m_new;
        }
        for (int n = 0; n < 16; n++) {
            float p = expf(scores[n] - m);
            l += p;
            for (int x = 0; x < d; x++) O_row[x] += p * __half2float(V_tile[n][x]);
        }
        __syncthreads();
    }
    for (int x = 0; x < d; x++)
        O[batch * stride_ob + row * stride_on + x] = __float2half((float)(O_row[x] / l));
    LSE[batch * stride_lb + row] = m + (float)log(l);
}

// ---- launcher ------------------------------------------------------------------------------

// n is 16, 32, 64, ...
static int is_supported_length(int n) {
    return n >= MIN_LENGTH && (n & (n - 1)) == 0;
}

extern "C" int flash_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int d, int64_t stride_ob,
                             int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                             int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                             int64_t stride_vb, int64_t stride_vn, float scale) {
    if (B < 0 || N_q < 1 || N_k < 1 || d < 1) return COURSE_BAD_ARGUMENT;
    if (B > MAX_BATCH || !is_supported_length(N_q) || !is_supported_length(N_k))
        return COURSE_UNSUPPORTED;

    bool wide = N_q >= 32;
    decltype(&thread_per_row<16, 16>) kernel;
    switch (d) {
    case 16:
        kernel = wide ? thread_per_row<16, 32> : thread_per_row<16, 16>;
        break;
    case 32:
        kernel = wide ? thread_per_row<32, 32> : thread_per_row<32, 16>;
        break;
    case 64:
        kernel = wide ? thread_per_row<64, 32> : thread_per_row<64, 16>;
        break;
    case 128:
        kernel = wide ? thread_per_row<128, 32> : thread_per_row<128, 16>;
        break;
    case 256:
        kernel = wide ? thread_per_row<256, 32> : thread_per_row<256, 16>;
        break;
    default:
        return COURSE_UNSUPPORTED;
    }
    if (B == 0) return COURSE_OK;

    if (!O_gpu || !LSE_gpu || !Q_gpu || !K_gpu || !V_gpu) return COURSE_BAD_ARGUMENT;
    if (stride_on < d || stride_qn < d || stride_kn < d || stride_vn < d)
        return COURSE_BAD_ARGUMENT;
    if (stride_ob < 0 || stride_lb < 0 || stride_qb < 0 || stride_kb < 0 || stride_vb < 0)
        return COURSE_BAD_ARGUMENT;

    dim3 grid(N_q / (wide ? 32 : 16), B);
    dim3 block(wide ? 32 : 16);
    kernel<<<grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_k, stride_ob, stride_on,
                            stride_lb, stride_qb, stride_qn, stride_kb, stride_kn, stride_vb,
                            stride_vn, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
