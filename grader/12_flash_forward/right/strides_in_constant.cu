// The strides lie in __constant__ memory, copied there by each call, in the order of the stream.
// flash_forward.cu: attention without the N_q x N_k matrices.
//
//     S = scale Q K^T        P = softmax(S)        O = P V        LSE = ln sum_j exp(S_j)
//
// One block owns BLOCK_Q rows of Q and sweeps over the keys, BLOCK_K of them at a time:
//
//                      K, V    [ tile 0 ][ tile 1 ][ tile 2 ] ...      N_k keys
//                                  |
//     Q tile, BLOCK_Q rows  -->  S, P      one tile of scores: made, used and forgotten
//                                  |
//     O tile, BLOCK_Q rows  <--  m, l, O   all that is remembered of the tiles seen so far
//
// The versions on the way, in steps/:
//     1_naive.cu           three kernels, S and P in global memory
//     2_one_thread_row.cu  online softmax: no S, no P, but every thread reads all of K and V itself
// What was wrong with step 2: BLOCK_Q neighbouring threads read the same key one by one. Here they
// read it together, once, into shared memory: BLOCK_Q times fewer bytes.
//
//     make grade LESSON=12
//
// FlashAttention-2 (Dao 2023), algorithm 1. Equation numbers are those of the lesson's README.
#include "flash_forward.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK_Q 16                   // query rows per block, B_r in the paper
#define BLOCK_K 16                   // keys per tile, B_c in the paper
#define THREADS (BLOCK_Q * BLOCK_K)  // one thread per element of a tile of S
#define MIN_LENGTH 16                // N_q and N_k are powers of two from here on: whole tiles only
#define MAX_BATCH 65535              // the limit of gridDim.y

// Elements added to each row in shared memory: 4 bytes, one bank. Without them the 16 threads that
// read one column of K_smem would queue at a few banks, from d = 64 on at a single one.
#define PAD 2

static_assert(MIN_LENGTH % BLOCK_Q == 0 && MIN_LENGTH % BLOCK_K == 0,
              "the shortest sequence has to be whole tiles: nothing below guards an edge");

// ---- device helper -------------------------------------------------------------------------

// tile[n][x] = rows[n * stride_n + x] for n_rows rows. All threads of the block take part, and
// neighbouring threads read neighbouring elements.
template <int d>
__device__ void load_tile(fp16 tile[][d + PAD], const fp16* rows, int n_rows, int64_t stride_n,
                          int thread) {
    for (int e = thread; e < n_rows * d; e += THREADS) {
        int n = e / d;  // [0, n_rows)
        int x = e % d;  // [0, d)
        tile[n][x] = rows[n * stride_n + x];
    }
}

