// 2_wgmma_one_stage.cu: wgmma reads the tiles itself; copy, wait, multiply, wait.
//
// One stage: nothing is on its way while the block multiplies, and nothing is multiplied while a
// tile is on its way.
#include "hopper_matmul.h"

#include <cuda_bf16.h>

#include "hopper.h"

enum {
    BLOCK_M = 128,    // rows of a block's tile of C; its columns are a template's parameter, n
    BLOCK_K = 64,     // of a stage
    PANEL = 64,       // elements in a swizzled row of 128 bytes
    CONSUMER_M = 64,  // rows of a consumer's wgmma
    STEP = 16,        // K of one wgmma
    WARPGROUP = 128,  // threads
    CONSUMERS = BLOCK_M / CONSUMER_M,
    THREADS = WARPGROUP * CONSUMERS,
    WARP_ROWS = 16,  // of C, in a consumer's warp
    GROUP = 16,      // rows of tiles of C that are worked on together
};

// A tile begins at a multiple of 1024 bytes: eight rows of 128, which is what the swizzle repeats.
template <int n> struct stage_smem {
    bf16 A[BLOCK_M * BLOCK_K];
    bf16 B[BLOCK_K * n];
};
template <int n> struct block_smem {
    enum { STAGES = 1 };
    struct stage_smem<n> stages[STAGES];
    bf16 C[CONSUMERS * 4][n / PANEL][WARP_ROWS * PANEL];  // each warp's own rows
    mbarrier full[STAGES];
};

// What the kernel works on. The maps have to be a kernel's parameter.
struct product {
    CUtensorMap A, B, C;  // C without the last N % 8 columns: see store_rows()
    bf16* C_gpu;
    int64_t stride_C;
    int M, N, K;
};

// ---- device helpers

// Where tile t of C begins. Tiles are counted in groups of GROUP rows of tiles, down first: blocks
// that run at the same time share few rows of tiles of A and columns of tiles of B, in L2.
template <int n>
__device__ __forceinline__ void place_tile(int* row0, int* col0, int t, const struct product& p) {
    int group_tiles = GROUP * CEIL_DIV(p.N, n);
    int first = t / group_tiles * GROUP;
    int rows = min((int)GROUP, CEIL_DIV(p.M, BLOCK_M) - first);  // the last group has fewer
    t %= group_tiles;
    *row0 = (first + t % rows) * BLOCK_M;
    *col0 = t / rows * n;
}

// Asks for the tiles of A and B that begin at row0, col0 and k0. What lies outside of the matrices
// becomes 0. One thread calls it.
template <int A_major, int B_major, int n>
__device__ __forceinline__ void load_stage(struct stage_smem<n>* stage, mbarrier* full,
                                           const struct product& p, int row0, int col0, int k0) {
    mbarrier_arrive_expect(full, sizeof(struct stage_smem<n>));
    if (A_major == K_MAJOR) {  // a row of the matrix has BLOCK_K elements of the tile: one panel
        tma_load_2d(stage->A, &p.A, full, L2_EVICT_NORMAL, k0, row0);
    } else {
        for (int i = 0; i < BLOCK_M; i += PANEL)
            tma_load_2d(stage->A + i * BLOCK_K, &p.A, full, L2_EVICT_NORMAL, row0 + i, k0);
    }
    if (B_major == K_MAJOR) {
        tma_load_2d(stage->B, &p.B, full, L2_EVICT_NORMAL, k0, col0);
    } else {
        for (int j = 0; j < n; j += PANEL)
            tma_load_2d(stage->B + j * BLOCK_K, &p.B, full, L2_EVICT_NORMAL, col0 + j, k0);
    }
}

// C_reg = A B (+ C_reg, if add) for a stage: 64 rows of A from row `first` of the tile on.
template <int A_major, int B_major, int n>
__device__ __forceinline__ void multiply(float C_reg[n / 2], const struct stage_smem<n>* stage,
                                         int first, bool add) {
    // 16 more of k: 32 bytes further in each row, or 16 rows of 128 bytes further. In 16 bytes.
    const int A_step = A_major == K_MAJOR ? STEP * 2 / 16 : STEP * 128 / 16;
    const int B_step = B_major == K_MAJOR ? STEP * 2 / 16 : STEP * 128 / 16;
    unsigned A = wgmma_descriptor(stage->A + first * BLOCK_K, 0);
    unsigned B = wgmma_descriptor(stage->B, PANEL * BLOCK_K * sizeof(bf16));
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < BLOCK_K / STEP; i++)
        wgmma_bf16<n, A_major, B_major>(C_reg, A + i * A_step, B + i * B_step, add || i > 0);
    wgmma_commit();
}

