// half, bfloat16, vectors, bits and mathematics.
#include "test.h"
#include "cuda_fp16.h"
#include "cuda_bf16.h"

// The value of a 16-bit number by its definition.
static double value(unsigned bits, int exponent_bits, int mantissa_bits) {
    int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    double mantissa = bits & ((1 << mantissa_bits) - 1), sign = bits >> 15 ? -1 : 1;
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent == (1 << exponent_bits) - 1) return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

// Every finite number h: exact both ways; halfway to its neighbour goes to the even one; a little to
// either side of halfway goes to the nearer.
template <class H> static void conversions(int exponent_bits, int mantissa_bits) {
    int wrong = 0;
    unsigned infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
    for (unsigned bits = 0; bits < infinity; bits++) {
        H h;
        h.__x = (unsigned short)bits;
        double x = value(bits, exponent_bits, mantissa_bits);
        double next = bits + 1 == infinity ? 2 * x - value(bits - 1, exponent_bits, mantissa_bits)
                                           : value(bits + 1, exponent_bits, mantissa_bits);
        double middle = (x + next) / 2;
        unsigned even = bits + bits % 2;
        wrong += (double)(float)h != x;
        wrong += H((float)x).__x != bits || H((float)-x).__x != (bits | 0x8000);
        wrong += H(x).__x != bits || H(middle).__x != even;
        if ((float)middle == middle) {
            wrong += H((float)middle).__x != even;
            wrong += H(nextafterf((float)middle, INFINITY)).__x != bits + 1;
            wrong += H(nextafterf((float)middle, 0.0f)).__x != bits;
        }
        wrong += H(nextafter(middle, INFINITY)).__x != bits + 1;
        wrong += H(nextafter(middle, 0.0)).__x != bits;
    }
    H nan(NAN), inf(INFINITY);
    wrong += !isnan((float)nan) || inf.__x != infinity || H(-INFINITY).__x != (infinity | 0x8000);
    wrong +=
        H(1e39).__x != infinity || !isnan((float)(inf - inf)) || (float)(inf + inf) != INFINITY;
    CHECK(wrong == 0);
}

static void arithmetic(void) {
    half a = __float2half(1.5f), b = 2.5f, c;
    c = a * b + a / b - -a;
    CHECK((float)c == __half2float(__float2half(5.85f)));  // 3.75 + 0.6 + 1.5, rounded thrice
    CHECK(a < b && a != b && !(a >= b) && __hisinf(__float2half(-1e6f)) == -1);
    CHECK((float)__hmax(a, __float2half(NAN)) == 1.5f && __hisnan(__hmax_nan(a, half(NAN))));
    // 1.0009765625^2 - 1.001953125 = 2^-20: lost by two roundings, kept by one
    half x = 1.0009765625f, minus = -1.001953125f;
    CHECK((float)__hfma(x, x, minus) == 0x1p-20f && (float)(x * x + minus) == 0.0f);
    // a tie that the tiny addend breaks
    CHECK((float)__hfma(half(2048.0f), half(1.0f), half(1.0f)) == 2048.0f);
    CHECK(__hfma(half(32.03125f), half(64.0f), half(0x1p-24f)).__x == 0x6801);
    half2 v = __floats2half2_rn(1.0f, 2.0f), w = __half2half2(__float2half(3.0f));
    float2 f = __half22float2(__hfma2(v, w, v));
    CHECK(f.x == 4.0f && f.y == 8.0f && sizeof(half2) == 4 && sizeof(half) == 2);
    CHECK(__low2float(v) == 1.0f && __high2float(__lowhigh2highlow(v)) == 1.0f);
    nv_bfloat162 p = __floats2bfloat162_rn(1.0f, 3.0f);
    p = p * p + p;
    CHECK(__bfloat1622float2(p).x == 2.0f && __high2float(p) == 12.0f);
    CHECK(__bfloat162float(__float2bfloat16(1.00390625f)) == 1.0f);
    CHECK(__bfloat16_as_ushort(__ushort_as_bfloat16(0x3f80)) == 0x3f80);
    CHECK(__half2int_rn(half(2.5f)) == 2 && (float)__int2half_rn(2049) == 2048.0f);
}

