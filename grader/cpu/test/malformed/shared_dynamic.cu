// clang-format off
__global__ void k() {
    extern __shared__ float a;  // ERROR: extern __shared__ type name[];
}
