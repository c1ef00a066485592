// clang-format off
__device__ float hits[4], misses;
static float calls;
__global__ void k(float* p) {
    float calls = p[0];
    hits[0] = calls + misses;
}
float of_host(void) {
    float copy, misses = 2;
    cudaMemcpyFromSymbol(&copy, hits, sizeof hits[0]);
    calls += misses;
    return copy + hits[0];  // ERROR: hits is a variable of the device; host code copies it, with cudaMemcpyToSymbol() or cudaMemcpyFromSymbol()
}
