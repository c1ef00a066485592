// clang-format off
__global__ void k(float* p, int cols) {
    __shared__ float row[2][cols];  // ERROR: the size of a __shared__ array is a constant, and cols is none
    row[0][0] = p[0];
}
