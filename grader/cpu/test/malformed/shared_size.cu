// clang-format off
__global__ void k(float* p, int cols) {
    const int constant = 4;
    int n = cols + constant;
    __shared__ float first[constant], second[sizeof(n)];
    __shared__ float row[n];  // ERROR: the size of a __shared__ array is a constant, and n is none
    first[0] = second[0] = row[0] = p[0];
}
