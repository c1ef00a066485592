// No lists: a block of threads looks at each byte of its row, or its column, of the mask before it
// loads anything. One thread owns a query, or a key; keys come in tiles of 16, the last block
// first; base 2 inside.
#include "block_sparse.h"

#include <cuda_fp16.h>
#include <math.h>

#define OWNERS 64
#define TILE 16
#define LN2 0.69314718055994530942f

__constant__ float LOG2E = 1.44269504088896340736f;

struct rows {
    const fp16* first;  // of this head
    int64_t step;
    int n;
};

__device__ struct rows rows_of(const fp16* array, struct strides s, int H, int n) {
    struct rows r = {array + blockIdx.y / H * s.b + blockIdx.y % H * s.h, s.n, n};
    return r;
}

// A row into registers; zeros where it is not there.
template <int width> __device__ void take(float* to, struct rows from, int64_t row, int d) {
    for (int x = 0; x < width; x++)
        to[x] = row < from.n && x < d ? __half2float(from.first[row * from.step + x]) : 0.0f;
}

template <int width>
__device__ void stage(float tile[TILE][width], struct rows from, int64_t row, int n, int d) {
    for (int e = threadIdx.x; e < n * width; e += OWNERS) {
        int x = e % width;
        tile[e / width][x] =
            x < d ? __half2float(from.first[(row + e / width) * from.step + x]) : 0.0f;
    }
}

__device__ const uint8_t* mask_of_head(const uint8_t* mask, int N_q, int N_k) {
    return mask + blockIdx.y * SPARSE_BLOCKS(N_q) * SPARSE_BLOCKS(N_k);
}

template <int width>
__global__ void forward(fp16* O, float* LSE, const fp16* Q, const fp16* K, const fp16* V,
                        const uint8_t* mask, int N_q, int N_k, int H, int d, struct strides so,
                        struct strides sq, struct strides sk, struct strides sv, float scale) {
    __shared__ float K_smem[TILE][width], V_smem[TILE][width];
    float q[width], o[width] = {0.0f}, m = -INFINITY, l = 0.0f;
    struct rows k_rows = rows_of(K, sk, H, N_k), v_rows = rows_of(V, sv, H, N_k);
    int64_t i = (int64_t)blockIdx.x * OWNERS + threadIdx.x, T_k = SPARSE_BLOCKS(N_k);
    mask = mask_of_head(mask, N_q, N_k) + (int64_t)blockIdx.x * OWNERS / SPARSE_BLOCK * T_k;
    take<width>(q, rows_of(Q, sq, H, N_q), i, d);
    for (int64_t J = T_k - 1; J >= 0; J--) {
        if (!mask[J]) continue;
        int64_t end = (J + 1) * SPARSE_BLOCK < N_k ? (J + 1) * SPARSE_BLOCK : N_k;
        for (int64_t j = J * SPARSE_BLOCK; j < end; j += TILE) {
            int n = end - j < TILE ? (int)(end - j) : TILE;
            stage<width>(K_smem, k_rows, j, n, d);
            stage<width>(V_smem, v_rows, j, n, d);
            __syncthreads();
            for (int k = 0; k < n; k++) {
                float s = 0.0f;
                for (int x = 0; x < width; x++) s = fmaf(q[x], K_smem[k][x], s);
                s *= scale * LOG2E;
                if (s > m) {
                    float alpha = exp2f(m - s);
                    l *= alpha;
                    for (int x = 0; x < width; x++) o[x] *= alpha;
                    m = s;
                }
                float p = exp2f(s - m);
                l += p;
                for (int x = 0; x < width; x++) o[x] = fmaf(p, V_smem[k][x], o[x]);
            }
            __syncthreads();
        }
    }
    if (i >= N_q) return;
    O += blockIdx.y / H * so.b + blockIdx.y % H * so.h + i * so.n;
    for (int x = 0; x < width; x++)
        if (x < d) O[x] = __float2half(l > 0.0f ? o[x] / l : 0.0f);
    LSE[(int64_t)blockIdx.y * N_q + i] = l > 0.0f ? (m + log2f(l)) * LN2 : -INFINITY;
}

