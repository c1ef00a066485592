#!/bin/sh
# test.sh: what a multiprocessor of each card holds is what NVIDIA's own rules say, which the CUDA
# Toolkit has as code (cuda_occupancy.h). usage: test.sh
. grader/test/tell.sh
name="04: blocks on a multiprocessor, as cuda_occupancy.h counts them"
nvcc=$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")
include=${nvcc%/bin/nvcc}/include
[ -e "$include/cuda_occupancy.h" ] || {
    tell skip "$name" "there is no CUDA Toolkit"
    exit 0
}
out=build/test/occupancy
mkdir -p $out
cat >$out/compare.cpp <<'PROGRAM'
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include "cuda_occupancy.h"
extern "C" {
#include "cpu/cards/cards.h"
}

static int nvidias(const known_card* c, int threads, int registers, size_t shared) {
    cudaOccDeviceProp p = {};
    p.computeMajor = c->major, p.computeMinor = c->minor, p.warpSize = 32;
    p.maxThreadsPerBlock = 1024, p.maxThreadsPerMultiprocessor = c->threads;
    p.regsPerBlock = p.regsPerMultiprocessor = c->registers;
    p.sharedMemPerBlock = 48 * 1024, p.sharedMemPerMultiprocessor = c->shared;
    p.sharedMemPerBlockOptin = c->shared_block, p.reservedSharedMemPerBlock = 1024;
    p.numSms = c->multiprocessors;
    cudaOccFuncAttributes a = {};
    a.maxThreadsPerBlock = 1024, a.numRegs = registers, a.numBlockBarriers = 1;
    a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN, a.maxDynamicSharedSizeBytes = c->shared_block;
    cudaOccDeviceState state = {};
    state.cacheConfig = CACHE_PREFER_SHARED, state.carveoutConfig = 100;
    cudaOccResult result;
    return cudaOccMaxActiveBlocksPerMultiprocessor(&result, &p, &a, &state, threads, shared) == 0
               ? result.activeBlocksPerMultiprocessor
               : -1;
}

int main(void) {
    for (const known_card* c = cards; c->id; c++)
        for (int threads = 1; threads <= 1024; threads += threads % 32 < 2 ? 1 : 15)
            for (int registers = 0; registers < 256; registers++)
                for (int i = 0; i < 4; i++) {
                    size_t shared = i ? (size_t)rand() % (c->shared_block + 1) : 0;
                    int want = nvidias(c, threads, registers, shared);
                    int got = card_blocks(c, threads, registers, shared);
                    if (want == got) continue;
                    printf("%s, %d threads, %d registers, %zu bytes: %d, NVIDIA says %d\n", c->id,
                           threads, registers, shared, got, want);
                    return 1;
                }
}
PROGRAM
compare() {
    g++ -w -O1 -Igrader -I"$include" -c $out/compare.cpp -o $out/compare.o &&
        gcc -Igrader -c grader/cpu/cards/cards.c -o $out/cards.o &&
        g++ $out/compare.o $out/cards.o -o $out/compare && $out/compare
}
expect "$name" compare
finish
