// A function of a header, for a mistake whose lines are in two files (planted/header_function.cu).

static __device__ inline void keep(float* s, float x) {
    s[threadIdx.x] = x;
}
