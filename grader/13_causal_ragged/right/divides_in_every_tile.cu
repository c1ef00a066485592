// O is kept divided by l, as FlashAttention-1 does: each tile multiplies it by the old l and
// divides by the new one.
#include "causal_ragged.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK_Q 16                   // query rows per block, B_r in the paper
#define BLOCK_K 16                   // keys per tile, B_c in the paper
#define THREADS (BLOCK_Q * BLOCK_K)  // one thread per element of a tile of S
#define MAX_HEAD 256                 // the largest d
#define MAX_GRID_Y 65535             // the limit of gridDim.y

// Elements added to each row in shared memory: 4 bytes, one bank (lesson 12).
#define PAD 2

// ---- device helpers ------------------------------------------------------------------------

// How many keys query i sees, from 0 to N_k, also for an i beyond N_q.               (README eq. 1)
__device__ int64_t keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = 0;
    // BEGIN SOLUTION (about 3 lines): how many? keep the answer between 0 and N_k
    seen = causal ? i + 1 + N_k - N_q : N_k;
    if (seen < 0) seen = 0;
    if (seen > N_k) seen = N_k;
    // END SOLUTION
    return seen;
}

// tile[n][x] = rows[n * stride_n + x] where n < n_rows and x < d, and 0 elsewhere: nothing else may
// be read, and a 0 adds nothing to a dot product. n_rows may be more than fit. All threads of the
// block take part, and neighbouring threads read neighbouring elements.
template <int d_tile>
__device__ void load_tile(fp16 tile[][d_tile + PAD], const fp16* rows, int size, int64_t n_rows,
                          int d, int64_t stride_n, int thread) {
    for (int e = thread; e < size * d_tile; e += THREADS) {
        int n = e / d_tile;  // [0, size)
        int x = e % d_tile;  // [0, d_tile)
        bool exists = false;
        // BEGIN SOLUTION (about 1 line): is there an element (n, x)?
        exists = n < n_rows && x < d;
        // END SOLUTION
        tile[n][x] = exists ? rows[n * stride_n + x] : __float2half(0.0f);
    }
}

