// clang-format off
__global__ void k(float* p) {
    cudaFree(p);  // ERROR: cudaFree() is a function of the host; a kernel cannot call it
}
