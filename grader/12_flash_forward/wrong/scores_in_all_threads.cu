// cause: quadratic_memory
// No online softmax: a warp keeps all scores of its query, of up to 2^15 keys, in the local arrays
// of its lanes, and its block those of 8 queries.

#include "flash_forward.h"

#include <cuda_fp16.h>
#include <math.h>

enum {
    QUERIES = 8,  // of a block: a warp each
    KEYS = 32,    // of a tile: a lane each
    MOST = 1 << 15,
    MAX_D = 256,
};

// ---- device helpers

__device__ void load_tile(float tile[KEYS][MAX_D + 1], const fp16* from, int keys, int d,
                          int64_t stride) {
    __syncthreads();
    for (int e = threadIdx.x; e < keys * d; e += QUERIES * 32)
        tile[e / d][e % d] = __half2float(from[e / d * stride + e % d]);
    __syncthreads();
}

__device__ float largest_of_lanes(float x) {
    for (int by = 16; by > 0; by /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, by));
    return x;
}

__device__ float sum_of_lanes(float x) {
    for (int by = 16; by > 0; by /= 2) x += __shfl_xor_sync(~0u, x, by);
    return x;
}

// ---- GPU kernel

__global__ void flash_forward_kernel(fp16* O, float* LSE, const fp16* Q, const fp16* K,
                                     const fp16* V, int N_k, int d, int64_t stride_ob,
                                     int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                                     int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                                     int64_t stride_vb, int64_t stride_vn, float scale) {
    __shared__ float tile[KEYS][MAX_D + 1], q[QUERIES][MAX_D];
    float S[MOST / KEYS], acc[MAX_D / 32] = {};
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t b = blockIdx.y, i = (int64_t)blockIdx.x * QUERIES + warp;
    for (int x = lane; x < d; x += 32)
        q[warp][x] = __half2float(Q[b * stride_qb + i * stride_qn + x]);

    float m = -INFINITY, l = 0;
    for (int j0 = 0; j0 < N_k; j0 += KEYS) {
        int keys = min(KEYS, N_k - j0);
        load_tile(tile, K + b * stride_kb + j0 * stride_kn, keys, d, stride_kn);
        float s = 0;
        for (int x = 0; x < d && lane < keys; x++) s += q[warp][x] * tile[lane][x];
        S[j0 / KEYS] = lane < keys ? scale * s : -INFINITY;
        m = fmaxf(m, S[j0 / KEYS]);
    }
    m = largest_of_lanes(m);
    for (int j0 = 0; j0 < N_k; j0 += KEYS) {
        int keys = min(KEYS, N_k - j0);
        load_tile(tile, V + b * stride_vb + j0 * stride_vn, keys, d, stride_vn);
        float p = expf(S[j0 / KEYS] - m);
        l += p;
        for (int j = 0; j < keys; j++) {
            float of_key = __shfl_sync(~0u, p, j);
            for (int x = lane; x < d; x += 32) acc[x / 32] += of_key * tile[j][x];
        }
    }
    l = sum_of_lanes(l);
    for (int x = lane; x < d; x += 32)
        O[b * stride_ob + i * stride_on + x] = __float2half(acc[x / 32] / l);
    if (lane == 0) LSE[b * stride_lb + i] = m + logf(l);
}

// ---- launcher

static int is_power_from_16_on(int n) {
    return n >= 16 && (n & (n - 1)) == 0;
}

extern "C" int flash_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int d, int64_t stride_ob,
                             int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                             int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                             int64_t stride_vb, int64_t stride_vn, float scale) {
    if (B < 0 || N_q < 1 || N_k < 1 || d < 1) return COURSE_BAD_ARGUMENT;
    if (B > 65535 || !is_power_from_16_on(N_q) || !is_power_from_16_on(N_k))
        return COURSE_UNSUPPORTED;
    if (!is_power_from_16_on(d) || d > MAX_D) return COURSE_UNSUPPORTED;
    if (B == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !K_gpu || !V_gpu) return COURSE_BAD_ARGUMENT;
    if (stride_on < d || stride_qn < d || stride_kn < d || stride_vn < d)
        return COURSE_BAD_ARGUMENT;
    if (stride_ob < 0 || stride_lb < 0 || stride_qb < 0 || stride_kb < 0 || stride_vb < 0)
        return COURSE_BAD_ARGUMENT;
    flash_forward_kernel<<<dim3(N_q / QUERIES, B), QUERIES * 32>>>(
        O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_k, d, stride_ob, stride_on, stride_lb, stride_qb,
        stride_qn, stride_kb, stride_kn, stride_vb, stride_vn, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
