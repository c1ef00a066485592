// flash_tensor_core.cu: lesson 13's attention on tensor cores.
//
//     S = Q K^T        P = exp2(c S - m)        O = P V        c = scale log2(e)
//
// One block owns BLOCK_Q rows of one head and walks over the tiles of keys from the last one to the
// first. A warp owns 16 or 32 of the rows, and keeps all that belongs to them in registers, in the
// layout of mma.sync (lessons/ptx.h): Q, S, P and O, m and l. Shared memory holds what all warps
// need:
//
//       copies:   K(j-1) ...................>|  V(j-1) .....>   K(j-2) ..........
//                 V(j) ...>                  |
//       warps:    S = Q K(j)^T | softmax | O += P V(j) | S = Q K(j-1)^T | softmax |
//               ^                       ^              ^
//               barrier: K(j) is here,  |              barrier: K(j-1) is here, V's buffer is free
//               V's buffer is free      barrier: V(j) is here
//
// K has two buffers, V needs one. The versions on the way, in steps/, one idea each:
//     1_shared.cu        tensor cores, but S, P and alpha go through shared memory
//     2_registers.cu     P stays in registers
//     3_swizzle.cu       ldmatrix finds its 8 rows in different banks
//     4_cp_async.cu      copies that do not wait: V travels while S is made
//     5_two_buffers.cu   K(j + 1) travels while K(j) is used
//     6_mask_apart.cu    no mask where none is needed; long blocks first
// What was wrong with step 6: each fragment of K and V that came from shared memory was multiplied
// by 16 rows. Here it is by 32. And what counts once a block: rows of O are stored 16 bytes at a
// time.
//
//     make grade LESSON=14
//
// FlashAttention-2 (Dao 2023), algorithm 1 and section 3. Equation numbers are those of the README.
#include "flash_tensor_core.h"

#include <math.h>

#include "tile.h"
#include "tiles.h"

// ---- the state and the stages of a tile (flash_tile.h) ----------------------------------------

// The sizes of a kernel, which are known when compiling: d, and a line of tiles.h.
template <int head_dim, int block_q, int block_k, int warps, int q_in_registers, int blocks>
struct forward_tiles {
    enum {
        d = head_dim,
        BLOCK_Q = block_q,
        BLOCK_K = block_k,
        Q_IN_REGISTERS = q_in_registers,
        BLOCKS = blocks,  // on a multiprocessor
        THREADS = 32 * warps,
        ROWS = BLOCK_Q / warps,  // of a warp
        GROUPS = ROWS / 16,      // of 16 rows, of a warp
    };
    static_assert(ROWS == 16 || ROWS == 32, "a warp has one or two groups of 16 rows");
    static_assert(BLOCK_K % 16 == 0 && d % 16 == 0, "the product takes 16 at a time");
};

// The shared memory of a block. Tiles are swizzled. K(tile) is in half tile % 2.
template <class T> struct buffers {
    bf16 Q[T::BLOCK_Q * T::d];
    bf16 K[2][T::BLOCK_K * T::d];
    bf16 V[T::BLOCK_K * T::d];
};

// What a warp keeps in registers, in the layout of mma.sync. It has GROUPS groups r of 16 rows. Of
// each, a lane has two rows, g and g + 8 (g = lane / 4), told apart by h = 0, 1; and of every 8
// columns two, 2t and 2t + 1 (t = lane % 4), told apart by e = 0, 1:
//
//     S[r][n][2h + e]      row 16 r + g + 8 h of the warp, key 8 n + 2 t + e of the tile
//     O[r][n][2h + e]      the same row, column 8 n + 2 t + e
//     m[r][h], l[r][h]     the same row; l only of this lane's columns until the end
template <class T> struct state {
    unsigned Q[T::GROUPS][T::Q_IN_REGISTERS ? T::d / 16 : 1][4];  // Q[r][x / 16]: A of columns x
    float S[T::GROUPS][T::BLOCK_K / 8][4];
    float O[T::GROUPS][T::d / 8][4];
    float m[T::GROUPS][2], l[T::GROUPS][2];  // m is in base 2: c times the largest score
    float base[T::GROUPS][2];                // what exp2 is relative to
    int visible[T::GROUPS][2];               // the row sees the keys before this one
};

// The maximum and the sum over the four lanes that share a row of a fragment.
__device__ __forceinline__ float quad_max(float x) {
    // your code goes here (about 2 lines): lanes 4g .. 4g + 3 hold row g
    return x;
}
__device__ __forceinline__ float quad_sum(float x) {
    // your code goes here (about 2 lines): lanes 4g .. 4g + 3 hold row g
    return x;
}

