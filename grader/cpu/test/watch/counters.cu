// The counters of kernels whose traffic can be worked out by hand: exact, whatever the number of
// workers and the optimisation. Given an argument it prints the profile of each, and it compiles for
// a GPU as well: see ../hardware.
#include <stdio.h>
#include <sys/resource.h>
#include "../hardware/launched.h"
#include "ptx.h"
#include "small.h"

#define N 256

// ---- copies and transposes of N x N floats -----------------------------------------------------

__global__ void copy(float* out, const float* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i];
}

__global__ void copy_float4(float4* out, const float4* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i];
}

__global__ void copy_misaligned(float* out, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = a[i + 1];
}

__global__ void copy_strided(float* out, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i * 32 % n + i * 32 / n];
}

__global__ void transpose_naive(float* out, const float* a) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[x * N + y] = a[y * N + x];
}

template <int PAD> __global__ void transpose_tiled(float* out, const float* a) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8)
        tile[j][threadIdx.x] = a[(y + j) * N + x + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        out[(x + j) * N + y + threadIdx.x] = tile[threadIdx.x][j];
}

// Block 2 reads three rows, the others one each.
__global__ void read_unevenly(float* out, const float* a) {
    float sum = 0.0f;
    for (int row = 0; row < (blockIdx.x == 2 ? 3 : 1); row++)
        sum += a[(blockIdx.x + row) * N + threadIdx.x];
    out[blockIdx.x * N + threadIdx.x] = sum;
}

__constant__ float table[N];
__global__ void read_constants(float* out) {
    out[threadIdx.x] = table[threadIdx.x];
}

// By way of shared memory, 16 bytes a thread; what is not used of the last piece costs nothing.
__global__ void copy_async(float* out, const float* a, int n) {
    __shared__ float4 s[N];
    int t = threadIdx.x, i = blockIdx.x * N + t;
    cp_async16_zfill(&s[t], &a[4 * i], 4 * i < n ? 16 : 0);
    cp_async_commit();
    cp_async_wait<0>();
    ((float4*)out)[i] = s[t];
}

// A row of memory becomes a column of the tile: the copies queue at one bank.
__global__ void transpose_async(float* out, const float* a) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8)
        cp_async4(&tile[threadIdx.x][j], &a[(y + j) * N + x + threadIdx.x]);
    cp_async_wait_all();
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        out[(x + j) * N + y + threadIdx.x] = tile[j][threadIdx.x];
}

// ---- products of N x N matrices ----------------------------------------------------------------

__global__ void matmul_naive(float* C, const float* A, const float* B) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < N; k++) sum += A[y * N + k] * B[k * N + x];
    C[y * N + x] = sum;
}

