// clang-format off
__cluster_dims__(2, 1, 1) __global__ void twice(float* p) {  // ERROR: write __cluster_dims__() between __global__ and the kernel's name
    p[0] *= 2.0f;
}
