// clang-format off
__global__ void k(float* p) {
    __shared__ float first[4]  // ERROR: the __shared__ declaration does not end with ;
    __shared__ float second[4];
    first[0] = second[0] = p[0];
}
