// solution_parts.cuh: the solution's functions under other names, for peers that take them apart.
#ifndef SOLUTION_PARTS_H
#define SOLUTION_PARTS_H

#include "fused_linear.h"

#define fused_linear solution_linear
#define fused_linear_backward solution_backward
extern "C" int fused_linear(bf16*, bf16*, const bf16*, const bf16*, const bf16*, int, int, int, int,
                            float, uint64_t, uint64_t);
#include "../../../solutions/08_fused_linear/fused_linear.cu"
#undef fused_linear
#undef fused_linear_backward

// The product alone, rounded to bf16 and stored from the registers, as lesson 07 does.
template <int stages>
__global__ void __launch_bounds__(tile::THREADS, 1)
    product_kernel(bf16* __restrict__ C,        // (M, N)  out
                   const bf16* __restrict__ A,  // (M, K)
                   const bf16* __restrict__ B,  // (N, K)
                   int M, int N, int K) {
    extern __shared__ __align__(128) bf16 smem[];
    int row0, col0;
    pick_tile<tile>(&row0, &col0, M, N);
    float sums[tile::WARP_M / 16][tile::WARP_N / 8][4] = {};
    multiply_tile<tile, stages>(sums, smem, A, B, row0, col0, M, N, K);

    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row0 += warp / tile::WARPS_N * tile::WARP_M + lane / 4;
    col0 += warp % tile::WARPS_N * tile::WARP_N + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < tile::WARP_M / 8; i++)
#pragma unroll
        for (int j = 0; j < tile::WARP_N / 8; j++) {
            int row = row0 + i * 8, col = col0 + j * 8;
            const float* block = sums[i / 2][j] + i % 2 * 2;
            if (row < M && col < N)
                *(unsigned*)&C[(int64_t)row * N + col] = pack_bf16(block[0], block[1]);
        }
}

static int multiply(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N, int K) {
    typedef void product(bf16*, const bf16*, const bf16*, int, int, int);
    int stages = stages_that_fit<tile>();
    product* kernel = stages == 3 ? product_kernel<3> : product_kernel<2>;
    int bytes = stages * tile::STAGE_BYTES;
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<CEIL_DIV(M, tile::BLOCK_M) * CEIL_DIV(N, tile::BLOCK_N), tile::THREADS, bytes>>>(
        C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

#endif