// Starts the next copies, two groups: V(tile), then K(tile - 1). Tiles begin at tile * BLOCK_K.
template <int masked, class T>
__device__ __forceinline__ void copy_next(struct buffers<T>& smem, const struct forward& p,
                                          int tile) {
    // your code goes here (about 8 lines): 2nd half: two copy_tile(); the last of all is not full
    for (int e = threadIdx.x * PIECE; e < T::BLOCK_K * T::d; e += T::THREADS * PIECE) {
        int n = e / T::d, x = e % T::d;
        int64_t key = (int64_t)tile * T::BLOCK_K + n, before = key - T::BLOCK_K;
        uint4 V_piece = {}, K_piece = {};  // zeros where there is no key
        if (key < p.N_k) V_piece = *(const uint4*)&p.V.elements[key * p.V.stride.n + x];
        if (before >= 0) K_piece = *(const uint4*)&p.K.elements[before * p.K.stride.n + x];
        *(uint4*)&smem.V[swizzled<T::d>(n, x)] = V_piece;
        *(uint4*)&smem.K[(tile + 1) % 2][swizzled<T::d>(n, x)] = K_piece;
    }
}

// The warp's rows of Q go to registers, if they are kept there.
template <class T>
__device__ __forceinline__ void load_Q(struct state<T>& warp,
                                       const bf16* Q_smem) {  // (ROWS, d), of this warp
    if (T::Q_IN_REGISTERS)
#pragma unroll
        for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
            for (int x = 0; x < T::d; x += 16) load_A<T::d>(warp.Q[r][x / 16], Q_smem, 16 * r, x);
}

// S = Q K^T, not scaled                                                              (README eq. 1)
// S[i][j] = sum_x Q[i][x] K[j][x], 16 columns x and 16 keys j at a time
template <class T>
__device__ __forceinline__ void multiply_QK(struct state<T>& warp,
                                            const bf16* Q_smem,    // (ROWS, d), of this warp
                                            const bf16* K_smem) {  // (BLOCK_K, d)
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) warp.S[r][n][i] = 0.0f;
    // your code goes here (about 18 lines): ldmatrix_x4 makes B of 16 keys and 16 columns: two products
}

// S = -infinity where row (r, h) does not see the key: it sees those before visible[r][h].
template <class T> __device__ __forceinline__ void mask(struct state<T>& warp, int first_key) {
    // your code goes here (about 6 lines): which key is S[r][n][2h + e]?
}

// m_new = max(m, c max_j S[i][j]),  alpha = exp2(m - m_new)                     (README eq. 2, 3)
// l = alpha l,  O = alpha O
// base is m_new, what exp2 is relative to; or 0 while the row has seen no key and m_new is
// -infinity, which happens in masked tiles only.
template <int masked, class T>
__device__ __forceinline__ void rescale(struct state<T>& warp, float c) {
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            // your code goes here (about 13 lines): bring base, m, l and O of row (r, h) up to date
        }
}

// P = exp2(c S - base),  l += sum_j P[i][j]                                          (README eq. 4)
// O += P V
// O[i][x] += sum_j P[i][j] V[j][x], 16 keys j and 16 columns x at a time
template <class T>
__device__ __forceinline__ void multiply_PV(struct state<T>& warp, float c,
                                            const bf16* V_smem) {  // (BLOCK_K, d)
#pragma unroll
    for (int j = 0; j < T::BLOCK_K; j += 16) {
        // your code goes here (about 24 lines): P, an A, from S[r][j / 8] and S[r][j / 8 + 1]; times V
    }
}

// O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key   (README eq. 6)
// The pairs of a lane are put together in O_smem, so that rows are stored in pieces of 16 bytes.
template <class T>
__device__ __forceinline__ void store_O(const struct forward& p, const struct state<T>& warp,
                                        bf16* O_smem,  // (ROWS, d), of this warp
                                        int64_t first_row) {
    // your code goes here (about 24 lines): quad_sum(); O / l, in pairs, to O_smem; LSE; O_smem to O
}

