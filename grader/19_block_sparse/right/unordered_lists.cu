// Lists in no order: blocks enter them by atomicAdd. The backward pass has lists of columns alone,
// and sums dQ by atomicAdd in fp32. One thread owns a query, or a key; tiles of 8.
#include "block_sparse.h"

#include <cuda_fp16.h>
#include <math.h>

#define OWNERS 32
#define TILE 8

// lists[n] for rows, or columns: length, then blocks. One thread a byte of the mask.
__global__ void enter(int* lists, const uint8_t* mask, int64_t T_q, int64_t T_k, bool by_column) {
    int64_t e = (int64_t)blockIdx.x * 128 + threadIdx.x;
    if (e >= T_q * T_k || !mask[blockIdx.y * T_q * T_k + e]) return;
    int64_t I = e / T_k, J = e % T_k;
    int64_t n = by_column ? J : I, count = by_column ? T_k : T_q,
            room = 1 + (by_column ? T_q : T_k);
    int* list = lists + (blockIdx.y * count + n) * room;
    list[1 + atomicAdd(list, 1)] = (int)(by_column ? I : J);
}

template <int width>
__global__ void forward(fp16* O, float* LSE, const fp16* Q, const fp16* K, const fp16* V,
                        const int* lists, int N_q, int N_k, int H, int d, struct strides so,
                        struct strides sq, struct strides sk, struct strides sv, float scale) {
    __shared__ float K_smem[TILE][width], V_smem[TILE][width];
    int64_t b = blockIdx.y / H, h = blockIdx.y % H, T_q = SPARSE_BLOCKS(N_q);
    int64_t i = (int64_t)blockIdx.x * OWNERS + threadIdx.x, T_k = SPARSE_BLOCKS(N_k);
    float q[width], o[width], m = -INFINITY, l = 0.0f;
    Q += b * sq.b + h * sq.h + i * sq.n;
    K += b * sk.b + h * sk.h;
    V += b * sv.b + h * sv.h;
    lists += (blockIdx.y * T_q + (int64_t)blockIdx.x * OWNERS / SPARSE_BLOCK) * (1 + T_k);
    for (int x = 0; x < width; x++) {
        q[x] = i < N_q && x < d ? scale * __half2float(Q[x]) : 0.0f;
        o[x] = 0.0f;
    }
    for (int n = lists[0]; n > 0; n--) {
        int64_t begin = (int64_t)lists[n] * SPARSE_BLOCK;
        int64_t end = begin + SPARSE_BLOCK < N_k ? begin + SPARSE_BLOCK : N_k;
        for (int64_t j = begin; j < end; j += TILE) {
            for (int e = threadIdx.x; e < TILE * width; e += OWNERS) {
                bool is = j + e / width < end && e % width < d;
                K_smem[e / width][e % width] =
                    is ? __half2float(K[(j + e / width) * sk.n + e % width]) : 0.0f;
                V_smem[e / width][e % width] =
                    is ? __half2float(V[(j + e / width) * sv.n + e % width]) : 0.0f;
            }
            __syncthreads();
            for (int k = 0; k < TILE && j + k < end; k++) {
                float s = 0.0f;
                for (int x = 0; x < width; x++) s += q[x] * K_smem[k][x];
                float m_new = fmaxf(m, s), alpha = expf(m - m_new), p = expf(s - m_new);
                m = m_new;
                l = l * alpha + p;
                for (int x = 0; x < width; x++) o[x] = o[x] * alpha + p * V_smem[k][x];
            }
            __syncthreads();
        }
    }
    if (i >= N_q) return;
    O += b * so.b + h * so.h + i * so.n;
    for (int x = 0; x < width; x++)
        if (x < d) O[x] = __float2half(l == 0.0f ? 0.0f : o[x] / l);
    LSE[(int64_t)blockIdx.y * N_q + i] = m + logf(l);
}

__global__ void prepare(float* delta, float* dQ_sum, const fp16* O, const fp16* dO, int N_q, int H,
                        int d, struct strides so, struct strides sdo) {
    int64_t i = (int64_t)blockIdx.x * 128 + threadIdx.x, row = (int64_t)blockIdx.y * N_q + i;
    if (i >= N_q) return;
    O += blockIdx.y / H * so.b + blockIdx.y % H * so.h + i * so.n;
    dO += blockIdx.y / H * sdo.b + blockIdx.y % H * sdo.h + i * sdo.n;
    float sum = 0.0f;
    for (int x = 0; x < d; x++) {
        sum += __half2float(O[x]) * __half2float(dO[x]);
        dQ_sum[row * d + x] = 0.0f;
    }
    delta[row] = sum;
}

