// clang-format off
__global__ void k() {
    __shared__ float(*p)[4];  // ERROR: give the type a name with typedef
}