// Stores a warp's 16 rows of C, by way of its place in shared memory. TMA stores 16 bytes at a
// time, also over the end of a matrix's rows. So its map ends at a multiple of 8 columns, and the
// lanes store the columns behind.
template <int n>
__device__ __forceinline__ void store_rows(bf16 (*C_smem)[WARP_ROWS * PANEL],
                                           const float C_reg[n / 2], const struct product& p,
                                           int row0, int col0) {
    int lane = threadIdx.x % 32;
    int row = lane % 16;  // of the 8 elements whose address this lane gives
#pragma unroll
    for (int col = 0; col < n; col += 16) {
        const float* c = &C_reg[col / 2];
        unsigned word[4] = {pack_bf16(c[0], c[1]), pack_bf16(c[2], c[3]), pack_bf16(c[4], c[5]),
                            pack_bf16(c[6], c[7])};
        int piece = (col % PANEL / 8 + lane / 16) ^ row % 8;  // as TMA expects it
        stmatrix_x4(&C_smem[col / PANEL][row * PANEL + piece * 8], word);
    }
    fence_proxy_async();  // the lane's stores come before TMA's reads
    __syncwarp();         // ... all lanes'
    const int behind = p.N % 8, whole = p.N - behind;
    if (lane == 0 && whole > 0) {
        for (int panel = 0; panel < n / PANEL; panel++)
            tma_store_2d(&p.C, C_smem[panel], col0 + panel * PANEL, row0);
        bulk_commit();
    }
    if (behind == 0 || whole < col0 || whole >= col0 + n) return;
    // C[i][j], i = row0 + r, j = whole + e % behind
    for (int e = lane; e < WARP_ROWS * behind; e += 32) {
        int r = e / behind, j = e % behind, panel = (whole - col0) / PANEL;
        int piece = (whole - col0) % PANEL / 8 ^ r % 8;
        if (row0 + r < p.M)
            p.C_gpu[(row0 + r) * p.stride_C + whole + j] = C_smem[panel][r * PANEL + piece * 8 + j];
    }
}

// ---- GPU kernel

// Grid: a block for each tile. The majors say which index of A and B runs fastest in memory.
template <int A_major, int B_major, int n>
__global__ void __launch_bounds__(THREADS, 1)
    hopper_matmul_kernel(const __grid_constant__ struct product p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<n>& smem = *(struct block_smem<n>*)memory;
    const int STAGES = smem.STAGES, K_tiles = CEIL_DIV(p.K, BLOCK_K);
    // The same number in all lanes, and the compiler knows it.
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / WARPGROUP, 0);

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++)
            mbarrier_init(&smem.full[s], 1);  // who asks, and the bytes
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there before anybody uses them

    int row0, col0;
    place_tile<n>(&row0, &col0, blockIdx.x, p);
    for (int k = 0; k < STAGES && k < K_tiles && threadIdx.x == 0; k++)
        load_stage<A_major, B_major, n>(&smem.stages[k], &smem.full[k], p, row0, col0, k * BLOCK_K);

    int first = warpgroup * CONSUMER_M;  // its rows of the tile
    float C_reg[n / 2] = {};
    int s = 0, phase = 0;  // the stage, and the parity of its round through the ring
    for (int k = 0; k < K_tiles; k++) {
        mbarrier_wait(&smem.full[s], phase);  // A and B are here
        multiply<A_major, B_major, n>(C_reg, &smem.stages[s], first, k > 0);
        wgmma_wait<0>();
        __syncthreads();  // both warpgroups have read the stage before it is filled again
        if (threadIdx.x == 0 && k + STAGES < K_tiles)
            load_stage<A_major, B_major, n>(&smem.stages[s], &smem.full[s], p, row0, col0,
                                            (k + STAGES) * BLOCK_K);
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    wgmma_hold<n / 2>(C_reg);
    int warp = threadIdx.x % WARPGROUP / 32;
    store_rows<n>(smem.C[warpgroup * 4 + warp], C_reg, p, row0 + first + warp * WARP_ROWS, col0);
    bulk_wait<0>();  // shared memory must live until it is read
}

