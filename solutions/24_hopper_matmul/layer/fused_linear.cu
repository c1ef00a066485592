// fused_linear.cu: lesson 08's layer on lesson 24's product.
//
//     Z = X W^T + bias        Y = dropout(f(Z))        dZ = f'(Z) * dropout(dY)
//
// The product and its ring of stages are hopper_tile.h's, Philox, GELU and the backward pass are
// epilogue.h's. New here is what a consumer does with its sums:
//
//     the bits of its mask by Philox; bias, f, mask, bf16 --stmatrix--> shared memory --> Y
//
// Graded by lesson 08's check, timed in its bench: grader/24_hopper_matmul/test.sh.
#include "fused_linear.h"

#include <cuda_bf16.h>
#include <math.h>

#include "epilogue.h"
#include "hopper.h"
#include "hopper_tile.h"

enum {
    BLOCK_N = 256,            // columns of a block's tile
    LANE_COLS = 4,            // lanes that share the columns of a row: 8 j + 2 t, 8 j + 2 t + 1
    EIGHTS = BLOCK_N / 8,     // j
    WORDS = 2 * EIGHTS / 32,  // of a lane's bits of a row, two for each j
    STORED = 32 * QUAD,       // elements of a row that a warp stores at once
};

// What follows the product.
struct layer {
    bf16 *Y, *Z;       // (M, N)  out; Z may be NULL
    const bf16* bias;  // (N)
    struct dropout dropout;
};

// ---- the mask

// Which of a lane's sums are kept: of its rows row and row + 8, word w has the bits of j = 16 w ...
// 16 w + 15, two each, the lowest first. A call of Philox has the four neighbours of two lanes: the
// even one makes both lanes' bits of the first row, the odd one those of the second, and they
// exchange what is the other's.                                                 (lesson 08, eq. 5)
__device__ __forceinline__ void make_mask(unsigned kept[2][WORDS], int row, int col0, int N,
                                          const struct dropout& dropout) {
    int t = threadIdx.x % LANE_COLS, odd = t % 2;
    int64_t quad = ((int64_t)(row + 8 * odd) * N + col0) / QUAD + t / 2;
    for (int w = 0; w < WORDS; w++) {
        unsigned left = 0, right = 0;
#pragma unroll 4
        for (int j = 0; j < 16; j++, quad += 8 / QUAD) {
            unsigned word[QUAD], bit[QUAD];
            philox(word, (uint64_t)quad, dropout.offset, dropout.keys);
            for (int e = 0; e < QUAD; e++) bit[e] = word[e] > dropout.limit;
            left = left >> 2 | bit[0] << 30 | bit[1] << 31;
            right = right >> 2 | bit[2] << 30 | bit[3] << 31;
        }
        unsigned got = __shfl_xor_sync(0xffffffff, odd ? left : right, 1);
        kept[0][w] = odd ? got : left;
        kept[1][w] = odd ? right : got;
    }
}

// ---- from sums to Y

// Puts a warp's 16 rows of Z, or with `finished` of Y, into its place in shared memory.
//     Z = X W^T + bias,  Y = dropout(f(Z))                               (lesson 08, eq. 1 to 3)
//     Z[i][j] = sums[i][j] + bias[j],  j = col + 8 h + 2 t, + 1
// bias: from this lane's first column on, of which `left` are inside. kept[r]: the lane's bits of
// row g + 8 r.
template <int f, bool finished>
__device__ __forceinline__ void put_rows(bf16 (*smem)[WARP_ROWS * PANEL],
                                         const float sums[BLOCK_N / 2], const bf16* bias, int left,
                                         const unsigned kept[2][WORDS], float scale) {
    int lane = threadIdx.x % 32, row = lane % 16;  // of the 8 elements whose address it gives
#pragma unroll
    for (int col = 0; col < BLOCK_N; col += 16) {
        unsigned word[4];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float* s = &sums[col / 2 + 4 * h];  // two of row g, two of row g + 8
            unsigned b = col + 8 * h < left ? __ldg((const unsigned*)(bias + col + 8 * h)) : 0;
            float b0 = __uint_as_float(b << 16), b1 = __uint_as_float(b & 0xffff0000u);
#pragma unroll
            for (int r = 0; r < 2; r++) {
                float z0 = s[2 * r] + b0, z1 = s[2 * r + 1] + b1;
                if (finished) {
                    int bit = col / 4 + 2 * h;  // two for each 8 columns
                    unsigned bits = kept[r][bit / 32] >> bit % 32;
                    float y0 = apply(z0, f) * scale, y1 = apply(z1, f) * scale;
                    z0 = bits & 1 ? y0 : 0.0f;
                    z1 = bits & 2 ? y1 : 0.0f;
                }
                word[2 * h + r] = pack_bf16(z0, z1);
            }
        }
        int piece = (col % PANEL / 8 + lane / 16) ^ row % 8;  // as in lesson 24
        stmatrix_x4(&smem[col / PANEL][row * PANEL + piece * 8], word);
    }
}

