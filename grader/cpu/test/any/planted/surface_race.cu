// finds: race
// says: surface_race.cu:5
#include "test.h"
__global__ void write(cudaSurfaceObject_t s) {
    surf1Dwrite((float)threadIdx.x, s, (int)(threadIdx.x / 2 * sizeof(float)));
}

int main() {
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK_CUDA(cudaMallocArray(&array, &channels, 32, 0, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t s;
    CHECK_CUDA(cudaCreateSurfaceObject(&s, &resource));
    write<<<1, 32>>>(s);
    return failures != 0;
}
