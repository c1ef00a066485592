// kernel<<<grid, block, shared_bytes, stream>>>(arguments): what the rewriter turns it into.
//
//     k<T><<<g, b>>>(x, y)
// becomes
//     ::cudev::configure([&](auto... a) { k<T>(a...); }, "k<T>", address, file, line, g, b)(x, y)
//
// Calling the kernel inside a lambda lets the compiler deduce, convert and complain as in any call.
#ifndef CUDEV_LAUNCH_H
#define CUDEV_LAUNCH_H

namespace cudev {

// Declared under a second C++ name: the only place that may write threadIdx.
extern __thread uint3 thread_index __asm__("threadIdx");

// One thread. Never inlined: threadIdx is const, so a second thread must be a new call.
template <class Body> __attribute__((noinline)) void run_thread(Body* body) {
    (*body)();
}

// One block, or the part of it that one stack runs: thread after thread as plain calls.
template <class Body> void run_threads(void* p) {
    Body* body = (Body*)p;
    for (;;) {
        run_thread(body);
        if (__builtin_expect(cudev_row_left != 0, 1)) {
            cudev_row_left--;
            thread_index.x++;
        } else if (!cudev_next_thread()) {
            return;
        }
    }
}

// Object pointers are checked; everything else a kernel takes by value is passed as it is.
template <class T> inline void check_argument(const cudev_launch_site*, int, const T&) {
}
template <class T> struct is_function {
    static constexpr bool value = false;
};
template <class R, class... A> struct is_function<R(A...)> {
    static constexpr bool value = true;
};
template <class T> inline void check_argument(const cudev_launch_site* site, int index, T* p) {
    if constexpr (!is_function<T>::value) cudev_check_argument(site, index, p);
}

template <class Kernel> struct configured {
    Kernel kernel;
    cudev_launch_site site;

    template <class... Args> void operator()(Args... args) {
        int index = 0;
        (check_argument(&site, index++, args), ...);
        (void)index;
        auto body = [&] { kernel(args...); };
        cudev_launch(&site, run_threads<decltype(body)>, &body);
    }
};

template <class Kernel>
configured<Kernel> configure(Kernel kernel, const char* name, const void* address,
                             const char* file, int line, dim3 grid, dim3 block,
                             size_t shared_bytes = 0, cudaStream_t stream = 0) {
    return {kernel,
            {name,
             file,
             line,
             address,
             {grid.x, grid.y, grid.z},
             {block.x, block.y, block.z},
             shared_bytes,
             stream}};
}

template <class Kernel>
configured<Kernel> configure(Kernel kernel, const char*, const void*, const char*, int, dim3) {
    static_assert(sizeof(Kernel) == 0,
                  "a launch needs two sizes: kernel<<<blocks, threads_per_block>>>(...)");
    return {kernel, {}};
}

}  // namespace cudev
#endif
