// The functions of hopper.h, each with given inputs: what comes out, for comparing the CPU device with
// a Hopper GPU. Built for both from this one source; see words.h and instructions.sh.
#include "hopper.h"
#include "words.h"

enum { K = 64, ROW = 128, SHARED = 64 * ROW + 256 * ROW };

// ---- maps --------------------------------------------------------------------------------------

struct maps {
    CUtensorMap a, b;
};

static CUtensorMap map_of(const void* p, CUtensorMapDataType type, int rank,
                          const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                          int swizzle) {
    CUtensorMap map;
    int error = tensor_map_encode(&map, p, type, rank, sizes, strides, box, swizzle);
    if (error) {
        fprintf(stderr, "tensor_map_encode: %d\n", error);
        exit(2);
    }
    return map;
}

// rows x columns of bf16 without gaps.
static CUtensorMap matrix(const void* p, int rows, int columns, int box_rows, int swizzle) {
    const cuuint64_t sizes[] = {(cuuint64_t)columns, (cuuint64_t)rows};
    const cuuint64_t strides[] = {(cuuint64_t)columns * 2};
    const cuuint32_t box[] = {(cuuint32_t)swizzle / 2, (cuuint32_t)box_rows};
    return map_of(p, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, sizes, strides, box, swizzle);
}

// ---- products ----------------------------------------------------------------------------------

// D of 64 x n as the threads' registers hold it. A and B come by TMA, in panels of rows of swizzle
// bytes; the first product does not add, and the last ones add twice.
template <int n, int a_major, int b_major, int swizzle>
__global__ void __launch_bounds__(128, 1)
    product(unsigned* out, const __grid_constant__ CUtensorMap a_map,
            const __grid_constant__ CUtensorMap b_map) {
    __shared__ __align__(1024) char s[SHARED];
    __shared__ mbarrier full;
    char *A = s, *B = s + 64 * ROW;
    const int in_row = swizzle / 2, k_rows = in_row;  // numbers in a row; k of a K-major panel
    const int a_panel = (a_major ? k_rows : 64) * swizzle,
              b_panel = (b_major ? k_rows : n) * swizzle;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full, (64 + n) * k_rows * 2);
        for (int p = 0; p < (a_major ? 64 / in_row : 1); p++)
            tma_load_2d(A + p * a_panel, &a_map, &full, L2_EVICT_NORMAL, p * in_row, 0);
        for (int p = 0; p < (b_major ? n / in_row : 1); p++)
            tma_load_2d(B + p * b_panel, &b_map, &full, L2_EVICT_NORMAL, p * in_row, 0);
    }
    mbarrier_wait(&full, 0);
    float d[n / 2];
    unsigned a = wgmma_descriptor(A, a_panel), b = wgmma_descriptor(B, b_panel);
    wgmma_fence();
    wgmma_bf16_first<n, a_major, b_major, swizzle>(d, a, b);
#pragma unroll
    for (int k = 1; k < k_rows / 16; k++)
        wgmma_bf16<n, a_major, b_major, swizzle>(d, a + k * (a_major ? swizzle : 2),
                                                 b + k * (b_major ? swizzle : 2), 1);
    wgmma_commit();
    wgmma_bf16<n, a_major, b_major, swizzle>(d, a, b, (int)blockDim.x);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold<n / 2>(d);
    for (int i = 0; i < n / 2; i++) out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
}

template <int n, int a_major, int b_major, int swizzle>
static void products(unsigned* out, const unsigned* in) {
    const int k = swizzle / 2;
    const unsigned* b = in + 64 * k / 2;
    product<n, a_major, b_major, swizzle>
        <<<1, 128>>>(out, a_major ? matrix(in, k, 64, k, swizzle) : matrix(in, 64, k, 64, swizzle),
                     b_major ? matrix(b, k, n, k, swizzle) : matrix(b, n, k, n, swizzle));
}