// ---- launcher

// The map of a (rows, cols) matrix; TMA moves boxes of `box_rows` rows of a panel.
static int encode(CUtensorMap* map, const bf16* matrix, int64_t rows, int64_t cols, int64_t stride,
                  int box_rows) {
    const cuuint64_t sizes[2] = {(cuuint64_t)cols, (cuuint64_t)rows};
    const cuuint64_t bytes[1] = {(cuuint64_t)stride * sizeof(bf16)};
    const cuuint32_t box[2] = {PANEL, (cuuint32_t)box_rows};
    return tensor_map_encode(map, matrix, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, sizes, bytes, box,
                             128);
}

static bool fits_tma(const bf16* matrix, int64_t stride) {
    return (uintptr_t)matrix % 16 == 0 && stride % 8 == 0 && stride < (int64_t)1 << 39;
}

template <int A_major, int B_major, int n>
static int launch(struct product* p, const bf16* B, int64_t stride_B) {
    if (B_major == K_MAJOR ? encode(&p->B, B, p->N, p->K, stride_B, n)
                           : encode(&p->B, B, p->K, p->N, stride_B, BLOCK_K))
        return COURSE_CUDA_ERROR;
    const int bytes = sizeof(struct block_smem<n>);
    COURSE_TRY(cudaFuncSetAttribute(hopper_matmul_kernel<A_major, B_major, n>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int blocks = CEIL_DIV(p->M, BLOCK_M) * CEIL_DIV(p->N, n);
    hopper_matmul_kernel<A_major, B_major, n><<<blocks, THREADS, bytes>>>(*p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

template <int A_major, int B_major>
static int launch_wide(struct product* p, const bf16* B, int64_t stride_B) {
    return launch<A_major, B_major, 256>(p, B, stride_B);
}

extern "C" int hopper_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N, int K,
                             int64_t stride_C, int64_t stride_A, int64_t stride_B, int transpose_A,
                             int transpose_B) {
    const int limit = HOPPER_MATMUL_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if ((transpose_A & ~1) || (transpose_B & ~1)) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    int A_rows = transpose_A ? K : M, A_cols = transpose_A ? M : K;
    int B_cols = transpose_B ? K : N;
    if (C_gpu == NULL || stride_C < N) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL || stride_A < A_cols || stride_B < B_cols))
        return COURSE_BAD_ARGUMENT;
    if (!fits_tma(C_gpu, stride_C)) return COURSE_UNSUPPORTED;
    if (K > 0 && (!fits_tma(A_gpu, stride_A) || !fits_tma(B_gpu, stride_B)))
        return COURSE_UNSUPPORTED;
    int device, major;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    if (major != 9) return COURSE_UNSUPPORTED;
    if (K == 0) {  // no term: a map of an array without elements does not exist
        COURSE_TRY(cudaMemset2DAsync(C_gpu, stride_C * sizeof(bf16), 0, N * sizeof(bf16), M));
        return COURSE_OK;
    }

    struct product p = {};
    p.C_gpu = C_gpu, p.stride_C = stride_C;
    p.M = M, p.N = N, p.K = K;
    if (encode(&p.C, C_gpu, M, N < 8 ? 8 : N / 8 * 8, stride_C, WARP_ROWS) ||
        encode(&p.A, A_gpu, A_rows, A_cols, stride_A, transpose_A ? BLOCK_K : BLOCK_M))
        return COURSE_CUDA_ERROR;
    if (transpose_A)
        return transpose_B ? launch_wide<MN_MAJOR, K_MAJOR>(&p, B_gpu, stride_B)
                           : launch_wide<MN_MAJOR, MN_MAJOR>(&p, B_gpu, stride_B);
    return transpose_B ? launch_wide<K_MAJOR, K_MAJOR>(&p, B_gpu, stride_B)
                       : launch_wide<K_MAJOR, MN_MAJOR>(&p, B_gpu, stride_B);
}
