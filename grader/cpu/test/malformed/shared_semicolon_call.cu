// clang-format off
__global__ void k(float* p) {
    __shared__ int last  // ERROR: the __shared__ declaration does not end with ;
    __syncthreads();
    p[0] = last;
}
