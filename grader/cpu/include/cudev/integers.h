// Whole numbers: their bits, halves of products, dot products of small numbers in words.
#ifndef CUDEV_INTEGERS_H
#define CUDEV_INTEGERS_H

CUDEV_FUNCTION(int, __popc, (unsigned x), __builtin_popcount(x))
CUDEV_FUNCTION(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
CUDEV_FUNCTION(int, __clz, (int x), x ? __builtin_clz((unsigned)x) : 32)
CUDEV_FUNCTION(int, __clzll, (long long x), x ? __builtin_clzll((unsigned long long)x) : 64)
CUDEV_FUNCTION(int, __ffs, (int x), __builtin_ffs(x))
CUDEV_FUNCTION(int, __ffsll, (long long x), __builtin_ffsll(x))
inline unsigned long long __brevll(unsigned long long x) {
    x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
    x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
    x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
    return __builtin_bswap64(x);
}
CUDEV_FUNCTION(unsigned, __brev, (unsigned x), (unsigned)(__brevll(x) >> 32))
CUDEV_FUNCTION(unsigned short, __nv_bswap16, (unsigned short x), __builtin_bswap16(x))
CUDEV_FUNCTION(unsigned, __nv_bswap32, (unsigned x), __builtin_bswap32(x))
CUDEV_FUNCTION(unsigned long long, __nv_bswap64, (unsigned long long x), __builtin_bswap64(x))
// Four bytes out of the eight of (y, x); the lower three bits of a nibble of the selector say
// which.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        result |= (unsigned)(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    }
    return result;
}
// The place of the n-th set bit of mask, counted from place `base`, downwards if n < 0; n == 0: of
// the bit at the place itself. -1: there is none.
inline unsigned __fns(unsigned mask, unsigned base, int n) {
    int way = n < 0 ? -1 : 1, left = n == 0 ? 1 : n < 0 ? -n : n;
    for (int i = (int)base; i >= 0 && i < 32; i += way) {
        if (mask >> i & 1 && --left == 0) return (unsigned)i;
        if (n == 0) break;
    }
    return 0xffffffff;
}

// ---- two words side by side, shifted: by shift % 32, or with c at most by 32
namespace cudev {
inline unsigned long long pair(unsigned low, unsigned high) {
    return (unsigned long long)high << 32 | low;
}
}  // namespace cudev
CUDEV_FUNCTION(unsigned, __funnelshift_l, (unsigned low, unsigned high, unsigned shift),
               (unsigned)(cudev::pair(low, high) << (shift & 31) >> 32))
CUDEV_FUNCTION(unsigned, __funnelshift_r, (unsigned low, unsigned high, unsigned shift),
               (unsigned)(cudev::pair(low, high) >> (shift & 31)))
CUDEV_FUNCTION(unsigned, __funnelshift_lc, (unsigned low, unsigned high, unsigned shift),
               (unsigned)(cudev::pair(low, high) << (shift < 32 ? shift : 32) >> 32))
CUDEV_FUNCTION(unsigned, __funnelshift_rc, (unsigned low, unsigned high, unsigned shift),
               (unsigned)(cudev::pair(low, high) >> (shift < 32 ? shift : 32)))

// ---- products ----

CUDEV_FUNCTION(unsigned, __umulhi, (unsigned x, unsigned y),
               (unsigned)((unsigned long long)x* y >> 32))
CUDEV_FUNCTION(int, __mulhi, (int x, int y), (int)((long long)x* y >> 32))
CUDEV_FUNCTION(unsigned long long, __umul64hi, (unsigned long long x, unsigned long long y),
               (unsigned long long)((unsigned __int128)x* y >> 64))
CUDEV_FUNCTION(long long, __mul64hi, (long long x, long long y), (long long)((__int128)x* y >> 64))
// of the lowest 24 bits, the lowest 32 of the product
CUDEV_FUNCTION(unsigned, __umul24, (unsigned x, unsigned y), (x & 0xffffff) * (y & 0xffffff))
CUDEV_FUNCTION(int, __mul24, (int x, int y),
               (int)((unsigned)((int)((unsigned)x << 8) >> 8) *
                     (unsigned)((int)((unsigned)y << 8) >> 8)))

// ---- means and differences ----

