// CUDA C's words: function and variable qualifiers, built-in variables, __shared__ memory.
#ifndef CUDEV_LANGUAGE_H
#define CUDEV_LANGUAGE_H

#define __host__
#define __device__
#define __constant__
#define __managed__
#define __grid_constant__
// noinline: each thread is a call of its own, see threadIdx below
// flatten: a kernel and its helpers become one function, as on a GPU
#define __global__ __attribute__((noinline, flatten))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)  // the rewriter has read it
#define __align__(bytes) __attribute__((aligned(bytes)))
// __shared__ is replaced by the rewriter; reaching the compiler means that it was not run
#ifdef CUDEV_WORDS  // only what the compiler says is wanted
#define __shared__
#define __noinline__
#else
#define __shared__ CUDEV_SHARED_OUTSIDE_A_FUNCTION_OR_NOT_REWRITTEN
#endif

// The rewriter puts these words in front of variables of the device: sections that host code
// reaches by the API only (device/symbols.c). ZERO: they begin as zeros. The # or // hides the
// flags that the compiler adds, so that they take no room in files.
#ifdef __x86_64__
#define CUDEV_ZERO_SECTION(name) __attribute__((section(name ",\"aw\",@nobits#")))
#else
#define CUDEV_ZERO_SECTION(name) __attribute__((section(name ",\"aw\",%nobits//")))
#endif
#define CUDEV_DEVICE_ZERO CUDEV_ZERO_SECTION("cudev_device_zero")
#define CUDEV_DEVICE_VALUE __attribute__((section("cudev_device_value")))
#define CUDEV_DEVICE_CONST __attribute__((section("cudev_device_const")))
#define CUDEV_CONSTANT_ZERO CUDEV_ZERO_SECTION("cudev_constant_zero")
#define CUDEV_CONSTANT_VALUE __attribute__((section("cudev_constant_value")))
#define CUDEV_CONSTANT_CONST __attribute__((section("cudev_constant_const")))

// Set by the runtime before a thread runs. const, as in CUDA: assigning to them is an error, and
// the compiler keeps them in registers. Safe because a kernel never continues as another thread:
// the launch loop calls it anew for each (cudev/launch.h), and kernels are never inlined into it.
extern "C" {
extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;
extern const dim3 blockDim;
extern const dim3 gridDim;
}
constexpr int warpSize = 32;

namespace cudev {

// A kernel with __launch_bounds__ begins with this.
inline void bounded(unsigned most) {
    if (blockDim.x * blockDim.y * blockDim.z > most) cudev_beyond_bounds(most);
}

// extern __shared__ T name[]; at file scope: the address differs from block to block
template <class T> struct dynamic_array {
    operator T*() const {
        return (T*)cudev_dynamic_shared(nullptr);
    }
};

// __shared__ T name[n] at file scope, in a file that is not graded
template <class T> struct file_array {
    static_assert(sizeof(T) == 0, "not on the CPU device: __shared__ variables outside of kernels "
                                  "that are no arrays, declare them inside");
};
template <class T, size_t n> struct file_array<T[n]> {
    cudev_shared_array array;
    operator T*() const {
        return (T*)cudev_shared(&array);
    }
};

// The shape of an array type, for reports: extent<float[4][8], 1>::value is 8.
template <class T, int dimension> struct extent { static constexpr unsigned value = 0; };
template <class T, size_t n> struct extent<T[n], 0> { static constexpr unsigned value = n; };
template <class T, size_t n, int dimension> struct extent<T[n], dimension> {
    static constexpr unsigned value = extent<T, dimension - 1>::value;
};
template <class T> struct element { static constexpr size_t bytes = sizeof(T); };
template <class T, size_t n> struct element<T[n]> {
    static constexpr size_t bytes = element<T>::bytes;
};

}  // namespace cudev

// The rewriter makes this of `__shared__ type name[...]`: the body of a lambda that returns the
// address of the running block's array. `cudev_type` is a typedef made from the declaration.
#define CUDEV_SHARED(name, alignment)                                                          \
    static const ::cudev_shared_array array = CUDEV_SHARED_ARRAY(name, cudev_type, alignment); \
    return (cudev_type*)::cudev_shared(&array)
