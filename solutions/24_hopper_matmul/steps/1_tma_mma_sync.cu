// 1_tma_mma_sync.cu: tiles come by TMA; ldmatrix and mma.sync of lesson 07 multiply them.
//
// Eight warps with 64 x 64 sums each. One stage: copy, wait, multiply, wait.
#include "hopper_matmul.h"

#include <cuda_bf16.h>

#include "hopper.h"

enum {
    BLOCK_M = 128,  // rows of a block's tile of C; its columns are a template's parameter, n
    BLOCK_K = 64,   // of a stage
    PANEL = 64,     // elements in a swizzled row of 128 bytes
    STEP = 16,      // K of one wgmma
    THREADS = 256,
    GROUP = 16,  // rows of tiles of C that are worked on together
};

// A tile begins at a multiple of 1024 bytes: eight rows of 128, which is what the swizzle repeats.
template <int n> struct stage_smem {
    bf16 A[BLOCK_M * BLOCK_K];
    bf16 B[BLOCK_K * n];
};
template <int n> struct block_smem {
    enum { STAGES = 1 };
    struct stage_smem<n> stages[STAGES];
    mbarrier full[STAGES];
};

// What the kernel works on. The maps have to be a kernel's parameter.
struct product {
    CUtensorMap A, B;
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

// Where element (row, col) of a tile is: in panels of `rows` rows of 64 elements, as TMA has laid
// it. col is a multiple of 8.
__device__ __forceinline__ const bf16* place(const bf16* tile, int rows, int row, int col) {
    return &tile[col / PANEL * (rows * PANEL) + row * PANEL + ((col % PANEL / 8) ^ row % 8) * 8];
}

// C_reg += A B for a stage: the warp's 64 x 64 sums, from row `row` and column `col` of the tile.
template <int A_major, int B_major, int n>
__device__ __forceinline__ void multiply(float C_reg[4][8][4], const struct stage_smem<n>* stage,
                                         int row, int col) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < BLOCK_K; k += STEP) {
        unsigned A_reg[4][4], B_reg[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int m = row + i * 16;
            if (A_major == K_MAJOR)
                ldmatrix_x4(A_reg[i], place(stage->A, BLOCK_M, m + lane % 16, k + lane / 16 * 8));
            else
                ldmatrix_x4_trans(A_reg[i], place(stage->A, BLOCK_K, k + lane % 8 + lane / 16 * 8,
                                                  m + lane / 8 % 2 * 8));
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int first = col + j * 16;
            if (B_major == K_MAJOR)
                ldmatrix_x4(B_reg[j], place(stage->B, n, first + lane % 8 + lane / 16 * 8,
                                            k + lane / 8 % 2 * 8));
            else
                ldmatrix_x4_trans(B_reg[j],
                                  place(stage->B, BLOCK_K, k + lane % 16, first + lane / 16 * 8));
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                mma_m16n8k16_bf16(C_reg[i][j], A_reg[i], &B_reg[j / 2][j % 2 * 2]);
    }
}

// Stores the warp's 64 x 64 sums. stride_C is even: two neighbours are 4 bytes at a multiple of 4.
__device__ __forceinline__ void store(const struct product& p, const float C_reg[4][8][4], int row0,
                                      int col0) {
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int row = row0 + i * 16 + lane / 4 + 8 * h, col = col0 + j * 8 + lane % 4 * 2;
                if (row >= p.M || col >= p.N) continue;
                bf16* to = p.C_gpu + row * p.stride_C + col;
                float left = C_reg[i][j][2 * h], right = C_reg[i][j][2 * h + 1];
                if (col + 1 < p.N)
                    *(unsigned*)to = pack_bf16(left, right);
                else
                    *to = __float2bfloat16(left);
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

    int warp = threadIdx.x / 32, row = warp / 4 * 64, col = warp % 4 * 64;  // of the tile
    float C_reg[4][8][4] = {};
    int phase = 0;
    for (int k = 0; k < K_tiles; k++) {
        mbarrier_wait(&smem.full[0], phase);  // A and B are here
        multiply<A_major, B_major, n>(C_reg, &smem.stages[0], row, col);
        __syncthreads();  // all warps have read the stage before it is filled again
        if (threadIdx.x == 0 && k + 1 < K_tiles)
            load_stage<A_major, B_major, n>(&smem.stages[0], &smem.full[0], p, row0, col0,
                                            (k + 1) * BLOCK_K);
        phase ^= 1;
    }
    store(p, C_reg, row0 + row, col0 + col);
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
    if (encode(&p.A, A_gpu, A_rows, A_cols, stride_A, transpose_A ? BLOCK_K : BLOCK_M))
        return COURSE_CUDA_ERROR;
    if (transpose_A)
        return transpose_B ? launch_wide<MN_MAJOR, K_MAJOR>(&p, B_gpu, stride_B)
                           : launch_wide<MN_MAJOR, MN_MAJOR>(&p, B_gpu, stride_B);
    return transpose_B ? launch_wide<K_MAJOR, K_MAJOR>(&p, B_gpu, stride_B)
                       : launch_wide<K_MAJOR, MN_MAJOR>(&p, B_gpu, stride_B);
}
