// clang-format off
__global__ void k() {
    __shared__ float a[4]  // ERROR: does not end with ;
}
