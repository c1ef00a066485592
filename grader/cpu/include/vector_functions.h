// make_float4(x, y, z, w) and the like.
#ifndef CUDEV_VECTOR_FUNCTIONS_H
#define CUDEV_VECTOR_FUNCTIONS_H

#include "vector_types.h"

#define CUDEV_MAKE(base, name)                                                    \
    static inline struct name##1 make_##name##1(base x) {                         \
        struct name##1 v = {x};                                                   \
        return v;                                                                 \
    }                                                                             \
    static inline struct name##2 make_##name##2(base x, base y) {                 \
        struct name##2 v = {x, y};                                                \
        return v;                                                                 \
    }                                                                             \
    static inline struct name##3 make_##name##3(base x, base y, base z) {         \
        struct name##3 v = {x, y, z};                                             \
        return v;                                                                 \
    }                                                                             \
    static inline struct name##4 make_##name##4(base x, base y, base z, base w) { \
        struct name##4 v = {x, y, z, w};                                          \
        return v;                                                                 \
    }
CUDEV_MAKE(signed char, char)
CUDEV_MAKE(unsigned char, uchar)
CUDEV_MAKE(short, short)
CUDEV_MAKE(unsigned short, ushort)
CUDEV_MAKE(int, int)
CUDEV_MAKE(unsigned int, uint)
CUDEV_MAKE(long, long)
CUDEV_MAKE(unsigned long, ulong)
CUDEV_MAKE(long long, longlong)
CUDEV_MAKE(unsigned long long, ulonglong)
CUDEV_MAKE(float, float)
CUDEV_MAKE(double, double)
#undef CUDEV_MAKE

#endif
