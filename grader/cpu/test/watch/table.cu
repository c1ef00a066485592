// The profile of a few lines; run.sh compares with table.expected and csv.expected.
#include <stdio.h>
#include <string.h>
#include "cudev.h"
#include "ptx.h"
#include "small.h"

__device__ int hits;

__global__ void transpose(float* out, const float* in) {
    __shared__ float tile[32][32];
    int x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8) tile[y][x] = in[32 * y + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8) out[32 * y + x] = tile[x][y];
}

__global__ void strided(float* out, const float* in, int* count) {
    extern __shared__ float s[];
    s[threadIdx.x] = in[8 * threadIdx.x];
    atomicAdd(&hits, 1);
    atomicAdd(&count[threadIdx.x % 4], 1);
    atomicAdd(&s[0], 1.0f);
    out[threadIdx.x] = s[threadIdx.x] + in[1024 + threadIdx.x];
}

__global__ void staged(float* out, const float* in) {
    __shared__ __align__(16) float s[128][4];
    cp_async16(s[2 * threadIdx.x], &in[4 * threadIdx.x]);
    cp_async_wait_all();
    named_sync(1, 64);
    out[threadIdx.x] = s[2 * (63 - threadIdx.x)][0];
}

// A product of 16 x 16 by 16 x 8; rows of 32 bytes: two of the 8 rows of a matrix meet at each bank.
__global__ void tensor(float* out, const float* in) {
    __shared__ __align__(16) unsigned s[16][8];
    unsigned lane = threadIdx.x, a[4], b[2];
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = lane; i < 128; i += 32) s[i / 8][i % 8] = (unsigned)in[i];
    __syncthreads();
    ldmatrix_x4(a, &s[lane % 16][lane / 16 * 4]);
    ldmatrix_x2_trans(b, s[lane % 16]);
    for (int i = 0; i < 3; i++) mma_m16n8k16_bf16(d, a, b);
    out[lane] = d[0] + in[lane];
}

int main(int argc, char** argv) {
    float *in = filled(1280), *out = empty(1024);
    transpose<<<1, dim3(32, 8)>>>(out, in);
    for (int i = 0; i < 2; i++) strided<<<1, 64, 64 * sizeof(float)>>>(out, in, (int*)out + 100);
    staged<<<1, 64>>>(out, in);
    tensor<<<1, 32>>>(out, in);
    cudev_write_profile(stdout, argc > 1 ? argv[1] : "table");
    return 0;
}
