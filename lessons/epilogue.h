// from lesson 09: epilogue.h: what follows a layer's product: GELU, dropout; the backward pass.
//
// Lesson 08 asked for it: `make exercises` cuts it from that solution. A .cu that includes it has
// included lesson 08's contract, and writes the launchers itself.
// Nothing below the next line is edited here.
#ifndef COURSE_EPILOGUE_H
#define COURSE_EPILOGUE_H

#include <cuda_bf16.h>
#include <math.h>

#include "swizzle.h"

// ---- from solutions/08_fused_linear/fused_linear.cu ------------------------------------------

#define LOG2_E 1.44269504f  // exp(x) = exp2(LOG2_E x)

enum {
    QUAD = 4,  // neighbours in a row that a lane finishes together: one call of Philox
    BACKWARD_THREADS = 256,  // of a block of the backward kernel
    QUADS = 2,               // that each of them works on
    ROUNDS = 10,             // of Philox
};

// What a launch knows of its dropout. The keys of Philox's rounds are the same for all elements:
// the host makes them, and the kernels find them among their arguments.
struct dropout {
    uint64_t offset;
    unsigned keys[ROUNDS][2];
    float scale;     // of an element that is kept
    unsigned limit;  // kept are words above this
    int any;         // p > 0
};

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

// |z|, but at most 16: there Phi(-|z|) is 0 in fp32, and infinity times 0 would be NaN. NaN stays.
__device__ __forceinline__ float clamped(float z) {
    return fabsf(z) > 16.0f ? 16.0f : fabsf(z);
}

// Phi(-x) for 0 <= x <= 16, off by at most 4e-8 / max(1, x): as 2 to a polynomial that was fitted
// to log2 Phi(-x). With erff() it would be 0.5f - 0.5f * erff(x / sqrt(2)), which costs twice as
// much and loses small results: 1 - erf is a difference.                            (README eq. 6)
__device__ __forceinline__ float tail(float x) {
    float y = -2.27584907e-6f;
    y = fmaf(y, x, 3.29678072e-5f);
    y = fmaf(y, x, -1.57278045e-4f);
    y = fmaf(y, x, -2.02480203e-4f);
    y = fmaf(y, x, 7.14278294e-3f);
    y = fmaf(y, x, -5.25464366e-2f);
    y = fmaf(y, x, -0.459193057f);
    y = fmaf(y, x, -1.15110694f);
    y = fmaf(y, x, -0.999999959f);
    return exp2_approx(y);
}

// 1 / (1 + exp(2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): what stands for Phi(-x) in the form with
// tanh, since (1 + tanh(-u)) / 2 is that.
__device__ __forceinline__ float tail_tanh(float x) {
    const float linear = 2.0f * 0.797884561f * LOG2_E, cubic = linear * 0.044715f;
    return __fdividef(1.0f, 1.0f + exp2_approx(x * fmaf(cubic, x * x, linear)));
}

// f(z)                                                                              (README eq. 2)
__device__ __forceinline__ float apply(float z, int f) {
    float y = z;
    if (f != FUSED_LINEAR_NONE) {
        float x = clamped(z);
        y = fmaxf(z, 0.0f) - x * (f == FUSED_LINEAR_GELU ? tail(x) : tail_tanh(x));
    }
    return y;
}

// f'(z), where f is a GELU: Phi(z) + z Phi'(z)                                      (README eq. 4)
__device__ __forceinline__ float slope(float z, int f) {
    float x = clamped(z), below = 0.0f, density = 0.0f;  // Phi(-x), and the slope of Phi at x
    if (f == FUSED_LINEAR_GELU) {
        below = tail(x);
        density = 0.398942280f * exp2_approx(-0.5f * LOG2_E * x * x);  // exp(-x^2 / 2) / sqrt(2 pi)
    } else {
        const float linear = 2.0f * 0.797884561f, cubic = 3.0f * 0.044715f * linear;
        below = tail_tanh(x);
        density = below * (1.0f - below) * fmaf(cubic, x * x, linear);
    }
    return (z < 0.0f ? below : 1.0f - below) + copysignf(x, z) * density;
}

// 8 bytes, at a multiple of 8.
__device__ __forceinline__ void load_quad(float x[QUAD], const bf16* from) {
    uint2 words = *(const uint2*)from;
    x[0] = __uint_as_float(words.x << 16), x[1] = __uint_as_float(words.x & 0xffff0000u);
    x[2] = __uint_as_float(words.y << 16), x[3] = __uint_as_float(words.y & 0xffff0000u);
}

__device__ __forceinline__ void store_quad(bf16* to, const float x[QUAD]) {
    *(uint2*)to = make_uint2(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]));
}

// A thread has QUADS quads, as far apart as the block has threads.
__global__ void __launch_bounds__(BACKWARD_THREADS)
    fused_linear_backward_kernel(bf16* __restrict__ dZ,        // (M, N)  out
                                 const bf16* __restrict__ dY,  // (M, N)
                                 const bf16* __restrict__ Z,   // (M, N), not read if f is NONE
                                 int64_t quads, int f, struct dropout dropout) {
    // forward was: Y = dropout(f(Z)); so now: dZ = f'(Z) dropout(dY)     (README eq. 4)
    // dZ[e] = f'(Z[e]) * (kept ? dY[e] / (1 - p) : 0)
    const int64_t first = (int64_t)blockIdx.x * QUADS * BACKWARD_THREADS + threadIdx.x;
    float g[QUADS][QUAD], z[QUADS][QUAD];
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
        int64_t quad = first + i * BACKWARD_THREADS;
        if (quad >= quads) continue;
        load_quad(g[i], dY + quad * QUAD);
        if (f != FUSED_LINEAR_NONE) load_quad(z[i], Z + quad * QUAD);
    }
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
        int64_t quad = first + i * BACKWARD_THREADS;
        if (quad >= quads) continue;
#pragma unroll
        for (int k = 0; k < QUAD; k++)
            if (f != FUSED_LINEAR_NONE) g[i][k] *= slope(z[i][k], f);
        drop(g[i], quad * QUAD, dropout);
        store_quad(dZ + quad * QUAD, g[i]);
    }
}

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

#endif
