// finds: nothing
// Accesses of a warp are paired round by round, also where lanes leave out rounds.
#include <cudev.h>
#include <stdio.h>
#include "small.h"

static __device__ void fill(float (*tile)[32], const float* a) {
    for (int i = 0; i < 32; i++) tile[i][threadIdx.x] = a[i * 32 + threadIdx.x];
    __syncthreads();
}

// Each lane begins a round later than the one before it: all are at the same column of the tile.
__global__ void skewed(float* out, const float* a) {
    __shared__ float tile[32][32];
    int lane = threadIdx.x;
    float sum = 0.0f;
    fill(tile, a);
    for (int j = 0; j < 64; j++)
        if (j >= lane && j < lane + 32) sum += tile[lane][j % 32];
    out[lane] = sum;
}

// The same in a loop within a loop, by other words.
static __device__ float row(const float (*tile)[32], int lane) {
    float sum = 0.0f;
    int j = -1;
    while (++j < 64) {
        if (j < lane) continue;
        if (j >= lane + 32) break;
        sum += tile[lane][j % 32];
    }
    return sum;
}
__global__ void skewed_twice(float* out, const float* a) {
    __shared__ float tile[32][32];
    float sum = 0.0f;
    fill(tile, a);
    for (int i = 0; i < 2; i++) sum += row(tile, threadIdx.x);
    out[threadIdx.x] = sum;
}

// A skew of the addresses, in lockstep: no two lanes at one bank.
__global__ void diagonal(float* out, const float* a) {
    __shared__ float tile[32][32];
    int lane = threadIdx.x;
    float sum = 0.0f;
    fill(tile, a);
    for (int j = 0; j < 32; j++) sum += tile[lane][(j + lane) % 32];
    out[lane] = sum;
}

// out begins 5 elements behind a multiple of 32: the first round is short, the others are whole.
__global__ void aligned(float* out, const float* a, int n) {
    for (int j = (int)threadIdx.x - 5; j < n; j += 32)
        if (j >= 0) out[j] = a[j];
}

static int failures;

static void check(const char* name, unsigned long long requests, unsigned long long wavefronts,
                  unsigned long long stores, unsigned long long sectors) {
    struct cudev_traffic t;
    cudev_get_traffic(&t);
    cudev_reset_traffic();
    if (t.shared_load_requests == requests && t.shared_load_wavefronts == wavefronts &&
        t.global_store_requests == stores && t.global_store_sectors == sectors)
        return;
    printf("%s: %llu requests, %llu wavefronts, %llu stores, %llu sectors\n", name,
           t.shared_load_requests, t.shared_load_wavefronts, t.global_store_requests,
           t.global_store_sectors);
    failures++;
}

int main(void) {
    float *out = empty(2048), *a = filled(2048);
    skewed<<<1, 32>>>(out, a);
    check("skewed", 63, 1024, 1, 4);
    skewed_twice<<<1, 32>>>(out, a);
    check("skewed twice", 126, 2048, 1, 4);
    diagonal<<<1, 32>>>(out, a);
    check("diagonal", 32, 32, 1, 4);
    aligned<<<1, 32>>>(out + 5, a, 27 + 31 * 32);
    check("aligned", 0, 0, 32, 128);
    return failures;
}
