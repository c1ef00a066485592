// clang-format off
__global__ void k(float* p, cudaTextureObject_t t) {  // ERROR: not on the CPU device: textures, use plain loads
    p[0] = tex1Dfetch<float>(t, 0);
}