template <int TILE> __global__ void matmul_tiled(float* C, const float* A, const float* B) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int t = 0; t < N; t += TILE) {
        As[y][x] = A[row * N + t + x];
        Bs[y][x] = B[(t + y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

// ---- reduction, attention ----------------------------------------------------------------------

// 16 blocks of 256 threads, 16 elements each.
__global__ void reduce(float* out, const float* a) {
    __shared__ float per_warp[8];
    int first = blockIdx.x * 4096 + threadIdx.x;
    float x = 0.0f;
    for (int i = 0; i < 16; i++) x += a[first + 256 * i];
    for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffff, x, step);
    if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    x = threadIdx.x < 8 ? per_warp[threadIdx.x] : 0.0f;
    for (int step = 4; step > 0; step /= 2) x += __shfl_down_sync(0xffffffff, x, step);
    if (threadIdx.x == 0) atomicAdd(out, x);
}

// 64 queries a block, one per thread; tiles of 64 keys; d = 64. K and V are read once per block.
__global__ void attention(float* O, const float* Q, const float* K, const float* V) {
    __shared__ float Q_tile[64][65], KV_tile[64][64];
    int t = threadIdx.x, row = blockIdx.x * 64 + t;
    float acc[64] = {0.0f}, S[64], m = -1e30f, l = 0.0f;
    for (int j = 0; j < 64; j++) Q_tile[j][t] = Q[(blockIdx.x * 64 + j) * 64 + t];
    for (int tile = 0; tile < N / 64; tile++) {
        for (int j = 0; j < 64; j++) KV_tile[j][t] = K[(tile * 64 + j) * 64 + t];
        __syncthreads();
        float m_new = m;
        for (int j = 0; j < 64; j++) {
            S[j] = 0.0f;
            for (int x = 0; x < 64; x++) S[j] += Q_tile[t][x] * KV_tile[j][x];
            m_new = fmaxf(m_new, S[j]);
        }
        __syncthreads();
        for (int j = 0; j < 64; j++) KV_tile[j][t] = V[(tile * 64 + j) * 64 + t];
        __syncthreads();
        float alpha = expf(m - m_new);
        l *= alpha;
        for (int x = 0; x < 64; x++) acc[x] *= alpha;
        for (int j = 0; j < 64; j++) {
            float p = expf(S[j] - m_new);
            l += p;
            for (int x = 0; x < 64; x++) acc[x] += p * KV_tile[j][x];
        }
        m = m_new;
        __syncthreads();
    }
    for (int x = 0; x < 64; x++) O[row * 64 + x] = acc[x] / l;
}

// ---- one request each: where the lanes of a warp meet the banks ---------------------------------

__device__ inline float add_up(float v) {
    return v;
}
__device__ inline float add_up(float2 v) {
    return v.x + v.y;
}
__device__ inline float add_up(float4 v) {
    return v.x + v.y + v.z + v.w;
}

template <typename T, int pattern> __global__ void banks(float* out) {
    __shared__ T s[64 * 32];
    float* words = (float*)s;
    if (threadIdx.x >= 32)
        for (int i = threadIdx.x - 32; i < (int)(sizeof s / 4); i += 32) words[i] = 0.0f;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    int lane = threadIdx.x, i[] = {lane, 2 * lane, 0, lane / 2, lane / 4, lane % 4, 32 * lane};
    if (add_up(s[i[pattern]]) > 0.0f) *out = 0.0f;
}
enum { SEQUENCE, STRIDE_2, ALL_SAME, PAIRS, QUADS, MODULO_4, COLUMN };

// ldmatrix of a 16 x 16 block of a tile with rows of 64 16-bit numbers: in one bank, or swizzled.
template <int matrices, bool swizzled> __global__ void load_matrices(float* out) {
    __shared__ __align__(16) unsigned s[16][32];
    unsigned lane = threadIdx.x, r[4], row = lane % 16, piece = lane / 16;
    for (int i = 0; i < 16; i++) s[i][lane] = 0;
    __syncthreads();
    if (swizzled) piece ^= row % 8;
    if (matrices == 1) ldmatrix_x1(r, &s[row][4 * piece]);
    if (matrices == 2) ldmatrix_x2_trans(r, &s[row][4 * piece]);
    if (matrices == 4) ldmatrix_x4(r, &s[row][4 * piece]);
    if (r[0]) *out = 0.0f;
}

// ---- lanes that go different ways --------------------------------------------------------------

// Each round another quarter of the lanes takes the branch; all meet again behind it.
__global__ void branches(float* out, const float* a) {
    float sum = 0.0f;
    for (int i = 0; i < 4; i++) {
        sum += a[32 * i + threadIdx.x];
        if ((int)threadIdx.x % 4 == i) sum += a[128 + threadIdx.x];
        sum += a[256 + 32 * i + threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

// Half of the lanes leave out the end of every round.
__global__ void leaves_out(float* out, const float* a) {
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) {
        sum += a[32 * i + threadIdx.x];
        if (threadIdx.x % 2 == 0) continue;
        sum += a[256 + 32 * i + threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

// Lane t makes t + 1 rounds of 100; more entries than a log holds.
__global__ void triangle(float* out, const float* a) {
    float sum = 0.0f;
    for (int i = 0; i < 100 * ((int)threadIdx.x + 1); i++) sum += a[i % 128];
    out[threadIdx.x] = sum;
}

// Two paths of different length that meet at the store.
__global__ void two_paths(float* out, const float* a) {
    float sum;
    if (threadIdx.x < 16) {
        sum = a[threadIdx.x];
        for (int i = 0; i < 3; i++) sum += a[32 + 16 * i + threadIdx.x];
    } else {
        sum = a[100 + threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

// ---- the numbers -------------------------------------------------------------------------------

// A word for each lane, of 8 bytes two; half of the lanes in the last reduction.
__global__ void exchanges(float* out, const float* a) {
    const unsigned all = 0xffffffff, lane = threadIdx.x;
    double wide = __shfl_xor_sync(all, (double)a[lane], 1);
    float x = __shfl_sync(all, a[lane], 3) + (float)wide;
    x += (float)__reduce_max_sync(all, lane) + (float)__match_any_sync(all, lane);
    if (__any_sync(all, x > 0)) x += (float)__ballot_sync(all, lane & 1);
    if (lane < 16) x += (float)__reduce_or_sync(0xffff, lane);
    __syncwarp();
    out[lane] = x;
}

static int failures;
static unsigned long long of_a_block;  // bytes that one block has read at most
static unsigned long long exchanged;   // words, between lanes
static bool only_launch;  // print profiles; on a GPU nothing but the names of the launches

struct expected {
    unsigned long long load_bytes, load_requests, load_sectors, store_requests, store_sectors;
    unsigned long long block_bytes, distinct_bytes;  // least from L2, least from DRAM
    unsigned long long shared_load_requests, shared_load_wavefronts;
    unsigned long long shared_store_requests, shared_store_wavefronts;
    unsigned long long again_bytes;
};

static void compare(const char* kernel, const char* what, unsigned long long got,
                    unsigned long long want) {
    if (got == want) return;
    printf("%s: %s: %llu, expected %llu\n", kernel, what, got, want);
    failures++;
}

static void check(const char* kernel, struct expected e) {
    if (only_launch) return launched(kernel);
#ifdef __CUDEV__
    struct cudev_traffic t;
    cudev_get_traffic(&t);
    cudev_reset_traffic();
    of_a_block = t.serial_read_bytes;
    exchanged = t.shuffles;
    compare(kernel, "bytes loaded", t.global_load_bytes, e.load_bytes);
    compare(kernel, "load requests", t.global_load_requests, e.load_requests);
    compare(kernel, "load sectors", t.global_load_sectors, e.load_sectors);
    compare(kernel, "store requests", t.global_store_requests, e.store_requests);
    compare(kernel, "store sectors", t.global_store_sectors, e.store_sectors);
    compare(kernel, "bytes read by blocks", t.block_read_bytes, e.block_bytes);
    compare(kernel, "distinct bytes", 32 * t.launch_read_sectors, e.distinct_bytes);
    compare(kernel, "shared load requests", t.shared_load_requests, e.shared_load_requests);
    compare(kernel, "shared load wavefronts", t.shared_load_wavefronts, e.shared_load_wavefronts);
    compare(kernel, "shared store requests", t.shared_store_requests, e.shared_store_requests);
    compare(kernel, "shared store wavefronts", t.shared_store_wavefronts,
            e.shared_store_wavefronts);
    compare(kernel, "bytes loaded again", t.loaded_again_bytes, e.again_bytes);
#endif
}

template <typename T, int pattern>
static void check_banks(const char* name, unsigned long long wavefronts, float* out) {
    banks<T, pattern><<<1, 64>>>(out);
    unsigned long long stores = 64 * sizeof(T) / 4;  // by the second warp
    check(name, {0, 0, 0, 0, 0, 0, 0, 1, wavefronts, stores, stores});
}

template <int matrices, bool swizzled>
static void check_matrices(const char* name, unsigned long long wavefronts, float* out) {
    load_matrices<matrices, swizzled><<<1, 32>>>(out);
    check(name, {0, 0, 0, 0, 0, 0, 0, 1, wavefronts, 16, 16});
}

static void simple(float* out, float* a, float* b) {
    const unsigned long long all = N * N * 4;
    copy<<<N, N>>>(out, a);
    check("copy", {all, 2048, 8192, 2048, 8192, all, all, 0, 0, 0, 0});
    copy_float4<<<N / 4, N>>>((float4*)out, (float4*)a);
    check("copy_float4", {all, 512, 8192, 512, 8192, all, all, 0, 0, 0, 0});
    copy_misaligned<<<N, N>>>(out, a, N * N);
    check("copy_misaligned", {all - 4, 2048, 10239, 2048, 8192, 270304, all, 0, 0, 0, 0});
    copy_strided<<<N, N>>>(out, a, N * N);
    check("copy_strided", {all, 2048, 65536, 2048, 8192, 8 * all, all, 0, 0, 0, 0});
    dim3 tiles(N / 32, N / 32), tile(32, 8), T16(16, 16), T32(32, 32);
    transpose_naive<<<dim3(N / 32, N / 8), tile>>>(out, a);
    check("transpose_naive", {all, 2048, 8192, 2048, 65536, all, all, 0, 0, 0, 0});
    transpose_tiled<0><<<tiles, tile>>>(out, a);
    check("transpose_tiled<0>", {all, 2048, 8192, 2048, 8192, all, all, 2048, 65536, 2048, 2048});
    transpose_tiled<1><<<tiles, tile>>>(out, a);
    check("transpose_tiled<1>", {all, 2048, 8192, 2048, 8192, all, all, 2048, 2048, 2048, 2048});
    copy_async<<<N / 4, N>>>(out, a, N * N);
    check("copy_async", {all, 512, 8192, 512, 8192, all, all, 512, 2048, 512, 2048});
    copy_async<<<N / 4, N>>>(out, a, N * N / 2);
    check("copy_async half",
          {all / 2, 256, 4096, 512, 8192, all / 2, all / 2, 512, 2048, 512, 2048});
    transpose_async<<<tiles, tile>>>(out, a);
    check("transpose_async", {all, 2048, 8192, 2048, 8192, all, all, 2048, 2048, 2048, 65536});
    matmul_naive<<<dim3(16, 16), T16>>>(out, a, b);
    check("matmul_naive", {134217728, 1048576, 2097152, 2048, 8192, 8388608, 2 * all, 0, 0, 0, 0});
    matmul_tiled<16><<<dim3(16, 16), T16>>>(out, a, b);
    check("matmul_tiled<16>",
          {8388608, 65536, 262144, 2048, 8192, 8388608, 2 * all, 1048576, 1048576, 65536, 65536});
    matmul_tiled<32><<<dim3(8, 8), T32>>>(out, a, b);
    check("matmul_tiled<32>",
          {4194304, 32768, 131072, 2048, 8192, 4194304, 2 * all, 1048576, 1048576, 32768, 32768});
    if (!only_launch) {  // nothing that hardware counts
        read_unevenly<<<4, N>>>(out, a);
        check("read_unevenly", {6 * 4 * N, 48, 192, 32, 128, 6 * 4 * N, 5 * 4 * N, 0, 0, 0, 0});
        compare("read_unevenly", "bytes read by one block", of_a_block, 3 * 4 * N);
        for (int i = 0; i < 3; i++) read_unevenly<<<4, N>>>(out, a);
        check("read_unevenly three times", {3 * 6 * 4 * N, 3 * 48, 3 * 192, 3 * 32, 3 * 128,
                                            3 * 6 * 4 * N, 3 * 5 * 4 * N, 0, 0, 0, 0});
        compare("read_unevenly three times", "bytes read by one block after the other", of_a_block,
                3 * 3 * 4 * N);
        exchanges<<<1, 32>>>(out, a);
        check("exchanges", {2 * 128, 2, 8, 1, 4, 128, 128, 0, 0, 0, 0, 128});
        compare("exchanges", "words between lanes", exchanged, 7 * 32 + 16);
        // Constants of the host are none of global memory; an array that was copied there is.
        float of_host[N] = {1};
        cudaMemcpyToSymbol(table, of_host, sizeof table);
        read_constants<<<1, N>>>(out);
        check("read_constants of the host", {0, 0, 0, 8, 32, 0, 0, 0, 0, 0, 0});
        cudaMemcpyToSymbol(table, a, sizeof table, 0, cudaMemcpyDeviceToDevice);
        read_constants<<<1, N>>>(out);
        check("read_constants of an array", {4 * N, 8, 32, 8, 32, 4 * N, 4 * N, 0, 0, 0, 0});
    }
    reduce<<<16, 256>>>(out, a);
    check("reduce", {all, 2048, 8192, 0, 0, all, all, 16, 16, 128, 128});
    // 4 blocks: Q once, K and V for each; 4 N d + 8 N d (N / 64) bytes. Per block and tile 2 warps
    // load 64 x 64 times Q_tile (rows of 65: no conflict) and twice KV_tile (one word for all).
    attention<<<N / 64, 64>>>(out, a, a + N * 64, a + 2 * N * 64);
    check("attention",
          {589824, 4608, 18432, 4 * 2 * 64, 4 * 2 * 64 * 32, 589824, 196608, 4 * 4 * 2 * 3 * 4096,
           4 * 4 * 2 * 3 * 4096, 4 * 2 * 64 * 9, 4 * 2 * 64 * 9});
}

static void lanes(float* out, float* a) {
    // 4 bytes a lane: the warp at once; 8: halves; 16: quarters; neighbours that agree count as one
    check_banks<float, SEQUENCE>("4 bytes sequence", 1, out);
    check_banks<float, STRIDE_2>("4 bytes stride 2", 2, out);
    check_banks<float, COLUMN>("4 bytes column", 32, out);
    check_banks<float2, SEQUENCE>("8 bytes sequence", 2, out);
    check_banks<float2, STRIDE_2>("8 bytes stride 2", 4, out);
    check_banks<float2, ALL_SAME>("8 bytes all the same", 1, out);
    check_banks<float2, PAIRS>("8 bytes pairs", 1, out);
    check_banks<float4, SEQUENCE>("16 bytes sequence", 4, out);
    check_banks<float4, STRIDE_2>("16 bytes stride 2", 8, out);
    check_banks<float4, ALL_SAME>("16 bytes all the same", 2, out);
    check_banks<float4, PAIRS>("16 bytes pairs", 2, out);
    check_banks<float4, QUADS>("16 bytes quads", 2, out);
    check_banks<float4, MODULO_4>("16 bytes modulo 4", 4, out);
    check_banks<float4, COLUMN>("16 bytes column", 32, out);

    // 8 rows a matrix: 8 times the same banks, or each its own
    check_matrices<1, false>("ldmatrix_x1", 8, out);
    check_matrices<1, true>("ldmatrix_x1 swizzled", 1, out);
    check_matrices<2, false>("ldmatrix_x2_trans", 16, out);
    check_matrices<2, true>("ldmatrix_x2_trans swizzled", 2, out);
    check_matrices<4, false>("ldmatrix_x4", 32, out);
    check_matrices<4, true>("ldmatrix_x4 swizzled", 4, out);

    branches<<<1, 32>>>(out, a);  // 4 rounds: a whole row, 8 lanes in 4 sectors, a whole row
    check("branches", {1152, 12, 48, 1, 4, 36 * 32, 36 * 32, 0, 0, 0, 0});
    leaves_out<<<1, 32>>>(out, a);
    check("leaves_out", {8 * 192, 16, 64, 1, 4, 64 * 32, 64 * 32, 0, 0, 0, 0});
    triangle<<<1, 32>>>(out, a);  // 3200 rounds, all lanes at one address
    check("triangle",
          {4 * 100 * 32 * 33 / 2, 3200, 3200, 1, 4, 512, 512, 0, 0, 0, 0, 4 * 3200 - 512});
    two_paths<<<1, 32>>>(out, a);  // elements 0-15, 32-79, 116-131
    check("two_paths", {320, 5, 2 + 3 * 2 + 3, 1, 4, 11 * 32, 11 * 32, 0, 0, 0, 0});
}

int main(int argc, char** argv) {
    (void)argv;
    only_launch = argc > 1;
    float *a = filled(N * N), *b = filled(N * N), *out = filled(N * N);
    simple(out, a, b);
    lanes(out, a);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    compare("all", "more than 1 GB resident", usage.ru_maxrss > 1 << 20, 0);
    return failures != 0;
}
