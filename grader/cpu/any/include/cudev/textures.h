// Reading textures, reading and writing surfaces, in kernels. Linear filtering takes weights of 8
// bits after the point, as a GPU does. A watched program announces each element that is read.
#ifndef CUDEV_ANY_TEXTURES_H
#define CUDEV_ANY_TEXTURES_H

namespace cudev {

template <size_t bytes> struct raw { unsigned char byte[bytes]; };
struct four {
    float v[4];
};

// An element of the texture; places outside are the border.
inline const char* element_at(const cudev_texture* t, const long* at) {
    for (int i = 0; i < 3; i++)
        if (at[i] < 0 || at[i] >= t->size[i]) return nullptr;
    return t->data + ((size_t)at[2] * t->rows + (size_t)at[1]) * t->pitch +
           (size_t)at[0] * t->element;
}
inline void announce_element(const void* p, size_t bytes, bool written) {
#ifdef CUDEV_WATCHED
    cudev_announce(written ? CUDEV_WRITE : CUDEV_READ, p, bytes);
#else
    (void)p, (void)bytes, (void)written;
#endif
}
// The object behind a number, as `t`.
#ifdef CUDEV_WATCHED
#define CUDEV_TEXTURE(number, what)                      \
    cudev_texture copy;                                  \
    cudev_texture_copy(&copy, number, what, file, line); \
    const cudev_texture* const t = &copy
#else
#define CUDEV_TEXTURE(number, what) \
    const cudev_texture* const t = cudev_texture_of(number, what, file, line)
#endif

// Bytes of an announced element, by the compiler's own loads.
template <class T> CUDEV_UNWATCHED inline T take(const char* p) {
    raw<sizeof(T)> got;
    for (size_t i = 0; i < sizeof(T); i++) got.byte[i] = (unsigned char)p[i];
    return __builtin_bit_cast(T, got);
}
template <class T> CUDEV_UNWATCHED inline void put(char* p, T value) {
    const raw<sizeof(T)> given = __builtin_bit_cast(raw<sizeof(T)>, value);
    for (size_t i = 0; i < sizeof(T); i++) p[i] = (char)given.byte[i];
}

// Channel c of an element as a float; normalised: of whole numbers, -1 to 1 or 0 to 1.
CUDEV_UNWATCHED inline float channel(const cudev_texture* t, const char* p, int c) {
    const int bits = t->channels.x;
    const bool is_signed = t->channels.f == cudaChannelFormatKindSigned;
    p += c * (bits / 8);
    if (t->channels.f == cudaChannelFormatKindFloat) return *(const float*)p;
    const bool normal = t->how.readMode == cudaReadModeNormalizedFloat;
    float value =
        bits == 8    ? (is_signed ? (float)*(const signed char*)p : (float)*(const unsigned char*)p)
        : bits == 16 ? (is_signed ? (float)*(const short*)p : (float)*(const unsigned short*)p)
                     : (is_signed ? (float)*(const int*)p : (float)*(const unsigned*)p);
    if (!normal) return value;
    const float most = (float)((1ull << (bits - is_signed)) - 1);
    value /= most;
    return value < -1 ? -1 : value;
}
inline four element_of(const cudev_texture* t, const long* at) {
    four out = {};
    const char* p = element_at(t, at);
    if (p) announce_element(p, t->element, false);
    const int bits[4] = {t->channels.x, t->channels.y, t->channels.z, t->channels.w};
    for (int c = 0; c < 4; c++)
        out.v[c] = bits[c] == 0 ? 0 : p ? channel(t, p, c) : t->how.borderColor[c];
    return out;
}

// The place of number i of n, as the address mode says; -1: at the border.
inline long wrapped(long i, long n, cudaTextureAddressMode mode, bool normalised) {
    if (mode == cudaAddressModeWrap && normalised) return ((i % n) + n) % n;
    if (mode == cudaAddressModeMirror && normalised) {
        i = ((i % (2 * n)) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    }
    if (mode == cudaAddressModeBorder) return i < 0 || i >= n ? -1 : i;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

// dims: coordinates that are given; the others are 0, or the layer, which is never filtered.
template <class T>
inline T sample(const cudev_texture* t, int dims, const float* coordinate, long layer) {
    typedef typename channels<T>::base base;
    const bool normalised = t->how.normalizedCoords != 0;
    const bool linear = t->how.filterMode == cudaFilterModeLinear;
    const bool as_floats =
        linear || (is_float<base>::value && t->channels.f != cudaChannelFormatKindFloat);
    long at[3] = {0, 0, layer}, first[3] = {0, 0, layer};
    float part[3] = {0, 0, 0};
    for (int i = 0; i < dims; i++) {
        float u = coordinate[i] * (normalised ? (float)t->size[i] : 1.0f);
        u = rintf(u * 256) / 256;  // a GPU's coordinates have so many bits behind the point
        if (linear) u -= 0.5f;
        const float whole = floorf(u);
        first[i] = u != u          ? 0
                   : whole < -1e9f ? -1000000000
                   : whole > 1e9f  ? 1000000000
                                   : (long)whole;
        if (linear) part[i] = u - whole;
        at[i] = wrapped(first[i], t->size[i], t->how.addressMode[i], normalised);
    }
    if (!as_floats) {
        const char* p = element_at(t, at);
        if (p) {
            announce_element(p, sizeof(T), false);
            return take<T>(p);
        }
    }
    four sum = {};
    for (int corner = 0; corner < (linear ? 1 << dims : 1); corner++) {
        float weight = 1;
        for (int i = 0; i < dims && linear; i++) {
            const bool second = corner >> i & 1;
            weight *= second ? part[i] : 1 - part[i];
            at[i] = wrapped(first[i] + second, t->size[i], t->how.addressMode[i], normalised);
        }
        if (weight == 0) continue;
        const four e = element_of(t, at);
        for (int c = 0; c < 4; c++) sum.v[c] += weight * e.v[c];
    }
    struct {
        base v[channels<T>::count];
    } out;
    for (int c = 0; c < channels<T>::count; c++) out.v[c] = (base)sum.v[c];
    return __builtin_bit_cast(T, out);
}

}  // namespace cudev

#define CUDEV_FETCH(name, parameters, dims, x, y, z, layer) \
    template <class T> inline T name parameters {           \
        const float at[3] = {x, y, z};                      \
        CUDEV_TEXTURE(object, #name "()");                  \
        return cudev::sample<T>(t, dims, at, layer);        \
    }
CUDEV_FETCH(tex1D, (cudaTextureObject_t object, float x, CUDEV_HERE), 1, x, 0, 0, 0)
CUDEV_FETCH(tex2D, (cudaTextureObject_t object, float x, float y, CUDEV_HERE), 2, x, y, 0, 0)
CUDEV_FETCH(tex3D, (cudaTextureObject_t object, float x, float y, float z, CUDEV_HERE), 3, x, y, z,
            0)
CUDEV_FETCH(tex2DLayered, (cudaTextureObject_t object, float x, float y, int layer, CUDEV_HERE), 2,
            x, y, 0, layer)
#undef CUDEV_FETCH

// Plain memory by whole numbers; 0 outside.
template <class T> inline T tex1Dfetch(cudaTextureObject_t object, int i, CUDEV_HERE) {
    CUDEV_TEXTURE(object, "tex1Dfetch()");
    const float at[3] = {(float)i, 0, 0};
    const long place[3] = {i, 0, 0};
    const char* p = cudev::element_at(t, place);
    if (!p) return T{};
    if (t->how.readMode == cudaReadModeNormalizedFloat && i < 1 << 24)
        return cudev::sample<T>(t, 1, at, 0);
    cudev::announce_element(p, sizeof(T), false);
    return cudev::take<T>(p);
}
template <class T> inline void tex1Dfetch(T* out, cudaTextureObject_t t, int i, CUDEV_HERE) {
    *out = tex1Dfetch<T>(t, i, file, line);
}

// Surfaces: x in bytes. Outside, a thread traps unless the mode says otherwise.
namespace cudev {
template <class T>
inline char* surface_at(cudaSurfaceObject_t object, int x, int y, cudaSurfaceBoundaryMode mode,
                        const char* what, const char* file, int line) {
    CUDEV_TEXTURE(object, what);
    long at[3] = {x / (long)sizeof(T), y, 0};
    for (int i = 0; i < 2 && mode == cudaBoundaryModeClamp; i++)
        at[i] = wrapped(at[i], t->size[i], cudaAddressModeClamp, false);
    const char* p = x < 0 ? nullptr : element_at(t, at);
    if (!p && mode == cudaBoundaryModeTrap) cudev_trap(file, line);
    return (char*)p;
}
}  // namespace cudev
#define CUDEV_SURFACE(dims, coordinates, x, y)                                                    \
    template <class T>                                                                            \
    inline T surf##dims##Dread(cudaSurfaceObject_t s, coordinates,                                \
                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, CUDEV_HERE) { \
        char* p = cudev::surface_at<T>(s, x, y, mode, "surf" #dims "Dread()", file, line);        \
        if (!p) return T{};                                                                       \
        cudev::announce_element(p, sizeof(T), false);                                             \
        return cudev::take<T>(p);                                                                 \
    }                                                                                             \
    template <class T>                                                                            \
    inline void surf##dims##Dread(T* out, cudaSurfaceObject_t s, coordinates,                     \
                                  cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,            \
                                  CUDEV_HERE) {                                                   \
        char* p = cudev::surface_at<T>(s, x, y, mode, "surf" #dims "Dread()", file, line);        \
        if (p) cudev::announce_element(p, sizeof(T), false);                                      \
        *out = p ? cudev::take<T>(p) : T{};                                                       \
    }                                                                                             \
    template <class T>                                                                            \
    inline void surf##dims##Dwrite(T value, cudaSurfaceObject_t s, coordinates,                   \
                                   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,           \
                                   CUDEV_HERE) {                                                  \
        char* p = cudev::surface_at<T>(s, x, y, mode, "surf" #dims "Dwrite()", file, line);       \
        if (!p) return;                                                                           \
        cudev::announce_element(p, sizeof(T), true);                                              \
        cudev::put(p, value);                                                                     \
    }
#define CUDEV_XY int x, int y
CUDEV_SURFACE(1, int x, x, 0)
CUDEV_SURFACE(2, CUDEV_XY, x, y)
#undef CUDEV_XY
#undef CUDEV_SURFACE
#undef CUDEV_TEXTURE

// C++ forms
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
    return cudaEventCreateWithFlags(event, flags);
}
template <class T>
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T* p, size_t bytes = 0,
                                            unsigned flags = cudaMemAttachSingle) {
    return cudaStreamAttachMemAsync(stream, (void*)p, bytes, flags);
}
// The words of messages for the kernel come first, as in cudaLaunchKernel().
template <class... A>
inline cudaError_t cudaLaunchCooperativeKernel(const cudev::named_launch& named,
                                               void (*kernel)(A...), dim3 grid, dim3 block,
                                               void** args, size_t shared_bytes = 0,
                                               cudaStream_t stream = 0) {
    return cudaLaunchKernel(named, kernel, grid, block, args, shared_bytes, stream);
}
template <class... A>
inline cudaError_t
cudaLaunchCooperativeKernel(void (*kernel)(A...), dim3 grid, dim3 block, void** args,
                            size_t shared_bytes = 0, cudaStream_t stream = 0,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cudaLaunchKernel(kernel, grid, block, args, shared_bytes, stream, file, line);
}

#endif