// A in registers: 4 words of each thread. B likewise by TMA, of 16 x n or n x 64 numbers.
template <int n, int b_major>
__global__ void __launch_bounds__(128, 1)
    product_of_registers(unsigned* out, const unsigned* in,
                         const __grid_constant__ CUtensorMap b_map) {
    __shared__ __align__(1024) char s[SHARED];
    __shared__ mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full, n * K * 2);
        for (int p = 0; p < (b_major ? n / 64 : 1); p++)
            tma_load_2d(s + p * K * ROW, &b_map, &full, L2_EVICT_LAST, p * 64, 0);
    }
    mbarrier_wait(&full, 0);
    float d[n / 2];
    unsigned a[K / 16][4], b = wgmma_descriptor(s, K * ROW);
    for (int k = 0; k < K / 16; k++)
        for (int i = 0; i < 4; i++) a[k][i] = in[(k * 4 + i) * 128 + threadIdx.x];
    wgmma_fence();
    wgmma_bf16_registers_first<n, b_major>(d, a[0], b);
#pragma unroll
    for (int k = 1; k < K / 16; k++)
        wgmma_bf16_registers<n, b_major>(d, a[k], b + k * (b_major ? ROW : 2), 1);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold<n / 2>(d);
    for (int i = 0; i < n / 2; i++) out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
}

template <int n, int b_major> static void products_of_registers(unsigned* out, const unsigned* in) {
    const unsigned* b = in + K / 16 * 4 * 128;
    product_of_registers<n, b_major>
        <<<1, 128>>>(out, in, b_major ? matrix(b, K, n, K, 128) : matrix(b, n, K, n, 128));
}

// ---- TMA ---------------------------------------------------------------------------------------

enum { BOX_BYTES = 4096, BOXES = 8 };

// Boxes at the edges and in the middle, as they lie in shared memory.
template <int rank>
__global__ void boxes(unsigned* out, const __grid_constant__ CUtensorMap map, int bytes) {
    __shared__ __align__(1024) unsigned s[BOX_BYTES / 4];
    __shared__ mbarrier full;
    const int along[BOXES] = {0, -8, -24, 16, 56, -64, 1000000, 104};
    const int across[BOXES] = {2, 7, -64, 1000000, 3, 0, -1, -3};
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    for (int i = 0; i < BOXES; i++) {
        int c = along[i], e = across[i];
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(&full, bytes);
            if (rank == 2) tma_load_2d(s, &map, &full, L2_EVICT_FIRST, c, e);
            if (rank == 3) tma_load_3d(s, &map, &full, L2_EVICT_FIRST, c, 1, e);
            if (rank == 4) tma_load_4d(s, &map, &full, L2_EVICT_FIRST, c, -1, 1, e);
            if (rank == 5) tma_load_5d(s, &map, &full, L2_EVICT_FIRST, c, 1, -1, e, 0);
        }
        mbarrier_wait(&full, i % 2);
        for (int j = threadIdx.x; j < bytes / 4; j += blockDim.x) out[i * BOX_BYTES / 4 + j] = s[j];
        __syncthreads();  // all have read before the next load
    }
}

// A tensor of so many dimensions in the words of `in`, with gaps between its rows.
template <int rank, int is_float, int swizzle>
static CUtensorMap tensor(const void* p, int* bytes) {
    const int element = is_float ? 4 : 2, row = swizzle ? swizzle / element : 48 / element;
    const cuuint64_t sizes[] = {(cuuint64_t)row + 5, 9, 3, 4, 2};
    const cuuint64_t strides[] = {512, 512 * 10, 512 * 10 * 3, 512 * 10 * 3 * 4};
    const cuuint32_t box[] = {(cuuint32_t)row, 4, 2, 2, 1};
    *bytes = element;
    for (int i = 0; i < rank; i++) *bytes *= (int)box[i];
    return map_of(p, is_float ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                  rank, sizes, strides, box, swizzle);
}

