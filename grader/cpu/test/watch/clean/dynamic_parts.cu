// finds: nothing
// Parts of dynamic shared memory beside a static array; a launch through a pointer and as a template.
#include "small.h"

template <typename T> __global__ void parts(T* out, const T* in, int n) {
    extern __shared__ float memory[];
    __shared__ T tail[16];
    float* first = memory;
    float2* second = (float2*)(memory + 2 * n);
    int t = threadIdx.x;
    first[t] = in[t];
    second[t] = make_float2(in[t], 1.0f);
    if (t < 16) tail[t] = 0;
    __syncthreads();
    out[t] = first[n - 1 - t] + second[n - 1 - t].x + second[t].y + tail[t % 16];
}

int main(void) {
    void (*kernels[])(float*, const float*, int) = {parts<float>, parts<float>};
    parts<float><<<1, 32, 32 * 4 * sizeof(float)>>>(empty(32), filled(32), 32);
    for (int i = 0; i < 2; i++)
        kernels[i]<<<1, 32, 32 * 4 * sizeof(float)>>>(empty(32), filled(32), 32);
    return 0;
}
