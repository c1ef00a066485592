// CUDA's small vectors (float4, int2, ...) and dim3, with CUDA's alignment. Plain C.
#ifndef CUDEV_VECTOR_TYPES_H
#define CUDEV_VECTOR_TYPES_H

#define CUDEV_VECTORS(base, name)                                                       \
    struct name##1 {                                                                    \
        base x;                                                                         \
    };                                                                                  \
    struct __attribute__((aligned(2 * sizeof(base)))) name##2 {                         \
        base x, y;                                                                      \
    };                                                                                  \
    struct name##3 {                                                                    \
        base x, y, z;                                                                   \
    };                                                                                  \
    struct __attribute__((aligned(sizeof(base) < 8 ? 4 * sizeof(base) : 16))) name##4 { \
        base x, y, z, w;                                                                \
    };                                                                                  \
    typedef struct name##1 name##1;                                                     \
    typedef struct name##2 name##2;                                                     \
    typedef struct name##3 name##3;                                                     \
    typedef struct name##4 name##4;

CUDEV_VECTORS(signed char, char)
CUDEV_VECTORS(unsigned char, uchar)
CUDEV_VECTORS(short, short)
CUDEV_VECTORS(unsigned short, ushort)
CUDEV_VECTORS(int, int)
CUDEV_VECTORS(unsigned int, uint)
CUDEV_VECTORS(long, long)
CUDEV_VECTORS(unsigned long, ulong)
CUDEV_VECTORS(long long, longlong)
CUDEV_VECTORS(unsigned long long, ulonglong)
CUDEV_VECTORS(float, float)
CUDEV_VECTORS(double, double)
#undef CUDEV_VECTORS

struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const {
        return uint3{x, y, z};
    }
#endif
};
typedef struct dim3 dim3;

#endif
