// flash_tensor_core.cu: lesson 13's attention on tensor cores.
//
//     S = Q K^T        P = exp2(c S - m)        O = P V        c = scale log2(e)
//
// One block owns BLOCK_Q rows of one head and walks over the tiles of keys from the last one to the
// first. A warp owns 16 or 32 of the rows, and keeps all that belongs to them in registers, in the layout
// of mma.sync (lessons/ptx.h): Q, S, P and O, m and l. Shared memory holds what all warps need:
//
//       copies:   K(j-1) ...................>|  V(j-1) .....>   K(j-2) ..........
//                 V(j) ...>                  |
//       warps:    S = Q K(j)^T | softmax | O += P V(j) | S = Q K(j-1)^T | softmax |
//               ^                       ^              ^
//               barrier: K(j) is here,  |              barrier: K(j-1) is here, V's buffer is free
//               V's buffer is free      barrier: V(j) is here
//
// K has two buffers, V needs one. The versions on the way, in steps/:
//     1_shared.cu      tensor cores, but S, P and alpha go through shared memory
//     2_registers.cu   P stays in registers; bank conflicts, and every copy is waited for
// What was wrong with step 2: each small matrix takes ldmatrix 8 turns, since its 8 rows lie in the same
// banks; and while K and V travel, nobody computes.
//
//     make grade LESSON=14
//
// FlashAttention-2 (Dao 2023), algorithm 1 and section 3. Equation numbers are those of the README.
#include "flash_tensor_core.h"

#include <cuda_bf16.h>
#include <math.h>

#include "ptx.h"
#include "tiles.h"

#define MAX_GRID_Y 65535  // the limit of gridDim.y
#define HEADS 16          // that are worked on together
#define PIECE 8           // elements that are copied together: 16 bytes
#define LOG2_E 1.44269504f
#define LN_2 0.693147181f

// ---- device helpers ------------------------------------------------------------------------

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q (lesson 13).
__device__ int keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    return (int)(seen < 0 ? 0 : seen > N_k ? N_k : seen);
}

// Where element (n, x) of a tile with rows of d elements is. Unswizzled, the pieces of 8 rows that
// ldmatrix reads together would begin in the same bank.                           (README eq. 5)
template <int d> __device__ __forceinline__ int swizzled(int n, int x) {
    int piece = x / PIECE;
    // your code goes here (about 1 line): another order of the pieces, in every one of 8 rows
    return n * d + piece * PIECE + x % PIECE;
}

// Starts to copy tile[n][x] = rows[n * stride_n + x], n < ROWS, x < d; rows from n_rows on become zeros
// and are not read. All THREADS threads take part, and each one commits and waits by itself.
template <int d, int ROWS, int THREADS>
__device__ __forceinline__ void copy_tile(bf16* tile, const bf16* rows, int64_t stride_n,
                                          int n_rows) {
    const int PIECES = d / PIECE;  // of a row
    const int ROWS_AT_ONCE = THREADS / PIECES;
    static_assert(THREADS % PIECES == 0 && ROWS % ROWS_AT_ONCE == 0,
                  "every thread has as much to do");
    int n = threadIdx.x / PIECES;          // the first of this thread's rows
    int x = threadIdx.x % PIECES * PIECE;  // its column
    const bf16* from = rows + n * stride_n + x;
#pragma unroll
    for (int i = 0; i < ROWS / ROWS_AT_ONCE; i++) {
        cp_async16_zfill(&tile[swizzled<d>(n, x)], from, n < n_rows ? 16 : 0);
        n += ROWS_AT_ONCE;
        from += ROWS_AT_ONCE * stride_n;
    }
}

// The A fragment of the 16 x 16 elements of a tile that begin at row n and column x.
template <int d>
__device__ __forceinline__ void load_A(unsigned a[4], const bf16* tile, int n, int x) {
    int lane = threadIdx.x % 32;
    ldmatrix_x4(a, &tile[swizzled<d>(n + lane % 16, x + lane / 16 * 8)]);
}

