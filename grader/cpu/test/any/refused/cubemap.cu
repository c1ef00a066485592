#include <cuda_runtime.h>
__global__ void k(float* p) {
    p[0] = texCubemap<float>(0, 0, 0, 1);  // refused: textures
}
int main() {
    return 0;
}