template <int width>
__global__ void keys(float* dQ_sum, fp16* dK, fp16* dV, const fp16* Q, const fp16* K, const fp16* V,
                     const fp16* dO, const float* LSE, const float* delta, const int* lists,
                     int N_q, int N_k, int H, int d, struct strides sdk, struct strides sdv,
                     struct strides sq, struct strides sk, struct strides sv, struct strides sdo,
                     float scale) {
    __shared__ float Q_smem[TILE][width], dO_smem[TILE][width];
    int64_t b = blockIdx.y / H, h = blockIdx.y % H, T_q = SPARSE_BLOCKS(N_q);
    int64_t j = (int64_t)blockIdx.x * OWNERS + threadIdx.x, T_k = SPARSE_BLOCKS(N_k);
    float k[width], v[width], gk[width], gv[width];
    Q += b * sq.b + h * sq.h;
    dO += b * sdo.b + h * sdo.h;
    K += b * sk.b + h * sk.h + j * sk.n;
    V += b * sv.b + h * sv.h + j * sv.n;
    LSE += (int64_t)blockIdx.y * N_q;
    delta += (int64_t)blockIdx.y * N_q;
    dQ_sum += (int64_t)blockIdx.y * N_q * d;
    lists += (blockIdx.y * T_k + (int64_t)blockIdx.x * OWNERS / SPARSE_BLOCK) * (1 + T_q);
    for (int x = 0; x < width; x++) {
        bool is = j < N_k && x < d;
        k[x] = is ? __half2float(K[x]) : 0.0f;
        v[x] = is ? __half2float(V[x]) : 0.0f;
        gk[x] = gv[x] = 0.0f;
    }
    for (int n = 1; n <= lists[0]; n++) {
        int64_t begin = (int64_t)lists[n] * SPARSE_BLOCK;
        int64_t end = begin + SPARSE_BLOCK < N_q ? begin + SPARSE_BLOCK : N_q;
        for (int64_t i = begin; i < end; i += TILE) {
            for (int e = threadIdx.x; e < TILE * width; e += OWNERS) {
                bool is = i + e / width < end && e % width < d;
                Q_smem[e / width][e % width] =
                    is ? __half2float(Q[(i + e / width) * sq.n + e % width]) : 0.0f;
                dO_smem[e / width][e % width] =
                    is ? __half2float(dO[(i + e / width) * sdo.n + e % width]) : 0.0f;
            }
            __syncthreads();
            for (int r = 0; r < TILE && i + r < end && j < N_k; r++) {
                float s = 0.0f, dP = 0.0f;
                for (int x = 0; x < width; x++) {
                    s += Q_smem[r][x] * k[x];
                    dP += dO_smem[r][x] * v[x];
                }
                float p = expf(scale * s - LSE[i + r]), dS = scale * p * (dP - delta[i + r]);
                for (int x = 0; x < width; x++) {
                    gv[x] += p * dO_smem[r][x];
                    gk[x] += dS * Q_smem[r][x];
                }
                for (int x = 0; x < d; x++) atomicAdd(&dQ_sum[(i + r) * d + x], dS * k[x]);
            }
            __syncthreads();
        }
    }
    if (j >= N_k) return;
    dK += b * sdk.b + h * sdk.h + j * sdk.n;
    dV += b * sdv.b + h * sdv.h + j * sdv.n;
    for (int x = 0; x < width; x++) {
        if (x >= d) break;
        dK[x] = __float2half(gk[x]);
        dV[x] = __float2half(gv[x]);
    }
}

__global__ void finish(fp16* dQ, const float* dQ_sum, int N_q, int H, int d, struct strides sdq) {
    int64_t i = (int64_t)blockIdx.x * 128 + threadIdx.x;
    if (i >= N_q) return;
    dQ += blockIdx.y / H * sdq.b + blockIdx.y % H * sdq.h + i * sdq.n;
    for (int x = 0; x < d; x++)
        dQ[x] = __float2half(dQ_sum[((int64_t)blockIdx.y * N_q + i) * d + x]);
}

static int bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}

static cudaError_t make_lists(int* lists, const uint8_t* mask, int heads, int N_q, int N_k,
                              bool by_column) {
    int64_t T_q = SPARSE_BLOCKS(N_q), T_k = SPARSE_BLOCKS(N_k);
    int64_t ints = by_column ? T_k * (1 + T_q) : T_q * (1 + T_k);
    if (ints) {
        cudaError_t error = cudaMemsetAsync(lists, 0, (size_t)(heads * ints) * sizeof(int), 0);
        if (error != cudaSuccess) return error;
    }
    if (T_q && T_k)
        enter<<<dim3(CEIL_DIV(T_q * T_k, 128), heads), 128>>>(lists, mask, T_q, T_k, by_column);
    return cudaGetLastError();
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
    int* lists = (int*)workspace;
    COURSE_TRY(make_lists(lists, mask, B * H, N_q, N_k, false));
    dim3 grid(CEIL_DIV(N_q, OWNERS), B * H);
    if (d <= 64)
        forward<64>
            <<<grid, OWNERS>>>(O, LSE, Q, K, V, lists, N_q, N_k, H, d, so, sq, sk, sv, scale);
    else
        forward<256>
            <<<grid, OWNERS>>>(O, LSE, Q, K, V, lists, N_q, N_k, H, d, so, sq, sk, sv, scale);
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
    int64_t queries = (int64_t)B * H * N_q;
    float *dQ_sum = (float*)workspace, *delta = dQ_sum + queries * d;
    int* lists = (int*)(delta + queries);
    COURSE_TRY(make_lists(lists, mask, B * H, N_q, N_k, true));
    if (N_q)
        prepare<<<dim3(CEIL_DIV(N_q, 128), B * H), 128>>>(delta, dQ_sum, O, dO, N_q, H, d, so, sdo);
    dim3 grid(CEIL_DIV(N_k, OWNERS), B * H);
    if (N_k && d <= 64)
        keys<64><<<grid, OWNERS>>>(dQ_sum, dK, dV, Q, K, V, dO, LSE, delta, lists, N_q, N_k, H, d,
                                   sdk, sdv, sq, sk, sv, sdo, scale);
    if (N_k && d > 64)
        keys<256><<<grid, OWNERS>>>(dQ_sum, dK, dV, Q, K, V, dO, LSE, delta, lists, N_q, N_k, H, d,
                                    sdk, sdv, sq, sk, sv, sdo, scale);
    if (N_q) finish<<<dim3(CEIL_DIV(N_q, 128), B * H), 128>>>(dQ, dQ_sum, N_q, H, d, sdq);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}