__constant__ int64_t strides_of_call[9];

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (N_q / BLOCK_Q, B), block (BLOCK_K, BLOCK_Q). d is a template parameter because it sizes the
// registers: an array whose size or index is known only at run time lives in slow local memory.
template <int d>
__global__ void flash_forward_kernel(fp16* O,                     // (B, N_q, d)
                                     float* LSE,                  // (B, N_q)
                                     const fp16* __restrict__ Q,  // (B, N_q, d)
                                     const fp16* __restrict__ K,  // (B, N_k, d)
                                     const fp16* __restrict__ V,  // (B, N_k, d)
                                     int N_k, int64_t stride_ob, int64_t stride_on,
                                     int64_t stride_lb, int64_t stride_qb, int64_t stride_qn,
                                     int64_t stride_kb, int64_t stride_kn, int64_t stride_vb,
                                     int64_t stride_vn, float scale) {
    stride_ob = strides_of_call[0], stride_on = strides_of_call[1], stride_lb = strides_of_call[2];
    stride_qb = strides_of_call[3], stride_qn = strides_of_call[4], stride_kb = strides_of_call[5];
    stride_kn = strides_of_call[6], stride_vb = strides_of_call[7], stride_vn = strides_of_call[8];
    static_assert(d % BLOCK_K == 0, "the BLOCK_K threads of a row share its d columns evenly");
    __shared__ fp16 Q_smem[BLOCK_Q][d + PAD];
    __shared__ fp16 K_smem[BLOCK_K][d + PAD];
    __shared__ fp16 V_smem[BLOCK_K][d + PAD];

    int j = threadIdx.x;           // [0, BLOCK_K): this thread's column of S and P
    int i = threadIdx.y;           // [0, BLOCK_Q): its row of S, P and O
    int thread = i * BLOCK_K + j;  // [0, THREADS)

    // From here on every pointer starts where this block's work starts.
    int64_t batch = blockIdx.y;                         // [0, B)
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;  // [0, N_q)
    Q += batch * stride_qb + first_row * stride_qn;
    K += batch * stride_kb;
    V += batch * stride_vb;
    O += batch * stride_ob + first_row * stride_on;
    LSE += batch * stride_lb + first_row;

    // The tiles S_smem and P_smem, (BLOCK_Q, BLOCK_K), in shared memory. In registers the state of
    // row i as it is before any key was seen (eq. 4): m, l and O_reg, this thread's share of the
    // row of O, the d / BLOCK_K elements x = j, j + BLOCK_K, j + 2 BLOCK_K, ...
    // BEGIN SOLUTION (about 5 lines): declare S_smem, P_smem, m, l and O_reg
    __shared__ float S_smem[BLOCK_Q][BLOCK_K];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];
    float m = -INFINITY;                // largest score of row i so far
    float l = 0.0f;                     // sum_j exp(S[i][j] - m) so far
    float O_reg[d / BLOCK_K] = {0.0f};  // sum_j exp(S[i][j] - m) V[j][x] so far
    // END SOLUTION

    load_tile<d>(Q_smem, Q, BLOCK_Q, stride_qn, thread);

    for (int64_t first_key = 0; first_key < N_k; first_key += BLOCK_K) {
        load_tile<d>(K_smem, K + first_key * stride_kn, BLOCK_K, stride_kn, thread);
        load_tile<d>(V_smem, V + first_key * stride_vn, BLOCK_K, stride_vn, thread);
        __syncthreads();  // the tiles of Q, K and V are written before anybody reads them

        // S = scale Q K^T                                                          (README eq. 1)
        // S[i][j] = scale * sum_x Q[i][x] K[j][x]
        // BEGIN SOLUTION (about 4 lines): this thread's score, into S_smem[i][j]
        float sum = 0.0f;
        for (int x = 0; x < d; x++) sum += __half2float(Q_smem[i][x]) * __half2float(K_smem[j][x]);
        S_smem[i][j] = scale * sum;
        // END SOLUTION
        __syncthreads();  // row i of S is written before its maximum is taken

        // m_new = max(m, max_j S[i][j]),  alpha = exp(m - m_new)                (README eq. 5, 6)
        // P[i][j] = exp(S[i][j] - m_new)                                           (README eq. 7)
        // BEGIN SOLUTION (about 5 lines): m_new and alpha; this thread's element of P_smem
        float m_new = m;
        for (int k = 0; k < BLOCK_K; k++) m_new = fmaxf(m_new, S_smem[i][k]);
        float alpha = expf(m - m_new);  // 0 at the first tile: nothing has been summed yet
        P_smem[i][j] = expf(S_smem[i][j] - m_new);
        m = m_new;
        // END SOLUTION
        __syncthreads();  // row i of P is written before it is summed and multiplied with V

        // l = alpha l + sum_k P[i][k]                                              (README eq. 8)
        // O = alpha O + P V                                                        (README eq. 9)
        // O[i][x] = alpha O[i][x] + sum_k P[i][k] V[k][x],   x = j + c BLOCK_K
        // BEGIN SOLUTION (about 8 lines): bring l and O_reg up to date
        l *= alpha;
        for (int c = 0; c < d / BLOCK_K; c++) O_reg[c] *= alpha;
        for (int k = 0; k < BLOCK_K; k++) {
            float p = P_smem[i][k];
            l += p;
            for (int c = 0; c < d / BLOCK_K; c++)
                O_reg[c] += p * __half2float(V_smem[k][j + c * BLOCK_K]);
        }
        // END SOLUTION
        __syncthreads();  // everybody has read K, V, S and P before the next round overwrites them
    }

    // O = O / l,  LSE = m + ln l                                              (README eq. 10, 11)
    // BEGIN SOLUTION (about 3 lines): store this thread's elements of O, and LSE once per row
    for (int c = 0; c < d / BLOCK_K; c++)
        O[i * stride_on + j + c * BLOCK_K] = __float2half(O_reg[c] / l);
    if (j == 0) LSE[i] = m + logf(l);
    // END SOLUTION
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

    decltype(&flash_forward_kernel<16>) kernel;  // decltype is C's typeof
    switch (d) {
    case 16:
        kernel = flash_forward_kernel<16>;
        break;
    case 32:
        kernel = flash_forward_kernel<32>;
        break;
    case 64:
        kernel = flash_forward_kernel<64>;
        break;
    case 128:
        kernel = flash_forward_kernel<128>;
        break;
    case 256:
        kernel = flash_forward_kernel<256>;
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

    const int64_t s[9] = {stride_ob, stride_on, stride_lb, stride_qb, stride_qn,
                          stride_kb, stride_kn, stride_vb, stride_vn};
    COURSE_TRY(cudaMemcpyToSymbolAsync(strides_of_call, s, sizeof s));
    dim3 grid(N_q / BLOCK_Q, B);
    dim3 block(BLOCK_K, BLOCK_Q);
    kernel<<<grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_k, stride_ob, stride_on,
                            stride_lb, stride_qb, stride_qn, stride_kb, stride_kn, stride_vb,
                            stride_vn, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