template <int rank, int is_float, int swizzle>
static void loads(unsigned* out, const unsigned* in) {
    int bytes;
    CUtensorMap map = tensor<rank, is_float, swizzle>(in, &bytes);
    boxes<rank><<<1, 64>>>(out, map, bytes);
}

// Stores boxes in the middle of the tensor and over its far edges. At its near ones a store is an
// illegal instruction.
template <int rank>
__global__ void put_boxes(const unsigned* in, const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) unsigned s[BOX_BYTES / 4];
    for (int i = 0; i < 4; i++) {
        for (int j = threadIdx.x; j < BOX_BYTES / 4; j += blockDim.x)
            s[j] = in[i * BOX_BYTES / 4 + j];
        fence_proxy_async();
        __syncthreads();  // the box is whole
        if (threadIdx.x == 0) {
            if (rank == 2) tma_store_2d(&map, s, 8 * i, 2 * i + 1);
            if (rank == 3) tma_store_3d(&map, s, 8 * i, 6, i);
            if (rank == 4) tma_store_4d(&map, s, 8 * i, 7, 2, i);
            if (rank == 5) tma_store_5d(&map, s, 8 * i, 0, i, 1, 1);
            bulk_commit();
            bulk_wait<0>();
        }
        __syncthreads();  // it may be written again
    }
}

template <int rank, int is_float, int swizzle>
static void stores(unsigned* out, const unsigned* in) {
    int bytes;
    CUtensorMap map = tensor<rank, is_float, swizzle>(out, &bytes);
    put_boxes<rank><<<1, 64>>>(in, map);
}

// Bytes in a row, there and back; then sums of whole numbers.
__global__ void rows(unsigned* out, const unsigned* in) {
    __shared__ __align__(16) unsigned s[256];
    __shared__ mbarrier full;
    out += blockIdx.x * 512;
    in += blockIdx.x * 256;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&full, 1024);
        bulk_load(s, in, 512, &full);
        bulk_load(s + 128, in + 128, 512, &full);
    }
    __syncthreads();
    mbarrier_wait(&full, 0);
    for (int i = 0; i < 4; i++) out[256 + 4 * threadIdx.x + i] = __float_as_uint(1.0f);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = __float_as_uint((float)(s[i] % 64));
    fence_proxy_async();
    fence_proxy_async_global();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(out, s, 1024);
        bulk_commit();
        for (int i = 0; i < 3; i++)
            bulk_reduce_add((float*)out + 256, (const float*)s, 1024, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait_read<1>();
        bulk_wait<0>();
    }
}

// ---- the rest ----------------------------------------------------------------------------------

template <int matrices, int trans> __global__ void store(unsigned* out, const unsigned* in) {
    __shared__ __align__(16) unsigned s[WARP][4];
    unsigned lane = threadIdx.x, r[4];
    in += blockIdx.x * WARP * 5;
    for (int i = 0; i < 4; i++) s[lane][i] = 0x77777777;
    for (int i = 0; i < 4; i++) r[i] = in[4 * lane + i];
    __syncwarp();
    unsigned* row = s[(in[4 * WARP] + 5 * lane) % WARP];
    if (matrices == 2 && !trans) stmatrix_x2(row, r);
    if (matrices == 4 && !trans) stmatrix_x4(row, r);
    if (matrices == 2 && trans) stmatrix_x2_trans(row, r);
    if (matrices == 4 && trans) stmatrix_x4_trans(row, r);
    __syncwarp();
    for (int i = 0; i < 4; i++) out[(blockIdx.x * WARP + lane) * 4 + i] = s[lane][i];
}
template <int matrices, int trans> static void stored(unsigned* out, const unsigned* in) {
    store<matrices, trans><<<ROUNDS, WARP>>>(out, in);
}