// Owners are the keys: dK in `first`, dV in `second`; or the queries: dQ in `first`. Of the others,
// rows come in tiles: Q and dO for the keys, K and V for the queries.
template <int width, bool of_keys>
__global__ void backward(fp16* first, fp16* second, const fp16* Q, const fp16* K, const fp16* V,
                         const fp16* O, const float* LSE, const fp16* dO, const uint8_t* mask,
                         int N_q, int N_k, int H, int d, struct strides s_first,
                         struct strides s_second, struct strides sq, struct strides sk,
                         struct strides sv, struct strides so, struct strides sdo, float scale) {
    __shared__ float a_smem[TILE][width], b_smem[TILE][width], LSE_smem[TILE], delta_smem[TILE];
    float a[width], b[width], one[width] = {0.0f}, two[width] = {0.0f}, mine_LSE = 0,
                              mine_delta = 0;
    struct rows q = rows_of(Q, sq, H, N_q), g = rows_of(dO, sdo, H, N_q);
    struct rows k = rows_of(K, sk, H, N_k), v = rows_of(V, sv, H, N_k), o = rows_of(O, so, H, N_q);
    int64_t T_q = SPARSE_BLOCKS(N_q), T_k = SPARSE_BLOCKS(N_k);
    int64_t own = (int64_t)blockIdx.x * OWNERS + threadIdx.x;
    int64_t block = (int64_t)blockIdx.x * OWNERS / SPARSE_BLOCK;
    int N = of_keys ? N_q : N_k, N_own = of_keys ? N_k : N_q;
    mask = mask_of_head(mask, N_q, N_k) + block * (of_keys ? 1 : T_k);
    LSE += (int64_t)blockIdx.y * N_q;
    take<width>(a, of_keys ? k : q, own, d);
    take<width>(b, of_keys ? v : g, own, d);
    if (!of_keys && own < N_q) {
        mine_LSE = LSE[own] * LOG2E;
        for (int x = 0; x < d; x++)
            mine_delta = fmaf(b[x], __half2float(o.first[own * o.step + x]), mine_delta);
    }
    for (int64_t T = (of_keys ? T_q : T_k) - 1; T >= 0; T--) {
        if (!mask[T * (of_keys ? T_k : 1)]) continue;
        int64_t end = (T + 1) * SPARSE_BLOCK < N ? (T + 1) * SPARSE_BLOCK : N;
        for (int64_t row = T * SPARSE_BLOCK; row < end; row += TILE) {
            int n = end - row < TILE ? (int)(end - row) : TILE;
            stage<width>(a_smem, of_keys ? q : k, row, n, d);
            stage<width>(b_smem, of_keys ? g : v, row, n, d);
            __syncthreads();
            if (of_keys && threadIdx.x < n) {
                float delta = 0.0f;
                for (int x = 0; x < d; x++)
                    delta = fmaf(b_smem[threadIdx.x][x],
                                 __half2float(o.first[(row + threadIdx.x) * o.step + x]), delta);
                delta_smem[threadIdx.x] = delta;
                LSE_smem[threadIdx.x] = LSE[row + threadIdx.x] * LOG2E;
            }
            __syncthreads();
            for (int r = 0; r < n && own < N_own; r++) {
                float s = 0.0f, dP = 0.0f;
                for (int x = 0; x < width; x++) {
                    s = fmaf(a[x], a_smem[r][x], s);
                    dP = fmaf(b[x], b_smem[r][x], dP);
                }
                float p = exp2f(s * (scale * LOG2E) - (of_keys ? LSE_smem[r] : mine_LSE));
                float dS = p * (dP - (of_keys ? delta_smem[r] : mine_delta));
                for (int x = 0; x < width; x++) {
                    one[x] = fmaf(dS, a_smem[r][x], one[x]);
                    if (of_keys) two[x] = fmaf(p, b_smem[r][x], two[x]);
                }
            }
            __syncthreads();
        }
    }
    if (own >= N_own) return;
    first += blockIdx.y / H * s_first.b + blockIdx.y % H * s_first.h + own * s_first.n;
    second += blockIdx.y / H * s_second.b + blockIdx.y % H * s_second.h + own * s_second.n;
    for (int x = 0; x < width; x++) {
        if (x >= d) break;
        first[x] = __float2half(scale * one[x]);
        if (of_keys) second[x] = __float2half(two[x]);
    }
}

