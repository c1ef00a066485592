// cause: too_much_read
// One warp per query row: right, but every row reads all of K and V for itself.
#include "flash_forward.h"

#include <cuda_fp16.h>
#include <math.h>

#define WARP_SIZE 32
#define WARPS 4  // query rows per block
#define FULL_MASK 0xffffffffu
#define MIN_LENGTH 16                   // N_q, N_k and d are powers of two from here on
#define MAX_HEAD 256                    // the largest d
#define MAX_BATCH 65535                 // the limit of gridDim.y
#define COLUMNS (MAX_HEAD / WARP_SIZE)  // of O per lane, at most

__device__ float warp_max(float x) {
    for (int step = WARP_SIZE / 2; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(FULL_MASK, x, step));
    return x;
}

__device__ float warp_sum(float x) {
    for (int step = WARP_SIZE / 2; step > 0; step /= 2) x += __shfl_xor_sync(FULL_MASK, x, step);
    return x;
}

__global__ void flash_forward_kernel(fp16* O, float* LSE, const fp16* __restrict__ Q,
                                     const fp16* __restrict__ K, const fp16* __restrict__ V,
                                     int N_k, int d, int64_t stride_ob, int64_t stride_on,
                                     int64_t stride_lb, int64_t stride_qb, int64_t stride_qn,
                                     int64_t stride_kb, int64_t stride_kn, int64_t stride_vb,
                                     int64_t stride_vn, float scale) {
    int lane = threadIdx.x;
    int64_t batch = blockIdx.y, i = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    const fp16* q = Q + batch * stride_qb + i * stride_qn;
    const fp16* k = K + batch * stride_kb;
    const fp16* v = V + batch * stride_vb;
    fp16* o = O + batch * stride_ob + i * stride_on;

    float m = -INFINITY, l = 0.0f, O_reg[COLUMNS] = {0.0f};
    for (int first_key = 0; first_key < N_k; first_key += WARP_SIZE) {
        int keys = N_k - first_key < WARP_SIZE ? N_k - first_key : WARP_SIZE;
        float s = -INFINITY;  // a lane without a key has no score
        if (lane < keys) {
            float sum = 0.0f;
            for (int x = 0; x < d; x++)
                sum += __half2float(q[x]) * __half2float(k[(first_key + lane) * stride_kn + x]);
            s = scale * sum;
        }
        float m_new = fmaxf(m, warp_max(s));
        float alpha = expf(m - m_new);
        float p = expf(s - m_new);
        l = alpha * l + warp_sum(p);
        for (int c = 0; c < COLUMNS; c++) O_reg[c] *= alpha;
        for (int t = 0; t < keys; t++) {
            float p_t = __shfl_sync(FULL_MASK, p, t);
            for (int c = 0; c < COLUMNS && lane + c * WARP_SIZE < d; c++)
                O_reg[c] +=
                    p_t * __half2float(v[(first_key + t) * stride_vn + lane + c * WARP_SIZE]);
        }
        m = m_new;
    }
    for (int c = 0; c < COLUMNS && lane + c * WARP_SIZE < d; c++)
        o[lane + c * WARP_SIZE] = __float2half(O_reg[c] / l);
    if (lane == 0) LSE[batch * stride_lb + i] = m + logf(l);
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

    dim3 grid(N_q / WARPS, B), block(WARP_SIZE, WARPS);
    flash_forward_kernel<<<grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_k, d, stride_ob,
                                          stride_on, stride_lb, stride_qb, stride_qn, stride_kb,
                                          stride_kn, stride_vb, stride_vn, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
