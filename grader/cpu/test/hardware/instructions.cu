// The functions of ptx.h, each with given inputs: what comes out, for comparing the CPU device with a
// GPU. Built for both from this one source; see words.h and instructions.sh.
//
// Cases are exact where the mathematics is (layouts, small whole numbers, conversions), and otherwise
// within the rounding that the PTX ISA or the format allows.
#include "ptx.h"
#include "words.h"

// ---- kernels: a warp each round ----------------------------------------------------------------

// in: 32 rows of 8 numbers, and of each lane the row it gives.
template <int matrices, int trans> __global__ void load(unsigned* out, const unsigned* in) {
    __shared__ __align__(16) unsigned rows[WARP][4];
    unsigned lane = threadIdx.x, r[4] = {0, 0, 0, 0};
    in += blockIdx.x * WARP * 5;
    for (int i = 0; i < 4; i++) rows[lane][i] = in[4 * lane + i];
    __syncthreads();
    const unsigned* row = rows[in[4 * WARP + lane]];
    if (matrices == 1 && !trans) ldmatrix_x1(r, row);
    if (matrices == 2 && !trans) ldmatrix_x2(r, row);
    if (matrices == 4 && !trans) ldmatrix_x4(r, row);
    if (matrices == 1 && trans) ldmatrix_x1_trans(r, row);
    if (matrices == 2 && trans) ldmatrix_x2_trans(r, row);
    if (matrices == 4 && trans) ldmatrix_x4_trans(r, row);
    for (int i = 0; i < matrices; i++) out[(blockIdx.x * WARP + lane) * matrices + i] = r[i];
}

// in: per lane a (4 words), b (2), d (4). The registers' contents are given, so the lanes' shares are
// those of the machine.
template <int half> __global__ void multiply(unsigned* out, const unsigned* in) {
    unsigned lane = blockIdx.x * WARP + threadIdx.x, a[4], b[2];
    float d[4];
    in += 10 * lane;
    for (int i = 0; i < 4; i++) a[i] = in[i];
    for (int i = 0; i < 2; i++) b[i] = in[4 + i];
    for (int i = 0; i < 4; i++) d[i] = __uint_as_float(in[6 + i]);
    if (half)
        mma_m16n8k16_fp16(d, a, b);
    else
        mma_m16n8k16_bf16(d, a, b);
    for (int i = 0; i < 4; i++) out[4 * lane + i] = __float_as_uint(d[i]);
}

// in: X (16 x 16), Y and Z (16 x 16, [k][n]) of 16-bit numbers. out: X Y, packed, times Z: by way of
// ldmatrix, two products, and the step from D to A. As in attention.
template <int half> __global__ void chain(unsigned* out, const unsigned* in) {
    __shared__ __align__(16) unsigned short s[3][16][24];
    unsigned lane = threadIdx.x, a[4], b[4];
    in += blockIdx.x * 3 * 128;
    for (int i = lane; i < 3 * 128; i += WARP)
        *(unsigned*)&s[i / 128][i % 128 / 8][i % 8 * 2] = in[i];
    __syncthreads();
    float d[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}}, e[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    ldmatrix_x4(a, &s[0][lane % 16][lane / 16 * 8]);
    ldmatrix_x4_trans(b, &s[1][lane % 16][lane / 16 * 8]);
    for (int j = 0; j < 2; j++) {
        if (half)
            mma_m16n8k16_fp16(d[j], a, b + 2 * j);
        else
            mma_m16n8k16_bf16(d[j], a, b + 2 * j);
    }
    for (int j = 0; j < 4; j++)
        a[j] = half ? pack_fp16(d[j / 2][j % 2 * 2], d[j / 2][j % 2 * 2 + 1])
                    : pack_bf16(d[j / 2][j % 2 * 2], d[j / 2][j % 2 * 2 + 1]);
    ldmatrix_x4_trans(b, &s[2][lane % 16][lane / 16 * 8]);
    for (int j = 0; j < 2; j++) {
        if (half)
            mma_m16n8k16_fp16(e[j], a, b + 2 * j);
        else
            mma_m16n8k16_bf16(e[j], a, b + 2 * j);
        for (int i = 0; i < 4; i++)
            out[blockIdx.x * 256 + (lane / 4 + i / 2 * 8) * 16 + j * 8 + lane % 4 * 2 + i % 2] =
                __float_as_uint(e[j][i]);
    }
}

