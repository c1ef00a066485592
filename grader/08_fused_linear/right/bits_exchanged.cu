// Blocks of 64 x 64 sums in four warps, finished where they lie, in the registers of mma.sync. A
// lane has two neighbours of two rows there, and a call of Philox gives four of one. Lanes 2 a and
// 2 a + 1 make one call each, for the upper and for the lower row, and exchange the bits. GELU is
// erff() and tanhf(). The backward pass strides through the array with a fixed grid.
#include "fused_linear.h"

#include <cuda_bf16.h>
#include <math.h>

#include "matmul_tile.h"

enum { QUAD = 4, THREADS = 128, BLOCKS = 264 };

typedef struct matmul_tile<64, 64, 32, 32> tile;

// What a launch knows of its dropout.
struct dropout {
    uint64_t seed, offset;
    float scale;     // of an element that is kept
    unsigned limit;  // kept are words above this
    int any;         // p > 0
};

// ---- random numbers

// Four words of Philox4x32-10 (README eq. 5).
__device__ uint4 philox(uint64_t call, const struct dropout& dropout) {
    uint4 c = make_uint4((unsigned)call, (unsigned)(call >> 32), (unsigned)dropout.offset,
                         (unsigned)(dropout.offset >> 32));
    uint2 key = make_uint2((unsigned)dropout.seed, (unsigned)(dropout.seed >> 32));
    for (int round = 0; round < 10; round++) {
        const unsigned left = 0xD2511F53u, right = 0xCD9E8D57u;
        c = make_uint4(__umulhi(right, c.z) ^ c.y ^ key.x, right * c.z,
                       __umulhi(left, c.x) ^ c.w ^ key.y, left * c.x);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return c;
}

// Which of the elements e .. e + 3 are kept: a bit each. e is a multiple of 4.
__device__ unsigned kept_of(int64_t e, const struct dropout& dropout) {
    if (!dropout.any) return 15;
    uint4 word = philox((uint64_t)e / 4, dropout);
    return (word.x > dropout.limit) + (word.y > dropout.limit) * 2 + (word.z > dropout.limit) * 4 +
           (word.w > dropout.limit) * 8;
}

__device__ float drop(float x, unsigned kept, const struct dropout& dropout) {
    return kept & 1 ? x * dropout.scale : 0.0f;
}

// ---- GELU

// f(z) = z Phi(z)                                                                   (README eq. 2)
__device__ __forceinline__ float apply(float z, int f) {
    if (f == FUSED_LINEAR_NONE) return z;
    float u = f == FUSED_LINEAR_GELU ? erff(0.707106781f * z)
                                     : tanhf(0.797884561f * (z + 0.044715f * z * z * z));
    return z == INFINITY ? z : 0.5f * z * (1.0f + u);
}

// f'(z) = Phi(z) + z Phi'(z)                                                        (README eq. 4)
__device__ __forceinline__ float slope(float z, int f) {
    if (f == FUSED_LINEAR_NONE) return 1.0f;
    if (fabsf(z) > 16.0f) return z > 0.0f ? 1.0f : 0.0f;
    if (f == FUSED_LINEAR_GELU) {
        float density = 0.398942280f * expf(-0.5f * z * z);
        return 0.5f * (1.0f + erff(0.707106781f * z)) + z * density;
    }
    float t = tanhf(0.797884561f * (z + 0.044715f * z * z * z));
    float inner = 0.797884561f * (1.0f + 3.0f * 0.044715f * z * z);
    return 0.5f * (1.0f + t) + 0.5f * z * (1.0f - t * t) * inner;
}

// ---- GPU kernels

__global__ void __launch_bounds__(tile::THREADS)
    fused_linear_kernel(bf16* __restrict__ Y,           // (M, N)  out
                        bf16* __restrict__ Z,           // (M, N)  out, or NULL
                        const bf16* __restrict__ X,     // (M, K)
                        const bf16* __restrict__ W,     // (N, K)
                        const bf16* __restrict__ bias,  // (N)
                        int M, int N, int K, int f, struct dropout dropout) {
    extern __shared__ __align__(128) bf16 smem[];
    int row0, col0;
    pick_tile<tile>(&row0, &col0, M, N);
    float sums[tile::WARP_M / 16][tile::WARP_N / 8][4] = {};
    multiply_tile<tile, 2>(sums, smem, X, W, row0, col0, M, N, K);

    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, odd = lane % 2;
    row0 += warp / tile::WARPS_N * tile::WARP_M + lane / 4;
    col0 += warp % tile::WARPS_N * tile::WARP_N + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < tile::WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < tile::WARP_N / 8; j++) {
            int row = row0 + i * 16, col = col0 + j * 8;
            int64_t call_e = (int64_t)(row + odd * 8) * N + col - odd * 2;
            unsigned mine = kept_of(call_e, dropout);
            unsigned others = __shfl_xor_sync(0xffffffffu, mine, 1);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned kept = (half == odd ? mine : others) >> odd * 2;
                if (row + half * 8 >= M || col >= N) continue;
                int64_t e = (int64_t)(row + half * 8) * N + col;
                float left = sums[i][j][half * 2] + __bfloat162float(bias[col]);
                float right = sums[i][j][half * 2 + 1] + __bfloat162float(bias[col + 1]);
                if (Z) *(unsigned*)&Z[e] = pack_bf16(left, right);
                *(unsigned*)&Y[e] = pack_bf16(drop(apply(left, f), kept, dropout),
                                              drop(apply(right, f), kept >> 1, dropout));
            }
        }
}

