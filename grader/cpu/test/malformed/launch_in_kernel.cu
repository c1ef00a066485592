// clang-format off
__global__ void inner() {}
__global__ void outer() {
    inner<<<1, 1>>>();  // ERROR: not on the CPU device: a kernel that launches kernels, launch them from the host
}
