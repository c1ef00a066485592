// finds: nothing
// Bytes that a block loads again: by whom, in which width and by which instruction does not matter.
#include <stdio.h>
#include "cudev.h"
#include "ptx.h"
#include "small.h"

// By two warps, in wider pieces, and on the way to shared memory. Then the next part begins.
__global__ void all_ways(float* out, const float* a) {
    __shared__ float4 s[4];
    int t = threadIdx.x;
    out += 128 * blockIdx.x;
    float sum = a[t % 32];
    if (t < 4) {
        float4 four = ((const float4*)a)[t];
        sum += four.x + four.y + four.z + four.w;
        cp_async16(&s[t], &a[4 * t]);
    }
    cp_async_wait_all();
    out[t] = sum;
    __syncthreads();
    out[64 + t] = a[t % 32];
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
    expect("all_ways", a, 128 + 64 + 64 + 128, 128 + 64 + 64 + 128);
    for (int i = 0; i < 2; i++) all_ways<<<3, 64>>>(out, a);  // of the block, of the launch
    expect("3 blocks, 2 launches", a, 6 * 384, 6 * 384);
    once<<<8, 32>>>(out, a);
    expect("once", a, 0, 0);
    sums_in_memory<<<1, 32>>>(out, a);
    expect("sums_in_memory", a, 2 * 128, 2 * 128);  // a register has the sum
    rounds<<<1, 32>>>(out, a);
    expect("rounds", a, 4 * (3000 - 96), 4 * (3000 - 96));
    return failures != 0;
}