template <int half> __global__ void pack(unsigned* out, const unsigned* in) {
    unsigned i = blockIdx.x * WARP + threadIdx.x;
    float low = __uint_as_float(in[2 * i]), high = __uint_as_float(in[2 * i + 1]);
    out[i] = half ? pack_fp16(low, high) : pack_bf16(low, high);
}

__global__ void power(unsigned* out, const unsigned* in) {
    unsigned i = blockIdx.x * WARP + threadIdx.x;
    out[i] = __float_as_uint(exp2_approx(__uint_as_float(in[i])));
}

// Every size, whole and in part.
__global__ void copies(unsigned* out, const unsigned* in) {
    __shared__ __align__(16) unsigned s[WARP][4 * 4 * 2];
    unsigned lane = threadIdx.x, *row = s[lane];
    in += (blockIdx.x * WARP + lane) * 32;
    for (int i = 0; i < 32; i++) row[i] = 0x55555555;
    cp_async4(row, in);
    cp_async8(row + 2, in + 2);
    cp_async16(row + 4, in + 4);
    cp_async16_ca(row + 8, in + 8);
    cp_async_commit();
    cp_async4_zfill(row + 12, in + 12, lane % 5);
    cp_async8_zfill(row + 14, in + 14, lane % 9);
    cp_async16_zfill(row + 16, in + 16, lane % 17);
    cp_async16_ca_zfill(row + 20, in + 20, 16 - lane % 17);
    cp_async_commit();
    cp_async_commit();
    cp_async_wait<1>();
    for (int i = 0; i < 24; i++) out[(blockIdx.x * WARP + lane) * 24 + i] = row[i];
}

// Two warps: one fills, the other reads, by two barriers; and the halves of a block by themselves.
__global__ void barriers(unsigned* out, const unsigned* in) {
    __shared__ unsigned s[WARP];
    unsigned lane = threadIdx.x % WARP, sum = 0;
    if (threadIdx.x >= 2 * WARP) {
        named_sync(5, 2 * WARP);  // the other two warps
        out[(blockIdx.x * 4 + threadIdx.x / WARP) * WARP + lane] = lane;
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (threadIdx.x < WARP) {
            named_sync(2, 2 * WARP);
            s[lane] = in[(blockIdx.x * ROUNDS + i) * WARP + lane];
            named_arrive(1, 2 * WARP);
        } else {
            named_arrive(2, 2 * WARP);
            named_sync(1, 2 * WARP);
            sum = 31 * sum + s[WARP - 1 - lane];
        }
    }
    out[(blockIdx.x * 4 + threadIdx.x / WARP) * WARP + lane] = sum;
}

// ---- cases -------------------------------------------------------------------------------------

static void fill_rows(int words) {
    fill_bits(words);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < WARP; i++) in[r * WARP * 5 + 4 * WARP + i] %= WARP;
}

static uint32_t pair(int half, int whole) {
    float x = whole ? random_whole(8) : random_number(-1, 1);
    float y = whole ? random_whole(8) : random_number(-1, 1);
    return (uint32_t)to_bits(y, half) << 16 | to_bits(x, half);
}

static void fill_fragments(int half, int whole) {
    for (int i = 0; i < ROUNDS * WARP * 10; i++) {
        float d = whole ? random_whole(1000) : random_number(-1, 1);
        if (i % 10 < 6)
            in[i] = pair(half, whole);
        else
            memcpy(&in[i], &d, 4);
    }
}
static void fill_whole_bf16(int) {
    fill_fragments(0, 1);
}
static void fill_whole_fp16(int) {
    fill_fragments(1, 1);
}
static void fill_real_bf16(int) {
    fill_fragments(0, 0);
}
static void fill_real_fp16(int) {
    fill_fragments(1, 0);
}

// 0 and +-1, at most 16 in a sum: also exact after packing
static void fill_small(int words, int half) {
    for (int i = 0; i < words; i++)
        in[i] = (uint32_t)to_bits(random_whole(1), half) << 16 | to_bits(random_whole(1), half);
}
static void fill_small_bf16(int words) {
    fill_small(words, 0);
}
static void fill_small_fp16(int words) {
    fill_small(words, 1);
}

// Of every exponent, and the special ones.
static void fill_floats(int words) {
    static const uint32_t special[] = {
        0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
        1,          0x807fffff, 0x00800000, 0x477fe000, 0x477ff000, 0x477fefff, 0x33000000,
        0x33000001, 0x387fc000, 0x387fe000, 0x7f7fffff, 0x7f7f8000, 0x3f808000, 0x3f818000,
    };
    fill_bits(words);
    for (int i = 0; i < words / 2; i++)
        in[2 * i] = (in[2 * i] & 0x87ffffff) | 0x30000000 | in[2 * i + 1] % 16 << 24;
    memcpy(in, special, sizeof special);
}