__global__ void together(float* out) {
    int lane = threadIdx.x;
    half h = __int2half_rn(lane);
    for (int d = 16; d > 0; d /= 2) h += __shfl_xor_sync(0xffffffff, h, d);
    __shared__ half total;
    __shared__ half2 pair;
    if (lane == 0) total = half(0.0f), pair = __float2half2_rn(0.0f);
    __syncthreads();
    atomicAdd(&total, __float2half(0.5f));
    atomicAdd(&pair, __floats2half2_rn(1.0f, 2.0f));
    __syncthreads();
    if (lane == 0)
        out[0] = h, out[1] = total, out[2] = __low2float(pair), out[3] = __high2float(pair);
}

static void vectors(void) {
    float4 v = make_float4(1, 2, 3, 4);
    int2 i = make_int2(5, 6);
    CHECK(v.x + v.w == 5.0f && i.y == 6 && sizeof(float3) == 12 && alignof(float4) == 16);
    CHECK(alignof(float2) == 8 && alignof(double2) == 16 && alignof(uchar4) == 4);
    CHECK(alignof(longlong4) == 16 && alignof(short4) == 8 && alignof(float3) == 4);
}

static void bits_and_math(void) {
    CHECK(__popc(0xf0f0u) == 8 && __clz(1) == 31 && __clz(0) == 32 && __ffs(8) == 4 &&
          __ffs(0) == 0);
    CHECK(__brev(1u) == 0x80000000u && __brevll(2) == 1ull << 62 && __popcll(~0ull) == 64);
    CHECK(__byte_perm(0x33221100, 0x77665544, 0x7421) == 0x77442211);
    CHECK(__float_as_uint(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2.0f);
    CHECK(__umulhi(0x80000000u, 6) == 3 && __mulhi(-1, 2) == -1);
    CHECK(__funnelshift_l(0x80000000u, 1, 1) == 3);
    CHECK(sinpif(1.0f) == 0.0f && cospif(0.5f) == 0.0f && cospi(1.0) == -1.0 && sinpi(2.5) == 1.0);
    CHECK(rsqrtf(4.0f) == 0.5f && __expf(0.0f) == 1.0f && __fdividef(6.0f, 3.0f) == 2.0f);
    CHECK(__powf(4.0f, 0.5f) == 2.0f && isnan(__powf(-2.0f, 2.0f)));
    CHECK(max(1, 2) == 2 && max(1u, 2) == 2 && min(1.5f, NAN) == 1.5f && max(-0.5, 0.25f) == 0.25);
    CHECK(__saturatef(NAN) == 0.0f && __float2int_rn(2.5f) == 2 && __fmaf_rn(2, 3, 4) == 10.0f);
}

// Functions that functions.cu, which knows the hardware's words, does not call.
template <int a, int b> static float two(float x) {
    return x * (a + b);
}
static void spellings(void) {
    int n = 0, q = 0;
    double whole = 0;
    float sine = 0, cosine = 0;
    CHECK(std::frexp(8.0f, &n) == 0.5f && n == 4 && frexp(3, &n) == 0.75 && n == 2);
    CHECK(std::modf(2.5, &whole) == 0.5 && whole == 2 && ::remquo(7.0, 2.0f, &q) == -1 && q == 4);
    ::sincosf(0, &sine, &cosine);
    CHECK(sine == 0 && cosine == 1 && rsqrtf(two<1, 3>(1.0f)) == 0.5f &&
          std::fmax(-0.0f, 0.0f) == 0);
    CHECK(sizeof(rsqrt(2.0f)) == 4 && sizeof(rsqrt(2.0)) == 8 &&
          sizeof(norm3d(1.f, 2.f, 2.f)) == 4);
    half h = __half_raw{0x3c00};
    half2 pair = half2(h, h);
    CHECK((float)h++ == 1.0f && (float)++h == 3.0f && pair == -(-pair) &&
          __half_raw(h).x == 0x4200);
    CHECK(h != half(NAN) && half(NAN) != half(NAN) && !(half(NAN) == half(NAN)));
    float2 sum = {1, 2}, add = {3, 4};
    CHECK(atomicAdd(&sum, add).y == 2 && sum.x == 4 && sum.y == 6);
}

int main(void) {
    spellings();
    conversions<__half>(5, 10);
    conversions<__nv_bfloat16>(8, 7);
    arithmetic();
    vectors();
    bits_and_math();
    float *out_gpu, out[4] = {0};
    CHECK_CUDA(cudaMalloc(&out_gpu, sizeof out));
    together<<<1, 32>>>(out_gpu);
    CHECK_CUDA(cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost));
    CHECK(out[0] == 496.0f && out[1] == 16.0f && out[2] == 32.0f && out[3] == 64.0f);
    cudaFree(out_gpu);
    return failures != 0;
}