// A part of the main loop: brings m, l and O from before the tiles last_tile, last_tile - 1, ...,
// first_tile to after them. When it begins, the newest group of copies is K(last_tile). `masked` is
// a template parameter: where it is 0 the compiler finds no mask at all.
template <int masked, class T>
__device__ __forceinline__ void sweep(struct state<T>& warp, struct buffers<T>& smem,
                                      const bf16* Q_smem,       // (ROWS, d), of this warp
                                      const struct forward& p,  // of this head
                                      float c, int last_tile, int first_tile) {
    for (int tile = last_tile; tile >= first_tile; tile--) {
        // your code goes here (about 2 lines): 2nd half: wait for K(tile) and for all threads
        cp_async_wait_all();
        __syncthreads();  // whatever was copied is here, and whatever is overwritten was read
        copy_next<masked>(smem, p, tile);
        multiply_QK(warp, Q_smem, smem.K[tile % 2]);
        if (masked) mask(warp, tile * T::BLOCK_K);
        rescale<masked>(warp, c);
        // your code goes here (about 2 lines): 2nd half: wait for V(tile), not K(tile - 1); for all
        cp_async_wait_all();
        __syncthreads();  // whatever was copied is here
        multiply_PV(warp, c, smem.V);
    }
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS, a struct buffers of dynamic shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    flash_tensor_core_kernel(const struct forward all_heads) {
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    int block;
    int head = pick_work(&block, all_heads.causal);
    if (all_heads.causal) block = gridDim.x - 1 - block;  // the last rows see most keys
    int64_t first_row = (int64_t)block * T::BLOCK_Q;      // [0, N_q)

    struct forward p = all_heads;  // of this head
    p.Q = head_of(p.Q, head, p.H);
    p.K = head_of(p.K, head, p.H);
    p.V = head_of(p.V, head, p.H);
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? (int)(p.N_q - first_row) : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first row in the block

    // Tiles [0, whole) are seen by all rows of the block, [whole, tiles) by some in part, the rest
    // by none.
    int whole = keys_seen(first_row, p.N_q, p.N_k, p.causal) / T::BLOCK_K;
    int end = keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal);
    int tiles = CEIL_DIV((int64_t)end, T::BLOCK_K);

    // The state before any key was seen (lesson 12, eq. 4).
    struct state<T> warp = {};
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int64_t row = first_row + warp_row + 16 * r + threadIdx.x % 32 / 4 + 8 * h;
            warp.visible[r][h] = keys_seen(row, p.N_q, p.N_k, p.causal);
            warp.m[r][h] = -INFINITY;
        }

    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    cp_async_commit();
    if (tiles > 0) {
        int first_key = (tiles - 1) * T::BLOCK_K;
        copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K[(tiles - 1) % 2], p.K, first_key,
                                                p.N_k - first_key);
    }
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();                          // Q of all threads is here before anybody reads it
    bf16* Q_warp = smem.Q + warp_row * T::d;  // warp_row % 8 = 0: swizzled as from row 0
    load_Q(warp, Q_warp);

    float c = p.scale * LOG2_E;
    sweep<1>(warp, smem, Q_warp, p, c, tiles - 1, whole);
    sweep<0>(warp, smem, Q_warp, p, c, whole - 1, 0);

    p.O = head_of(p.O, head, p.H);
    p.LSE += (int64_t)head * p.N_q;
    __syncwarp();  // all lanes have read Q before O takes its place
    store_O(p, warp, Q_warp, first_row + warp_row);
}

// ---- launcher ------------------------------------------------------------------------------

// Launches the kernel with these sizes, for B * H heads.
template <class T> static int launch(struct forward p, int heads) {
    void (*kernel)(struct forward) = flash_tensor_core_kernel<T>;
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    sizeof(struct buffers<T>)));
    dim3 grid(CEIL_DIV((int64_t)p.N_q, T::BLOCK_Q), heads);
    kernel<<<grid, T::THREADS, sizeof(struct buffers<T>)>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// As launch(), with tiles T where a block may have their shared memory, else with tiles SMALL.
template <class T, class SMALL> static int launch_that_fits(struct forward p, int heads) {
    return sizeof(struct buffers<T>) <= most_shared_memory() ? launch<T>(p, heads)
                                                             : launch<SMALL>(p, heads);
}

extern "C" int flash_tensor_core(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                                 const bf16* V_gpu, int B, int N_q, int N_k, int H, int d,
                                 struct strides stride_o, struct strides stride_q,
                                 struct strides stride_k, struct strides stride_v, float scale,
                                 int causal) {
    struct forward p;
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.causal = causal, p.scale = scale;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK || B == 0 || N_q == 0 || H == 0) return status;
    if (d == 64)
        return causal ? launch<forward_tiles<64, TILES_64_CAUSAL>>(p, B * H)
                      : launch<forward_tiles<64, TILES_64>>(p, B * H);
    typedef forward_tiles<128, TILES_128> tiles;
    typedef forward_tiles<128, TILES_128_99KB> small;
    typedef forward_tiles<128, TILES_128_CAUSAL> tiles_causal;
    typedef forward_tiles<128, TILES_128_CAUSAL_99KB> small_causal;
    return causal ? launch_that_fits<tiles_causal, small_causal>(p, B * H)
                  : launch_that_fits<tiles, small>(p, B * H);
}