static void fill_exponents(int words) {
    for (int i = 0; i < words; i++) {
        float x = i % 2 ? random_number(-125.9f, 127.9f) : random_number(-2, 2);
        memcpy(&in[i], &x, 4);
    }
}

// Results that are 0, infinite, NaN or a power of two.
static void fill_special_exponents(int words) {
    static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN,    1e-40f,
                                    -127, -1000, 128,      1e30f,     -1e30f, -1e-40f};
    for (int i = 0; i < words; i++) {
        float x = i < 12 ? special[i] : (float)(i % 254 - 126);
        memcpy(&in[i], &x, 4);
    }
}

// A number of those: 0, 1 or -1.
static int small_at(int block, int matrix, int row, int col) {
    uint32_t word = in[block * 384 + matrix * 128 + row * 8 + col / 2];
    uint32_t bits = word >> col % 2 * 16 & 0xffff;
    return (bits & 0x7fff) == 0 ? 0 : bits & 0x8000 ? -1 : 1;
}

// Does out hold X Y Z? Then the shares of ldmatrix, mma and pack fit together, on this machine.
static int is_product(void) {
    for (int block = 0; block < ROUNDS; block++)
        for (int i = 0; i < 16; i++)
            for (int n = 0; n < 16; n++) {
                int sum = 0;
                for (int k = 0; k < 16; k++)
                    for (int j = 0; j < 16; j++)
                        sum += small_at(block, 0, i, j) * small_at(block, 1, j, k) *
                               small_at(block, 2, k, n);
                float x;
                memcpy(&x, &out[block * 256 + i * 16 + n], 4);
                if (x != (float)sum) return 0;
            }
    return 1;
}

static const struct test tests[] = {
    {"ldmatrix_x1", load<1, 0>, WARP, 160, 32, fill_rows, EXACT},
    {"ldmatrix_x2", load<2, 0>, WARP, 160, 64, fill_rows, EXACT},
    {"ldmatrix_x4", load<4, 0>, WARP, 160, 128, fill_rows, EXACT},
    {"ldmatrix_x1_trans", load<1, 1>, WARP, 160, 32, fill_rows, EXACT},
    {"ldmatrix_x2_trans", load<2, 1>, WARP, 160, 64, fill_rows, EXACT},
    {"ldmatrix_x4_trans", load<4, 1>, WARP, 160, 128, fill_rows, EXACT},
    {"mma_m16n8k16_bf16 of whole numbers", multiply<0>, WARP, 320, 128, fill_whole_bf16, EXACT},
    {"mma_m16n8k16_fp16 of whole numbers", multiply<1>, WARP, 320, 128, fill_whole_fp16, EXACT},
    {"mma_m16n8k16_bf16 of real numbers", multiply<0>, WARP, 320, 128, fill_real_bf16, SUM},
    {"mma_m16n8k16_fp16 of real numbers", multiply<1>, WARP, 320, 128, fill_real_fp16, SUM},
    {"two products in a row of bf16", chain<0>, WARP, 384, 256, fill_small_bf16, EXACT},
    {"two products in a row of fp16", chain<1>, WARP, 384, 256, fill_small_fp16, EXACT},
    {"pack_bf16", pack<0>, WARP, 64, 32, fill_floats, EXACT},
    {"pack_fp16", pack<1>, WARP, 64, 32, fill_floats, EXACT},
    {"exp2_approx", power, WARP, 32, 32, fill_exponents, POWER},
    {"exp2_approx of whole and special numbers", power, WARP, 32, 32, fill_special_exponents,
     POWER},
    {"cp_async", copies, WARP, 1024, 768, fill_bits, EXACT},
    {"named barriers", barriers, 4 * WARP, ROUNDS* WARP, 4 * WARP, fill_bits, EXACT},
};

static void launch(const struct test* t, unsigned* out, const unsigned* in) {
    t->kernel<<<ROUNDS, t->threads>>>(out, in);
}

static int is_right(const struct test* t) {
    return !strstr(t->name, "two products") || is_product();
}

int main(int argc, char** argv) {
    return run_tests(tests, sizeof tests / sizeof tests[0], is_right, argc, argv);
}
