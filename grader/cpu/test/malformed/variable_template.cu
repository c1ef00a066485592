// clang-format off
template <class T> constexpr T one = 1;
template <class T> __device__ T twice(T x) { return x + x; }
template <class T> __device__ T sum;  // ERROR: not on the CPU device: a template of variables of the device
