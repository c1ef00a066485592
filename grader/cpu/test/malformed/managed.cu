// clang-format off
__managed__ float x;  // ERROR: not on the CPU device: managed variables, use __device__ and cudaMemcpyToSymbol()
__global__ void k(float* p) { p[0] = x; }