__global__ void __launch_bounds__(THREADS)
    fused_linear_backward_kernel(bf16* __restrict__ dZ,        // (M, N)  out
                                 const bf16* __restrict__ dY,  // (M, N)
                                 const bf16* __restrict__ Z,   // (M, N), not read if f is NONE
                                 int64_t quads, int f, struct dropout dropout) {
    for (int64_t quad = (int64_t)blockIdx.x * THREADS + threadIdx.x; quad < quads;
         quad += (int64_t)gridDim.x * THREADS) {
        unsigned kept = kept_of(quad * QUAD, dropout);
        uint2 g_words = ((const uint2*)dY)[quad], z_words = make_uint2(0, 0);
        if (f != FUSED_LINEAR_NONE) z_words = ((const uint2*)Z)[quad];
        const unsigned g[2] = {g_words.x, g_words.y}, z[2] = {z_words.x, z_words.y};
        unsigned out[2];
        for (int k = 0; k < 2; k++) {
            float left = __uint_as_float(g[k] << 16) * slope(__uint_as_float(z[k] << 16), f);
            float right =
                __uint_as_float(g[k] & 0xffff0000u) * slope(__uint_as_float(z[k] & 0xffff0000u), f);
            out[k] = pack_bf16(drop(left, kept >> 2 * k, dropout),
                               drop(right, kept >> (2 * k + 1), dropout));
        }
        ((uint2*)dZ)[quad] = make_uint2(out[0], out[1]);
    }
}

// ---- launchers

// COURSE_BAD_ARGUMENT, COURSE_UNSUPPORTED, or COURSE_OK: what the sizes and numbers ask for.
static int check_numbers(int M, int N, int K, int f, float p) {
    const int limit = FUSED_LINEAR_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0 || f < FUSED_LINEAR_NONE || f > FUSED_LINEAR_GELU_TANH)
        return COURSE_BAD_ARGUMENT;
    if (!(p >= 0.0f && p <= 1.0f)) return COURSE_BAD_ARGUMENT;  // NaN neither
    if (M > limit || N > limit || K > limit || N % QUAD || K % PIECE) return COURSE_UNSUPPORTED;
    return COURSE_OK;
}

// NULL is.
static bool is_aligned(const void* p) {
    return (uintptr_t)p % 16 == 0;
}

// word >= p 2^32 is word > limit: the least word that is kept is p 2^32 rounded up, and p > 0.
static struct dropout dropout_of(float p, uint64_t seed, uint64_t offset) {
    struct dropout d = {seed, offset, 0.0f, 0u, p > 0.0f};
    if (p < 1.0f) d.scale = 1.0f / (1.0f - p);
    if (p > 0.0f) d.limit = (unsigned)((uint64_t)ceil((double)p * 4294967296.0) - 1);
    return d;
}

int fused_linear(bf16* Y_gpu, bf16* Z_gpu, const bf16* X_gpu, const bf16* W_gpu,
                 const bf16* bias_gpu, int M, int N, int K, int f, float p, uint64_t seed,
                 uint64_t offset) {
    int status = check_numbers(M, N, K, f, p);
    if (status != COURSE_OK) return status;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!Y_gpu || !bias_gpu || (K > 0 && (!X_gpu || !W_gpu))) return COURSE_BAD_ARGUMENT;
    if (!is_aligned(Y_gpu) || !is_aligned(Z_gpu) || !is_aligned(X_gpu) || !is_aligned(W_gpu) ||
        !is_aligned(bias_gpu))
        return COURSE_UNSUPPORTED;
    fused_linear_kernel<<<CEIL_DIV(M, tile::BLOCK_M) * CEIL_DIV(N, tile::BLOCK_N), tile::THREADS,
                          2 * tile::STAGE_BYTES>>>(Y_gpu, Z_gpu, X_gpu, W_gpu, bias_gpu, M, N, K, f,
                                                   dropout_of(p, seed, offset));
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

int fused_linear_backward(bf16* dZ_gpu, const bf16* dY_gpu, const bf16* Z_gpu, int M, int N, int f,
                          float p, uint64_t seed, uint64_t offset) {
    int status = check_numbers(M, N, 0, f, p);
    if (status != COURSE_OK) return status;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!dZ_gpu || !dY_gpu || (!Z_gpu && f != FUSED_LINEAR_NONE)) return COURSE_BAD_ARGUMENT;
    if (!is_aligned(dZ_gpu) || !is_aligned(dY_gpu) || !is_aligned(Z_gpu)) return COURSE_UNSUPPORTED;
    fused_linear_backward_kernel<<<BLOCKS, THREADS>>>(dZ_gpu, dY_gpu, Z_gpu, (int64_t)M * N / QUAD,
                                                      f, dropout_of(p, seed, offset));
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