// A part of the main loop: brings m, l and O_reg of row i from before the keys [first_key, end) to
// after them. `masked` is written out at both calls, and the function is inlined: in part 1 the
// compiler finds no mask at all.
template <int d_tile>
__device__ __forceinline__ void sweep(float* m, float* l,
                                      float* O_reg,                 // (d_tile / BLOCK_K)
                                      fp16 Q_smem[][d_tile + PAD],  // (BLOCK_Q, d_tile)
                                      const fp16* K,                // (N_k, d), of this head
                                      const fp16* V,                // (N_k, d), of this head
                                      int N_k, int d, int64_t stride_kn, int64_t stride_vn,
                                      float scale, int64_t first_key, int64_t end, int64_t visible,
                                      bool masked) {
    // Function-scope shared memory exists once in a block, however often the function is called.
    __shared__ fp16 K_smem[BLOCK_K][d_tile + PAD];
    __shared__ fp16 V_smem[BLOCK_K][d_tile + PAD];
    __shared__ float S_smem[BLOCK_Q][BLOCK_K];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];
    int j = threadIdx.x;
    int i = threadIdx.y;
    int thread = i * BLOCK_K + j;

    for (; first_key < end; first_key += BLOCK_K) {
        int64_t n_keys = masked ? N_k - first_key : BLOCK_K;  // in this tile
        load_tile<d_tile>(K_smem, K + first_key * stride_kn, BLOCK_K, n_keys, d, stride_kn, thread);
        load_tile<d_tile>(V_smem, V + first_key * stride_vn, BLOCK_K, n_keys, d, stride_vn, thread);
        __syncthreads();  // the tiles of Q, K and V are written before anybody reads them

        // S = scale Q K^T, and -infinity where row i does not see key j            (README eq. 2)
        // S[i][j] = scale * sum_x Q[i][x] K[j][x]
        float s = 0.0f;
        for (int x = 0; x < d_tile; x++)
            s += __half2float(Q_smem[i][x]) * __half2float(K_smem[j][x]);
        s *= scale;
        // BEGIN SOLUTION (about 1 line): the mask
        if (masked && first_key + j >= visible) s = -INFINITY;
        // END SOLUTION
        S_smem[i][j] = s;
        __syncthreads();  // row i of S is written before its maximum is taken

        // m_new = max(m, max_j S[i][j]),  alpha = exp(m - m_new),  P[i][j] = exp(S[i][j] - m_new)
        // While row i has seen no key, m_new is -infinity, and (-inf) - (-inf) is NaN (README eq.
        // 4).
        float m_new = *m;
        for (int k = 0; k < BLOCK_K; k++) m_new = fmaxf(m_new, S_smem[i][k]);
        float base = m_new;  // what exp is relative to
        // BEGIN SOLUTION (about 1 line): any finite base will do if nothing has been seen
        if (masked && m_new == -INFINITY) base = 0.0f;
        // END SOLUTION
        float alpha = expf(*m - base);
        P_smem[i][j] = expf(S_smem[i][j] - base);
        *m = m_new;
        __syncthreads();  // row i of P is written before it is summed and multiplied with V

        // l = alpha l + sum_k P[i][k],  O = alpha O + P V
        // O[i][x] = alpha O[i][x] + sum_k P[i][k] V[k][x],   x = j + c BLOCK_K
        float l_old = *l * alpha;
        *l = l_old;
        for (int k = 0; k < BLOCK_K; k++) *l += P_smem[i][k];
        float inverse = *l > 0.0f ? 1.0f / *l : 0.0f;
        for (int c = 0; c < d_tile / BLOCK_K; c++) {
            float part = l_old * O_reg[c];
            for (int k = 0; k < BLOCK_K; k++)
                part += P_smem[i][k] * __half2float(V_smem[k][j + c * BLOCK_K]);
            O_reg[c] = part * inverse;
        }
        __syncthreads();  // everybody has read K, V, S and P before the next round overwrites them
    }
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block (BLOCK_K, BLOCK_Q). d_tile is d rounded up to the next
// size that there is a kernel for; the columns from d on are zeros.
template <int d_tile>
__global__ void causal_ragged_kernel(fp16* O,                     // (B, N_q, H, d)
                                     float* LSE,                  // (B, H, N_q)
                                     const fp16* __restrict__ Q,  // (B, N_q, H, d)
                                     const fp16* __restrict__ K,  // (B, N_k, H, d)
                                     const fp16* __restrict__ V,  // (B, N_k, H, d)
                                     int N_q, int N_k, int H, int d, struct strides stride_o,
                                     struct strides stride_q, struct strides stride_k,
                                     struct strides stride_v, float scale, int causal) {
    static_assert(d_tile % BLOCK_K == 0, "the threads of a row share its columns evenly");
    __shared__ fp16 Q_smem[BLOCK_Q][d_tile + PAD];

    int j = threadIdx.x;           // [0, BLOCK_K): this thread's column of S and P
    int i = threadIdx.y;           // [0, BLOCK_Q): its row of S, P and O
    int thread = i * BLOCK_K + j;  // [0, THREADS)
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;  // [0, N_q)

    // From here on every pointer starts where this block's work starts.
    // BEGIN SOLUTION (about 7 lines): batch and head from blockIdx.y; move Q, K, V, O and LSE
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + first_row * stride_o.n;
    LSE += (batch * H + head) * N_q + first_row;
    // END SOLUTION

    // The keys, in order: all rows of the block see all of [0, full_end), whole tiles; row i sees
    // [0, visible); no row sees any from `end` on.                                   (README eq. 3)
    int64_t visible = 0;
    int64_t full_end = 0;
    int64_t end = 0;
    // BEGIN SOLUTION (about 3 lines): with keys_seen(); which row sees fewest keys, which most?
    visible = keys_seen(first_row + i, N_q, N_k, causal);
    full_end = keys_seen(first_row, N_q, N_k, causal) / BLOCK_K * BLOCK_K;
    end = keys_seen(first_row + BLOCK_Q - 1, N_q, N_k, causal);
    // END SOLUTION

    // The state of row i before any key was seen (lesson 12, eq. 4).
    float m = -INFINITY;
    float l = 0.0f;
    float O_reg[d_tile / BLOCK_K] = {0.0f};  // of the row of O: x = j, j + BLOCK_K, ...

    load_tile<d_tile>(Q_smem, Q, BLOCK_Q, N_q - first_row, d, stride_q.n, thread);

    // Part 1: whole tiles that every row sees.
    sweep<d_tile>(&m, &l, O_reg, Q_smem, K, V, N_k, d, stride_k.n, stride_v.n, scale,  //
                  0, full_end, visible, false);
    // Part 2: tiles that the diagonal crosses, or that hang over the end of the keys.
    sweep<d_tile>(&m, &l, O_reg, Q_smem, K, V, N_k, d, stride_k.n, stride_v.n, scale,  //
                  full_end, end, visible, true);

    // O = O / l,  LSE = m + ln l;  0 and -infinity for a row that saw no key         (README eq. 5)
    // BEGIN SOLUTION (about 8 lines): store what exists of the row; O is 0 / 0 if it saw no key
    if (first_row + i < N_q) {
        for (int c = 0; c < d_tile / BLOCK_K; c++) {
            int x = j + c * BLOCK_K;
            float o = O_reg[c];
            if (x < d) O[i * stride_o.n + x] = __float2half(o);
        }
        if (j == 0) LSE[i] = m + logf(l);  // if m = -infinity and l = 0: -infinity, by itself
    }
    // END SOLUTION
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

extern "C" int causal_ragged(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int H, int d,
                             struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;

    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
    dim3 block(BLOCK_K, BLOCK_Q);
    decltype(&causal_ragged_kernel<16>) kernel = d <= 16    ? causal_ragged_kernel<16>
                                                 : d <= 32  ? causal_ragged_kernel<32>
                                                 : d <= 64  ? causal_ragged_kernel<64>
                                                 : d <= 128 ? causal_ragged_kernel<128>
                                                            : causal_ragged_kernel<256>;
    kernel<<<grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H, d, stride_o, stride_q,
                            stride_k, stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
