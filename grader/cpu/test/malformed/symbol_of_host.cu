// clang-format off
static float scale[4], *pointer;
__device__ float of_device[4];
void of_host(const float* from) {
    float scale_here[4];
    cudaMemcpyToSymbol(of_device, from, sizeof scale);
    cudaMemcpyFromSymbol(scale, of_device, sizeof scale);
    cudaMemcpyToSymbol(scale, from, sizeof scale);  // ERROR: scale is a variable of the host; cudaMemcpyToSymbol() takes a __device__ or __constant__ variable
}
