// split.cu: see split.h. The ring of stages is lesson 24's (hopper_tile.h); new is which part of a
// sum a block makes, and that it leaves floats.
#ifndef TRAIN_GPT_PROGRAM
#error "grader/make/train.sh compiles this file, with -DTRAIN_GPT_PROGRAM"
#endif
#include "train/split.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "hopper.h"
#include "hopper_tile.h"

enum {
    BLOCK_N = 256,     // columns of a block's tile
    LEAST_ROWS = 512,  // of a slice: a block has to fill its ring first
    ADD_THREADS = 128,
    STAGES = 4,
    PIECE = 4,  // neighbours that a thread adds up: 16 bytes of float
};

// As lesson 24's ring, but for its place for C: a stage more.
struct split_smem {
    struct stage_smem<BLOCK_N> stages[STAGES];
    mbarrier full[STAGES], empty[STAGES];
};

// ---- GPU kernels

// A block for each tile and slice: tiles first. sums[slice] = dY^T X over the slice's rows.
static __global__ void __launch_bounds__(THREADS, 1)
    split_kernel(const __grid_constant__ struct product p, float* sums, int slices) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct split_smem& smem = *(struct split_smem*)memory;
    const int steps = CEIL_DIV(p.K, BLOCK_K);
    // The same number in all lanes, and the compiler knows it.
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), warpgroup = warp / 4;
    int tiles = CEIL_DIV(p.M, BLOCK_M) * CEIL_DIV(p.N, BLOCK_N), slice = blockIdx.x / tiles;
    int k = steps * slice / slices, end = steps * (slice + 1) / slices, row0, col0;
    place_tile<BLOCK_N>(&row0, &col0, blockIdx.x % tiles, p);

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&smem.full[s], 1);           // the producer, and the bytes
            mbarrier_init(&smem.empty[s], CONSUMERS);  // a thread of each
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there before anybody uses them

    int s = 0, phase = 0;
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x != 0) return;
        for (; k < end; k++) {
            mbarrier_wait(&smem.empty[s], phase ^ 1);  // both consumers have read the stage
            load_stage<MN_MAJOR, MN_MAJOR, BLOCK_N>(&smem.stages[s], &smem.full[s], p, row0, col0,
                                                    k * BLOCK_K);
            if (++s == STAGES) s = 0, phase ^= 1;
        }
        return;
    }

    setmaxnreg_inc<CONSUMER_REGISTERS>();
    int first = (warpgroup - 1) * CONSUMER_M;
    float dW_reg[BLOCK_N / 2] = {};
    for (bool add = false; k < end; k++, add = true) {
        mbarrier_wait(&smem.full[s], phase);  // dY and X are here
        multiply<MN_MAJOR, MN_MAJOR, BLOCK_N>(dW_reg, &smem.stages[s], first, add);
        wgmma_wait<0>();  // the stage is read; meanwhile the other consumer multiplies
        free_stage<1>(&smem.empty[s]);
        if (++s == STAGES) s = 0, phase ^= 1;
    }
    wgmma_hold<BLOCK_N / 2>(dW_reg);

    // sums[slice][row][col], a lane's: row = g, g + 8, col = 8 j + 2 t, 8 j + 2 t + 1
    int lane = threadIdx.x % 32, row = row0 + first + warp % 4 * WARP_ROWS + lane / 4;
    float* to = sums + ((int64_t)slice * p.M + row) * p.N + col0 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < BLOCK_N / 8; j++) {
        if (col0 + 8 * j >= p.N) continue;
        const float* c = &dW_reg[4 * j];
        if (row < p.M) *(float2*)(to + 8 * j) = make_float2(c[0], c[1]);
        if (row + 8 < p.M) *(float2*)(to + 8 * j + (int64_t)8 * p.N) = make_float2(c[2], c[3]);
    }
}

// dW[e] = the sum of sums[slice][e] over the slices, in their order.
static __global__ void add_slices_kernel(bf16* dW, const float* sums, int64_t n, int slices) {
    int64_t e = ((int64_t)blockIdx.x * ADD_THREADS + threadIdx.x) * PIECE;
    if (e >= n) return;
    float4 sum = *(const float4*)(sums + e);
    for (int slice = 1; slice < slices; slice++) {
        float4 next = *(const float4*)(sums + slice * n + e);
        sum.x += next.x, sum.y += next.y, sum.z += next.z, sum.w += next.w;
    }
    *(uint2*)(dW + e) = make_uint2(pack_bf16(sum.x, sum.y), pack_bf16(sum.z, sum.w));
}

// ---- launchers

extern "C" int split_slices(int rows, int outputs, int inputs) {
    int device, multiprocessors;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess)
        return 1;
    int slices = multiprocessors / (CEIL_DIV(outputs, BLOCK_M) * CEIL_DIV(inputs, BLOCK_N));
    if (slices > rows / LEAST_ROWS) slices = rows / LEAST_ROWS;
    if (slices > rows / (2 * inputs)) slices = rows / (2 * inputs);  // the workspace
    return slices > 1 ? slices : 1;
}

extern "C" int split_product(bf16* dW, const bf16* dY, const bf16* X, float* workspace, int rows,
                             int outputs, int inputs, int slices) {
    struct product p = {};
    p.M = outputs, p.N = inputs, p.K = rows;
    if (encode(&p.A, dY, rows, outputs, outputs, BLOCK_K) ||
        encode(&p.B, X, rows, inputs, inputs, BLOCK_K))
        return COURSE_UNSUPPORTED;
    const int bytes = sizeof(struct split_smem);
    COURSE_TRY(
        cudaFuncSetAttribute(split_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int blocks = CEIL_DIV(outputs, BLOCK_M) * CEIL_DIV(inputs, BLOCK_N) * slices;
    split_kernel<<<blocks, THREADS, bytes>>>(p, workspace, slices);
    COURSE_TRY(cudaGetLastError());
    int64_t n = (int64_t)outputs * inputs;
    add_slices_kernel<<<(unsigned)CEIL_DIV(n, ADD_THREADS * PIECE), ADD_THREADS>>>(dW, workspace, n,
                                                                                   slices);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
