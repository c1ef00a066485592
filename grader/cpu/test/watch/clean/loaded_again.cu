// finds: nothing
// Bytes that a warp loads again: in which width and by which instruction does not matter.
#include <stdio.h>
#include "cudev.h"
#include "ptx.h"
#include "small.h"

// Each of two warps loads 128 bytes, half of them again in wider pieces, and again on the way to
// shared memory. Then the next part begins: what it loads is loaded once.
__global__ void all_ways(float* out, const float* a) {
    __shared__ float4 s[8];
    int t = threadIdx.x, lane = t % 32;
    out += 128 * blockIdx.x;
    float sum = a[lane];
    if (lane < 4) {
        float4 four = ((const float4*)a)[lane];
        sum += four.x + four.y + four.z + four.w;
        cp_async16(&s[t / 32 * 4 + lane], &a[4 * lane]);
    }
    cp_async_wait_all();
    out[t] = sum;
    __syncthreads();
    out[64 + t] = a[lane];
}

// The first warp loads 128 bytes twice; the second has loaded half of them between. A barrier lies
// between any two, so whose turn it is does not matter.
__global__ void in_turns(float* out, const float* a) {
    float sum = 0.0f;
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x / 32 == i % 2 && threadIdx.x < 48) sum += a[threadIdx.x % 32];
        __syncthreads();
    }
    atomicAdd(out, sum);
}

// The same by named barriers of the whole block.
__global__ void in_named_turns(float* out, const float* a) {
    float sum = 0.0f;
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x / 32 == i % 2) sum += a[threadIdx.x % 32];
        named_sync(1, 64);
    }
    atomicAdd(out, sum);
}

// Each warp has a tile of its own. Between two barriers, or without any, each may load all of it.
__global__ void own_tiles(float* out, const float* a) {
    float sum = 0.0f;
    for (int i = 0; i < 4; i++) {
        sum += a[32 * i + threadIdx.x % 32];
        __syncthreads();
    }
    for (int i = 4; i < 8; i++) {
        sum += a[32 * i + threadIdx.x % 32];
        if (threadIdx.x < 32)
            named_sync(1, 32);
        else
            named_sync(2, 32);
    }
    atomicAdd(out, sum);
}

// Rows of out, each with a number beside it: who has stored that alone goes on with the same row.
__global__ void rows(float* out, float* beside, const float* a, bool early) {
    for (int row = 0; row < 3; row++) {
        float sum = 0.0f;
        for (int pass = 0; pass < 2; pass++) {
            if (pass == 0 || early) sum += a[threadIdx.x];
            if (threadIdx.x == 0 && pass == !early) beside[row] = sum;
            __syncthreads();
        }
        out[32 * row + threadIdx.x] = sum;
        __syncthreads();
    }
}

// The lanes of a warp share what one instruction loads; registers and constants cost nothing.
__constant__ float factor = 2.0f;
__global__ void once(float* out, const float* __restrict__ a) {
    float x = a[threadIdx.x / 8];
    out += 128 * blockIdx.x;
    for (int i = 0; i < 4; i++) out[32 * i + threadIdx.x] = factor * x + (float)i;
}

// The first store of a sum is a result. Later ones are not: rounds 3 and 4 load all again.
__global__ void sums_in_memory(float* out, const float* a) {
    for (int i = 0; i < 4; i++) out[threadIdx.x] += a[threadIdx.x];
}

// Nobody has stored anything: the same bytes by hundreds of rounds, which fill several logs.
__global__ void rounds(float* out, const float* a) {
    float sum = 0.0f;
    for (int i = 0; i < 3000; i++) sum += a[i % 96];
    atomicAdd(out, sum);
}

static int failures;

static void expect(const char* kernel, const float* a, unsigned long long of_a,
                   unsigned long long of_all) {
    struct cudev_traffic t;
    cudev_get_traffic(&t);
    unsigned long long found = cudev_loaded_again(a + 5);
    if (found == of_a && t.loaded_again_bytes == of_all) {
        cudev_reset_traffic();
        return;
    }
    printf("%s: %llu bytes of a again, expected %llu; %llu in all, expected %llu\n", kernel, found,
           of_a, t.loaded_again_bytes, of_all);
    failures++;
    cudev_reset_traffic();
}

int main() {
    float *a = filled(1024), *out = filled(1024);
    all_ways<<<1, 64>>>(out, a);
    expect("all_ways", a, 2 * (64 + 64), 2 * (64 + 64));
    for (int i = 0; i < 2; i++) all_ways<<<3, 64>>>(out, a);  // blocks and launches do not matter
    expect("3 blocks, 2 launches", a, 6 * 256, 6 * 256);
    in_turns<<<1, 64>>>(out, a);
    expect("in_turns", a, 64 + 128, 64 + 128);
    in_named_turns<<<1, 64>>>(out, a);
    expect("in_named_turns", a, 2 * 128, 2 * 128);
    own_tiles<<<2, 64>>>(out, a);
    expect("own_tiles", a, 0, 0);
    rows<<<1, 32>>>(out, filled(3), a, true);
    expect("rows", a, 0, 0);
    const struct cudev_array results = {out, 1024 * sizeof *out};
    cudev_set_results(&results, 1);
    rows<<<1, 32>>>(out, filled(3), a, false);
    expect("rows, one result", a, 0, 0);
    rows<<<1, 32>>>(out, filled(3), a, true);
    expect("rows, one result, another pass", a, 3 * 128, 3 * 128);
    cudev_set_results(NULL, 0);
    once<<<8, 32>>>(out, a);
    expect("once", a, 0, 0);
    sums_in_memory<<<1, 32>>>(out, a);
    expect("sums_in_memory", a, 2 * 128, 2 * 128);  // a register has the sum
    rounds<<<1, 32>>>(out, a);
    expect("rounds", a, 4 * (3000 - 96), 4 * (3000 - 96));
    return failures != 0;
}