// A ring of three stages between a producer warp and two consumers, one of which is slow; registers
// move from the first warpgroup to the second.
__global__ void __launch_bounds__(256, 1) ring(unsigned* out, const unsigned* in) {
    __shared__ unsigned s[3][WARP];
    __shared__ mbarrier full[3], empty[3];
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; i++) mbarrier_init(&full[i], WARP);
        for (int i = 0; i < 3; i++) mbarrier_init(&empty[i], 2);
        fence_mbarrier_init();
    }
    __syncthreads();
    unsigned lane = threadIdx.x % WARP, sum = 0;
    if (threadIdx.x < 128) {
        setmaxnreg_dec<40>();
        for (int i = 0; threadIdx.x < WARP && i < 2 * ROUNDS; i++) {
            mbarrier_wait(&empty[i % 3], i / 3 % 2 ^ 1);
            s[i % 3][lane] = in[(blockIdx.x * 2 * ROUNDS + i) * WARP + lane];
            mbarrier_arrive(&full[i % 3]);
        }
    } else {
        setmaxnreg_inc<232>();
        for (int i = 0; threadIdx.x < 128 + 2 * WARP && i < 2 * ROUNDS; i++) {
            mbarrier_wait(&full[i % 3], i / 3 % 2);
            if (threadIdx.x < 128 + WARP) __nanosleep(100);
            sum = 31 * sum + s[i % 3][WARP - 1 - lane];
            __syncwarp();
            if (lane == 0) mbarrier_arrive(&empty[i % 3]);
        }
    }
    if (threadIdx.x >= 128 && threadIdx.x < 192) out[blockIdx.x * 64 + threadIdx.x - 128] = sum;
    __syncthreads();
    if (threadIdx.x < 3) mbarrier_inval(&full[threadIdx.x]);
}
static void rings(unsigned* out, const unsigned* in) {
    ring<<<ROUNDS, 256>>>(out, in);
}
// Two blocks of a cluster, each of which loads half of a box for both; stages are freed at the
// other one, and at the end each reads a word of the other's memory.
__global__ void __cluster_dims__(2, 1, 1)
    both(unsigned* out, const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) unsigned s[2][64 * ROW / 4];
    __shared__ mbarrier full[2], empty[2];
    const int half = 32 * ROW / 4, rank = cluster_rank();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) mbarrier_init(&full[i], 1);
        for (int i = 0; i < 2; i++) mbarrier_init(&empty[i], 2);
        fence_mbarrier_init();
    }
    cluster_sync();
    unsigned sum = 0;
    for (int i = 0; i < 6; i++) {
        if (threadIdx.x == 0) {
            mbarrier_wait(&empty[i % 2], i / 2 % 2 ^ 1);
            mbarrier_arrive_expect(&full[i % 2], 64 * ROW);
            tma_load_2d_multicast(&s[i % 2][rank * half], &map, &full[i % 2], L2_EVICT_NORMAL, 3,
                                  64 * i, 32 * rank);
        }
        mbarrier_wait(&full[i % 2], i / 2 % 2);
        for (int j = threadIdx.x; j < 2 * half; j += 64) sum = 31 * sum + s[i % 2][j];
        __syncthreads();
        if (threadIdx.x < 2) mbarrier_arrive_remote(&empty[i % 2], threadIdx.x);
    }
    s[0][threadIdx.x] = sum;
    cluster_sync();
    const unsigned* other = (const unsigned*)cluster_shared(s[0], rank ^ 1);
    out[blockIdx.x * 128 + threadIdx.x] = sum;
    out[blockIdx.x * 128 + 64 + threadIdx.x] = other[63 - threadIdx.x];
    cluster_sync();
}
static void clusters(unsigned* out, const unsigned* in) {
    both<<<2, 64>>>(out, matrix(in, 64, 6 * 64, 32, 128));
}
static void all_rows(unsigned* out, const unsigned* in) {
    rows<<<ROUNDS, 64>>>(out, in);
}

// ---- cases -------------------------------------------------------------------------------------

// Pairs of bf16, whole numbers from -4 to 4.
static void fill_whole(int words) {
    for (int i = 0; i < words; i++)
        in[i] = (uint32_t)to_bits(random_whole(4), 0) << 16 | to_bits(random_whole(4), 0);
}
static void fill_real(int words) {
    for (int i = 0; i < words; i++)
        in[i] = (uint32_t)to_bits(random_number(-0.5f, 0.5f), 0) << 16 |
                to_bits(random_number(-0.5f, 0.5f), 0);
}

