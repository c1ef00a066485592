// Step 1: three kernels. The product leaves its sums in memory, a second kernel adds the bias and
// takes f, a third drops. Each reads what the one before wrote: M x N floats, four times moved. The
// backward pass takes two kernels and as many floats.
#include "fused_linear.h"

#include <cuda_bf16.h>
#include <math.h>

#include "matmul_tile.h"

enum {
    QUAD = 4,       // neighbours in a row that a thread works on: one call of Philox
    THREADS = 256,  // of a block of the elementwise kernels
    ROUNDS = 10,    // of Philox
};

typedef struct matmul_tile<128, 256, 64, 64> tile;

// What a launch knows of its dropout. The keys of Philox's rounds are the same for all elements:
// the host makes them, and the kernels find them among their arguments.
struct dropout {
    uint64_t offset;
    unsigned keys[ROUNDS][2];
    float scale;     // of an element that is kept
    unsigned limit;  // kept are words above this
    int any;         // p > 0
};

// ---- random numbers

// word = Philox4x32-10 of a counter of two numbers of 64 bits.                      (README eq. 5)
__device__ __forceinline__ void philox(unsigned word[4], uint64_t low, uint64_t high,
                                       const unsigned keys[ROUNDS][2]) {
    unsigned a = (unsigned)low, b = (unsigned)(low >> 32);
    unsigned c = (unsigned)high, d = (unsigned)(high >> 32);
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t left = (uint64_t)0xD2511F53u * a, right = (uint64_t)0xCD9E8D57u * c;
        a = (unsigned)(right >> 32) ^ b ^ keys[round][0];
        b = (unsigned)right;
        c = (unsigned)(left >> 32) ^ d ^ keys[round][1];
        d = (unsigned)left;
    }
    word[0] = a, word[1] = b, word[2] = c, word[3] = d;
}

// Dropout of the elements e .. e + 3, e a multiple of 4.                            (README eq. 3)
__device__ __forceinline__ void drop(float x[QUAD], int64_t e, const struct dropout& dropout) {
    if (!dropout.any) return;
    unsigned word[QUAD];
    philox(word, (uint64_t)e / QUAD, dropout.offset, dropout.keys);
#pragma unroll
    for (int i = 0; i < QUAD; i++) x[i] = word[i] > dropout.limit ? x[i] * dropout.scale : 0.0f;
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

// ---- four neighbours in a row

// 8 bytes, at a multiple of 8.
__device__ __forceinline__ void load_quad(float x[QUAD], const bf16* from) {
    uint2 words = *(const uint2*)from;
    x[0] = __uint_as_float(words.x << 16), x[1] = __uint_as_float(words.x & 0xffff0000u);
    x[2] = __uint_as_float(words.y << 16), x[3] = __uint_as_float(words.y & 0xffff0000u);
}

__device__ __forceinline__ void store_quad(bf16* to, const float x[QUAD]) {
    *(uint2*)to = make_uint2(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]));
}

// Which quad is this thread's; at least `quads`: none.
__device__ __forceinline__ int64_t my_quad() {
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

// ---- GPU kernels

// One block per tile, counted in one dimension.
template <int stages>
__global__ void __launch_bounds__(tile::THREADS, 1) product_kernel(float* sums,    // (M, N)  out
                                                                   const bf16* X,  // (M, K)
                                                                   const bf16* W,  // (N, K)
                                                                   int M, int N, int K) {
    extern __shared__ __align__(128) bf16 smem[];
    int row0, col0;
    pick_tile<tile>(&row0, &col0, M, N);
    float C_reg[tile::WARP_M / 16][tile::WARP_N / 8][4] = {};
    multiply_tile<tile, stages>(C_reg, smem, X, W, row0, col0, M, N, K);

    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row0 += warp / tile::WARPS_N * tile::WARP_M + lane / 4;
    col0 += warp % tile::WARPS_N * tile::WARP_N + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < tile::WARP_M / 8; i++)
#pragma unroll
        for (int j = 0; j < tile::WARP_N / 8; j++) {
            int row = row0 + i * 8, col = col0 + j * 8;
            const float* block = C_reg[i / 2][j] + i % 2 * 2;
            if (row < M && col < N)
                *(float2*)&sums[(int64_t)row * N + col] = make_float2(block[0], block[1]);
        }
}

// Z = sums + bias,  G = f(Z)
__global__ void __launch_bounds__(THREADS) f_kernel(float* G,  // (M, N)  in: the sums; out: f(Z)
                                                    bf16* Z,   // (M, N)  out, or NULL
                                                    const bf16* bias,  // (N)
                                                    int64_t quads, int N, int f) {
    if (my_quad() >= quads) return;
    int64_t e = my_quad() * QUAD;
    float4 sum = *(float4*)&G[e];
    float b[QUAD], z[QUAD] = {sum.x, sum.y, sum.z, sum.w};
    load_quad(b, bias + e % N);
    for (int k = 0; k < QUAD; k++) z[k] += b[k];
    if (Z) store_quad(Z + e, z);
    *(float4*)&G[e] = make_float4(apply(z[0], f), apply(z[1], f), apply(z[2], f), apply(z[3], f));
}

