// finds: nothing
// Functions with a second result, which they write through a pointer: to shared and device memory,
// by every name. The written bytes have a value, and after a barrier another thread may read it.
#include "small.h"

__global__ void in_shared(float* out, const float* in) {
    __shared__ float s[32], c[32], whole[32];
    __shared__ double d[2][32];
    __shared__ int n[32], q[32];
    int t = threadIdx.x, other = 31 - t;
    sincosf(in[t], &s[t], &c[t]);
    modff(in[t] + 0.5f, &whole[t]);
    frexpf(in[t], &n[t]);
    remquof(in[t], 3.0f, &q[t]);
    sincospi((double)in[t], &d[0][t], &d[1][t]);
    __syncthreads();
    out[t] = s[other] + c[other] + whole[other] + n[other] + q[other] + d[0][other] + d[1][other];
    __syncthreads();
    __sincosf(in[t], &s[t], &c[t]);
    std::frexp(in[t], &n[t]);
    std::remquo(in[t], 3.0f, &q[t]);
    whole[t] = std::modf(in[t] + 0.25, &d[0][t]);
    sincos((double)in[t], &d[1][t], &d[1][t]);
    __syncwarp();
    out[32 + t] = s[other] + c[other] + whole[other] + n[other] + q[other] + d[0][other];
    __syncthreads();
    // past the headers of this device
    (sincosf)(in[t], &s[t], &c[t]);
    (frexpf)(in[t], &n[t]);
    (modff)(in[t], &whole[t]);
    (remquo)(in[t], 3.0, &q[t]);
    __syncthreads();
    out[64 + t] = s[other] + c[other] + whole[other] + n[other] + q[other];
}

__global__ void in_global(float* out, int* exponent, const float* in) {
    int t = threadIdx.x;
    sincospif(in[t], &out[t], &out[32 + t]);
    out[t] += frexp(in[t], &exponent[t]) + exponent[t] + out[32 + t];
}

int main(void) {
    int* exponent = NULL;
    cudaMalloc(&exponent, 32 * sizeof *exponent);
    float *in = filled(32), *out = empty(96), copy[96];
    in_shared<<<1, 32>>>(out, in);
    in_global<<<1, 32>>>(out, exponent, in);
    cudaMemcpy(copy, out, sizeof copy, cudaMemcpyDeviceToHost);
    return 0;
}
