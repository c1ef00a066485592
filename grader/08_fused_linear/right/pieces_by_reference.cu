// As eight_neighbours.cu, and 16 bytes of bf16 are taken apart by helpers that take the piece by
// reference, straight from global memory: one load of 16 bytes on a GPU. A grid that ends walks.
#include "fused_linear.h"

#include <cuda_bf16.h>
#include <math.h>

#include "ptx.h"

enum {
    BLOCK_M = 64,
    BLOCK_N = 128,
    BLOCK_K = 32,
    WARP = 32,  // rows and columns of a warp's sums
    THREADS = 256,
    ROW = BLOCK_K + 8,   // elements from row to row of a tile
    SUMS = BLOCK_N + 4,  // floats from row to row of the sums
    PIECE = 8,
};

struct dropout {
    uint64_t seed, offset, least;  // the least word that is kept
    float scale;
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

// Dropout of 8 neighbours from element e on, a multiple of 4.
__device__ void drop(float x[PIECE], int64_t e, const struct dropout& dropout) {
    for (int half = 0; half < 2; half++) {
        uint4 words = philox((uint64_t)e / 4 + half, dropout);
        const unsigned word[4] = {words.x, words.y, words.z, words.w};
        for (int k = 0; k < 4; k++) {
            float* of = &x[half * 4 + k];
            *of = word[k] >= dropout.least ? *of * dropout.scale : 0.0f;
        }
    }
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

// ---- pieces of 8 or 4 elements, at multiples of 8 bytes

__device__ bool is_whole(const bf16* at, int count) {
    return count == PIECE && (uintptr_t)at % 16 == 0;
}

__device__ __forceinline__ void apart_2(float x[2], unsigned word) {
    x[0] = __uint_as_float(word << 16);
    x[1] = __uint_as_float(word & 0xffff0000u);
}

__device__ __forceinline__ void apart(float x[PIECE], const uint4& piece) {
    apart_2(x, piece.x), apart_2(x + 2, piece.y);
    apart_2(x + 4, piece.z), apart_2(x + 6, piece.w);
}

__device__ void load_piece(float x[PIECE], const bf16* from, int count) {
    uint4 words = make_uint4(0, 0, 0, 0);
    if (is_whole(from, count)) {
        apart(x, *(const uint4*)from);
        return;
    } else {
        uint2 left = *(const uint2*)from, right = make_uint2(0, 0);
        if (count == PIECE) right = *(const uint2*)(from + 4);
        words = make_uint4(left.x, left.y, right.x, right.y);
    }
    apart(x, words);
}

__device__ void store_piece(bf16* to, const float x[PIECE], int count) {
    unsigned word[4];
    for (int k = 0; k < 4; k++) word[k] = pack_bf16(x[2 * k], x[2 * k + 1]);
    if (is_whole(to, count)) {
        *(uint4*)to = make_uint4(word[0], word[1], word[2], word[3]);
        return;
    }
    *(uint2*)to = make_uint2(word[0], word[1]);
    if (count == PIECE) *(uint2*)(to + 4) = make_uint2(word[2], word[3]);
}

// ---- GPU kernels

// tile[r][c] = matrix[row0 + r][k0 + c] for `rows` rows of BLOCK_K elements, 0 outside.
template <int rows>
__device__ __forceinline__ void load_tile(bf16 tile[rows][ROW], const bf16* matrix, int row0,
                                          int k0, int n_rows, int K) {
    for (int e = threadIdx.x * PIECE; e < rows * BLOCK_K; e += THREADS * PIECE) {
        int r = e / BLOCK_K, c = e % BLOCK_K;
        bool inside = row0 + r < n_rows && k0 + c < K;
        const uint4* from = (const uint4*)(matrix + (int64_t)(row0 + r) * K + k0 + c);
        *(uint4*)&tile[r][c] = inside ? *from : make_uint4(0, 0, 0, 0);
    }
}

// Grid (tiles of columns, tiles of rows).
__global__ void __launch_bounds__(THREADS)
    fused_linear_kernel(bf16* __restrict__ Y,           // (M, N)  out
                        bf16* __restrict__ Z,           // (M, N)  out, or NULL
                        const bf16* __restrict__ X,     // (M, K)
                        const bf16* __restrict__ W,     // (N, K)
                        const bf16* __restrict__ bias,  // (N)
                        int M, int N, int K, int f, struct dropout dropout) {
    __shared__ __align__(16) bf16 X_smem[BLOCK_M][ROW];
    __shared__ __align__(16) bf16 W_smem[BLOCK_N][ROW];
    __shared__ __align__(16) float sums_smem[BLOCK_M][SUMS];
    int row0 = blockIdx.y * BLOCK_M, col0 = blockIdx.x * BLOCK_N;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_row = warp / 4 * WARP, warp_col = warp % 4 * WARP;
    float sums[2][4][4] = {};
    for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
        load_tile<BLOCK_M>(X_smem, X, row0, k0, M, K);
        load_tile<BLOCK_N>(W_smem, W, col0, k0, N, K);
        __syncthreads();  // tiles written -> read below
        for (int k = 0; k < BLOCK_K; k += 16) {
            unsigned a[2][4], b[2][4];
            for (int i = 0; i < 2; i++)
                ldmatrix_x4(a[i], &X_smem[warp_row + i * 16 + lane % 16][k + lane / 16 * 8]);
            for (int j = 0; j < 2; j++)
                ldmatrix_x4(
                    b[j],
                    &W_smem[warp_col + j * 16 + lane % 8 + lane / 16 * 8][k + lane / 8 % 2 * 8]);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    mma_m16n8k16_bf16(sums[i][j], a[i], &b[j / 2][j % 2 * 2]);
        }
        __syncthreads();  // tiles read -> overwritten in the next round
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++)
                sums_smem[warp_row + i * 16 + lane / 4 + k / 2 * 8]
                         [warp_col + j * 8 + lane % 4 * 2 + k % 2] = sums[i][j][k];
    __syncthreads();  // all sums -> read below
    for (int e = threadIdx.x * PIECE; e < BLOCK_M * BLOCK_N; e += THREADS * PIECE) {
        int r = e / BLOCK_N, c = e % BLOCK_N, row = row0 + r, col = col0 + c;
        if (row >= M || col >= N) continue;
        int count = min((int)PIECE, N - col);
        float z[PIECE];
        load_piece(z, bias + col, count);
        for (int k = 0; k < PIECE; k++) z[k] += sums_smem[r][c + k];
        int64_t at = (int64_t)row * N + col;
        if (Z) store_piece(Z + at, z, count);
        for (int k = 0; k < PIECE; k++) z[k] = apply(z[k], f);
        drop(z, at, dropout);
        store_piece(Y + at, z, count);
    }
}

__global__ void __launch_bounds__(THREADS)
    fused_linear_backward_kernel(bf16* __restrict__ dZ,        // (count)  out
                                 const bf16* __restrict__ dY,  // (count)
                                 const bf16* __restrict__ Z,   // (count), not read if f is NONE
                                 int64_t count, int f, struct dropout dropout) {
    const int64_t step = (int64_t)gridDim.x * THREADS * PIECE;
    int64_t e = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * PIECE;
    for (; e < count; e += step) {
        const int here = count - e < PIECE ? 4 : PIECE;
        float g[PIECE], z[PIECE] = {};
        load_piece(g, dY + e, here);
        if (f != FUSED_LINEAR_NONE) load_piece(z, Z + e, here);
        for (int k = 0; k < PIECE; k++) g[k] *= slope(z[k], f);
        drop(g, e, dropout);
        store_piece(dZ + e, g, here);
    }
}

// ---- launchers

// COURSE_BAD_ARGUMENT, COURSE_UNSUPPORTED, or COURSE_OK: what the sizes and numbers ask for.
static int check_numbers(int M, int N, int K, int f, float p) {
    const int limit = FUSED_LINEAR_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0 || f < FUSED_LINEAR_NONE || f > FUSED_LINEAR_GELU_TANH)
        return COURSE_BAD_ARGUMENT;
    if (!(p >= 0.0f && p <= 1.0f)) return COURSE_BAD_ARGUMENT;  // NaN neither
    if (M > limit || N > limit || K > limit || N % 4 || K % PIECE) return COURSE_UNSUPPORTED;
    return COURSE_OK;
}

// NULL is.
static bool is_aligned(const void* p) {
    return (uintptr_t)p % 16 == 0;
}

static struct dropout dropout_of(float p, uint64_t seed, uint64_t offset) {
    struct dropout d = {seed, offset, (uint64_t)ceil((double)p * 4294967296.0), 0.0f};
    if (p < 1.0f) d.scale = 1.0f / (1.0f - p);
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
    dim3 grid(CEIL_DIV(N, BLOCK_N), CEIL_DIV(M, BLOCK_M));
    fused_linear_kernel<<<grid, THREADS>>>(Y_gpu, Z_gpu, X_gpu, W_gpu, bias_gpu, M, N, K, f,
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
    int64_t count = (int64_t)M * N;
    const int64_t blocks = CEIL_DIV(count, THREADS * PIECE), most = 1 << 16;
    fused_linear_backward_kernel<<<(unsigned)(blocks < most ? blocks : most), THREADS>>>(
        dZ_gpu, dY_gpu, Z_gpu, count, f, dropout_of(p, seed, offset));
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