static int bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}

extern "C" int block_sparse_forward(fp16* O, float* LSE, const fp16* Q, const fp16* K,
                                    const fp16* V, const uint8_t* mask, int B, int N_q, int N_k,
                                    int H, int d, struct strides so, struct strides sq,
                                    struct strides sk, struct strides sv, float scale,
                                    void* workspace) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > 256 || (int64_t)B * H > 65535) return COURSE_UNSUPPORTED;
    if (!B || !H || !N_q) return COURSE_OK;
    if (!O || !LSE || !Q || !workspace) return COURSE_BAD_ARGUMENT;
    if (N_k && (!K || !V || !mask)) return COURSE_BAD_ARGUMENT;
    if (bad(so, d) || bad(sq, d) || bad(sk, d) || bad(sv, d)) return COURSE_BAD_ARGUMENT;
    dim3 grid(CEIL_DIV(N_q, OWNERS), B * H);
    if (d <= 32)
        forward<32><<<grid, OWNERS>>>(O, LSE, Q, K, V, mask, N_q, N_k, H, d, so, sq, sk, sv, scale);
    else
        forward<256>
            <<<grid, OWNERS>>>(O, LSE, Q, K, V, mask, N_q, N_k, H, d, so, sq, sk, sv, scale);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}

extern "C" int block_sparse_backward(fp16* dQ, fp16* dK, fp16* dV, const fp16* Q, const fp16* K,
                                     const fp16* V, const fp16* O, const float* LSE, const fp16* dO,
                                     const uint8_t* mask, int B, int N_q, int N_k, int H, int d,
                                     struct strides sdq, struct strides sdk, struct strides sdv,
                                     struct strides sq, struct strides sk, struct strides sv,
                                     struct strides so, struct strides sdo, float scale,
                                     void* workspace) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > 256 || (int64_t)B * H > 65535) return COURSE_UNSUPPORTED;
    if (!B || !H || (!N_q && !N_k)) return COURSE_OK;
    if (!workspace || (N_q && N_k && !mask)) return COURSE_BAD_ARGUMENT;
    if (N_q && (!dQ || !Q || !O || !LSE || !dO)) return COURSE_BAD_ARGUMENT;
    if (N_k && (!dK || !dV || !K || !V)) return COURSE_BAD_ARGUMENT;
    if (bad(sdq, d) || bad(sdk, d) || bad(sdv, d) || bad(sq, d) || bad(sk, d) || bad(sv, d) ||
        bad(so, d) || bad(sdo, d))
        return COURSE_BAD_ARGUMENT;
    dim3 grid_k(CEIL_DIV(N_k, OWNERS), B * H), grid_q(CEIL_DIV(N_q, OWNERS), B * H);
    if (N_k && d <= 32)
        backward<32, true><<<grid_k, OWNERS>>>(dK, dV, Q, K, V, O, LSE, dO, mask, N_q, N_k, H, d,
                                               sdk, sdv, sq, sk, sv, so, sdo, scale);
    if (N_k && d > 32)
        backward<256, true><<<grid_k, OWNERS>>>(dK, dV, Q, K, V, O, LSE, dO, mask, N_q, N_k, H, d,
                                                sdk, sdv, sq, sk, sv, so, sdo, scale);
    if (N_q && d <= 32)
        backward<32, false><<<grid_q, OWNERS>>>(dQ, dQ, Q, K, V, O, LSE, dO, mask, N_q, N_k, H, d,
                                                sdq, sdq, sq, sk, sv, so, sdo, scale);
    if (N_q && d > 32)
        backward<256, false><<<grid_q, OWNERS>>>(dQ, dQ, Q, K, V, O, LSE, dO, mask, N_q, N_k, H, d,
                                                 sdq, sdq, sq, sk, sv, so, sdo, scale);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}
