// clang-format off
__global__ int k(float* p) {  // ERROR: k() is a kernel and returns void; what it computes goes to memory that a parameter points at
    p[0] = 1;
    return 0;
}
