// finds: nothing
// More accesses than the logs hold, with lanes that leave at different times.
#include "small.h"

__global__ void triangle(float* out, const float* in, int n) {
    float sum = 0.0f;
    for (int i = 0; i <= n * ((int)threadIdx.x + 1) / 64; i++) sum += in[i % 100];
    out[threadIdx.x] = sum;
}

int main(void) {
    triangle<<<1, 64>>>(empty(64), filled(100), 5000);
    return 0;
}
