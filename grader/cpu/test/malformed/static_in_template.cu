// clang-format off
__global__ void once() { static int entered; atomicAdd(&entered, 1); }
template <int n> __global__ void k(int* p) {
    static const int width = n;
    static int entered;  // ERROR: not on the CPU device: a static variable in an inline function or template
    p[0] = entered += width;
}