// Y = dropout(G)
__global__ void __launch_bounds__(THREADS) dropout_kernel(bf16* Y,         // (M, N)  out
                                                          const float* G,  // (M, N)
                                                          int64_t quads, struct dropout dropout) {
    if (my_quad() >= quads) return;
    int64_t e = my_quad() * QUAD;
    float4 g = *(const float4*)&G[e];
    float y[QUAD] = {g.x, g.y, g.z, g.w};
    drop(y, e, dropout);
    store_quad(Y + e, y);
}

// forward was: Y = dropout(f(Z)); so now: D = f'(Z) dY, and dZ = dropout(D)     (README eq. 4)
__global__ void __launch_bounds__(THREADS)
    f_backward_kernel(float* D,        // (M, N)  out
                      const bf16* dY,  // (M, N)
                      const bf16* Z,   // (M, N), not read if f is NONE
                      int64_t quads, int f) {
    if (my_quad() >= quads) return;
    int64_t e = my_quad() * QUAD;
    float g[QUAD], z[QUAD];
    load_quad(g, dY + e);
    if (f != FUSED_LINEAR_NONE) {
        load_quad(z, Z + e);
        for (int k = 0; k < QUAD; k++) g[k] *= slope(z[k], f);
    }
    *(float4*)&D[e] = make_float4(g[0], g[1], g[2], g[3]);
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
    struct dropout d = {};
    d.offset = offset;
    d.any = p > 0.0f;
    if (p < 1.0f) d.scale = 1.0f / (1.0f - p);
    if (p > 0.0f) d.limit = (unsigned)((uint64_t)ceil((double)p * 4294967296.0) - 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        d.keys[round][0] = (unsigned)seed + round * 0x9E3779B9u;
        d.keys[round][1] = (unsigned)(seed >> 32) + round * 0xBB67AE85u;
    }
    return d;
}

typedef void kernel(float*, const bf16*, const bf16*, int, int, int);

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

    int stages = stages_that_fit<tile>();
    if (stages == 0) return COURSE_CUDA_ERROR;
    kernel* product = stages == 3 ? product_kernel<3> : product_kernel<2>;
    int bytes = stages * tile::STAGE_BYTES;
    COURSE_TRY(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int64_t quads = (int64_t)M * N / QUAD;
    unsigned tiles = CEIL_DIV(M, tile::BLOCK_M) * CEIL_DIV(N, tile::BLOCK_N);
    unsigned blocks = (unsigned)CEIL_DIV(quads, THREADS);
    float* G;
    COURSE_TRY(cudaMallocAsync((void**)&G, (size_t)quads * QUAD * sizeof(float), 0));
    product<<<tiles, tile::THREADS, bytes>>>(G, X_gpu, W_gpu, M, N, K);
    f_kernel<<<blocks, THREADS>>>(G, Z_gpu, bias_gpu, quads, N, f);
    dropout_kernel<<<blocks, THREADS>>>(Y_gpu, G, quads, dropout_of(p, seed, offset));
    cudaError_t launched = cudaGetLastError();
    COURSE_TRY(cudaFreeAsync(G, 0));  // when the kernels are done with it
    COURSE_TRY(launched);
    return COURSE_OK;
}

int fused_linear_backward(bf16* dZ_gpu, const bf16* dY_gpu, const bf16* Z_gpu, int M, int N, int f,
                          float p, uint64_t seed, uint64_t offset) {
    int status = check_numbers(M, N, 0, f, p);
    if (status != COURSE_OK) return status;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!dZ_gpu || !dY_gpu || (!Z_gpu && f != FUSED_LINEAR_NONE)) return COURSE_BAD_ARGUMENT;
    if (!is_aligned(dZ_gpu) || !is_aligned(dY_gpu) || !is_aligned(Z_gpu)) return COURSE_UNSUPPORTED;

    int64_t quads = (int64_t)M * N / QUAD;
    unsigned blocks = (unsigned)CEIL_DIV(quads, THREADS);
    float* G;
    COURSE_TRY(cudaMallocAsync((void**)&G, (size_t)quads * QUAD * sizeof(float), 0));
    f_backward_kernel<<<blocks, THREADS>>>(G, dY_gpu, Z_gpu, quads, f);
    dropout_kernel<<<blocks, THREADS>>>(dZ_gpu, G, quads, dropout_of(p, seed, offset));
    cudaError_t launched = cudaGetLastError();
    COURSE_TRY(cudaFreeAsync(G, 0));  // when the kernels are done with it
    COURSE_TRY(launched);
    return COURSE_OK;
}
