// kernel<<<grid, block, shared_bytes, stream>>>(arguments): what the rewriter turns it into.
//
//     k<T><<<g, b>>>(x, y)
// becomes, when the file declares k and all its template arguments are given,
//     ::cudev::known<(k<T>)>::at(
//         ::cudev::site("k<T>", (const void*)(k<T>), file, line, g, b))(x, y)
// and otherwise (deduced template arguments, function pointers, macro parameters)
//     ::cudev::deduced{[=](auto... a) { k(a...); },
//                      ::cudev::site("k", nullptr, file, line, 1, g, b)}(x, y)
// where the host reads a function pointer before the launch:
//     ::cudev::pointed_at((k), ::cudev::site("k", nullptr, file, line, 1, g, b))(x, y)
//
// The first is a call of a function with the kernel's own parameters, so the compiler converts and
// complains as in any other call; the second leaves that to the call in the lambda.
#ifndef CUDEV_LAUNCH_H
#define CUDEV_LAUNCH_H

namespace cudev {

// Declared under a second C++ name: the only place that may write threadIdx.
extern __thread uint3 thread_index __asm__("threadIdx");

// One block, or the part of it that one stack runs: thread after thread as plain calls. The copy
// keeps the arguments in registers; the empty asm makes the compiler write threadIdx before each
// call.
template <class Body> CUDEV_UNWATCHED void run_threads(void* p) {
    Body body = *(Body*)p;
    unsigned x = thread_index.x;
    for (;;) {
        __asm__ volatile("" ::: "memory");
#ifdef CUDEV_WATCHED
        cudev_clean_watched_stack();
#else
        cudev_clean_stack();
#endif
        body();
        if (__builtin_expect(++x < cudev_row_end, 1)) {
            thread_index.x = x;
        } else {
            if (!cudev_next_thread()) return;
            x = thread_index.x;
        }
    }
}

// Object pointers are checked; everything else a kernel takes by value is passed as it is.
template <class T> inline void check_argument(const cudev_launch_site*, int, const T&) {}
// sizeof(T), 0 for what has none
template <class T, size_t = 0> struct size_of { static constexpr size_t value = 0; };
template <class T> struct size_of<T, 0 * sizeof(T)> { static constexpr size_t value = sizeof(T); };
template <> struct size_of<void, 0> { static constexpr size_t value = 0; };
template <> struct size_of<const void, 0> { static constexpr size_t value = 0; };
template <class T> struct is_function { static constexpr bool value = false; };
template <class R, class... A> struct is_function<R(A...)> { static constexpr bool value = true; };
template <class T> inline void check_argument(const cudev_launch_site* site, int index, T* p) {
    if constexpr (!is_function<T>::value) cudev_check_argument(site, index, p, size_of<T>::value);
}

template <class Body> inline int launch(const cudev_launch_site& site, Body body) {
    return cudev_launch(&site, run_threads<Body>, &body, sizeof body);
}

template <class... Args> inline void check_arguments(const cudev_launch_site& site, Args... args) {
    int index = 0;
    (check_argument(&site, index++, args), ...);
    (void)index;
}

// A parameter that is a reference, to memory that host and kernels share, is kept as an address.
template <class T> struct is_reference {
    static constexpr bool value = false;
    typedef T plain;
};
template <class T> struct is_reference<T&> {
    static constexpr bool value = true;
    typedef T plain;
};
template <class T> struct held {
    T value;
    T get() const {
        return value;
    }
};
template <class T> struct held<T&> {
    T* value;
    T& get() const {
        return *value;
    }
};
template <class T> inline held<T> hold(const cudev_launch_site*, int, T value) {
    return {value};
}
template <class T> inline held<T&> hold_reference(const cudev_launch_site* site, int i, T& value) {
    cudev_check_argument(site, i, &value, sizeof value);
    return {&value};
}

// at() leaves the configuration with the runtime until the arguments have been evaluated; those may
// launch kernels themselves, so the runtime keeps a stack of them.
template <auto kernel> struct known;
template <class... Parameters, void (*kernel)(Parameters...)> struct known<kernel> {
    static void run(Parameters... args) {
        cudev_launch_site site;
        cudev_pop_site(&site);
        check_arguments(site, args...);
        if constexpr ((is_reference<Parameters>::value || ...)) {
            int i = 0;
            run_held(site, hold_any<Parameters>(&site, i++, args)...);
        } else {
            launch(site, [=] { kernel(args...); });
        }
    }
    template <class T>
    static auto hold_any(const cudev_launch_site* site, int i,
                         typename is_reference<T>::plain& value) {
        if constexpr (is_reference<T>::value)
            return hold_reference(site, i, value);
        else
            return hold(site, i, value);
    }
    template <class... Held>
    static void run_held(const cudev_launch_site& site, Held... arguments) {
        launch(site, [=] { kernel(arguments.get()...); });
    }
    static auto at(const cudev_launch_site& site) -> void (*)(Parameters...) {
        cudev_push_site(&site);
        return run;
    }
};

template <class T> struct is_function_pointer {
    enum { value = false };
};
template <class R, class... Parameters> struct is_function_pointer<R (*)(Parameters...)> {
    enum { value = true };
};

template <class Call> struct deduced {
    Call call;
    cudev_launch_site site;

    template <class... Args> void operator()(Args... args) {
        check_arguments(site, args...);
        launch(site, [=, call = call] { call(args...); });
    }
};
template <class Call> deduced(Call, cudev_launch_site) -> deduced<Call>;

// A kernel that a variable holds. Of a function pointer the runtime knows for which kernel it is,
// and so what this one has asked for; a reference to a kernel is one as well. It is static, since
// two files of a program may give their kernels structs of the same name.
template <class Kernel> static inline auto pointed_at(Kernel kernel, cudev_launch_site site) {
    if constexpr (is_function_pointer<Kernel>::value) site.kernel = (const void*)kernel;
    auto call = [kernel](auto... args) { kernel(args...); };
    return deduced<decltype(call)>{call, site};
}

// An argument that is written 0 or NULL: it becomes whatever the parameter is.
struct zero {
    template <class T> operator T() const {
        return T();
    }
};
inline int number(zero) {
    return 0;
}
template <class T> inline T number(T value) {
    return value;
}
template <class T> T some();
template <class Call, class... Args>
auto can_call(int) -> decltype(some<const Call&>()(some<Args>()...), (char*)nullptr);
template <class Call, class... Args> int can_call(...);

// A kernel whose parameters may depend on the arguments: a 0 is a number where that is possible.
template <class Call> struct deduced_of_zeros {
    Call call;
    cudev_launch_site site;

    template <class... Args> void operator()(Args... args) {
        if constexpr (sizeof(can_call<Call, decltype(number(args))...>(0)) == sizeof(char*))
            deduced<Call>{call, site}(number(args)...);
        else
            deduced<Call>{call, site}(args...);
    }
};
template <class Call> deduced_of_zeros(Call, cudev_launch_site) -> deduced_of_zeros<Call>;

// __cluster_dims__(x, y, z)
constexpr unsigned cluster(unsigned x, unsigned y = 1, unsigned z = 1) {
    return y == 1 && z == 1 ? x : ~0u;
}

inline cudev_launch_site site(const char* name, const char* parameters, const void* address,
                              const char* file, int line, unsigned cluster, dim3 grid, dim3 block,
                              size_t shared_bytes = 0, cudaStream_t stream = 0) {
    return {name,
            parameters,
            file,
            line,
            address,
            {grid.x, grid.y, grid.z},
            {block.x, block.y, block.z},
            shared_bytes,
            stream,
            cluster,
            0};
}

#ifdef CUDEV_WORDS
}  // namespace cudev
// Takes the place of <<< where the compiler is only to say what is wrong with a launch's sizes.
inline void _L(dim3, dim3, size_t = 0, cudaStream_t = 0) {}
namespace cudev {
#endif

// cudaLaunchKernelEx(), with what messages say of the kernel: see rewrite/launches.c.
struct named_launch {
    const char *name, *parameters, *file;
    int line;
    unsigned cluster;

    template <class... Parameters>
    cudaError_t run(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                    Parameters... args) const {
        cudev_launch_site site = {};
        site.name = name, site.parameters = parameters, site.file = file, site.line = line;
        site.kernel = (const void*)kernel, site.cluster = cluster;
        cudaError_t error = cudev_configure(&site, config);
        if (error != cudaSuccess) return error;
        check_arguments(site, args...);
        return (cudaError_t)cudev::launch(site, [=] { kernel(args...); });
    }
    // The compiler converts the arguments as in any other call.
    template <class... Parameters, class... Args>
    cudaError_t with(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                     Args... args) const {
        return run<Parameters...>(config, kernel, args...);
    }
};

inline named_launch named(const char* name, const char* parameters, const char* file, int line,
                          unsigned cluster) {
    return {name, parameters, file, line, cluster};
}

template <class Grid>
cudev_launch_site site(const char*, const char*, const void*, const char*, int, unsigned, Grid) {
    static_assert(sizeof(Grid) == 0,
                  "a launch needs two sizes: kernel<<<blocks, threads_per_block>>>(...)");
    return {};
}

}  // namespace cudev
#endif
