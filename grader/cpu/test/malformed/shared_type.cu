// clang-format off
__global__ void k() {
    __shared__ tile[4];  // ERROR: without a type
}