// words per round: a case has 16 times as many.
#define OF_ALL(words) ((words) / ROUNDS)
#define PRODUCT(n, am, bm, swizzle)                                                               \
    {                                                                                             \
        "wgmma m64n" #n "k16 " #am " " #bm " swizzle " #swizzle, products<n, am, bm, swizzle>, 0, \
            OF_ALL((64 + n) * swizzle / 4), OF_ALL(64 * n), fill_whole, EXACT                     \
    }
#define REGISTERS(n, bm)                                                            \
    {                                                                               \
        "wgmma m64n" #n "k16 registers " #bm, products_of_registers<n, bm>, 0,      \
            OF_ALL(K / 16 * 4 * 128 + n * K / 2), OF_ALL(64 * n), fill_whole, EXACT \
    }
#define LOAD(rank, is_float, swizzle)                                                             \
    {                                                                                             \
        "tma_load_" #rank "d " #is_float " swizzle " #swizzle, loads<rank, is_float, swizzle>, 0, \
            OF_ALL(32768), OF_ALL(BOXES* BOX_BYTES / 4), fill_bits, EXACT                         \
    }
#define STORE(rank, is_float, swizzle)                                                           \
    {                                                                                            \
        "tma_store_" #rank "d " #is_float " swizzle " #swizzle, stores<rank, is_float, swizzle>, \
            0, OF_ALL(4 * BOX_BYTES / 4), OF_ALL(32768), fill_bits, EXACT                        \
    }
static const struct test tests[] = {
    PRODUCT(64, K_MAJOR, K_MAJOR, 128),
    PRODUCT(64, K_MAJOR, MN_MAJOR, 128),
    PRODUCT(64, MN_MAJOR, K_MAJOR, 128),
    PRODUCT(64, MN_MAJOR, MN_MAJOR, 128),
    PRODUCT(128, K_MAJOR, K_MAJOR, 128),
    PRODUCT(128, MN_MAJOR, MN_MAJOR, 128),
    PRODUCT(192, K_MAJOR, MN_MAJOR, 128),
    PRODUCT(256, K_MAJOR, K_MAJOR, 128),
    PRODUCT(256, K_MAJOR, MN_MAJOR, 128),
    PRODUCT(256, MN_MAJOR, MN_MAJOR, 128),
    PRODUCT(64, K_MAJOR, K_MAJOR, 64),
    PRODUCT(128, K_MAJOR, MN_MAJOR, 64),
    PRODUCT(64, MN_MAJOR, K_MAJOR, 64),
    PRODUCT(128, K_MAJOR, K_MAJOR, 32),
    PRODUCT(64, K_MAJOR, MN_MAJOR, 32),
    PRODUCT(64, MN_MAJOR, MN_MAJOR, 32),
    REGISTERS(64, K_MAJOR),
    REGISTERS(64, MN_MAJOR),
    REGISTERS(128, K_MAJOR),
    REGISTERS(128, MN_MAJOR),
    REGISTERS(256, MN_MAJOR),
    {"wgmma of real numbers", products<64, K_MAJOR, K_MAJOR, 32>, 0, OF_ALL(128 * 32 / 4),
     OF_ALL(64 * 64), fill_real, SUM},
    LOAD(2, 0, 128),
    LOAD(2, 0, 64),
    LOAD(2, 0, 32),
    LOAD(2, 0, 0),
    LOAD(2, 1, 128),
    LOAD(3, 0, 128),
    LOAD(3, 1, 64),
    LOAD(4, 0, 128),
    LOAD(4, 1, 0),
    LOAD(5, 0, 128),
    LOAD(5, 0, 64),
    STORE(2, 0, 128),
    STORE(2, 0, 32),
    STORE(2, 1, 0),
    STORE(3, 0, 128),
    STORE(4, 1, 64),
    STORE(5, 0, 128),
    {"bulk copies and sums", all_rows, 0, 256, 512, fill_bits, EXACT},
    {"stmatrix_x2", stored<2, 0>, 0, 160, 128, fill_bits, EXACT},
    {"stmatrix_x4", stored<4, 0>, 0, 160, 128, fill_bits, EXACT},
    {"stmatrix_x2_trans", stored<2, 1>, 0, 160, 128, fill_bits, EXACT},
    {"stmatrix_x4_trans", stored<4, 1>, 0, 160, 128, fill_bits, EXACT},
    {"multicast in a cluster", clusters, 0, OF_ALL(64 * 6 * 32), OF_ALL(256), fill_bits, EXACT},
    {"mbarriers in a ring", rings, 0, 2 * ROUNDS* WARP, 64, fill_bits, EXACT},
};

