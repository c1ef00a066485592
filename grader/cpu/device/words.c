// Words of two 16-bit or four 8-bit numbers, and minima and maxima of three: CUDA's SIMD and DPX
// functions.
#include <stdlib.h>
#include "cpu/include/cudev/numbers.h"

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))

// Number i of a word, of the type T; and a number at its place in a word.
#define PART(T, word, i) ((T)((word) >> (i)*8 * sizeof(T)))
#define PLACED(T, value, i) \
    ((unsigned)(value) << (32 - 8 * sizeof(T)) >> (32 - 8 * sizeof(T)) << (i)*8 * sizeof(T))

// name(a, b): `value` of the numbers x and y at each place. low and high are those of the type.
#define WORD(name, T, low_, high_, value)              \
    unsigned name(unsigned a, unsigned b) {            \
        const int low = low_, high = high_;            \
        unsigned result = 0;                           \
        for (unsigned i = 0; i < 4 / sizeof(T); i++) { \
            int x = PART(T, a, i), y = PART(T, b, i);  \
            result |= PLACED(T, value, i);             \
        }                                              \
        (void)low, (void)high;                         \
        return result;                                 \
    }
#define WITH_SIGN(name, value)                 \
    WORD(name##2, short, -32768, 32767, value) \
    WORD(name##4, signed char, -128, 127, value)
#define WITHOUT_SIGN(name, value)                  \
    WORD(name##2, unsigned short, 0, 65535, value) \
    WORD(name##4, unsigned char, 0, 255, value)
#define COMPARED(kind, name, condition) \
    kind(__vcmp##name, (condition) ? -1 : 0) kind(__vset##name, (condition) ? 1 : 0)
#define STOPPED(value) SMALLER(LARGER(value, low), high)

WITH_SIGN(__vadd, x + y)
WITH_SIGN(__vaddss, STOPPED(x + y))
WITHOUT_SIGN(__vaddus, STOPPED(x + y))
WITH_SIGN(__vsub, x - y)
WITH_SIGN(__vsubss, STOPPED(x - y))
WITHOUT_SIGN(__vsubus, STOPPED(x - y))
WITH_SIGN(__vavgs, (x + y + (x + y >= 0)) >> 1)
WITHOUT_SIGN(__vavgu, (x + y + 1) >> 1)
WITHOUT_SIGN(__vhaddu, (x + y) >> 1)
WITH_SIGN(__vmaxs, LARGER(x, y))
WITHOUT_SIGN(__vmaxu, LARGER(x, y))
WITH_SIGN(__vmins, SMALLER(x, y))
WITHOUT_SIGN(__vminu, SMALLER(x, y))
WITH_SIGN(__vabsdiffs, abs(x - y))
WITHOUT_SIGN(__vabsdiffu, abs(x - y))
COMPARED(WITHOUT_SIGN, eq, x == y)
COMPARED(WITHOUT_SIGN, ne, x != y)
COMPARED(WITH_SIGN, ges, x >= y)
COMPARED(WITHOUT_SIGN, geu, x >= y)
COMPARED(WITH_SIGN, gts, x > y)
COMPARED(WITHOUT_SIGN, gtu, x > y)
COMPARED(WITH_SIGN, les, x <= y)
COMPARED(WITHOUT_SIGN, leu, x <= y)
COMPARED(WITH_SIGN, lts, x < y)
COMPARED(WITHOUT_SIGN, ltu, x < y)

#define SUM_OF_DIFFERENCES(name, T)                              \
    unsigned name(unsigned a, unsigned b) {                      \
        unsigned sum = 0;                                        \
        for (unsigned i = 0; i < 4 / sizeof(T); i++)             \
            sum += (unsigned)abs(PART(T, a, i) - PART(T, b, i)); \
        return sum;                                              \
    }
SUM_OF_DIFFERENCES(__vsads2, short)
SUM_OF_DIFFERENCES(__vsads4, signed char)
SUM_OF_DIFFERENCES(__vsadu2, unsigned short)
SUM_OF_DIFFERENCES(__vsadu4, unsigned char)

#define OF_ONE(name, size, value)                                            \
    unsigned name##size(unsigned a) {                                        \
        unsigned minus = __vsub##size(0, a), stopped = __vsubss##size(0, a); \
        (void)minus, (void)stopped;                                          \
        return value;                                                        \
    }
#define OF_ONE_WORD(size)                                                               \
    OF_ONE(__vneg, size, minus)                                                         \
    OF_ONE(__vnegss, size, stopped)                                                     \
    OF_ONE(__vabs, size, (a & __vcmpges##size(a, 0)) | (minus & __vcmplts##size(a, 0))) \
    OF_ONE(__vabsss, size, __vmaxs##size(a, stopped))
OF_ONE_WORD(2)
OF_ONE_WORD(4)

// ---- of three numbers ---------------------------------------------------------------------------

#define OF_THREE(name, choose)                                                \
    int __vi##name##3_s32(int a, int b, int c) {                              \
        return choose(choose(a, b), c);                                       \
    }                                                                         \
    int __vi##name##3_s32_relu(int a, int b, int c) {                         \
        return LARGER(__vi##name##3_s32(a, b, c), 0);                         \
    }                                                                         \
    int __viadd##name##_s32(int a, int b, int c) {                            \
        int sum = (int)((unsigned)a + (unsigned)b);                           \
        return choose(sum, c);                                                \
    }                                                                         \
    int __viadd##name##_s32_relu(int a, int b, int c) {                       \
        return LARGER(__viadd##name##_s32(a, b, c), 0);                       \
    }                                                                         \
    int __vi##name##_s32_relu(int a, int b) {                                 \
        return __vi##name##3_s32_relu(a, b, b);                               \
    }                                                                         \
    unsigned __vi##name##3_u32(unsigned a, unsigned b, unsigned c) {          \
        return choose(choose(a, b), c);                                       \
    }                                                                         \
    unsigned __viadd##name##_u32(unsigned a, unsigned b, unsigned c) {        \
        return choose(a + b, c);                                              \
    }                                                                         \
    unsigned __vi##name##3_s16x2(unsigned a, unsigned b, unsigned c) {        \
        return __v##name##s2(__v##name##s2(a, b), c);                         \
    }                                                                         \
    unsigned __vi##name##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {   \
        return __vmaxs2(__vi##name##3_s16x2(a, b, c), 0);                     \
    }                                                                         \
    unsigned __viadd##name##_s16x2(unsigned a, unsigned b, unsigned c) {      \
        return __v##name##s2(__vadd2(a, b), c);                               \
    }                                                                         \
    unsigned __viadd##name##_s16x2_relu(unsigned a, unsigned b, unsigned c) { \
        return __vmaxs2(__viadd##name##_s16x2(a, b, c), 0);                   \
    }                                                                         \
    unsigned __vi##name##_s16x2_relu(unsigned a, unsigned b) {                \
        return __vmaxs2(__v##name##s2(a, b), 0);                              \
    }                                                                         \
    unsigned __vi##name##3_u16x2(unsigned a, unsigned b, unsigned c) {        \
        return __v##name##u2(__v##name##u2(a, b), c);                         \
    }                                                                         \
    unsigned __viadd##name##_u16x2(unsigned a, unsigned b, unsigned c) {      \
        return __v##name##u2(__vadd2(a, b), c);                               \
    }
OF_THREE(max, LARGER)
OF_THREE(min, SMALLER)