// The maximum and the sum over the four lanes that share a row of a fragment.
__device__ __forceinline__ float quad_max(float x) {
    // your code goes here (about 2 lines): lanes 4g .. 4g + 3 hold row g
    return x;
}
__device__ __forceinline__ float quad_sum(float x) {
    // your code goes here (about 2 lines): lanes 4g .. 4g + 3 hold row g
    return x;
}

// ---- the stages of a tile ------------------------------------------------------------------
//
// A warp has ROWS / 16 groups r of 16 rows. Of each, a lane has two rows, g and g + 8 (g = lane / 4), told
// apart by h = 0, 1; and of every 8 columns two, 2t and 2t + 1 (t = lane % 4), told apart by e = 0, 1:
//
//     S[r][n][2h + e]      row 16 r + g + 8 h of the warp, key 8 n + 2 t + e of the tile
//     O_reg[r][n][2h + e]  the same row, column 8 n + 2 t + e
//     m[r][h], l[r][h]     the same row; l only of this lane's columns until the end

// Starts the next copies, two groups: V(tile), then K(tile - 1). Tiles begin at tile * BLOCK_K.
template <int d, int BLOCK_K, int THREADS, int masked>
__device__ __forceinline__ void copy_next(bf16* V_smem,   // (BLOCK_K, d), for V(tile)
                                          bf16* K_smem,   // (BLOCK_K, d), for K(tile - 1)
                                          const bf16* V,  // (N_k, d), of this head
                                          const bf16* K,  // (N_k, d), of this head
                                          int64_t stride_vn, int64_t stride_kn, int N_k, int tile) {
    // your code goes here (about 7 lines): copy_tile() twice; only the last tile of all is not full
}

// S = Q K^T, not scaled                                                              (README eq. 1)
// S[i][j] = sum_x Q[i][x] K[j][x], 16 columns x and 16 keys j at a time
template <int d, int ROWS, int BLOCK_K, int Q_IN_REGISTERS>
__device__ __forceinline__ void multiply_QK(
    float S[ROWS / 16][BLOCK_K / 8][4],                         // zeros
    unsigned Q_reg[ROWS / 16][Q_IN_REGISTERS ? d / 16 : 1][4],  // Q_reg[r][x / 16]: A of columns x
    const bf16* Q_smem,                                         // (ROWS, d), of this warp
    const bf16* K_smem) {                                       // (BLOCK_K, d)
    // your code goes here (about 18 lines): ldmatrix_x4 makes B of 16 keys and 16 columns: two products
}

// S = -infinity where row (r, h) does not see the key: it sees those before visible[r][h].
template <int ROWS, int BLOCK_K>
__device__ __forceinline__ void mask(float S[ROWS / 16][BLOCK_K / 8][4], int first_key,
                                     const int visible[ROWS / 16][2]) {
    // your code goes here (about 6 lines): which key is S[r][n][2h + e]?
}

// m_new = max(m, c max_j S[i][j]),  alpha = exp2(m - m_new)                     (README eq. 2, 3)
// l = alpha l,  O = alpha O
// base is m_new, what exp2 is relative to; or 0 while the row has seen no key and m_new is -infinity,
// which happens in masked tiles only.
template <int d, int ROWS, int BLOCK_K, int masked>
__device__ __forceinline__ void rescale(float base[ROWS / 16][2], float m[ROWS / 16][2],
                                        float l[ROWS / 16][2], float O_reg[ROWS / 16][d / 8][4],
                                        const float S[ROWS / 16][BLOCK_K / 8][4], float c) {
#pragma unroll
    for (int r = 0; r < ROWS / 16; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            // your code goes here (about 13 lines): bring base, m, l and O_reg of row (r, h) up to date
        }
}