static void launch(const struct test* t, unsigned* out, const unsigned* in) {
    t->kernel(out, in);
}

// ---- what is right, by the definition ----------------------------------------------------------

static float number(int i) {  // of the pairs in `in`
    uint32_t bits = (in[i / 2] >> i % 2 * 16 & 0xffff) << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

// Register i of thread t of a warpgroup holds this element of D.
static int row_of(int t, int i) {
    return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
}
static int column_of(int t, int i) {
    return i / 4 * 8 + t % 4 * 2 + i % 2;
}

// A product of k numbers, the first 16 of them once more. A in registers: the shares of mma.sync.
static int is_product(int n, int k, const char* a_major, const char* b_major, int registers) {
    const int b_at = registers ? K / 16 * 4 * 128 * 2 : 64 * k;
    for (int t = 0; t < 128; t++)
        for (int i = 0; i < n / 2; i++) {
            int row = row_of(t, i), column = column_of(t, i);
            float sum = 0, d;
            for (int j = 0; j < k + (registers ? 0 : 16); j++) {
                int kk = j % k, lane = row / 16 * 32 + row % 8 * 4 + kk % 8 / 2;
                int of_lane = kk / 16 * 4 + kk % 16 / 8 * 2 + row % 16 / 8;
                float a = registers           ? number((of_lane * 128 + lane) * 2 + kk % 2)
                          : a_major[0] == 'K' ? number(row * k + kk)
                                              : number(kk * 64 + row);
                sum += a * number(b_at + (b_major[0] == 'K' ? column * k + kk : kk * n + column));
            }
            memcpy(&d, &out[i * 128 + t], 4);
            if (d != sum) return 0;
        }
    return 1;
}

// The first box begins at 0 and holds rows of `row` bytes, one every 512 bytes in `in`: piece c of
// row r lies at c ^ r % 8, for shorter rows at what the same pattern makes of them.
static int is_box(int row, int shift, int swizzle) {
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < row / 16; c++) {
            int place = swizzle ? c ^ r * row / 128 % 8 % (swizzle / 16) : c;
            if (memcmp((char*)out + r * row + place * 16, (char*)in + (r + shift) * 512 + c * 16,
                       16) != 0)
                return 0;
        }
    return 1;
}

static int is_right(const struct test* t) {
    int n, swizzle, is_float;
    char a[16] = "K", b[16];
    if (sscanf(t->name, "wgmma m64n%dk16 registers %15s", &n, b) == 2)
        return is_product(n, K, a, b, 1);
    if (sscanf(t->name, "wgmma m64n%dk16 %15s %15s swizzle %d", &n, a, b, &swizzle) == 4)
        return is_product(n, swizzle / 2, a, b, 0);
    if (sscanf(t->name, "tma_load_2d %d swizzle %d", &is_float, &swizzle) == 2)
        return is_box(swizzle ? swizzle : 48, 2, swizzle);
    return 1;
}

int main(int argc, char** argv) {
    return run_tests(tests, sizeof tests / sizeof tests[0], is_right, argc, argv);
}
