// finds: nothing
// Attention with matrix instructions, as on a GPU: tiles of 64 keys sent for ahead, swizzled, the weights
// kept in registers. One head of 256 x 64.
#include <stdio.h>
#include "ptx.h"
#include "small.h"

enum { N = 256, D = 64, BLOCK = 64, WARPS = 4, PIECES = D / 8 };
typedef unsigned short tile_t[BLOCK][D];  // bf16; piece p of row r lies at place p ^ r % 8

__device__ __forceinline__ unsigned short* piece_of(tile_t tile, int row, int piece) {
    return &tile[row][(piece ^ row % 8) * 8];
}

__device__ __forceinline__ void send(tile_t tile, const unsigned short* from) {
    for (int i = threadIdx.x; i < BLOCK * PIECES; i += 32 * WARPS)
        cp_async16(piece_of(tile, i / PIECES, i % PIECES), from + 8 * i);
}

__global__ void attention(float* O, const unsigned short* Q, const unsigned short* K,
                          const unsigned short* V, float scale_log2) {
    __shared__ __align__(128) tile_t Q_smem, K_smem[2], V_smem[2];
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
    float o[D / 8][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {0.0f, 0.0f};
    unsigned q[D / 16][4], p[4], b[4];
    send(Q_smem, Q + blockIdx.x * BLOCK * D);
    send(K_smem[0], K);
    send(V_smem[0], V);
    cp_async_commit();
    for (int j = 0; j < N / BLOCK; j++) {
        if (j + 1 < N / BLOCK) {
            send(K_smem[(j + 1) % 2], K + (j + 1) * BLOCK * D);
            send(V_smem[(j + 1) % 2], V + (j + 1) * BLOCK * D);
        }
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        for (int k = 0; j == 0 && k < D / 16; k++)
            ldmatrix_x4(q[k], piece_of(Q_smem, row + lane % 16, 2 * k + lane / 16));

        float s[BLOCK / 8][4] = {};
        for (int k = 0; k < D / 16; k++)
            for (int n = 0; n < BLOCK / 16; n++) {
                ldmatrix_x4(b, piece_of(K_smem[j % 2], 16 * n + lane % 8 + lane / 16 * 8,
                                        2 * k + lane / 8 % 2));
                mma_m16n8k16_bf16(s[2 * n], q[k], b);
                mma_m16n8k16_bf16(s[2 * n + 1], q[k], b + 2);
            }
        for (int r = 0; r < 2; r++) {  // rows g and g + 8
            float m_new = m[r];
            for (int n = 0; n < BLOCK / 8; n++)
                m_new = fmaxf(m_new, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
            for (int step = 1; step < 4; step *= 2)
                m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffff, m_new, step));
            float alpha = exp2_approx((m[r] - m_new) * scale_log2);
            m[r] = m_new;
            l[r] *= alpha;
            for (int n = 0; n < 2 * BLOCK / 8; n++) {
                float* x = &s[n / 2][2 * r + n % 2];
                *x = exp2_approx((*x - m_new) * scale_log2);
                l[r] += *x;
            }
            for (int n = 0; n < 2 * D / 8; n++) o[n / 2][2 * r + n % 2] *= alpha;
        }
        for (int k = 0; k < BLOCK / 16; k++) {
            for (int i = 0; i < 4; i++)
                p[i] = pack_bf16(s[2 * k + i / 2][i % 2 * 2], s[2 * k + i / 2][i % 2 * 2 + 1]);
            for (int n = 0; n < D / 16; n++) {
                ldmatrix_x4_trans(b,
                                  piece_of(V_smem[j % 2], 16 * k + lane % 16, 2 * n + lane / 16));
                mma_m16n8k16_bf16(o[2 * n], p, b);
                mma_m16n8k16_bf16(o[2 * n + 1], p, b + 2);
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; r++) {
        for (int step = 1; step < 4; step *= 2) l[r] += __shfl_xor_sync(0xffffffff, l[r], step);
        for (int n = 0; n < 2 * D / 8; n++)
            O[(blockIdx.x * BLOCK + row + lane / 4 + 8 * r) * D + n / 2 * 8 + lane % 4 * 2 +
              n % 2] = o[n / 2][2 * r + n % 2] / l[r];
    }
}

static float X[3][N][D], O[N][D];  // Q, K, V

int main(void) {
    static unsigned short bits[3][N][D];
    unsigned short* bits_gpu;
    unsigned state = 1;
    for (int i = 0; i < 3 * N * D; i++) {
        state = state * 1664525u + 1013904223u;
        float x = (float)(state >> 24) / 64.0f - 2.0f;  // exact in bf16
        ((float*)X)[i] = x;
        memcpy((unsigned short*)bits + i, (char*)&x + 2, 2);
    }
    cudaMalloc(&bits_gpu, sizeof bits);
    cudaMemcpy(bits_gpu, bits, sizeof bits, cudaMemcpyHostToDevice);
    float* O_gpu = empty(N * D);
    attention<<<N / BLOCK, 32 * WARPS>>>(O_gpu, bits_gpu, bits_gpu + N * D, bits_gpu + 2 * N * D,
                                         1.44269504f / 8.0f);
    cudaMemcpy(O, O_gpu, sizeof O, cudaMemcpyDeviceToHost);
    double worst = 0.0;
    for (int i = 0; i < N; i++) {
        double P[N], sum = 0.0;
        for (int j = 0; j < N; j++) {
            double S = 0.0;
            for (int x = 0; x < D; x++) S += (double)X[0][i][x] * X[1][j][x];
            sum += P[j] = exp(S / 8.0);
        }
        for (int x = 0; x < D; x++) {
            double want = 0.0;
            for (int j = 0; j < N; j++) want += P[j] / sum * X[2][j][x];
            worst = fmax(worst, fabs(O[i][x] - want));
        }
    }
    // the weights have 8 bits: each off by 2^-9 of itself, times V of at most 2
    printf("largest error %g\n", worst);
    return worst < 2.0 / 512 ? 0 : 1;
}