// Stores what put_rows() has put there. A row of Y begins at a multiple of 8 bytes, N being a
// multiple of 4; TMA stores 16. So the lanes store, 256 bytes side by side.
__device__ __forceinline__ void store_rows(bf16* out, const bf16 (*smem)[WARP_ROWS * PANEL],
                                           int row0, int col0, int M, int N) {
    int lane = threadIdx.x % 32, rows = min((int)WARP_ROWS, M - row0);
    __syncwarp();  // rows of all lanes -> read below
#pragma unroll
    for (int first = 0; first < BLOCK_N; first += STORED) {
        int col = first + lane * QUAD;
        bf16* to = out + (int64_t)row0 * N + col0 + col;
        if (col0 + col >= N) continue;
#pragma unroll 8
        for (int r = 0; r < rows; r++, to += N) {
            int piece = col % PANEL / 8 ^ r % 8;
            *(uint2*)to = *(const uint2*)&smem[col / PANEL][r * PANEL + piece * 8 + col % 8];
        }
    }
    __syncwarp();  // these rows read -> overwritten by the next ones
}

// The hook: all that follows the product, for a warp's 16 rows from row0 on.
template <int f>
__device__ __forceinline__ void finish_rows(bf16 rows[][WARP_ROWS * PANEL],
                                            const float sums[BLOCK_N / 2], const struct product& p,
                                            const struct layer& l, int row0, int col0) {
    int lane = threadIdx.x % 32, g = lane / LANE_COLS, t = lane % LANE_COLS;
    const bf16* bias = l.bias + col0 + 2 * t;
    int left = p.N - col0 - 2 * t;
    unsigned kept[2][WORDS] = {{~0u, ~0u}, {~0u, ~0u}};
    if (l.dropout.any) make_mask(kept, row0 + g, col0, p.N, l.dropout);
    if (l.Z) {
        put_rows<f, false>(rows, sums, bias, left, kept, 1.0f);
        store_rows(l.Z, rows, row0, col0, p.M, p.N);
    }
    put_rows<f, true>(rows, sums, bias, left, kept, l.dropout.scale);
    store_rows(l.Y, rows, row0, col0, p.M, p.N);
}

// ---- GPU kernel

// Grid: as many blocks as run at a time, or one for each tile if these are fewer.
template <int f>
__global__ void __launch_bounds__(THREADS, 1)
    fused_linear_kernel(const __grid_constant__ struct product p, const struct layer l) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<BLOCK_N>& smem = *(struct block_smem<BLOCK_N>*)memory;
    const int STAGES = smem.STAGES, tiles = CEIL_DIV(p.M, BLOCK_M) * CEIL_DIV(p.N, BLOCK_N);
    // The same number in all lanes, and the compiler knows it.
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), warpgroup = warp / 4;

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&smem.full[s], 1);           // the producer, and the bytes
            mbarrier_init(&smem.empty[s], CONSUMERS);  // a thread of each
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there before anybody uses them

    int row0, col0, s = 0, phase = 0;
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x != 0) return;
        for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
            place_tile<BLOCK_N>(&row0, &col0, t, p);
            for (int k = 0; k < CEIL_DIV(p.K, BLOCK_K); k++) {
                mbarrier_wait(&smem.empty[s], phase ^ 1);  // both consumers have read the stage
                load_stage<K_MAJOR, K_MAJOR, BLOCK_N>(&smem.stages[s], &smem.full[s], p, row0, col0,
                                                      k * BLOCK_K);
                if (++s == STAGES) s = 0, phase ^= 1;
            }
        }
        return;
    }

    setmaxnreg_inc<CONSUMER_REGISTERS>();
    int consumer = warpgroup - 1;
    float sums[BLOCK_N / 2] = {};  // with K = 0 they stay 0
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        for (int k = 0; k < CEIL_DIV(p.K, BLOCK_K); k++) {
            mbarrier_wait(&smem.full[s], phase);  // X and W are here
            multiply<K_MAJOR, K_MAJOR, BLOCK_N>(sums, &smem.stages[s], consumer * CONSUMER_M,
                                                k > 0);
            wgmma_wait<0>();  // the stage is read; meanwhile the other consumer multiplies
            free_stage<1>(&smem.empty[s]);
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        wgmma_hold<BLOCK_N / 2>(sums);
        place_tile<BLOCK_N>(&row0, &col0, t, p);
        int first = (warp - 4) * WARP_ROWS;  // this warp's rows of the tile
        finish_rows<f>(smem.C[first / WARP_ROWS], sums, p, l, row0 + first, col0);
    }
}