CUDEV_FUNCTION(int, __hadd, (int x, int y), (int)(((long long)x + y) >> 1))
CUDEV_FUNCTION(int, __rhadd, (int x, int y), (int)(((long long)x + y + 1) >> 1))
CUDEV_FUNCTION(unsigned, __uhadd, (unsigned x, unsigned y),
               (unsigned)(((unsigned long long)x + y) >> 1))
CUDEV_FUNCTION(unsigned, __urhadd, (unsigned x, unsigned y),
               (unsigned)(((unsigned long long)x + y + 1) >> 1))
CUDEV_FUNCTION(unsigned, __sad, (int x, int y, unsigned z),
               (x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x) + z)
CUDEV_FUNCTION(unsigned, __usad, (unsigned x, unsigned y, unsigned z), (x > y ? x - y : y - x) + z)

// ---- dot products: four bytes with four bytes, two halves with the lower or upper two bytes

#define CUDEV_DOT(T, vector, Byte, Half)                                                     \
    inline T __dp4a(T a, T b, T c) {                                                         \
        unsigned sum = (unsigned)c;                                                          \
        for (int i = 0; i < 32; i += 8)                                                      \
            sum += (unsigned)((Byte)((unsigned)a >> i) * (Byte)((unsigned)b >> i));          \
        return (T)sum;                                                                       \
    }                                                                                        \
    inline T __dp2a_lo(T a, T b, T c) {                                                      \
        unsigned sum = (unsigned)c;                                                          \
        for (int i = 0; i < 2; i++)                                                          \
            sum += (unsigned)((Half)((unsigned)a >> 16 * i) * (Byte)((unsigned)b >> 8 * i)); \
        return (T)sum;                                                                       \
    }                                                                                        \
    CUDEV_FUNCTION(T, __dp2a_hi, (T a, T b, T c), __dp2a_lo(a, (T)((unsigned)b >> 16), c))   \
    CUDEV_FUNCTION(T, __dp4a, (vector##4 a, vector##4 b, T c),                               \
                   __dp4a((T)cudev::to_bits(a), (T)cudev::to_bits(b), c))
CUDEV_DOT(int, char, signed char, short)
CUDEV_DOT(unsigned, uchar, unsigned char, unsigned short)
#undef CUDEV_DOT
CUDEV_FUNCTION(int, __dp2a_lo, (short2 a, char4 b, int c),
               __dp2a_lo((int)cudev::to_bits(a), (int)cudev::to_bits(b), c))
CUDEV_FUNCTION(int, __dp2a_hi, (short2 a, char4 b, int c),
               __dp2a_hi((int)cudev::to_bits(a), (int)cudev::to_bits(b), c))
CUDEV_FUNCTION(unsigned, __dp2a_lo, (ushort2 a, uchar4 b, unsigned c),
               __dp2a_lo((unsigned)cudev::to_bits(a), (unsigned)cudev::to_bits(b), c))
CUDEV_FUNCTION(unsigned, __dp2a_hi, (ushort2 a, uchar4 b, unsigned c),
               __dp2a_hi((unsigned)cudev::to_bits(a), (unsigned)cudev::to_bits(b), c))

// ---- the larger or smaller one, and whether it was the first: 32 bits or 2 x 16

#define CUDEV_CHOOSE(name, op)                                                           \
    inline int __vib##name##_s32(int a, int b, bool* first) {                            \
        *first = a op b;                                                                 \
        return a op b ? a : b;                                                           \
    }                                                                                    \
    inline unsigned __vib##name##_u32(unsigned a, unsigned b, bool* first) {             \
        *first = a op b;                                                                 \
        return a op b ? a : b;                                                           \
    }                                                                                    \
    inline unsigned __vib##name##_s16x2(unsigned a, unsigned b, bool* high, bool* low) { \
        *high = (short)(a >> 16) op(short)(b >> 16);                                     \
        *low = (short)a op(short) b;                                                     \
        return __v##name##s2(a, b);                                                      \
    }                                                                                    \
    inline unsigned __vib##name##_u16x2(unsigned a, unsigned b, bool* high, bool* low) { \
        *high = a >> 16 op b >> 16;                                                      \
        *low = (unsigned short)a op(unsigned short) b;                                   \
        return __v##name##u2(a, b);                                                      \
    }
CUDEV_CHOOSE(max, >=)
CUDEV_CHOOSE(min, <=)
#undef CUDEV_CHOOSE

#endif
