// clang-format off
float twice(float x) { return 2 * x; }
__device__ float thrice(float x) { return 3 * x; }
__global__ void k(float* p) {
    // twice(#3) in a comment is none
    p[0] = thrice(p[0]);
    p[1] = twice(p[1]);  // ERROR: twice() is a function of the host; write __device__ in front of it
}