// ---- launcher

typedef void kernel(const struct product, const struct layer);

extern "C" int fused_linear(bf16* Y_gpu, bf16* Z_gpu, const bf16* X_gpu, const bf16* W_gpu,
                            const bf16* bias_gpu, int M, int N, int K, int f, float p,
                            uint64_t seed, uint64_t offset) {
    int status = check_numbers(M, N, K, f, p);
    if (status != COURSE_OK) return status;
    if (M == 0 || N == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (!Y_gpu || !bias_gpu || (K > 0 && (!X_gpu || !W_gpu))) return COURSE_BAD_ARGUMENT;
    if (!is_aligned(Y_gpu) || !is_aligned(Z_gpu) || !is_aligned(X_gpu) || !is_aligned(W_gpu) ||
        !is_aligned(bias_gpu))
        return COURSE_UNSUPPORTED;
    int device, multiprocessors;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));

    struct product product = {};
    product.M = M, product.N = N, product.K = K;
    // With K = 0 nobody asks for a tile: a map of an array without elements does not exist.
    if (K > 0 &&
        (encode(&product.A, X_gpu, M, K, K, BLOCK_M) || encode(&product.B, W_gpu, N, K, K, PANEL)))
        return COURSE_CUDA_ERROR;
    struct layer layer = {Y_gpu, Z_gpu, bias_gpu, dropout_of(p, seed, offset)};
    kernel* launched = f == FUSED_LINEAR_NONE   ? fused_linear_kernel<FUSED_LINEAR_NONE>
                       : f == FUSED_LINEAR_GELU ? fused_linear_kernel<FUSED_LINEAR_GELU>
                                                : fused_linear_kernel<FUSED_LINEAR_GELU_TANH>;
    const int bytes = sizeof(struct block_smem<BLOCK_N>);
    COURSE_TRY(cudaFuncSetAttribute(launched, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int64_t tiles = (int64_t)CEIL_DIV(M, BLOCK_M) * CEIL_DIV(N, BLOCK_N);
    int blocks = tiles < multiprocessors ? (int)tiles : multiprocessors;
    launched<<<blocks, THREADS, bytes>>>(product, layer);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int fused_linear_backward(bf16* dZ_gpu, const bf16* dY_gpu, const bf16* Z_gpu, int M,
                                     int N, int f, float p, uint64_t seed, uint64_t offset) {
    int status = check_numbers(M, N, 0, f, p);
    if (status != COURSE_OK) return status;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!dZ_gpu || !dY_gpu || (!Z_gpu && f != FUSED_LINEAR_NONE)) return COURSE_BAD_ARGUMENT;
    if (!is_aligned(dZ_gpu) || !is_aligned(dY_gpu) || !is_aligned(Z_gpu)) return COURSE_UNSUPPORTED;

    int64_t quads = (int64_t)M * N / QUAD;
    unsigned blocks = (unsigned)CEIL_DIV(quads, BACKWARD_THREADS * QUADS);
    fused_linear_backward_kernel<<<blocks, BACKWARD_THREADS>>>(dZ_gpu, dY_gpu, Z_gpu, quads, f,
                                                               dropout_of(p, seed, offset));
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
