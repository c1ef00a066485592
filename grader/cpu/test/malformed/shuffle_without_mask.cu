__global__ void k(float* p) {
    p[0] += __shfl_xor(p[0], 1);  // ERROR: __shfl_xor() is no longer in CUDA: use __shfl_xor_sync()
}
