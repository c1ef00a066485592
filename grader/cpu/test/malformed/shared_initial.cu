// clang-format off
__global__ void k() {
    __shared__ float a[4] = {0};  // ERROR: cannot have an initial value
}
