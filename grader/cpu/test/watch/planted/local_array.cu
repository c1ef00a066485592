// finds: out_of_bounds 10
// says: index 4 of a 'float [4]'
// An array of a thread's own, one element too short.
#include "small.h"

__global__ void window(float* out, const float* in, int width) {
    float w[4];
    for (int i = 0; i < 4; i++) w[i] = in[threadIdx.x + i];
    float sum = 0.0f;
    for (int i = 0; i < width; i++) sum += w[i];
    out[threadIdx.x] = sum;
}

int main(void) {
    window<<<1, 32>>>(empty(32), filled(36), 5);
    return 0;
}