#define CUDEV_SHARED_ARRAY(name, type, alignment)                                                 \
    {                                                                                             \
        CUDEV_TEXT(name), __FILE__, __LINE__, sizeof(type),                                       \
            alignof(type) > alignment ? alignof(type) : alignment, ::cudev::element<type>::bytes, \
        {                                                                                         \
            ::cudev::extent<type, 0>::value, ::cudev::extent<type, 1>::value,                     \
                ::cudev::extent<type, 2>::value, ::cudev::extent<type, 3>::value                  \
        }                                                                                         \
    }
// The same at file scope: static const ::cudev::file_array<type> name = ...
#define CUDEV_SHARED_IN_FILE(name, type, alignment) \
    static const ::cudev::file_array<type> name = {CUDEV_SHARED_ARRAY(name, type, alignment)}

// The same for `extern __shared__ type name[]`.
#define CUDEV_DYNAMIC(name)                                                               \
    static const ::cudev_shared_array array = {CUDEV_TEXT(name),                          \
                                               __FILE__,                                  \
                                               __LINE__,                                  \
                                               0,                                         \
                                               alignof(cudev_type),                       \
                                               ::cudev::element<cudev_type>::bytes,       \
                                               {0, ::cudev::extent<cudev_type, 0>::value, \
                                                ::cudev::extent<cudev_type, 1>::value,    \
                                                ::cudev::extent<cudev_type, 2>::value}};  \
    return (cudev_type*)::cudev_dynamic_shared(&array)

// A member of the structure cudev_type, which is laid over dynamic shared memory.
#define CUDEV_MEMBER(name)                                                                \
    {                                                                                     \
        CUDEV_TEXT(name), __builtin_offsetof(cudev_type, name), sizeof(cudev_type::name), \
            ::cudev::element<decltype(cudev_type::name)>::bytes, {                        \
            ::cudev::extent<decltype(cudev_type::name), 0>::value,                        \
                ::cudev::extent<decltype(cudev_type::name), 1>::value,                    \
                ::cudev::extent<decltype(cudev_type::name), 2>::value,                    \
                ::cudev::extent<decltype(cudev_type::name), 3>::value                     \
        }                                                                                 \
    }

namespace cudev {

// The rewriter puts it around the memory there.
template <class T> __forceinline__ T* laid_over(T* memory, const cudev_member* members) {
    cudev_laid_over(memory, members);
    return memory;
}

// The rewriter puts a call of unset() behind declarations of local variables without a value. A
// GPU's register holds there what it held before: maybe 0, maybe not. Watched, all bits are set,
// which is NaN in every format, so that the answer is wrong for sure; plain, the compiler shall
// warn of it.
#ifdef CUDEV_WATCHED
template <size_t n> struct ones {
    unsigned char byte[n];
    constexpr ones() : byte() {
        for (size_t i = 0; i < n; i++) byte[i] = 0xff;
    }
};
template <class T> __forceinline__ void unset_one(T& x) {
    if constexpr (__is_trivially_constructible(T)) {
        constexpr ones<sizeof(T)> bits;  // not by memset(), which is watched
        x = __builtin_bit_cast(T, bits);
    }
}
template <class T, size_t n> __forceinline__ void unset_one(T (&x)[n]) {
    for (size_t i = 0; i < n; i++) unset_one(x[i]);
}
#else
template <class T> __forceinline__ void unset_one(T&) {}
#endif
template <class... T> __forceinline__ void unset(T&... x) {
    (unset_one(x), ...);
}

}  // namespace cudev

namespace cudev {

// The rewriter puts it into the condition of a loop in which lanes may go different ways.
__forceinline__ constexpr void next_round(unsigned loop, unsigned depth) {
#ifdef CUDEV_WATCHED
    if (!__builtin_is_constant_evaluated()) cudev_next_round(loop, depth);
#else
    (void)loop, (void)depth;
#endif
}

// The rewriter puts whole() around the list in `x = {a, b}`; T is the type of (x). A list that
// somebody returns is stored as a whole.
template <class T> struct bare { typedef T type; };
template <class T> struct bare<T&> : bare<T> {};
template <class T> struct bare<volatile T> : bare<T> {};
template <class T> __forceinline__ typename bare<T>::type whole(typename bare<T>::type value) {
    return value;
}

}  // namespace cudev

// A function of one expression, a line each.
#define CUDEV_FUNCTION(type, name, parameters, value) \
    inline type name parameters {                     \
        return value;                                 \
    }

#define CUDEV_TEXT_(...) #__VA_ARGS__
#define CUDEV_TEXT(...) CUDEV_TEXT_(__VA_ARGS__)

#endif
