// The parts of a texture's elements, for host code and kernels.
#ifndef CUDEV_ANY_CHANNELS_H
#define CUDEV_ANY_CHANNELS_H

namespace cudev {

// The parts of T: its channels, and the type of one.
template <class T> struct channels {
    static constexpr int count = 1;
    typedef T base;
};
#define CUDEV_CHANNELS(T, name)            \
    template <> struct channels<name##1> { \
        static constexpr int count = 1;    \
        typedef T base;                    \
    };                                     \
    template <> struct channels<name##2> { \
        static constexpr int count = 2;    \
        typedef T base;                    \
    };                                     \
    template <> struct channels<name##4> { \
        static constexpr int count = 4;    \
        typedef T base;                    \
    };
CUDEV_CHANNELS(signed char, char)
CUDEV_CHANNELS(unsigned char, uchar)
CUDEV_CHANNELS(short, short)
CUDEV_CHANNELS(unsigned short, ushort)
CUDEV_CHANNELS(int, int)
CUDEV_CHANNELS(unsigned, uint)
CUDEV_CHANNELS(float, float)
#undef CUDEV_CHANNELS

template <class T> struct is_float { static constexpr bool value = false; };
template <> struct is_float<float> { static constexpr bool value = true; };

}  // namespace cudev

inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   cudaChannelFormatKind kind) {
    return cudev_channels(x, y, z, w, kind);
}
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc() {
    typedef typename cudev::channels<T>::base base;
    constexpr int bits = 8 * sizeof(base), count = cudev::channels<T>::count;
    constexpr bool is_signed = (base)-1 < (base)0;
    return cudev_channels(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 2 ? bits : 0,
                          cudev::is_float<base>::value ? cudaChannelFormatKindFloat
                          : is_signed                  ? cudaChannelFormatKindSigned
                                                       : cudaChannelFormatKindUnsigned);
}
#endif