// P = exp2(c S - base),  l += sum_j P[i][j]                                          (README eq. 4)
// O += P V
// O[i][x] += sum_j P[i][j] V[j][x], 16 keys j and 16 columns x at a time
template <int d, int ROWS, int BLOCK_K>
__device__ __forceinline__ void multiply_PV(float O_reg[ROWS / 16][d / 8][4], float l[ROWS / 16][2],
                                            const float S[ROWS / 16][BLOCK_K / 8][4],
                                            const float base[ROWS / 16][2], float c,
                                            const bf16* V_smem) {  // (BLOCK_K, d)
#pragma unroll
    for (int j = 0; j < BLOCK_K; j += 16) {
        // your code goes here (about 23 lines): P, an A, from S[r][j / 8] and S[r][j / 8 + 1]; times V
    }
}

// O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key   (README eq. 6)
// The pairs of a lane are put together in O_smem, so that rows are stored in pieces of 16 bytes.
template <int d, int ROWS>
__device__ __forceinline__ void store(bf16* O,       // (n_rows, d), the warp's rows that exist
                                      float* LSE,    // (n_rows)
                                      bf16* O_smem,  // (ROWS, d), of this warp
                                      const float O_reg[ROWS / 16][d / 8][4],
                                      const float m[ROWS / 16][2], const float l[ROWS / 16][2],
                                      int64_t stride_on, int n_rows) {
    // your code goes here (about 24 lines): quad_sum(); O / l, in pairs, to O_smem; LSE; then O_smem to O
}

// A part of the main loop: brings m, l and O_reg from before the tiles last_tile, last_tile - 1, ...,
// first_tile to after them. When it begins, the newest group of copies is K(last_tile). `masked` is a
// template parameter: where it is 0 the compiler finds no mask at all.
template <int d, int ROWS, int BLOCK_K, int WARPS, int Q_IN_REGISTERS, int masked>
__device__ __forceinline__ void
sweep(float O_reg[ROWS / 16][d / 8][4], float m[ROWS / 16][2], float l[ROWS / 16][2],
      unsigned Q_reg[ROWS / 16][Q_IN_REGISTERS ? d / 16 : 1][4],
      const bf16* Q_smem,  // (ROWS, d), of this warp
      bf16* K_smem,        // (2, BLOCK_K, d): K(tile) is in half tile % 2
      bf16* V_smem,        // (BLOCK_K, d)
      const bf16* K,       // (N_k, d), of this head
      const bf16* V,       // (N_k, d), of this head
      int64_t stride_kn, int64_t stride_vn, int N_k, float c, int last_tile, int first_tile,
      const int visible[ROWS / 16][2]) {
    for (int tile = last_tile; tile >= first_tile; tile--) {
        bf16* K_tile = K_smem + tile % 2 * BLOCK_K * d;
        bf16* K_next = K_smem + (tile + 1) % 2 * BLOCK_K * d;
        float S[ROWS / 16][BLOCK_K / 8][4] = {};
        float base[ROWS / 16][2];

        // your code goes here (about 2 lines): wait for K(tile) and for all threads
        copy_next<d, BLOCK_K, 32 * WARPS, masked>(V_smem, K_next, V, K, stride_vn, stride_kn, N_k,
                                                  tile);
        multiply_QK<d, ROWS, BLOCK_K, Q_IN_REGISTERS>(S, Q_reg, Q_smem, K_tile);
        if (masked) mask<ROWS, BLOCK_K>(S, tile * BLOCK_K, visible);
        rescale<d, ROWS, BLOCK_K, masked>(base, m, l, O_reg, S, c);
        // your code goes here (about 2 lines): wait for V(tile), not for K(tile - 1); and for all threads
        multiply_PV<d, ROWS, BLOCK_K>(O_reg, l, S, base, c, V_smem);
    }
}

