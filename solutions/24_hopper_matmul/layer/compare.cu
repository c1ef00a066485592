// compare.cu: the layer on lesson 24's product beside lesson 08's solution, which is linked as
// mma_linear(): the same bits where blocks take a second tile, which no case of lesson 08 asks for.
// test.sh builds and runs it on the CPU device. usage: compare M N K P
#include "fused_linear.h"

#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" int mma_linear(bf16* Y_gpu, bf16* Z_gpu, const bf16* X_gpu, const bf16* W_gpu,
                          const bf16* bias_gpu, int M, int N, int K, int f, float p, uint64_t seed,
                          uint64_t offset);

// A device array of multiples of `unit` between -most and most, so that sums are exact.
static bf16* filled(size_t count, int most, float unit) {
    bf16 *host = (bf16*)malloc(count * sizeof *host), *gpu = NULL;
    if (!host || cudaMalloc((void**)&gpu, count * sizeof *gpu) != cudaSuccess) exit(2);
    for (size_t e = 0; e < count; e++)
        host[e] = __float2bfloat16((float)(rand() % (2 * most + 1) - most) * unit);
    cudaMemcpy(gpu, host, count * sizeof *gpu, cudaMemcpyHostToDevice);
    free(host);
    return gpu;
}

// How many of so many elements differ in a bit. Outputs begin as bits that no output has: NaN.
static size_t differ(const bf16* left_gpu, const bf16* right_gpu, size_t count) {
    uint16_t *left = (uint16_t*)malloc(2 * count), *right = (uint16_t*)malloc(2 * count);
    if (!left || !right) exit(2);
    cudaMemcpy(left, left_gpu, 2 * count, cudaMemcpyDeviceToHost);
    cudaMemcpy(right, right_gpu, 2 * count, cudaMemcpyDeviceToHost);
    size_t wrong = 0;
    for (size_t e = 0; e < count; e++) wrong += left[e] != right[e] || left[e] == 0xffff;
    free(left), free(right);
    return wrong;
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: compare M N K P\n");
        return 2;
    }
    int M = atoi(argv[1]), N = atoi(argv[2]), K = atoi(argv[3]);
    float p = (float)atof(argv[4]);
    const size_t outputs = (size_t)M * N;
    bf16 *X = filled((size_t)M * K, 2, 1.0f), *W = filled((size_t)N * K, 31, 0x1p-7f);
    bf16 *bias = filled((size_t)N, 255, 0x1p-8f), *out[4];
    for (int i = 0; i < 4; i++) {
        if (cudaMalloc((void**)&out[i], 2 * outputs) != cudaSuccess) return 2;
        cudaMemset(out[i], 0xff, 2 * outputs);
    }
    int status = fused_linear(out[0], out[1], X, W, bias, M, N, K, FUSED_LINEAR_GELU, p, 2011, 24);
    int wanted = mma_linear(out[2], out[3], X, W, bias, M, N, K, FUSED_LINEAR_GELU, p, 2011, 24);
    cudaError_t error = cudaDeviceSynchronize();
    size_t wrong_Y = differ(out[0], out[2], outputs), wrong_Z = differ(out[1], out[3], outputs);
    printf("status %d and %d, %s; of %zu elements %zu of Y and %zu of Z differ\n", status, wanted,
           cudaGetErrorString(error), outputs, wrong_Y, wrong_Z);
    return status != COURSE_OK || wanted != COURSE_OK || error != cudaSuccess || wrong_Y || wrong_Z;
}
