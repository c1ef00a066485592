// Numbers of eight bits, e4m3 and e5m2, as a GPU's cvt.rn.satfinite makes them and as its tensor
// cores read them.
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "cpu/include/cudev/hopper_abi.h"

enum { NOT_A_NUMBER = 0x7f };

struct format {
    int fraction, bias;
    unsigned largest;  // the bits of the largest number; larger ones are infinity and NaN
    double smallest;
};
static const struct format formats[] = {
    [CUDEV_E4M3] = {3, 7, 0x7e, 0x1p-9},   // 448. 0x7f is NaN, and nothing is infinity
    [CUDEV_E5M2] = {2, 15, 0x7b, 0x1p-16}  // 57344. 0x7c is infinity
};

// As a double's own bits: a product reads thousands of them.
double cudev_from_eight(unsigned char bits, enum cudev_format format) {
    const struct format* f = &formats[format];
    const unsigned size = bits & 0x7fu, e = size >> f->fraction;
    double x;
    if (size > f->largest) {
        x = f->fraction == 2 && size == f->largest + 1 ? INFINITY : NAN;
    } else if (e == 0) {
        x = size * f->smallest;
    } else {
        const uint64_t word = (uint64_t)(e + 1023 - (unsigned)f->bias) << 52 |
                              (uint64_t)(size & ((1u << f->fraction) - 1)) << (52 - f->fraction);
        memcpy(&x, &word, sizeof x);
    }
    return bits & 0x80 ? -x : x;
}

static unsigned to_eight(float x, const struct format* f) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const unsigned sign = bits >> 24 & 0x80;
    if (isnan(x)) return NOT_A_NUMBER;
    if (isinf(x)) return sign | f->largest;
    const double size = fabs((double)x);
    if (size == 0) return sign;
    // In units of the last place that it has there; a number that rounds up to the next power of
    // two has the bits of that one, since they follow each other.
    int e = ilogb(size);
    if (e < 1 - f->bias) e = 1 - f->bias;
    const int whole = 1 << f->fraction;
    const double units = nearbyint(ldexp(size, f->fraction - e));
    const long code = (long)(e + f->bias - 1) * whole + (long)units;
    return sign | (code > (long)f->largest ? f->largest : (unsigned)code);
}

unsigned cudev_pack_eight(float x0, float x1, enum cudev_format format) {
    return to_eight(x0, &formats[format]) | to_eight(x1, &formats[format]) << 8;
}