// Returns which of the B * H heads this block works on, and in *block which of the blocks of that head.
// Blocks start in the order x, then y. Without a mask: head by head. With one, the last rows have most to do:
// they start first, of HEADS heads at a time, and the short ones fill the end. More heads at a time would have
// more K and V in use than the second-level cache holds.
__device__ __forceinline__ int pick_work(int64_t* block, int causal) {
    unsigned heads = causal ? HEADS : 1;
    unsigned order = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned first = order / (heads * gridDim.x) * heads;  // of these heads
    unsigned rest = order % (heads * gridDim.x);
    heads = min(heads, gridDim.y - first);
    *block = causal ? gridDim.x - 1 - rest / heads : rest / heads;
    return first + rest % heads;
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block 32 WARPS threads, (BLOCK_Q + 3 BLOCK_K) d elements of dynamic
// shared memory. The other template parameters: tiles.h.
template <int d, int BLOCK_Q, int BLOCK_K, int WARPS, int Q_IN_REGISTERS, int BLOCKS>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
    flash_tensor_core_kernel(bf16* O,                     // (B, N_q, H, d)
                             float* LSE,                  // (B, H, N_q)
                             const bf16* __restrict__ Q,  // (B, N_q, H, d)
                             const bf16* __restrict__ K,  // (B, N_k, H, d)
                             const bf16* __restrict__ V,  // (B, N_k, H, d)
                             int N_q, int N_k, int H, struct strides stride_o,
                             struct strides stride_q, struct strides stride_k,
                             struct strides stride_v, float scale, int causal) {
    const int ROWS = BLOCK_Q / WARPS;  // of a warp
    static_assert(ROWS == 16 || ROWS == 32, "a warp has one or two row groups of 16");
    static_assert(BLOCK_K % 16 == 0 && d % 16 == 0, "the product takes 16 at a time");
    extern __shared__ uint4 smem[];
    bf16* Q_smem = (bf16*)smem;               // (BLOCK_Q, d)
    bf16* K_smem = Q_smem + BLOCK_Q * d;      // (2, BLOCK_K, d)
    bf16* V_smem = K_smem + 2 * BLOCK_K * d;  // (BLOCK_K, d)

    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * ROWS;  // the warp's first row in the block
    int64_t block;
    int of_all = pick_work(&block, causal);
    int64_t first_row = block * BLOCK_Q;  // [0, N_q)

    // From here on Q, K and V start where this block's work starts.
    int batch = of_all / H;  // [0, B)
    int head = of_all % H;   // [0, H)
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    int n_rows = N_q - first_row < BLOCK_Q ? (int)(N_q - first_row) : BLOCK_Q;

    // Tiles [0, whole) are seen by all rows of the block, [whole, tiles) by some in part, the rest by none.
    int whole = keys_seen(first_row, N_q, N_k, causal) / BLOCK_K;
    int tiles = CEIL_DIV((int64_t)keys_seen(first_row + n_rows - 1, N_q, N_k, causal), BLOCK_K);
    int visible[ROWS / 16][2];
    for (int r = 0; r < ROWS / 16; r++)
        for (int h = 0; h < 2; h++)
            visible[r][h] =
                keys_seen(first_row + warp_row + 16 * r + lane / 4 + 8 * h, N_q, N_k, causal);

    // The state before any key was seen (lesson 12, eq. 4). m is in base 2: c times the largest score.
    float O_reg[ROWS / 16][d / 8][4] = {};
    float m[ROWS / 16][2], l[ROWS / 16][2] = {};
    for (int r = 0; r < ROWS / 16; r++) m[r][0] = m[r][1] = -INFINITY;

    const int THREADS = 32 * WARPS;
    copy_tile<d, BLOCK_Q, THREADS>(Q_smem, Q, stride_q.n, n_rows);
    cp_async_commit();
    if (tiles > 0) {
        int first_key = (tiles - 1) * BLOCK_K;
        copy_tile<d, BLOCK_K, THREADS>(K_smem + (tiles - 1) % 2 * BLOCK_K * d,
                                       K + first_key * stride_k.n, stride_k.n, N_k - first_key);
    }
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();                       // Q of all threads is here before anybody reads it
    bf16* Q_warp = Q_smem + warp_row * d;  // warp_row % 8 = 0: swizzled as from row 0
    unsigned Q_reg[ROWS / 16][Q_IN_REGISTERS ? d / 16 : 1][4];
    if (Q_IN_REGISTERS)
#pragma unroll
        for (int r = 0; r < ROWS / 16; r++)
#pragma unroll
            for (int x = 0; x < d; x += 16) load_A<d>(Q_reg[r][x / 16], Q_warp, 16 * r, x);

    float c = scale * LOG2_E;
    sweep<d, ROWS, BLOCK_K, WARPS, Q_IN_REGISTERS, 1>(O_reg, m, l, Q_reg, Q_warp, K_smem, V_smem, K,
                                                      V, stride_k.n, stride_v.n, N_k, c, tiles - 1,
                                                      whole, visible);
    sweep<d, ROWS, BLOCK_K, WARPS, Q_IN_REGISTERS, 0>(O_reg, m, l, Q_reg, Q_warp, K_smem, V_smem, K,
                                                      V, stride_k.n, stride_v.n, N_k, c, whole - 1,
                                                      0, visible);

    O += batch * stride_o.b + head * stride_o.h + (first_row + warp_row) * stride_o.n;
    LSE += ((int64_t)batch * H + head) * N_q + first_row + warp_row;
    __syncwarp();  // all lanes have read Q before O takes its place
    store<d, ROWS>(O, LSE, Q_warp, O_reg, m, l, stride_o.n, n_rows - warp_row);
}

// ---- launcher ------------------------------------------------------------------------------

// A kernel and what its launch needs to know.
struct choice {
    decltype(&flash_tensor_core_kernel<64, TILES_64>) kernel;
    int block_q, threads, shared_bytes;
};

template <int d, int BLOCK_Q, int BLOCK_K, int WARPS, int Q_IN_REGISTERS, int BLOCKS>
static struct choice choice_of(void) {
    return {flash_tensor_core_kernel<d, BLOCK_Q, BLOCK_K, WARPS, Q_IN_REGISTERS, BLOCKS>, BLOCK_Q,
            32 * WARPS, (BLOCK_Q + 3 * BLOCK_K) * d * (int)sizeof(bf16)};
}

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// Every row begins at a multiple of 16 bytes.
static int is_aligned(const bf16* p, struct strides stride) {
    return (uintptr_t)p % 16 == 0 && (stride.b | stride.n | stride.h) % PIECE == 0;
}

extern "C" int flash_tensor_core(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                                 const bf16* V_gpu, int B, int N_q, int N_k, int H, int d,
                                 struct strides stride_o, struct strides stride_q,
                                 struct strides stride_k, struct strides stride_v, float scale,
                                 int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y || !(scale > 0))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!is_aligned(O_gpu, stride_o) || !is_aligned(Q_gpu, stride_q) ||
        !is_aligned(K_gpu, stride_k) || !is_aligned(V_gpu, stride_v))
        return COURSE_UNSUPPORTED;

    struct choice use =
        d == 64 ? (causal ? choice_of<64, TILES_64_CAUSAL>() : choice_of<64, TILES_64>())
                : (causal ? choice_of<128, TILES_128_CAUSAL>() : choice_of<128, TILES_128>());
    COURSE_TRY(cudaFuncSetAttribute(use.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    use.shared_bytes));
    dim3 grid(CEIL_DIV((int64_t)N_q, use.block_q), B * H);
    decltype(use.kernel) kernel = use.kernel;
    kernel<<<grid, use.threads, use.shared_bytes>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k,
                                                    H, stride_o, stride_q, stride_k, stride_v,
                                                    scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
